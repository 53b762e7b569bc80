// Transposes a square of numbers in registers: rows become columns.
#pragma once

#include <type_traits>
#include <utility>

#include "math/simd.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

template <int STEP>
struct Partner {
    static constexpr unsigned get(unsigned lane, unsigned) { return lane ^ STEP; }
};
template <int STEP>
struct IsLower {
    static constexpr bool get(unsigned lane, unsigned) { return (lane & STEP) == 0; }
};

// Transposes a square of as many vectors as each has lanes: first the quarters of the square are
// exchanged, then the quarters of each quarter, and so on. (xsimd::transpose goes through memory
// with AVX-512, and gives wrong results for integers where GCC sees that it breaks aliasing.)
template <class F, int STEP = lanes<F> / 2>
inline void transpose(vec<F>* square) {
    using Index = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
    constexpr auto partner = xsimd::make_batch_constant<Index, Partner<STEP>, Arch>();
    constexpr auto is_lower = xsimd::make_batch_bool_constant<F, IsLower<STEP>, Arch>();
#pragma GCC unroll 16
    for (int i = 0; i < lanes<F>; ++i) {
        if (i & STEP) continue;
        const vec<F> upper = square[i], lower = square[i + STEP];
        square[i] = xsimd::select(is_lower, upper, xsimd::swizzle(lower, partner));
        square[i + STEP] = xsimd::select(is_lower, xsimd::swizzle(upper, partner), lower);
    }
    if constexpr (STEP > 1) transpose<F, STEP / 2>(square);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
