// float16: 1 sign bit, 5 of exponent, 10 of mantissa (IEEE 754 binary16). Storage only: arithmetic
// widens to float, which is exact, and rounds the result once, to nearest even.
//
// Where the CPU converts by itself (F16C) it does; otherwise integer operations give the same bits.
#pragma once

#include <cstring>

#include "kernel.hpp"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

inline uint32_t float_bits(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float float_of(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

#ifdef __F16C__

inline float to_float(half_t x) { return _cvtsh_ss(x.bits); }

inline half_t to_half(float x) { return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)}; }

#else

inline float to_float(half_t x) {
    const uint32_t sign = (x.bits & 0x8000u) << 16, size = (x.bits & 0x7fffu) << 13;
    // The exponent's bias is 127 instead of 15. As a product this is right for subnormals too.
    const uint32_t finite = float_bits(float_of(size) * 0x1p112f);
    const uint32_t quiet = size > 0x0f800000 ? 0x00400000 : 0;
    return float_of(sign | (size < 0x0f800000 ? finite : size | 0x7f800000 | quiet));
}

inline half_t to_half(float x) {
    const uint32_t sign = float_bits(x) & 0x80000000, size = float_bits(x) ^ sign;
    // 13 bits go. Adding just under half of what the lowest kept bit counts, and that bit itself,
    // carries exactly when rounding to nearest even goes up; a carry out of the largest gives inf.
    const uint32_t rounded = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t normal = rounded < 0x7c00 ? rounded : 0x7c00;
    // Below 2^-14 one half counts 2^-24, as floats next to 1/2 do: let the addition round.
    const uint32_t subnormal = float_bits(float_of(size) + 0.5f) - float_bits(0.5f);
    const uint32_t nan = 0x7e00 | (size >> 13 & 0x3ff);
    const uint32_t bits = size > 0x7f800000 ? nan : size < 0x38800000 ? subnormal : normal;
    return {static_cast<uint16_t>(sign >> 16 | bits)};
}

#endif

// Rounding to float and then to half would round twice. Rounding to odd first (an inexact result
// takes the neighbour whose last bit is 1) keeps what the second step must know: S. Boldo and G.
// Melquiond, Emulation of FMA and correctly rounded sums (2008).
inline half_t to_half(double x) {
    const float near = static_cast<float>(x);
    const bool even_and_inexact = near != x && (float_bits(near) & 1) == 0;
    const bool outwards = near < 0 ? x < near : near > 0 ? x > near : true;
    const uint32_t odd = float_bits(near) + (outwards ? 1u : ~0u);
    return to_half(even_and_inexact && x == x ? float_of(odd) : near);
}

// ---- arrays -------------------------------------------------------------------------------------

inline void widen(int64_t n, float* to, const half_t* from) {
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
#endif
    for (; i < n; i++) to[i] = to_float(from[i]);
}

inline void narrow(int64_t n, half_t* to, const float* from) {
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        const __m128i halves =
            _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
#endif
    for (; i < n; i++) to[i] = to_half(from[i]);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
