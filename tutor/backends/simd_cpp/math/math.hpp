// exp, log, sin, cos, tanh, sigmoid and pow for a register full of floats or doubles. (The rarer
// functions are in functions.hpp.)
//
// All follow one plan (Muller, Elementary Functions, 2016): reduce x to a small interval by a step
// that loses nothing (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980),
// evaluate a polynomial there, undo the reduction exactly. The polynomials are the textbook series,
// cut where the next term is below a tenth of the last bit. Lanes choose by select, never together
// by a branch, so a result depends on its own x alone.
//
// Largest errors, in units in the last place. For floats every value was tried: docs/exhaustive.md
// has the worst. Over 3 million doubles: exp 0.97, log 0.82, tanh 1.33, sigmoid 2.26, and up to
// LARGEST_ANGLE sin and cos 1.01.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "math/simd.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {
namespace math {

// How IEEE 754 lays out a number, and ln 2 in two pieces: `ln2_high` has so few bits that k *
// ln2_high is exact for every exponent k, `ln2_low` is the rest.
template <class T>
struct Format;
template <>
struct Format<float> {
    using Bits = uint32_t;
    static constexpr int mantissa = 23, bias = 127;
    static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cf79abcap-20;
    static constexpr float exp_lowest = -104, exp_highest = 89;  // beyond: 0 and inf, to the bit
};
template <>
struct Format<double> {
    using Bits = uint64_t;
    static constexpr int mantissa = 52, bias = 1023;
    static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    static constexpr double exp_lowest = -746, exp_highest = 710;
};

// ---- tools --------------------------------------------------------------------------------------

template <class T>
inline vec<typename Format<T>::Bits> bits_of(vec<T> x) {
    return xsimd::bitwise_cast<typename Format<T>::Bits>(x);
}
template <class T>
inline vec<T> from_bits(vec<typename Format<T>::Bits> bits) {
    return xsimd::bitwise_cast<T>(bits);
}

// Between 2^m and 2^(m+1), m the mantissa's length, neighbouring numbers are 1 apart. So adding
// 1.5 * 2^m rounds to the nearest integer, and leaves that integer in the lowest bits.
template <class T>
constexpr T anchor = T(3) * (typename Format<T>::Bits(1) << (Format<T>::mantissa - 1));

template <class T>
inline vec<T> nearest(vec<T> x) {
    const vec<T> far(anchor<T>);
    return (x + far) - far;
}

// 2^k for an integer k, by writing k into the exponent. The result must be a normal number.
template <class T>
inline vec<T> power_of_two(vec<T> k) {
    return from_bits<T>(bits_of(k + (anchor<T> + Format<T>::bias)) << Format<T>::mantissa);
}

// x * 2^k, rounded once, for x near 1. The smallest and the largest results need a k that no single
// power of two can hold. The first of the two products is exact; the second rounds, down through
// the subnormals or up to inf. AVX-512 has an instruction with the same result.
template <class T>
inline vec<T> scale(vec<T> x, vec<T> k) {
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4)
        return _mm512_scalef_ps(x, k);
    else
        return _mm512_scalef_pd(x, k);
#else
    const vec<T> half = nearest(k * T(0.5));
    return x * power_of_two(half) * power_of_two(k - half);
#endif
}

// c0 + c1 x + c2 x^2 + ...
template <class T>
inline vec<T> polynomial(vec<T>, T last) {
    return vec<T>(last);
}
template <class T, class... More>
inline vec<T> polynomial(vec<T> x, T first, More... more) {
    return xsimd::fma(x, polynomial(x, T(more)...), vec<T>(first));
}

// f(x) or f(x, y) lane by lane, where no formula here applies.
template <class T, class F>
inline vec<T> by_lane(F f, vec<T> x, vec<T> y = vec<T>(T(0))) {
    T xs[lanes<T>], ys[lanes<T>];
    store(xs, x);
    store(ys, y);
    for (int i = 0; i < lanes<T>; i++) {
        if constexpr (std::is_invocable_v<F, T, T>)
            xs[i] = f(xs[i], ys[i]);
        else
            xs[i] = f(xs[i]);
    }
    return load(xs);
}

