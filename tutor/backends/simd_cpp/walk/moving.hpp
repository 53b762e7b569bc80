// What kernels that move elements have in common: elements are moved as 1, 2, 4 or 8 bytes,
// whatever their dtype; only bools are made 0 or 1.
#pragma once

#include "math/computed.hpp"
#include "walk/each.hpp"
#include "walk/items.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN_BYTES = 1 << 16;  // about 10 us of moving, the cost of waking a thread
constexpr Status OK = {Status::Ok, 0, 0};

// z = x, all of it.
template <class T>
Status copy_block(const Operand& out, const Operand& x) {
    return each(out, &x, 1,
                {copy_items<T>, DTYPES, DTYPES, nullptr, nullptr, GRAIN_BYTES / sizeof(T)});
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
