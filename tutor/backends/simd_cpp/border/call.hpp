// What every call of a kernel has in common, whoever makes it: bindings.cpp, engine/run.cpp.
#pragma once

#include <Python.h>

#include <exception>

#include "border/operand.hpp"

namespace tutor {

// The Python error for a C++ exception, none of which may cross into the interpreter: nullptr.
PyObject* raise(const std::exception& exception);

// Runs the kernel on operands that were checked. None, or nullptr with a Python error set. A draw
// finds in `params` where its numbers begin.
PyObject* run(const Row& row, const Operands& operands, Params& params);

// Which row a Kernel of the module stands for; nullptr for any other object.
const Row* row_of(PyObject* kernel);

}  // namespace tutor
