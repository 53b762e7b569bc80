// The rarer functions, for a register of doubles whose results are then rounded to float or
// to 16 bits: their error is below 2^-40 of the result, so that rounding almost always gives
// the nearest float. (Kernels of float64 need the last bits as well, and call the C library:
// see kernels/functions.cpp.)
//
// Most are one line of algebra over exp and log, chosen so that nothing cancels. For an odd
// function the sign is removed first and restored last, which also keeps -0.
#pragma once

#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {
namespace math {

using reals = vec<double>;

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double LN2 = 0.69314718055994530942, PI = 3.14159265358979323846;

// ---- powers and logarithms ----------------------------------------------------------------------

// 2^x = 2^k e^((x - k) ln 2), exact where x is the integer k. Beyond +-1100 it is 0 or inf anyway.
inline reals exp2(reals x) {
    const reals end(1100.0);
    x = xsimd::select(x > end, end, xsimd::select(x < -end, -end, x));
    const reals k = nearest(x);
    return scale(exp((x - k) * LN2), k);
}

// e^x - 1 = p where k = 0; elsewhere e^x is far enough from 1.
inline reals expm1(reals x) {
    const Power<double> e = power(x);
    return xsimd::select(e.k == 0.0, e.p, scale(1.0 + e.p, e.k) - 1.0) | sign_bit_of(x);
}

inline reals log2(reals x) { return log(x) * (1 / LN2); }

inline reals log10(reals x) { return log(x) * 0.43429448190325182765; }

// With u = 1 + x rounded, x - (u - 1) is the part lost: ln(u + lost) = ln u + lost / u.
inline reals log1p(reals x) {
    const reals u = 1.0 + x, lost = x - (u - 1.0), result = log(u);
    return xsimd::select((x > -1.0) & (x < INF), result + lost / u, result) | sign_bit_of(x);
}

// max + ln(1 + e^(min - max)); the difference of two equal infinities would be nan.
inline reals logaddexp(reals x, reals y) {
    const reals sum = xsimd::select(x > y, x, y) + log1p(exp(-xsimd::abs(x - y)));
    return xsimd::select(x == y, x + LN2, sum);
}

inline double logaddexp(double x, double y) {
    if (x == y) return x + LN2;
    return (x > y ? x : y) + std::log1p(std::exp(-std::fabs(x - y)));
}

// ---- hyperbolic functions -----------------------------------------------------------------------

// With m = e^|x| - 1: sinh|x| = (m + m / (m + 1)) / 2. Beyond 700 it is inf for a float anyway.
inline reals sinh(reals x) {
    const reals size = xsimd::abs(x), m = expm1(xsimd::select(size > 700.0, reals(700.0), size));
    return 0.5 * (m + m / (m + 1.0)) | sign_bit_of(x);
}

inline reals cosh(reals x) {
    const reals e = exp(xsimd::abs(x));
    return 0.5 * (e + 1.0 / e);
}

// ln(x + sqrt(x^2 + 1)) = ln(1 + x + x^2 / (1 + sqrt(x^2 + 1)))
inline reals asinh(reals x) {
    const reals size = xsimd::abs(x), square = size * size;
    const reals result = log1p(size + square / (1.0 + xsimd::sqrt(square + 1.0)));
    return xsimd::select(size < INF, result, size) | sign_bit_of(x);
}

// ln(x + sqrt(x^2 - 1)) = ln(1 + m + sqrt(m (x + 1))), m = x - 1
inline reals acosh(reals x) {
    const reals m = x - 1.0, result = log1p(m + xsimd::sqrt(m * (x + 1.0)));
    return xsimd::select(x < 1.0, reals(std::numeric_limits<double>::quiet_NaN()), result);
}

// The acosh of musl, with which Python in the browser is built, gives numbers for x < -2.
inline double acosh(double x) {
    return x < 1.0 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x);
}

// ln((1 + x) / (1 - x)) / 2 = ln(1 + 2x / (1 - x)) / 2
inline reals atanh(reals x) {
    const reals size = xsimd::abs(x);
    return 0.5 * log1p((size + size) / (1.0 - size)) | sign_bit_of(x);
}

// ---- angles -------------------------------------------------------------------------------------

// sine / cosine of the angle that `turn` leaves; a quarter turn further it is -cosine / sine.
inline reals tan(reals x) {
    const reals size = xsimd::abs(x);
    const Turn t = turn<double>(size);
    const reals half = t.n * 0.5;
    const mask<double> even = nearest(half) == half;
    const reals result =
        xsimd::select(even, t.sine, -t.cosine) / xsimd::select(even, t.cosine, t.sine);
    return except(
        size > LARGEST_ANGLE, [](double a) { return std::tan(a); }, result ^ sign_bit_of(x), x);
}

