// softplus, silu and mish, and their gradients, from that of the result and x.
#include "math/smooth.hpp"

#include "kernels/elementwise.hpp"
#include "smooth.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// float64 calls the C library, lane by lane.
inline double bounded(double x) {
    if (x < -math::FALL) return -math::FALL;
    return x > math::FALL ? math::FALL : x;
}
inline double gate(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline double softplus(double x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x))); }
inline double softplus_grad(double g, double x) { return g * gate(x); }
inline double silu(double x) { return (x > 0 ? x : bounded(x)) * gate(x); }
inline double silu_grad(double g, double any) {
    const double x = bounded(any), s = gate(x);
    return g * -(-x * (s * (1 - s)) - s);
}
inline double mish(double x) { return (x > 0 ? x : bounded(x)) * std::tanh(softplus(x)); }
inline double mish_grad(double g, double any) {
    const double x = bounded(any), t = std::tanh(softplus(x));
    return g * -(-x * (gate(x) * (1 - t * t)) - t);
}

template <double f(double)>
struct ByLane : InDouble {
    vec<double> operator()(vec<double> x) const { return math::by_lane(f, x); }
};
template <double f(double, double)>
struct ByLane2 : InDouble {
    vec<double> operator()(vec<double> g, vec<double> x) const { return math::by_lane(f, g, x); }
};
template <vec<double> vector(vec<double>, vec<double>), double scalar(double, double)>
struct Slope : InDouble {
    vec<double> operator()(vec<double> g, vec<double> x) const { return vector(g, x); }
    using ForFloat64 = ByLane2<scalar>;
};

struct Softplus : InDouble {
    vec<double> operator()(vec<double> x) const { return math::softplus(x); }
    using ForFloat64 = ByLane<softplus>;
};
struct Silu : Elementary {
    vec<float> operator()(vec<float> x) const { return math::silu(x); }
    using ForFloat64 = ByLane<silu>;
};
struct Mish : InDouble {
    vec<double> operator()(vec<double> x) const { return math::mish(x); }
    using ForFloat64 = ByLane<mish>;
};
using SoftplusGrad = Slope<math::softplus_grad, softplus_grad>;
using SiluGrad = Slope<math::silu_grad, silu_grad>;
using MishGrad = Slope<math::mish_grad, mish_grad>;

}  // namespace

// clang-format off
TABLE(smooth,
      KERNEL(softplus, run<Softplus, T>),
      KERNEL(softplus_grad, run<SoftplusGrad, T>),
      KERNEL(silu, run<Silu, T>),
      KERNEL(silu_grad, run<SiluGrad, T>),
      KERNEL(mish, run<Mish, T>),
      KERNEL(mish_grad, run<MishGrad, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
