#include "replay/caller.hpp"

#include <exception>
#include <unordered_set>
#include <utility>
#include <vector>

#include "border/call.hpp"
#include "engine/info.hpp"
#include "engine/run.hpp"
#include "engine/tensors.hpp"
#include "memory/memory.hpp"
#include "replay/arguments.hpp"
#include "replay/guards.hpp"
#include "replay/lists.hpp"
#include "replay/plan.hpp"

namespace tutor {

PyTypeObject* caller_type = nullptr;

namespace {

// All references here are borrowed from the tuple of lists made by `caller_of` in Python.
using Grad = std::pair<PyObject*, int>;  // a Tensor, and whether it has a gradient
struct Fresh {
    Py_ssize_t place, count, dtype;
    PyObject* make;  // what makes it, on a device; None: memory of the host
};
struct Touched {
    Py_ssize_t place;
    PyObject* where;
};
struct Result {
    Py_ssize_t place, within;  // within: that argument's window, or -1
    PyObject *shape, *strides, *offset, *requires_grad;
    Py_ssize_t argument;  // that argument itself, or -1
    PyObject* known;
};
struct Effect {
    PyObject* tensor;
    Py_ssize_t result;  // -1: no gradient
};

// What a call goes by and does that is made without any Python: see `shorten` in _simd.pyi.
struct Shortened {
    PyObject *within, *stream, *device, *kernels, *run, *rebuild, *note;
    int recording;
};

class Caller {
  public:
    ~Caller() { Py_XDECREF(spec_), Py_XDECREF(short_spec_); }
    bool read(PyObject* spec);
    bool shorten(PyObject* spec);
    PyObject* call(PyObject* const* args, Py_ssize_t count) const;
    PyObject* call_shortened(PyObject* const* args, Py_ssize_t count) const;

    // The owner of all pointers borrowed here, for Python's cycle collector.
    PyObject*& spec() { return spec_; }
    PyObject*& short_spec() { return short_spec_; }

  private:
    // The arguments are looked at last, because what comes before may run Python code.
    bool fits(PyObject* const* args, Py_ssize_t count, Windows* windows) const {
        return spec_ && given.ready && count == static_cast<Py_ssize_t>(arguments_.size()) &&
               hold() && windows->fit(arguments_, states_, args);
    }
    bool hold() const;
    bool is_usual() const;
    PyObject* make(PyObject* const* args, const Windows& windows, PyObject* run) const;
    PyObject* buffers(const Windows& windows) const;
    bool touch(PyObject* buffers, const Windows& windows) const;
    PyObject* results(PyObject* buffers, PyObject* const* args, const Windows& windows) const;

