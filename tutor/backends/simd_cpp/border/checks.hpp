// Checks before a kernel runs: do its operands fit together?
#pragma once

#include "border/operand.hpp"
#include "kernel.hpp"

namespace tutor {

// The dtype that a letter of signatures.py demands of a kernel registered for `dtype`; DTYPES: any.
DType meaning(char letter, DType dtype);

// Whether a kernel writes to operand i.
bool is_written(const Row& row, int i);

// Whether `operands` have the dtypes that row.types spells. If not, a DTypeError is set.
bool check_dtypes(const Row& row, const Operands& operands);

// Whether the shapes, and the axes in `params`, fit row.form. If not, a ShapeError is set.
bool check_shapes(const Row& row, const Operands& operands, const Params& params);

}  // namespace tutor
