// exp, log, and the activations made of them: tanh, sigmoid and their gradients; sin, cos.
#include "exponential.rows.hpp"
#include "kernels/elementwise.hpp"
#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

FORMULA(Exp, Elementary, math::exp(x))
FORMULA(Log, Elementary, math::log(x))
FORMULA(Tanh, Elementary, math::tanh(x))
FORMULA(Sigmoid, Elementary, math::sigmoid(x))

template <class Result>
struct SinFor : InDouble {
    vec<double> operator()(vec<double> x) const { return math::sin<Result>(x); }
    using ForFloat64 = SinFor<double>;
};
template <class Result>
struct CosFor : InDouble {
    vec<double> operator()(vec<double> x) const { return math::cos<Result>(x); }
    using ForFloat64 = CosFor<double>;
};
using Sin = SinFor<float>;
using Cos = CosFor<float>;

// Gradients, from x, the gradient of the result, and y, the result itself. 1 - y * y would cancel
// near 1. y need not come from tanh or sigmoid; the square of a large float overflows in float.
FORMULA2(TanhGrad, InDouble, x*((V(1) - y) * (V(1) + y)))
FORMULA2(SigmoidGrad, InDouble, x*(y*(V(1) - y)))

}  // namespace

// clang-format off
TABLE(exponential,
      KERNEL(exp, run<Exp, T>),
      KERNEL(log, run<Log, T>),
      KERNEL(tanh, run<Tanh, T>),
      KERNEL(sigmoid, run<Sigmoid, T>),
      KERNEL(sin, run<Sin, T>),
      KERNEL(cos, run<Cos, T>),
      KERNEL(tanh_grad, run<TanhGrad, T>),
      KERNEL(sigmoid_grad, run<SigmoidGrad, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
