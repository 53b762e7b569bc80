// What the module offers to tutor/ops/native.py.
#pragma once

#include <Python.h>

namespace tutor {

// Adds apply, run, take_over and handed_over to the module. false, with a Python error set, if not.
bool add_engine(PyObject* module);

}  // namespace tutor