    PyObject *spec_ = nullptr, *guards_ = nullptr, *fixed_ = nullptr, *run_ = nullptr;
    PyObject* short_spec_ = nullptr;
    Shortened short_{};
    std::vector<Argument> arguments_;
    std::vector<Grad> grads_;
    std::vector<Fresh> fresh_;
    std::vector<Touched> touched_;
    std::vector<Result> results_;
    std::vector<Effect> effects_;
    std::unordered_set<PyObject*> states_;
};

// ---- reading what Python hands over -------------------------------------------------------------

bool Caller::read(PyObject* spec) {
    PyObject *arguments, *grads, *states, *fresh, *touched, *results, *effects;
    PyTypeObject* list = &PyList_Type;
    if (!PyArg_ParseTuple(spec, "O!O!O!O!O!O!O!O!O!O:Caller", list, &arguments, guards_type,
                          &guards_, list, &grads, list, &states, list, &fixed_, list, &fresh, list,
                          &touched, list, &results, list, &effects, &run_))
        return false;
    spec_ = Py_NewRef(spec);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(states); ++i)
        states_.insert(PyList_GET_ITEM(states, i));
    using A = Argument;
    using R = Result;
    return PyList_GET_SIZE(arguments) <= MOST_ARGUMENTS &&
           read_list(arguments, "OOOnnnppnnnO", &arguments_, &A::shape, &A::strides, &A::dtype,
                     &A::offset, &A::size, &A::elements, &A::contiguous, &A::written, &A::first,
                     &A::itself, &A::place, &A::device) &&
           read_list(grads, "Op", &grads_, &Grad::first, &Grad::second) &&
           read_list(fresh, "nnnO", &fresh_, &Fresh::place, &Fresh::count, &Fresh::dtype,
                     &Fresh::make) &&
           read_list(touched, "nO", &touched_, &Touched::place, &Touched::where) &&
           read_list(results, "nnOOOOnO", &results_, &R::place, &R::within, &R::shape, &R::strides,
                     &R::offset, &R::requires_grad, &R::argument, &R::known) &&
           read_list(effects, "On", &effects_, &Effect::tensor, &Effect::result);
}

bool Caller::shorten(PyObject* spec) {
    Shortened s;
    if (!PyArg_ParseTuple(spec, "OOOOOpOO:shorten", &s.within, &s.stream, &s.device, &s.kernels,
                          &s.run, &s.recording, &s.rebuild, &s.note))
        return false;
    Ref before(std::exchange(short_spec_, Py_NewRef(spec)));  // let go of when `s` is in its place
    short_ = s;
    return true;
}

// ---- is everything as it was? -------------------------------------------------------------------

bool Caller::hold() const {
    for (const auto& [tensor, there] : grads_)
        if ((part(tensor, T_GRAD) != Py_None) != there) return false;
    return untouched(guards_);
}

// Whether a ContextVar has the value that it has where nobody has set it: None or False.
bool is_unset(PyObject* variable) {
    PyObject* value = nullptr;
    if (PyContextVar_Get(variable, nullptr, &value) < 0) return PyErr_Clear(), false;
    Py_XDECREF(value);
    return !value || value == Py_None || value == Py_False;
}

// Whether ops are run here as they were when this was recorded, on the host, and nobody looks on:
// what `Jitted._call` and `modes` of tutor/programs ask.
bool Caller::is_usual() const {
    if (PyDict_GET_SIZE(given.watches) || PyDict_GET_SIZE(given.casting) ||
        !is_unset(short_.device) || !is_unset(short_.within) || !is_unset(short_.stream))
        return false;
    const int recording = is_recording();
    if (recording < 0) PyErr_Clear();
    return recording == short_.recording && kernels_in_use().get() == short_.kernels;
}

// ---- the call -----------------------------------------------------------------------------------

// The Buffers that the Program runs on, in its order.
PyObject* Caller::buffers(const Windows& windows) const {
    Ref list(PyList_GetSlice(fixed_, 0, PyList_GET_SIZE(fixed_)));
    if (!list) return nullptr;
    const auto put = [&](Py_ssize_t place, PyObject* owned) {
        Py_DECREF(PyList_GET_ITEM(list.get(), place));
        PyList_SET_ITEM(list.get(), place, owned);
    };
    for (size_t i = 0; i < arguments_.size(); ++i) {
        if (arguments_[i].place < 0 || arguments_[i].first != static_cast<Py_ssize_t>(i)) continue;
        PyObject* buf = windows[i].buffer();
        if (!buf) return nullptr;
        put(arguments_[i].place, buf);
    }
    for (const Fresh& fresh : fresh_) {
        char* data;
        PyObject* buf = fresh.make != Py_None
                            ? PyObject_CallNoArgs(fresh.make)
                            : new_buffer(fresh.count, static_cast<DType>(fresh.dtype), &data);
        if (!buf) return nullptr;
        put(fresh.place, buf);
    }
    return list.release();
}

// Announces changes to the Buffers before they happen, as Buffer.touch requires.
bool Caller::touch(PyObject* buffers, const Windows& windows) const {
    static PyObject* const name = PyUnicode_InternFromString("touch");
    for (size_t i = 0; i < arguments_.size(); ++i) {
        const Argument& as = arguments_[i];
        if (!as.written || as.first != static_cast<Py_ssize_t>(i) || !windows[i].is_part())
            continue;
        if (!Ref(PyObject_CallMethodNoArgs(windows[i].buf, name))) return false;
    }
    for (const Touched& touched : touched_) {
        PyObject* names[] = {PyList_GET_ITEM(buffers, touched.place), touched.where};
        if (!Ref(PyObject_VectorcallMethod(name, names, 2, nullptr))) return false;
    }
    return true;
}

PyObject* Caller::results(PyObject* buffers, PyObject* const* args, const Windows& windows) const {
    Ref made(PyList_New(results_.size()));
    for (size_t i = 0; made && i < results_.size(); ++i) {
        const Result& result = results_[i];
        PyObject* tensor;
        if (result.place < 0) {
            tensor = Py_NewRef(result.argument < 0 ? result.known : args[result.argument]);
        } else {
            const Class& kind = given.tensor;
            if (!(tensor = kind.fresh())) return nullptr;
            const Window* within = result.within < 0 ? nullptr : &windows[result.within];
            PyObject* buf = within ? within->buf : PyList_GET_ITEM(buffers, result.place);
            Ref start(PyLong_FromLongLong(within ? within->start : 0));
            Ref offset(start ? PyNumber_Add(result.offset, start.get()) : nullptr);
            if (!offset) return Py_DECREF(tensor), nullptr;
            kind.put(tensor, T_BUF, Py_NewRef(buf));
            kind.put(tensor, T_SHAPE, Py_NewRef(result.shape));
            kind.put(tensor, T_STRIDES, Py_NewRef(result.strides));
            kind.put(tensor, T_OFFSET, offset.release());
            kind.put(tensor, T_REQUIRES_GRAD, Py_NewRef(result.requires_grad));
        }
        PyList_SET_ITEM(made.get(), i, tensor);
    }
    return made.release();
}

PyObject* Caller::make(PyObject* const* args, const Windows& windows, PyObject* run) const {
    Ref list(buffers(windows));
    if (!list || !touch(list.get(), windows)) return nullptr;
    if (!Ref(PyObject_CallOneArg(run, list.get()))) return nullptr;
    Ref made(results(list.get(), args, windows));
    if (!made) return nullptr;
    for (const Effect& effect : effects_) {
        PyObject* grad = effect.result < 0 ? Py_None : PyList_GET_ITEM(made.get(), effect.result);
        given.tensor.put(effect.tensor, T_GRAD, Py_NewRef(grad));
    }
    return made.release();
}

// The Tensors that the call returns, as a list; None if Python must make the call.
PyObject* Caller::call(PyObject* const* args, Py_ssize_t count) const {
    Windows windows;
    if (!fits(args, count, &windows)) Py_RETURN_NONE;
    return make(args, windows, run_);
}

// The function's result; nullptr, without a Python error, if Python must make the call.
PyObject* Caller::call_shortened(PyObject* const* args, Py_ssize_t count) const {
    Windows windows;
    if (!short_spec_ || !is_usual() || !fits(args, count, &windows)) return nullptr;
    Ref kept(Py_NewRef(short_spec_));
    const Shortened now = short_;
    Ref made(make(args, windows, now.run));
    if (!made) return tell_error(now.note), nullptr;
    return PyObject_CallOneArg(now.rebuild, made.get());
}

// ---- the Python type ----------------------------------------------------------------------------

struct CallerObject {
    PyObject head;
    Caller* caller;
};

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
    Ref self(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    try {
        Caller* caller = reinterpret_cast<CallerObject*>(self.get())->caller = new Caller;
        return caller->read(args) ? self.release() : nullptr;
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Caller* caller = reinterpret_cast<CallerObject*>(self)->caller;
    if (caller) Py_VISIT(caller->spec());
    if (caller) Py_VISIT(caller->short_spec());
    return 0;
}

int clear(PyObject* self) {
    Caller* caller = reinterpret_cast<CallerObject*>(self)->caller;
    if (caller) Py_CLEAR(caller->spec());
    if (caller) Py_CLEAR(caller->short_spec());
    return 0;
}

void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    delete reinterpret_cast<CallerObject*>(self)->caller;
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* again(PyObject* self, PyObject* args) {
    if (!PyTuple_Check(args)) return PyErr_Format(PyExc_TypeError, "again: give a tuple");
    return reinterpret_cast<CallerObject*>(self)->caller->call(&PyTuple_GET_ITEM(args, 0),
                                                               PyTuple_GET_SIZE(args));
}

PyObject* shorten(PyObject* self, PyObject* args) {
    if (!reinterpret_cast<CallerObject*>(self)->caller->shorten(args)) return nullptr;
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"shorten", shorten, METH_VARARGS,
     "shorten(...)\n--\n\nHow to make the call without any Python: see _simd.pyi."},
    {"again", again, METH_O,
     "again(args)\n--\n\nThe Tensors that the call hands out; None if it is for Python."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A recorded call, made again: Trace in tutor/programs.")},
    {},
};

PyType_Spec caller_spec = {"tutor.backends.simd_cpp._simd.Caller", sizeof(CallerObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* call_shortened(PyObject* caller, PyObject* const* args, Py_ssize_t count) {
    return reinterpret_cast<CallerObject*>(caller)->caller->call_shortened(args, count);
}

bool make_caller_type() {
    caller_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&caller_spec));
    return caller_type != nullptr;
}

}  // namespace tutor