// The same, but only for the `rare` lanes; the others keep their result.
template <class T, class F>
inline vec<T> except(mask<T> rare, F f, vec<T> result, vec<T> x, vec<T> y = vec<T>(T(0))) {
    if (!xsimd::any(rare)) return result;
    return xsimd::select(rare, by_lane(f, x, y), result);
}

template <class T>
inline vec<T> sign_bit_of(vec<T> x) {
    return x & vec<T>(T(-0.0));
}

// ---- exp ----------------------------------------------------------------------------------------

// e^x = 2^k e^r = 2^k (1 + p), with k the nearest integer to x / ln 2, so that |r| = |x - k ln 2|
// <= ln(2) / 2, and p = r + r^2/2! + r^3/3! + ...
template <class T>
struct Power {
    vec<T> k, p;
};

template <class T>
inline Power<T> power(vec<T> x) {
    const vec<T> lowest(Format<T>::exp_lowest), highest(Format<T>::exp_highest);
    x = xsimd::max(xsimd::min(x, highest), lowest);  // nan stays: these are std::min and std::max
    const vec<T> k = nearest(x * T(1.44269504088896340736));
    vec<T> r = xsimd::fma(k, vec<T>(-Format<T>::ln2_high), x);
    r = xsimd::fma(k, vec<T>(-Format<T>::ln2_low), r);
    vec<T> q;  // 1/2! + r/3! + r^2/4! + ...
    if constexpr (sizeof(T) == 4) {
        q = polynomial<T>(r, 1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720., 1 / 5040.);
    } else {
        q = polynomial<T>(r, 1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720., 1 / 5040., 1 / 40320.,
                          1 / 362880., 1 / 3628800., 1 / 39916800., 1 / 479001600.,
                          1 / 6227020800.);
    }
    return {k, xsimd::fma(r * r, q, r)};
}

template <class T>
inline vec<T> exp(vec<T> x) {
    const Power<T> e = power(x);
    return scale(T(1) + e.p, e.k);
}

// With e = e^-|x| nothing overflows, and the left end fades through the subnormals as e does.
template <class T>
inline vec<T> sigmoid(vec<T> x) {
    const vec<T> e = exp(-xsimd::abs(x));
    return xsimd::select(x < T(0), e, vec<T>(T(1))) / (T(1) + e);
}

// tanh|x| = E / (E + 2) with E = e^(2|x|) - 1. As in `power`, e^(2|x|) = 2^k (1 + p), here with
// r = |x| - k ln(2) / 2, so that E = 2^k p + (2^k - 1), which for small x is p: nothing cancels.
// Beyond 20 tanh is 1. One product is enough for r: the error of ln(2) / 2 as a float grows with k,
// but the larger x is, the less tanh changes with it. `far` leaves k + 127 in the lowest bits of
// the sum, and a shift turns that into 2^k.
//
// p = 2r + r^2 (2 + 4/3 r + 2/3 r^2 + 4/15 r^3 + 4/45 r^4 + 8/315 r^5 + ...). The coefficients
// below have the smallest relative error for |r| <= ln(2) / 4 (the minimax polynomial, found as a
// linear program; Trefethen, Approximation Theory and Approximation Practice, 2013): cut there, it
// is off by a fiftieth of a unit in the last place, the series by a quarter.
inline vec<float> tanh(vec<float> x) {
    using V = vec<float>;
    const V size = xsimd::min(xsimd::abs(x), V(20));  // nan stays
    const V far(anchor<float> + Format<float>::bias);
    const V sum = xsimd::fma(size, V(2 * 1.44269504088896340736), far), k = sum - far;
    const V power = from_bits<float>(bits_of(sum) << Format<float>::mantissa);
    const V r = xsimd::fma(k, V(-0.34657359027997265471), size);
    const V q = polynomial<float>(r, 2, 1.3333333, 0.6666637, 0.26666942, 0.08917305, 0.025374865);
    const V p = xsimd::fma(r * r, q, r + r), E = xsimd::fma(power, p, power - V(1));
    return (E / (E + V(2))) | sign_bit_of(x);
}

