// Smooth relus: softplus(x) = ln(1 + e^x), silu(x) = x s and mish(x) = x t, with s the sigmoid of x
// and t the tanh of its softplus. With e = e^-|x| nothing overflows:
//
//   softplus = max(x, 0) + ln(1 + e)
//   s = 1 / (1 + e) for x >= 0, else e / (1 + e)
//   t = a / b, a = 1 + 2 e, b = a + 2 e^2 for x >= 0, else a = e (e + 2), b = a + 2
//
// Slopes cross 0 where two terms cancel, so there e has all digits of a double.
#pragma once

#include "math/gelu.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {
namespace math {

// From here on down x s, x t and the slopes are 0 even as doubles; beyond its negative slopes
// are 1.
constexpr double FALL = 800;

// In float, which is rounded three times on top of e's own error. Where x < 0, x (1 + p) / (1 + e)
// is multiplied by 2^k last: the results fade through the subnormals, where e has few digits left.
// From -120 on they are 0.
inline vec<float> silu(vec<float> x) {
    using V = vec<float>;
    const V t = xsimd::min(xsimd::abs(x), V(120));  // nan stays
    const V k = nearest(t * V(-1.44269504088896340736F));
    V r = xsimd::fma(k, V(-Format<float>::ln2_high), -t);
    r = xsimd::fma(k, V(-Format<float>::ln2_low), r);
    const V q = polynomial<float>(r, 1 / 2., 1 / 6., 1 / 24., 1 / 120., 1 / 720., 1 / 5040.);
    const V near = V(1) + xsimd::fma(r * r, q, r);  // e = 2^k near
    const mask<float> falls = x < V(0);
    const V share = xsimd::select(falls, -t * near, x) / (V(1) + scale(near, k));
    return scale(share, xsimd::select(falls, k, V(0)));
}

// ---- in double, for results that are rounded to float -------------------------------------------

// ln(1 + e) = 2 artanh u = u (2 + 2/3 u^2 + 2/5 u^4 + ...) with u = e / (2 + e) <= 1/3. The
// coefficients have the smallest relative error there, 2^-33 (Lawson's iteration, as in gelu.hpp).
inline vec<double> softplus(vec<double> x) {
    using V = vec<double>;
    const V e = exp_for_float(xsimd::max(-xsimd::abs(x), V(-FALL)));
    const V u = e / (V(2) + e), z = u * u;
    const V series =
        polynomial<double>(z, 1.9999999998028142, 0.6666667930731565, 0.3999869091164758,
                           0.28620721890735323, 0.21393252866420603, 0.24413060144312546);
    return xsimd::max(x, V(0)) + u * series;
}

inline vec<double> softplus_grad(vec<double> g, vec<double> x) {
    using V = vec<double>;
    const V e = exp_for_float(xsimd::max(-xsimd::abs(x), V(-FALL)));
    return g * (xsimd::select(x < V(0), e, V(1)) / (V(1) + e));
}

// x between -FALL and FALL; nan stays.
inline vec<double> bounded(vec<double> x) {
    using V = vec<double>;
    x = xsimd::select(x < V(-FALL), V(-FALL), x);
    return xsimd::select(x > V(FALL), V(FALL), x);
}

// s (1 + x (1 - s)), where 1 - s is the sigmoid of -x. e comes first, so that it fades to -0.
inline vec<double> silu_grad(vec<double> g, vec<double> x) {
    using V = vec<double>;
    x = bounded(x);
    const V e = exp(-xsimd::abs(x)), by = V(1) / (V(1) + e);
    const mask<double> falls = x < V(0);
    const V s = xsimd::select(falls, e, V(1)) * by, rest = xsimd::select(falls, V(1), e) * by;
    return g * (s * (V(1) + x * rest));
}

// t = a / b
struct Share {
    vec<double> a, b;
};
inline Share share(vec<double> x, vec<double> e) {
    using V = vec<double>;
    const mask<double> falls = x < V(0);
    const V twice = e + e, a = xsimd::select(falls, e * (e + V(2)), V(1) + twice);
    return {a, a + xsimd::select(falls, V(2), e * twice)};
}

inline vec<double> mish(vec<double> x) {
    using V = vec<double>;
    const Share t = share(x, exp_for_float(-xsimd::abs(bounded(x))));
    return xsimd::select(x < V(-FALL), V(-FALL), x) * (t.a / t.b);
}

// t + x s (1 - t^2) with 1 - t^2 = (b - a) (b + a) / b^2, where b - a is 2 e^2, or 2. Again e comes
// first.
inline vec<double> mish_grad(vec<double> g, vec<double> x) {
    using V = vec<double>;
    x = bounded(x);
    const V e = exp(-xsimd::abs(x));
    const Share t = share(x, e);
    const mask<double> falls = x < V(0);
    const V apart = xsimd::select(falls, V(2), V(2) * e * e) * (t.a + t.b);
    const V level = xsimd::select(falls, e + V(2), t.a) * (V(1) + e) * t.b;
    const V slope = (level + x * apart) / ((V(1) + e) * (t.b * t.b));
    return g * (xsimd::select(falls, e, V(1)) * slope);
}

}  // namespace math
}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
