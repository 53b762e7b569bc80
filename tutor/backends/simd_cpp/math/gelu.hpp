// gelu(x) = x P(X <= x) for a standard normal X, its form by tanh, and the slopes of both.
//
// With t = |x| and q(t) = P(X <= -t): gelu(x) = max(x, 0) - t q(t), where nothing cancels. And
// q(t) = e^(-t^2/2) R(t), where R, Mills' ratio up to a factor, falls smoothly from 1/2 to about
// 1 / (t sqrt(2 pi)). So R(t) (c + t) is nearly straight in y = c / (c + t), and a polynomial fits
// it. The slope at -t is e^(-t^2/2) D(t) with D(t) = R(t) - t / sqrt(2 pi), which crosses 0 at
// ROOT, so its polynomial fits D(t) / (ROOT - t). The slopes at x and -x add up to 1.
//
// Both polynomials have the smallest possible largest relative error (minimax, by
// Lawson's iteration; Trefethen, Approximation Theory and Approximation Practice, 2013):
// 2^-24.9 and 2^-26.9.
#pragma once

#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {
namespace math {

// e^(-t^2/2) = 2^k (1 + p). The rounding error of t * t matters, because it is in the exponent: up
// to 60 units in the last place. So t^2 = h^2 + (t - h) (t + h), where h has only the first 12 bits
// of t, which makes its square exact.
inline Power<float> bell(vec<float> t) {
    using V = vec<float>;
    const V h = from_bits<float>(bits_of(t) & vec<uint32_t>(0xfffff000u));
    const V square = h * h, lost = (t - h) * (t + h);
    const V k = nearest(t * t * V(-0.5F * 1.44269504088896340736F));
    V r = xsimd::fma(k, V(-Format<float>::ln2_high), square * V(-0.5F));
    r = xsimd::fma(k, V(-Format<float>::ln2_low), xsimd::fma(lost, V(-0.5F), r));
    const V q =
        polynomial<float>(r, 0.499999935, 0.166665207, 0.0416683874, 0.00836870996, 0.00138146132);
    return {k, xsimd::fma(r * r, q, r)};
}

// With s = t / (3.75 + t): t R(t) = s Q(1 - s). From t = 14.6 on, q(t) is 0.
inline vec<float> gelu(vec<float> x) {
    using V = vec<float>;
    const V t = xsimd::min(xsimd::abs(x), V(14.6F));  // nan stays
    const V s = t / (t + V(3.75F));
    const V Q =
        polynomial<float>(V(0.4F) - s, 0.883320803, 1.49745716, 1.81060643, 1.44277739, 0.53916789,
                          -0.205834156, -0.280693411, 0.0255860777, 0.113523002);
    const V ratio = s * Q, lost = xsimd::fma(s, Q, -ratio);
    const Power<float> e = bell(t);
    const V rest = scale(ratio + xsimd::fma(ratio, e.p, lost), e.k);
    return (xsimd::max(x, V(0)) - rest) | sign_bit_of(x);
}

// ---- in double, for results that are rounded to float
// ----------------------------------------------------------------------------------

// e^x for -800 <= x <= 0, to the precision of a float; 0 at the lower end.
inline vec<double> exp_for_float(vec<double> x) {
    using V = vec<double>;
    const V k = nearest(x * V(1.44269504088896340736));
    const V r = xsimd::fma(k, V(-0.69314718055994530942), x);
    return scale(polynomial<double>(r, 1, 1, 1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720., 1 / 5040.,
                                    1 / 40320.),
                 k);
}

// g times the slope, for floats. From t = 40 on the slopes are -0 and 1.
inline vec<double> gelu_grad(vec<double> g, vec<double> x) {
    using V = vec<double>;
    const V t = xsimd::min(xsimd::abs(x), V(40)), side = t * V(0.275);
    const V ratio =
        polynomial<double>((V(1) - side) / (V(1) + side),  // 2y - 1
                           0.467273619, 0.109071547, 0.0591193738, 0.0238538018, 0.00601498623,
                           0.000214726189, -0.000434181046, -7.46297136e-05, 3.87467677e-05);
    const V slope = (V(0.7517915246935643) - t) * ratio * exp_for_float(t * t * V(-0.5));
    return g * xsimd::select(x < V(0), slope, V(1) - slope);
}

// ---- by tanh: x times the sigmoid of u = LINE x + CURVE x^3, in double --------------------------

constexpr double LINE = 1.5957691216057307117;  // 2 sqrt(2/pi)
constexpr double CURVE = 0.071354816272600248;  // 0.044715 of that
constexpr double ENDS = 40;                     // beyond, the sigmoid is 0 or 1 even as a double

// e^-|u|
inline vec<double> fall(vec<double> x) {
    using V = vec<double>;
    const V u = xsimd::abs(x * (V(LINE) + V(CURVE) * (x * x)));
    return exp_for_float(xsimd::max(-u, V(-800)));
}

inline vec<double> gelu_tanh(vec<double> x) {
    using V = vec<double>;
    x = xsimd::select(x < V(-ENDS), V(-ENDS), x);
    const V e = fall(xsimd::select(x > V(ENDS), V(ENDS), x));
    return x * (xsimd::select(x < V(0), e, V(1)) / (V(1) + e));
}

inline vec<double> gelu_tanh_grad(vec<double> g, vec<double> x) {
    using V = vec<double>;
    x = xsimd::select(x < V(-ENDS), V(-ENDS), xsimd::select(x > V(ENDS), V(ENDS), x));
    const V e = fall(x), by = V(1) / (V(1) + e);
    const V turn = x * (V(LINE) + V(3 * CURVE) * (x * x)) * by;
    return g * (xsimd::select(x < V(0), e * (V(1) + turn), V(1) + turn * e) * by);
}

}  // namespace math
}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
