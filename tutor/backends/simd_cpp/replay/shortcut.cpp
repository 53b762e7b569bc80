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
    Py_ssize_t replayed;
};

ShortcutObject* inside(PyObject* self) { return reinterpret_cast<ShortcutObject*>(self); }

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
    Ref caller = Ref::to(inside(self)->caller);  // another thread may put another one there
    if (caller && !(kwargs && PyDict_GET_SIZE(kwargs))) {
        PyObject* result =
            call_shortened(caller.get(), &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args));
        if (result) ++inside(self)->replayed;
        if (result || PyErr_Occurred()) return result;
    }
    static PyObject* const name = PyUnicode_InternFromString("_call");
    Ref method(PyObject_GetAttr(self, name));
    return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

// ---- the Python type ----------------------------------------------------------------------------

PyObject* shortcut(PyObject* self, void*) {
    return Py_NewRef(inside(self)->caller ? inside(self)->caller : Py_None);
}

int set_shortcut(PyObject* self, PyObject* caller, void*) {
    if (caller && caller != Py_None && !Py_IS_TYPE(caller, caller_type)) {
        PyErr_Format(PyExc_TypeError, "shortcut: give a Caller or None");
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
    {"replayed", T_PYSSIZET, offsetof(ShortcutObject, replayed), 0, "How many calls were."},
    {},
};

PyGetSetDef attributes[] = {
    {"shortcut", shortcut, set_shortcut, "The Caller that is asked first, or None.", nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members},
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
