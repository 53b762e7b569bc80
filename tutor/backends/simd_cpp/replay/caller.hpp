// Repeats a recorded call without Python: the twin of `why_not` and `run` of
// tutor/programs/trace.py, which define what it does. If anything has changed, or is of a kind
// unknown here, it does nothing, and Python decides.
#pragma once

#include <Python.h>

namespace tutor {

extern PyTypeObject* caller_type;

// Makes the call of a Caller that was shortened, and returns the function's result. nullptr,
// without a Python error, if Python must make the call.
PyObject* call_shortened(PyObject* caller, PyObject* const* args, Py_ssize_t count);

// Creates the type. false, with a Python error set, when that fails.
bool make_caller_type();

}  // namespace tutor
