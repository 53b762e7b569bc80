// Lists of tuples that Python hands over, read into structs.
#pragma once

#include <Python.h>

#include <vector>

namespace tutor {

// Reads each tuple of the list by PyArg_ParseTuple's `format` into the members of a struct.
template <class T, class... Member>
bool read_list(PyObject* list, const char* format, std::vector<T>* to, Member T::*... members) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
        T item{};
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), format, &(item.*members)...)) return false;
        to->push_back(item);
    }
    return true;
}

}  // namespace tutor
