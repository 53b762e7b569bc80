// Elementwise loops: every layout of operands is reduced to one case, n elements side by side.
//
// `each` walks the operands block by block and calls an inner loop that knows nothing of strides.
// Elements that are not contiguous are gathered into a tile, scratch memory that stays in the L1
// cache; 16-bit floats are widened on the way. So a formula needs one loop per dtype, compiled
// once, and cannot give one result here and another there.
#pragma once

#include "parts.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {

constexpr int MAX_INS = MAX_OPERANDS - 1;

// Calls work.inner on all elements, dealt out to threads in chunks of about work.grain elements;
// OutOfMemory if tiles do not fit. Compiled once for all formulas, in each.cpp.
Status each(const Operand& out, const Operand* ins, int count, const Work& work);

// A rectangle of elements in memory, `row` and `column` bytes from one to the next.
struct Steps {
    int64_t row, column;
};

// Copies rows x columns items of 1, 2, 4 or 8 bytes.
void move_rectangle(int itemsize, int64_t rows, int64_t columns, char* to, Steps z,
                    const char* from, Steps x);

}  // namespace TUTOR_LEVEL
}  // namespace tutor