// In double that would sometimes be off by three units. Instead: 1 - 2 / (e^(2|x|) + 1), which
// would cancel at small x, and for small x Lambert's continued fraction (1761), tanh x =
// x / (1 + z / (3 + z / (5 + ... z / 15))) with z = x^2, cut after eight steps and written as x - x
// z A / B. One division serves both.
inline vec<double> tanh(vec<double> x) {
    using V = vec<double>;
    const V size = xsimd::abs(x), z = size * size;
    const V A = polynomial<double>(z, 675675, 45045, 594, 1);
    const V B = polynomial<double>(z, 2027025, 945945, 51975, 630, 1);
    const mask<double> small = size < V(0.625);
    const V away =
        xsimd::select(small, size * z * A, V(2)) / xsimd::select(small, B, exp(size + size) + V(1));
    return (xsimd::select(small, size, V(1)) - away) | sign_bit_of(x);
}

// ---- log ----------------------------------------------------------------------------------------

// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). With s = f / (2 + f),
//   ln(1 + f) = 2 artanh s = 2s + s R,   R = 2s^2/3 + 2s^4/5 + 2s^6/7 + ...
// and 2s = f - f^2/2 + s f^2/2 brings the exact f to the front (FreeBSD's e_log.c explains why that
// saves the last bit).
template <class T>
inline vec<T> log(vec<T> x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    constexpr Bits one = Bits(F::bias) << F::mantissa;
    constexpr Bits root_half =
        sizeof(T) == 4 ? Bits(0x3f3504f3) : static_cast<Bits>(0x3fe6a09e667f3bcd);
    constexpr T two_to_mantissa = T(Bits(1) << F::mantissa);

    const mask<T> subnormal = x < std::numeric_limits<T>::min();
    const vec<T> scaled = xsimd::select(subnormal, x * two_to_mantissa, x);
    const vec<Bits> shifted = bits_of(scaled) + vec<Bits>(one - root_half);
    const vec<T> m =
        from_bits<T>((shifted & vec<Bits>((Bits(1) << F::mantissa) - 1)) + vec<Bits>(root_half));
    // The biased exponent, put below the bits of 2^mantissa, becomes a number by a subtraction.
    const vec<T> biased = from_bits<T>((shifted >> F::mantissa) | bits_of(vec<T>(two_to_mantissa)));
    const vec<T> k = biased - (two_to_mantissa + F::bias) -
                     xsimd::select(subnormal, vec<T>(T(F::mantissa)), vec<T>(T(0)));

    const vec<T> f = m - T(1), s = f / (T(2) + f), z = s * s, half_square = T(0.5) * f * f;
    vec<T> R;
    if constexpr (sizeof(T) == 4) {
        R = z * polynomial<T>(z, 2 / 3., 2 / 5., 2 / 7., 2 / 9.);
    } else {
        R = z * polynomial<T>(z, 2 / 3., 2 / 5., 2 / 7., 2 / 9., 2 / 11., 2 / 13., 2 / 15., 2 / 17.,
                              2 / 19., 2 / 21.);
    }
    const vec<T> small = xsimd::fma(k, vec<T>(F::ln2_low), s * (half_square + R));
    const vec<T> result = xsimd::fma(k, vec<T>(F::ln2_high), f - (half_square - small));

    const vec<T> inf(std::numeric_limits<T>::infinity());
    const vec<T> nan(std::numeric_limits<T>::quiet_NaN());
    const vec<T> special =
        xsimd::select(x == T(0), -inf, xsimd::select(x < T(0), nan, x));  // inf and nan: x itself
    return xsimd::select((x > T(0)) & (x < inf), result, special);
}

// ---- sin, cos -----------------------------------------------------------------------------------

// Only for doubles: the float kernels widen, which makes their results almost always the nearest
// float and is still faster than a reduction in float that is right near the zeros. For a `Result`
// of float, the series may end at 2^-33.
//
// |x| = n pi/2 + r + rest. The first two pieces of pi/2 have 38 bits each, so their products with n
// < 2^15 are exact. Beyond (|x| > 51471) each lane calls the C library, which has the 1,200 bits of
// pi that the largest doubles need (Payne and Hanek, 1983).
struct Turn {
    vec<double> n, sine, cosine;  // of the angle that is left, at most pi/4
};
constexpr double LARGEST_ANGLE = 51471;

