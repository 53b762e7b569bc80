#include "engine/classes.hpp"

#include <structmember.h>

#include <algorithm>

namespace tutor {

namespace {

// The offset of the slot that this attribute of the class describes; -1 if it describes none.
Py_ssize_t place_of(PyObject* descriptor) {
    if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return -1;
    const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
    return member->type == T_OBJECT_EX ? member->offset : -1;
}

// All slots of a class and its bases.
bool find_slots(PyTypeObject* type, std::vector<Py_ssize_t>* places) {
    PyObject* order = type->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
        Ref dict(PyObject_GetAttrString(PyTuple_GET_ITEM(order, i), "__dict__"));
        Ref values(dict ? PyMapping_Values(dict.get()) : nullptr);
        if (!values) return false;
        for (Py_ssize_t v = 0; v < PyList_GET_SIZE(values.get()); ++v) {
            const Py_ssize_t place = place_of(PyList_GET_ITEM(values.get(), v));
            if (place >= 0) places->push_back(place);
        }
    }
    return true;
}

}  // namespace

bool Class::learn(PyObject* blank, PyObject* names) {
    PyTypeObject* type = Py_TYPE(blank);
    Class found;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        Ref slot(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), PyTuple_GET_ITEM(names, i)));
        const Py_ssize_t place = slot ? place_of(slot.get()) : -1;
        if (place < 0) {
            if (slot) {
                PyErr_Format(PyExc_TypeError, "%s.%U is no slot", type->tp_name,
                             PyTuple_GET_ITEM(names, i));
            }
            return false;
        }
        found.places_.push_back(place);
    }
    std::vector<Py_ssize_t> all;
    if (!find_slots(type, &all)) return false;
    for (Py_ssize_t place : all) {
        PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(blank) + place);
        if (value) found.values_.push_back({place, Py_NewRef(value)});
    }
    if (type->tp_dictoffset) {
        Ref dict(PyObject_GenericGetDict(blank, nullptr));
        if (!dict) return false;
        if (PyDict_Size(dict.get())) found.others_ = PyDict_Copy(dict.get());
    }
    found.type_ = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    *this = found;  // the old values stay alive: another thread may be using them
    return true;
}

PyObject* Class::fresh() const {
    PyObject* object = type_->tp_alloc(type_, 0);
    if (object && !fill(object)) Py_CLEAR(object);
    return object;
}

bool Class::fill(PyObject* object) const {
    for (const Value& value : values_) {
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + value.place) =
            Py_NewRef(value.value);
    }
    if (!others_) return true;
    Ref dict(PyObject_GenericGetDict(object, nullptr));
    return dict && PyDict_Update(dict.get(), others_) == 0;
}

}  // namespace tutor
