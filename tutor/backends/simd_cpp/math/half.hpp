// The two 16-bit floats. float16: 1 sign bit, 5 of exponent, 10 of mantissa (IEEE 754 binary16).
// bfloat16: 1, 8 and 7, which is the upper half of a float. Storage only: arithmetic widens to
// float, which is exact, and rounds the result once, to nearest even.
//
// Where the CPU converts float16 by itself (F16C) it does; otherwise integer operations give the
// same bits.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

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
    // 13 bits go. Adding just under half of the lowest kept bit's value, and that bit itself,
    // carries exactly when rounding to nearest even goes up; a carry out of the largest gives inf.
    const uint32_t rounded = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t normal = rounded < 0x7c00 ? rounded : 0x7c00;
    // Below 2^-14 numbers are 2^-24 apart, as floats next to 1/2 are: let the addition round.
    const uint32_t subnormal = float_bits(float_of(size) + 0.5f) - float_bits(0.5f);
    const uint32_t nan = 0x7e00 | (size >> 13 & 0x3ff);
    const uint32_t bits = size > 0x7f800000 ? nan : size < 0x38800000 ? subnormal : normal;
    return {static_cast<uint16_t>(sign >> 16 | bits)};
}

#endif

inline float to_float(bfloat_t x) { return float_of(uint32_t(x.bits) << 16); }

inline bfloat_t to_bfloat(float x) {
    const uint32_t bits = float_bits(x),
                   nan = bits >> 16 | 0x40;  // which must not lose all its bits
    // Adding just under half of the lowest kept bit's value, and that bit itself, carries exactly
    // when rounding to nearest even goes up; a carry out of the largest gives inf.
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return {static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded)};
}

// x with the 11 or 8 bits that T has. Rounding to float first would round twice, which can go wrong
// at a tie; from here on, conversions to float and to T have nothing left to round. Next to the
// power of two `far`, which is 2^52 times the value of the last bit kept, doubles are just that far
// apart, so adding `far` rounds to nearest even.
template <class T>
inline float rounded(double x) {
    constexpr bool half = std::is_same<T, half_t>::value;
    constexpr double scale = half ? 0x1p42 : 0x1p45;   // 2^(53 - 11), 2^(53 - 8)
    constexpr double least = half ? 0x1p28 : 0x1p-81;  // 2^52 times the smallest number there is
    constexpr double most = 0x1p200;                   // as good as inf, which would give inf - inf
    const double size = std::fabs(x), finite = size > most ? most : size;  // nan stays
    uint64_t exponent;
    std::memcpy(&exponent, &finite, sizeof exponent);
    exponent &= uint64_t(0x7ff) << 52;
    double power;  // the largest power of two up to |x|
    std::memcpy(&power, &exponent, sizeof power);
    const double far = power * scale > least ? power * scale : least;
    return static_cast<float>(std::copysign((finite + far) - far, x));
}

inline half_t to_half(double x) { return to_half(rounded<half_t>(x)); }
inline bfloat_t to_bfloat(double x) { return to_bfloat(rounded<bfloat_t>(x)); }

// ---- which of the two, by type ------------------------------------------------------------------

template <class T>
constexpr bool is_16_bit_float = std::is_same<T, half_t>::value || std::is_same<T, bfloat_t>::value;

// x rounded to T, half_t or bfloat_t.
template <class T, class From>
inline T narrowed(From x) {
    if constexpr (std::is_same<T, half_t>::value)
        return to_half(x);
    else
        return to_bfloat(x);
}

// ---- arrays -------------------------------------------------------------------------------------

inline void widen(int64_t n, float* to, const half_t* from) {
    int64_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16) {
        const void* halves = from + i;
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)halves)));
    }
#endif
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

inline void widen(int64_t n, float* to, const bfloat_t* from) {
    for (int64_t i = 0; i < n; i++) to[i] = to_float(from[i]);
}

inline void narrow(int64_t n, bfloat_t* to, const float* from) {
    for (int64_t i = 0; i < n; i++) to[i] = to_bfloat(from[i]);
}

// Doubles go through floats, in stretches that stay in the L1 cache.
constexpr int64_t STRETCH = 256;

template <class T>
inline void widen(int64_t n, double* to, const T* from) {
    float floats[STRETCH];
    for (int64_t i = 0; i < n; i += STRETCH) {
        const int64_t count = n - i < STRETCH ? n - i : STRETCH;
        widen(count, floats, from + i);
        for (int64_t k = 0; k < count; k++) to[i + k] = floats[k];
    }
}

template <class T>
inline void narrow(int64_t n, T* to, const double* from) {
    float floats[STRETCH];
    for (int64_t i = 0; i < n; i += STRETCH) {
        const int64_t count = n - i < STRETCH ? n - i : STRETCH;
        for (int64_t k = 0; k < count; k++) floats[k] = rounded<T>(from[i + k]);
        narrow(count, to + i, floats);
    }
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
