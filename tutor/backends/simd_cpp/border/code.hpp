// Reading the bytecode of a fused kernel: tutor/backends/bytecode.py describes it.
#pragma once

#include <Python.h>

#include "border/operand.hpp"
#include "kernel.hpp"

namespace tutor {

// Reads `text`, the code of one call of the fused kernel `row`, into params->code; the other
// parameters have been read. Returns false, with a Python error set, if the code is invalid or does
// not fit the operands' dtypes, or if a result cannot be written.
bool read_code(const Row& row, PyObject* text, const Operands& operands, Params* params);

}  // namespace tutor
