// gelu, by erf and by tanh, and their gradients, from that of the result and x.
#include "math/gelu.hpp"

#include "gelu.rows.hpp"
#include "kernels/elementwise.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// float64 calls the C library, lane by lane. Beyond ENDS all are straight: e^(-40^2/2) is 0.
inline double near(double x) {
    if (x < -math::ENDS) return -math::ENDS;
    return x > math::ENDS ? math::ENDS : x;
}
inline double below(double x) { return 0.5 * std::erfc(-x * 0.7071067811865475244); }
inline double sigmoid(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline double bent(double x) { return sigmoid(x * (math::LINE + math::CURVE * (x * x))); }

inline double gelu(double x) { return (x > 0 ? x : near(x)) * below(x); }
inline double gelu_tanh(double x) { return (x > 0 ? x : near(x)) * bent(near(x)); }
inline double gelu_grad(double g, double any) {
    const double x = near(any);
    return g * -(-x * std::exp(-x * x / 2) * 0.39894228040143267794 - below(x));
}
inline double gelu_tanh_grad(double g, double any) {
    const double x = near(any), s = bent(x);
    return g * -(-x * (math::LINE + 3 * math::CURVE * (x * x)) * (s * (1 - s)) - s);
}

template <double f(double)>
struct ByLane : InDouble {
    vec<double> operator()(vec<double> x) const { return math::by_lane(f, x); }
};
template <double f(double, double)>
struct ByLane2 : InDouble {
    vec<double> operator()(vec<double> g, vec<double> x) const { return math::by_lane(f, g, x); }
};

struct Gelu : Elementary {
    vec<float> operator()(vec<float> x) const { return math::gelu(x); }
    using ForFloat64 = ByLane<gelu>;
};
struct GeluTanh : InDouble {
    vec<double> operator()(vec<double> x) const { return math::gelu_tanh(x); }
    using ForFloat64 = ByLane<gelu_tanh>;
};
struct GeluGrad : InDouble {
    vec<double> operator()(vec<double> g, vec<double> x) const { return math::gelu_grad(g, x); }
    using ForFloat64 = ByLane2<gelu_grad>;
};
struct GeluTanhGrad : InDouble {
    vec<double> operator()(vec<double> g, vec<double> x) const {
        return math::gelu_tanh_grad(g, x);
    }
    using ForFloat64 = ByLane2<gelu_tanh_grad>;
};

}  // namespace

// clang-format off
TABLE(gelu,
      KERNEL(gelu, run<Gelu, T>),
      KERNEL(gelu_grad, run<GeluGrad, T>),
      KERNEL(gelu_tanh, run<GeluTanh, T>),
      KERNEL(gelu_tanh_grad, run<GeluTanhGrad, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
