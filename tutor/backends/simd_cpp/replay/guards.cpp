#include "replay/guards.hpp"

#include <cstring>
#include <exception>
#include <vector>

#include "border/call.hpp"
#include "engine/tensors.hpp"
#include "replay/lists.hpp"

namespace tutor {

PyTypeObject* guards_type = nullptr;

bool equal(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!a || !Py_IS_TYPE(a, Py_TYPE(b))) return false;
    const int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 1;
}

namespace {

// All references here are borrowed from the tuple of lists made by Guards in Python.
struct Whole {  // a dict or a list, all of it
    PyObject *holder, *keys, *values;
    mutable unsigned long long version;  // of a dict when it had all of it
};
struct Held {
    PyObject *holder, *key, *value;  // nullptr: there was nothing
};
struct Function {
    PyObject *function, *code, *defaults, *keywords;
};
struct Thing {
    PyObject *value, *kind, *attributes;  // its dict, or None
};
struct Known {
    PyObject *tensor, *buf, *shape, *strides, *offset, *requires_grad;
};
struct Version {
    PyTypeObject* kind;
    unsigned int tag;  // changes with the class and with every class that it inherits from
};

unsigned int version_of(const PyTypeObject* kind) {
    return PyType_HasFeature(const_cast<PyTypeObject*>(kind), Py_TPFLAGS_VALID_VERSION_TAG)
               ? kind->tp_version_tag
               : 0;
}

// The same object, or a number or text equal to the last bit: is_same of kinds.py.
bool is_same(PyObject* now, PyObject* before) {
    if (now == before) return true;
    if (!now || !before || !Py_IS_TYPE(now, Py_TYPE(before))) return false;
    if (PyFloat_CheckExact(now)) {
        const double a = PyFloat_AS_DOUBLE(now), b = PyFloat_AS_DOUBLE(before);
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
    return (PyLong_CheckExact(now) || PyUnicode_CheckExact(now) || PyBytes_CheckExact(now)) &&
           equal(now, before);
}

// Whether the place (in a dict, a list, a closure's cell, or an attribute) has that value.
bool has(const Held& held) {
    PyObject* holder = held.holder;
    if (PyDict_Check(holder)) {
        PyObject* now = PyDict_GetItemWithError(holder, held.key);
        return is_same(now, held.value) || (PyErr_Clear(), false);
    }
    if (PyList_Check(holder)) {
        const Py_ssize_t i = PyLong_AsSsize_t(held.key);
        return i < PyList_GET_SIZE(holder) && is_same(PyList_GET_ITEM(holder, i), held.value);
    }
    if (PyCell_Check(holder)) return is_same(PyCell_GET(holder), held.value);
    Ref now(PyObject_GenericGetAttr(holder, held.key));
    if (!now) PyErr_Clear();
    return is_same(now.get(), held.value);
}

// Whether a function's code and defaults are unchanged; None stands for nullptr.
bool has_its_parts(const Function& function) {
    const auto* now = reinterpret_cast<PyFunctionObject*>(function.function);
    const auto is = [](PyObject* part, PyObject* before) {
        return part == before || (!part && before == Py_None);
    };
    return now->func_code == function.code && is(now->func_defaults, function.defaults) &&
           is(now->func_kwdefaults, function.keywords);
}

// A number that changes with each change of a dict; 0 where Python has no such number.
unsigned long long version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
    static_cast<void>(dict);
    return 0;
#endif
}

// Whether a dict or a list has what it had, in that order; `any` matches any value.
bool has_all(const Whole& whole, PyObject* any) {
    const Py_ssize_t count = PyTuple_GET_SIZE(whole.keys);
    const auto expected = [&](Py_ssize_t i, PyObject* now) {
        PyObject* before = PyTuple_GET_ITEM(whole.values, i);
        return before == any || is_same(now, before);
    };
    if (PyList_CheckExact(whole.holder)) {
        if (PyList_GET_SIZE(whole.holder) != count) return false;
        for (Py_ssize_t i = 0; i < count; ++i)
            if (!expected(i, PyList_GET_ITEM(whole.holder, i))) return false;
        return true;
    }
    const unsigned long long version = version_of(whole.holder);
    if (version && version == whole.version) return true;
    if (PyDict_GET_SIZE(whole.holder) != count) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (Py_ssize_t i = 0; PyDict_Next(whole.holder, &position, &key, &value); ++i)
        if (i >= count || key != PyTuple_GET_ITEM(whole.keys, i) || !expected(i, value))
            return false;
    whole.version = version;
    return true;
}

// The object itself, or the object of a weak reference; None if that is gone.
Ref alive(PyObject* value) {
    if (!PyWeakref_CheckRefExact(value)) return Ref(Py_NewRef(value));
    return Ref(Py_NewRef(PyWeakref_GetObject(value)));
}

// Whether an object has the class that it had, and the dict of attributes.
bool is_that(const Thing& thing) {
    Ref value = alive(thing.value);
    if (!Py_IS_TYPE(value.get(), reinterpret_cast<PyTypeObject*>(thing.kind))) return false;
    if (thing.attributes == Py_None) return true;
    Ref now(PyObject_GenericGetDict(value.get(), nullptr));
    if (!now) PyErr_Clear();
    return now.get() == thing.attributes;
}

bool is_as_before(const Known& known) {
    PyObject* t = known.tensor;
    return part(t, T_BUF) == known.buf && equal(part(t, T_SHAPE), known.shape) &&
           equal(part(t, T_STRIDES), known.strides) && equal(part(t, T_OFFSET), known.offset) &&
           part(t, T_REQUIRES_GRAD) == known.requires_grad && !has_hooks(t);
}

class Guards {
  public:
    ~Guards() { Py_XDECREF(spec_); }
    bool read(PyObject* spec);
    bool hold() const;

