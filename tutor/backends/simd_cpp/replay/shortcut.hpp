// The fast path of a jitted function's call: it repeats the latest recording without any Python.
// `Jitted._call` of tutor/programs/jit.py defines what a call does, and is called wherever that is
// not possible.
#pragma once

#include <Python.h>

namespace tutor {

extern PyTypeObject* shortcut_type;

// Creates the type. false, with a Python error set, when that fails.
bool make_shortcut_type();

}  // namespace tutor
