// A recorded call made again without Python: the twin of `why_not` and `run` of
// tutor/programs/trace.py, which define what it does. Where anything is not as it was, or is of a
// kind that is not known here, it does nothing, and Python decides.
#pragma once

#include <Python.h>

namespace tutor {

extern PyTypeObject* caller_type;

// Makes the call of a Caller as it was shortened: the function's result. nullptr, without a Python
// error, if it is for Python to make.
PyObject* call_shortened(PyObject* caller, PyObject* const* args, Py_ssize_t count);

// Creates the type. false, with a Python error set, when that fails.
bool make_caller_type();

}  // namespace tutor