template <class Result>
inline Turn turn(vec<double> x) {
    constexpr double first = 0x1.921fb54440p+0, second = 0x1.68c234c4c0p-39,
                     third = 0x1.98a2e03707345p-77;
    const vec<double> n = nearest(x * 0.63661977236758134308);
    const vec<double> a = x - n * first, w = n * second;
    const vec<double> r = a - w, z = r * r;
    if constexpr (sizeof(Result) == 4) {
        const vec<double> S =
            polynomial<double>(z, 1, -1 / 6., 1 / 120., -1 / 5040., 1 / 362880., -1 / 39916800.);
        return {n, r * S,
                polynomial<double>(z, 1, -1 / 2., 1 / 24., -1 / 720., 1 / 40320., -1 / 3628800.)};
    }
    const vec<double> rest = (a - r) - w - n * third;
    const vec<double> S = polynomial<double>(z, -1 / 6., 1 / 120., -1 / 5040., 1 / 362880.,
                                             -1 / 39916800., 1 / 6227020800., -1 / 1307674368000.,
                                             1 / 355687428096000.);  // sin r = r + r z S
    const vec<double> C = polynomial<double>(z, 1 / 24., -1 / 720., 1 / 40320., -1 / 3628800.,
                                             1 / 479001600., -1 / 87178291200.,
                                             1 / 20922789888000.);  // cos r = 1 - z/2 + z^2 C
    // sin(r + rest) = sin r + rest cos r, and cos(r + rest) = cos r - rest sin r.
    const vec<double> cosine = 1.0 - (0.5 * z - (z * z * C - r * rest));
    return {n, r + xsimd::fma(r * z, S, rest * cosine), cosine};
}

// The quarter turns in n: an odd one swaps sine and cosine, every second one flips the sign.
inline vec<double> quarter(vec<double> n, vec<double> even, vec<double> odd) {
    const vec<double> half = n * 0.5;
    const vec<double> value = xsimd::select(nearest(half) == half, even, odd);
    return value ^ sign_bit_of(from_bits<double>(bits_of(n + anchor<double>) << 62));
}

template <class Result>
inline vec<double> sin(vec<double> x) {
    const vec<double> size = xsimd::abs(x);
    const Turn t = turn<Result>(size);
    const vec<double> result = quarter(t.n, t.sine, t.cosine) ^ sign_bit_of(x);
    return except(size > LARGEST_ANGLE, [](double a) { return std::sin(a); }, result, x);
}

template <class Result>
inline vec<double> cos(vec<double> x) {
    const vec<double> size = xsimd::abs(x);
    const Turn t = turn<Result>(size);
    const vec<double> result = quarter(t.n + 1.0, t.sine, t.cosine);
    return except(size > LARGEST_ANGLE, [](double a) { return std::cos(a); }, result, x);
}

// ---- pow ----------------------------------------------------------------------------------------

// x^y = e^(y ln x) to about 2^-43: enough for a result that is then rounded to float, not for one
// kept as a double. The special cases are those of IEEE 754-2019, 9.2.1.
inline vec<double> pow(vec<double> x, vec<double> y) {
    const vec<double> zero(0.0), one(1.0), inf(std::numeric_limits<double>::infinity());
    const vec<double> size = xsimd::abs(x), half = y * 0.5;
    const mask<double> whole = xsimd::floor(y) == y, odd = whole & (xsimd::floor(half) != half);
    const vec<double> sign = xsimd::select(odd, sign_bit_of(x), zero);
    const vec<double> result = exp(y * log(size)) | sign;
    const mask<double> imaginary = (x < zero) & (size < inf) & !whole;
    const mask<double> unit =
        (y == zero) | (x == one) | ((x == vec<double>(-1.0)) & (xsimd::abs(y) == inf));
    return xsimd::select(
        unit, one,
        xsimd::select(imaginary, vec<double>(std::numeric_limits<double>::quiet_NaN()), result));
}

}  // namespace math
}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
