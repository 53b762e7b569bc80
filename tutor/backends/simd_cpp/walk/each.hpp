// Elementwise loops: every layout of operands is brought down to one case, n elements side by side.
//
// `each` walks the operands block by block and calls an inner loop that knows nothing of strides.
// What does not lie side by side is gathered into a tile, a piece of stack that stays in the L1
// cache; the 16-bit floats are widened on the way. So a formula needs one loop per dtype, compiled
// once, and cannot give one result here and another there.
#pragma once

#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {

constexpr int MAX_INS = MAX_OPERANDS - 1;

using Inner = void (*)(int64_t n, void* out, const void* const* ins);

// What to do with n elements. Operands of dtype `stored` reach `inner` as `computed`, the others
// (a comparison's bools) as they are.
struct Work {
    Inner inner;
    DType stored, computed;
    Inner widen, narrow;  // stored to computed and back; unused where the two are the same
    int64_t grain;        // elements that take about 10 us, which waking a thread costs
};

// Calls work.inner on all elements, dealt out to threads in chunks of about work.grain elements.
// Compiled once for all formulas, in each.cpp.
void each(const Operand& out, const Operand* ins, int count, const Work& work);

}  // namespace TUTOR_LEVEL
}  // namespace tutor
