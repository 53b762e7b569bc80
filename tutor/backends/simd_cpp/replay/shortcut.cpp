#include "replay/shortcut.hpp"

#include <structmember.h>

#include <cstddef>

#include "engine/classes.hpp"
#include "replay/caller.hpp"

namespace tutor {

PyTypeObject* shortcut_type = nullptr;

namespace {

struct ShortcutObject {
    PyObject head;
    PyObject* caller;  // owned, or nullptr
    Py_ssize_t replayed, rested;
    Py_ssize_t left;  // this many calls go to the function itself
};

ShortcutObject* inside(PyObject* self) { return reinterpret_cast<ShortcutObject*>(self); }

PyObject* call_method(PyObject* self, PyObject* name, PyObject* args, PyObject* kwargs) {
    Ref method(PyObject_GetAttr(self, name));
    return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
    static PyObject* const function = PyUnicode_InternFromString("function");
    static PyObject* const slow = PyUnicode_InternFromString("_call");
    if (inside(self)->left > 0) {
        --inside(self)->left;
        ++inside(self)->rested;
        return call_method(self, function, args, kwargs);
    }
    Ref caller = Ref::to(inside(self)->caller);  // another thread may replace it
    if (caller && !(kwargs && PyDict_GET_SIZE(kwargs))) {
        PyObject* result =
            call_shortened(caller.get(), &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args));
        if (result) ++inside(self)->replayed;
        if (result || PyErr_Occurred()) return result;
    }
    return call_method(self, slow, args, kwargs);
}

PyObject* rest(PyObject* self, PyObject* count) {
    const Py_ssize_t wanted = PyNumber_AsSsize_t(count, nullptr);
    if (wanted == -1 && PyErr_Occurred()) return nullptr;
    inside(self)->left = wanted > 0 ? wanted : 0;
    return PyLong_FromSsize_t(inside(self)->left);
}

// ---- the Python type ----------------------------------------------------------------------------

PyObject* shortcut(PyObject* self, void*) {
    return Py_NewRef(inside(self)->caller ? inside(self)->caller : Py_None);
}

int set_shortcut(PyObject* self, PyObject* caller, void*) {
    if (caller && caller != Py_None && !Py_IS_TYPE(caller, caller_type)) {
        PyErr_Format(PyExc_TypeError, "_shortcut: give a Caller or None");
        return -1;
    }
    Ref before(inside(self)->caller);
    inside(self)->caller = caller == Py_None ? nullptr : Py_XNewRef(caller);
    return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(inside(self)->caller);
    return 0;
}

int clear(PyObject* self) {
    Py_CLEAR(inside(self)->caller);
    return 0;
}

void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(inside(self)->caller);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMemberDef members[] = {
    {"_replayed", T_PYSSIZET, offsetof(ShortcutObject, replayed), 0, "How many calls were."},
    {"_rested", T_PYSSIZET, offsetof(ShortcutObject, rested), 0, "How many calls `_rest` took."},
    {},
};

PyMethodDef methods[] = {
    {"_rest", rest, METH_O,
     "_rest(count)\n--\n\nLet the next calls be those of the function itself; how many are."},
    {},
};

PyGetSetDef attributes[] = {
    {"_shortcut", shortcut, set_shortcut, "The Caller that is asked first, or None.", nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, const_cast<char*>("What a jitted function is: Jitted in tutor/programs/jit.py.")},
    {},
};

PyType_Spec spec = {"tutor.backends.simd_cpp._simd.Shortcut", sizeof(ShortcutObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool make_shortcut_type() {
    shortcut_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return shortcut_type != nullptr;
}

}  // namespace tutor
