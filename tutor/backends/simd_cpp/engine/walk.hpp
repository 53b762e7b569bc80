// The backward walk, and `.grad`: the twin of tutor/core/engine/backward.py.
#pragma once

#include <Python.h>

namespace tutor {

// The Engine's order, arrivals and store. If they refuse, they return nullptr (false) without a
// Python error and have changed nothing: the Engine in Python is then asked for the same.
PyObject* order(PyObject* root);
PyObject* arrivals(PyObject* root, PyObject* gradient, bool keep, bool linked, PyObject* ask);
bool store(PyObject* arrived, PyObject* seed);

}  // namespace tutor
