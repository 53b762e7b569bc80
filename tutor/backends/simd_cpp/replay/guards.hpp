// A quick check whether everything is as it was when a call was recorded: the twin of
// `Guards.changed` of tutor/programs/guards.py, which defines what that means. Untouched objects
// are as they were; if anything was touched this says no, and Python decides.
#pragma once

#include <Python.h>

namespace tutor {

extern PyTypeObject* guards_type;

// Creates the type. false, with a Python error set, when that fails.
bool make_guards_type();

// Whether everything is untouched; `guards` is of that type. No Python error is left.
bool untouched(PyObject* guards);

// Whether two objects are of one type, and equal.
bool equal(PyObject* a, PyObject* b);

}  // namespace tutor
