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

// The square whose rows are `stride` apart in memory, transposed. With AVX-512, loads of 16 bytes
// put quarters of rows where they belong, which spares half of the exchanges in registers: only
// squares within those 16 bytes are left to be transposed.
template <class F>
inline void load_transposed(const F* from, int64_t stride, vec<F>* square) {
    constexpr int L = lanes<F>;
#ifdef __AVX512F__
    constexpr int SIDE = 16 / sizeof(F);
#pragma GCC unroll 16
    for (int c = 0; c < L; c += SIDE) {
        __m512 lines[SIDE];
#pragma GCC unroll 4
        for (int r = 0; r < SIDE; ++r) {
            const auto part = [&](int row) {
                return _mm_loadu_ps(reinterpret_cast<const float*>(from + row * stride + c));
            };
            lines[r] = _mm512_castps128_ps512(part(r));
            lines[r] = _mm512_insertf32x4(lines[r], part(r + SIDE), 1);
            lines[r] = _mm512_insertf32x4(lines[r], part(r + 2 * SIDE), 2);
            lines[r] = _mm512_insertf32x4(lines[r], part(r + 3 * SIDE), 3);
        }
        if constexpr (sizeof(F) == 4) {
            const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(lines[0], lines[1]));
            const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(lines[0], lines[1]));
            const __m512d d = _mm512_castps_pd(_mm512_unpacklo_ps(lines[2], lines[3]));
            const __m512d e = _mm512_castps_pd(_mm512_unpackhi_ps(lines[2], lines[3]));
            const __m512d columns[] = {_mm512_unpacklo_pd(a, d), _mm512_unpackhi_pd(a, d),
                                       _mm512_unpacklo_pd(b, e), _mm512_unpackhi_pd(b, e)};
#pragma GCC unroll 4
            for (int s = 0; s < SIDE; ++s)
                square[c + s] = xsimd::bitwise_cast<F>(vec<double>(columns[s]));
        } else {
            const __m512d a = _mm512_castps_pd(lines[0]), b = _mm512_castps_pd(lines[1]);
            square[c] = xsimd::bitwise_cast<F>(vec<double>(_mm512_unpacklo_pd(a, b)));
            square[c + 1] = xsimd::bitwise_cast<F>(vec<double>(_mm512_unpackhi_pd(a, b)));
        }
    }
#else
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) square[i] = load(from + i * stride);
    transpose<F>(square);
#endif
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
