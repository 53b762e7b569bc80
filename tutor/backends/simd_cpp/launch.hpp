// The way from operands to a new Tensor in one call, for operands that need nothing else.
#pragma once

#include <Python.h>

#include "kernel.hpp"

namespace tutor {

// A Launcher for the kernels of one name and level, DTYPES of them, nullptr where there is none. A
// new reference; None if kernels of this form cannot be launched; nullptr, with a Python error set,
// on failure.
PyObject* make_launcher(const Row* const* rows);

// Creates the type. false, with a Python error set, when that fails.
bool make_launcher_type();

}  // namespace tutor
