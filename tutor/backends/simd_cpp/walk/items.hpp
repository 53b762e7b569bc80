// Elements as bytes to move, whatever dtype they are.
#pragma once

#include <cstring>
#include <type_traits>

#include "math/stored.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// Any number of this size.
template <class Bits>
struct __attribute__((may_alias)) Item {
    Bits bits;
};

// What is moved instead of a T: any number of its size, but a bool must arrive as 0 or 1.
template <class T>
using Moved = std::conditional_t<
    std::is_same_v<T, bool>, bool_t,
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>>;

// The inner loop that copies n elements. `out` may be the same memory.
template <class T>
void copy_items(int64_t n, void* out, const void* const* ins) {
    if constexpr (std::is_trivially_copyable_v<T>) {
        std::memmove(out, ins[0], n * sizeof(T));
    } else {
        T* z = static_cast<T*>(out);
        const T* x = static_cast<const T*>(ins[0]);
        TUTOR_INDEPENDENT
        for (int64_t i = 0; i < n; i++) z[i] = x[i];
    }
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
