// What the module offers to tutor/ops/native.py.
#pragma once

#include <Python.h>

namespace tutor {

// Adds apply, run, take_over and handed_over. Returns false, with a Python error set, on failure.
bool add_engine(PyObject* module);

}  // namespace tutor