// The angle from the positive x axis to (x, y). Mirrored into the eighth of a turn next to the
// axis, its tangent is t = lower / higher; above tan(pi/8) it is counted from the diagonal, where
// tan(a - pi/4) = (t - 1) / (t + 1). So |t| <= tan(pi/8) in arctan t = t - t^3/3 + t^5/5 - ...
// For floats 1e-300 is as good as 0 and 1e300 as inf, and no quotient of these two is nan.
inline reals atan2(reals y, reals x) {
    const reals least(1e-300), most(1e300);
    const reals a = xsimd::select(xsimd::abs(y) > most, most, xsimd::abs(y));
    const reals b = xsimd::select(xsimd::abs(x) > most, most, xsimd::abs(x));
    const mask<double> steep = a > b;
    const reals lower = xsimd::select(steep, b, a), larger = xsimd::select(steep, a, b);
    const reals higher = xsimd::select(larger < least, least, larger);
    const mask<double> diagonal = lower > higher * 0.41421356237309504880;
    const reals t = xsimd::select(diagonal, lower - higher, lower) /
                    xsimd::select(diagonal, lower + higher, higher);
    const reals z = t * t;
    const reals S =
        polynomial<double>(z, -1 / 3., 1 / 5., -1 / 7., 1 / 9., -1 / 11., 1 / 13., -1 / 15.,
                           1 / 17., -1 / 19., 1 / 21., -1 / 23., 1 / 25., -1 / 27., 1 / 29.);
    reals angle = xsimd::select(diagonal, reals(PI / 4), reals(0.0)) + (t + t * z * S);
    angle = xsimd::select(steep, PI / 2 - angle, angle);
    const mask<double> left = (sign_bit_of(x) | reals(1.0)) < 0.0;  // also true for -0
    return xsimd::select(left, PI - angle, angle) | sign_bit_of(y);
}

inline reals atan(reals x) { return atan2(x, reals(1.0)); }

// The third side of the triangle; where |x| > 1 it is nan, and so is the angle.
inline reals asin(reals x) { return atan2(x, xsimd::sqrt((1.0 - x) * (1.0 + x))); }

inline reals acos(reals x) { return atan2(xsimd::sqrt((1.0 - x) * (1.0 + x)), x); }

// Squares of floats are far from the ends of double's range.
inline reals hypot(reals x, reals y) {
    const reals inf(INF);
    const mask<double> infinite = (xsimd::abs(x) == inf) | (xsimd::abs(y) == inf);
    return xsimd::select(infinite, inf, xsimd::sqrt(x * x + y * y));
}

// ---- erf ----------------------------------------------------------------------------------------

// erf(x) / x is a smooth function of z = x^2. The polynomial in z/8 - 1 interpolates it at the 24
// Chebyshev nodes of 0 <= z <= 16 and was computed with 60 digits; its error is 2^-44 (L. N.
// Trefethen, Approximation Theory and Approximation Practice, 2013). For a float, erf(4) is 1.
inline reals erf(reals x) {
    const reals four(4.0), size = xsimd::abs(x);
    const reals part = xsimd::select(size > four, four, size);
    const reals u = part * part * 0.125 - 1.0;
    const reals ratio = polynomial<double>(
        u, 0.3535309956433878, -0.17657623330136532, 0.13167511689964084, -0.10771044253014906,
        0.090208993876983986, -0.074727865671629427, 0.059886909359934992, -0.045765111773491907,
        0.033060590621848105, -0.022473555537373088, 0.014349836806032582, -0.0086062936790457699,
        0.0048527008914917592, -0.0025779628754213778, 0.0012946046887796594,
        -0.00061356105369660545, 0.00027244442325580384, -0.00011675995435633769,
        5.0995742764843516e-5, -1.9474614222107486e-5, 4.8675877848319055e-6,
        -1.8477082233652098e-6, 1.5250786751581261e-6, -4.7677593373708657e-7);
    return part * ratio | sign_bit_of(x);
}

// ---- division with remainder --------------------------------------------------------------------

// x - y trunc(x / y), exactly. Where x and y are floats (24 bits) and the quotient is below 2^28,
// its product with y fits into a double, and x / y is never rounded up to an integer: if it lies
// below one, then by more than 2^-53 of it. Elsewhere, and for infinities and nan: the C library.
inline reals fmod(reals x, reals y) {
    const reals ratio = x / y, result = (x - xsimd::trunc(ratio) * y) | sign_bit_of(x);
    const mask<double> near = (xsimd::abs(ratio) < 0x1p28) & (xsimd::abs(y) < INF);
    return except(!near, [](double a, double b) { return std::fmod(a, b); }, result, x, y);
}

inline reals fmod_by_lane(reals x, reals y) {
    return by_lane([](double a, double b) { return std::fmod(a, b); }, x, y);
}

// Whether a remainder and y have different signs: then Python's quotient, rounded down, is one less
// than C's, which is rounded towards 0.
inline mask<double> steps_down(reals rest, reals y) {
    const reals zero(0.0);
    return (rest != zero) & ((rest < zero) ^ (y < zero));
}

// Python's x % y, from r = fmod(x, y): it has the sign of y.
inline reals remainder(reals r, reals y) {
    const reals zero(0.0), rest = xsimd::select(steps_down(r, y), r + y, r);
    return xsimd::select(r == zero, sign_bit_of(y), rest);
}

// Python's x // y, from r = fmod(x, y). (x - r) / y is an integer except for its rounding error,
// which the step from floor to the nearest integer removes.
inline reals floor_divide(reals x, reals y, reals r) {
    const reals zero(0.0), one(1.0), ratio = x / y, near = (x - r) / y;
    const reals quotient = near - xsimd::select(steps_down(r, y), one, zero);
    const reals below = xsimd::floor(quotient);
    const reals whole = below + xsimd::select(quotient - below > 0.5, one, zero);
    return xsimd::select(y == zero, ratio,
                         xsimd::select(quotient == zero, sign_bit_of(ratio), whole));
}

}  // namespace math
}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