    // The owner of all pointers borrowed here, for Python's cycle collector.
    PyObject*& spec() { return spec_; }

  private:
    PyObject *spec_ = nullptr, *any_ = nullptr, *rest_ = nullptr;
    std::vector<Whole> whole_;
    std::vector<Held> held_;
    std::vector<Function> functions_;
    std::vector<Version> versions_;
    std::vector<Thing> things_;
    std::vector<Known> known_;
};

bool Guards::read(PyObject* spec) {
    PyObject *whole, *held, *functions, *classes, *things, *known;
    PyTypeObject* list = &PyList_Type;
    if (!PyArg_ParseTuple(spec, "OO!O!O!O!O!O!O!:read", &any_, list, &whole, list, &held, list,
                          &functions, list, &classes, list, &things, list, &known, list, &rest_))
        return false;
    whole_.clear(), held_.clear(), functions_.clear(), versions_.clear(), things_.clear(),
        known_.clear();
    Py_XSETREF(spec_, Py_NewRef(spec));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(classes); ++i) {
        PyObject* kind = PyList_GET_ITEM(classes, i);
        // A lookup in the class itself, unlike that of "__mro__", gives the class a version.
        if (!Ref(PyObject_GetAttrString(kind, "__init__"))) return false;
        auto* type = reinterpret_cast<PyTypeObject*>(kind);
        versions_.push_back({type, version_of(type)});
    }
    using K = Known;
    return read_list(whole, "OOO", &whole_, &Whole::holder, &Whole::keys, &Whole::values) &&
           read_list(held, "OO|O", &held_, &Held::holder, &Held::key, &Held::value) &&
           read_list(functions, "OOOO", &functions_, &Function::function, &Function::code,
                     &Function::defaults, &Function::keywords) &&
           read_list(things, "OOO", &things_, &Thing::value, &Thing::kind, &Thing::attributes) &&
           read_list(known, "OOOOOO", &known_, &K::tensor, &K::buf, &K::shape, &K::strides,
                     &K::offset, &K::requires_grad);
}

bool Guards::hold() const {
    if (!spec_) return false;
    for (const Version& version : versions_)
        if (!version.tag || version_of(version.kind) != version.tag) return false;
    for (const Thing& thing : things_)
        if (!is_that(thing)) return false;
    for (const Whole& whole : whole_)
        if (!has_all(whole, any_)) return false;
    for (const Held& held : held_)
        if (!has(held)) return false;
    for (const Function& function : functions_)
        if (!has_its_parts(function)) return false;
    for (const Known& known : known_)
        if (!is_as_before(known)) return false;
    Ref rest(Py_NewRef(rest_));  // Python code may run now, and read the guards again
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rest.get()); ++i) {
        static PyObject* changed = PyUnicode_InternFromString("changed");
        Ref path(PyObject_CallMethodNoArgs(PyList_GET_ITEM(rest.get(), i), changed));
        if (!path) PyErr_Clear();
        if (path.get() != Py_None) return false;
    }
    return true;
}

// ---- the Python type ----------------------------------------------------------------------------

struct GuardsObject {
    PyObject head;
    Guards* guards;
};

Guards* inside(PyObject* self) { return reinterpret_cast<GuardsObject*>(self)->guards; }

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
    Ref self(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    try {
        reinterpret_cast<GuardsObject*>(self.get())->guards = new Guards;
        return self.release();
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (inside(self)) Py_VISIT(inside(self)->spec());
    return 0;
}

int clear(PyObject* self) {
    if (inside(self)) Py_CLEAR(inside(self)->spec());
    return 0;
}

void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    delete inside(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* read(PyObject* self, PyObject* args) {
    try {
        if (!inside(self)->read(args)) return nullptr;
        Py_RETURN_NONE;
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

PyObject* hold(PyObject* self, PyObject*) { return PyBool_FromLong(inside(self)->hold()); }

PyMethodDef methods[] = {
    {"read", read, METH_VARARGS, "read(...)\n--\n\nWhat to look at, and what it is to be."},
    {"hold", hold, METH_NOARGS, "hold()\n--\n\nWhether all of it is untouched."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("A quick look at what was reached: Guards in tutor/programs.")},
    {},
};

PyType_Spec guards_spec = {"tutor.backends.simd_cpp._simd.Guards", sizeof(GuardsObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool make_guards_type() {
    guards_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guards_spec));
    return guards_type != nullptr;
}

bool untouched(PyObject* guards) { return inside(guards)->hold(); }

}  // namespace tutor
