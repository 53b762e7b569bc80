// The walk backward, and `.grad`: the twin of tutor/core/engine/backward.py.
#pragma once

#include <Python.h>

namespace tutor {

// Engine.order, arrivals and store. nullptr (false) without a Python error where they refuse,
// before anything has changed: the Engine in Python is asked for the same.
PyObject* order(PyObject* root);
PyObject* arrivals(PyObject* root, PyObject* gradient, bool keep, bool linked, PyObject* ask);
bool store(PyObject* arrived, PyObject* seed);

}  // namespace tutor
