// The rarer functions: powers and logarithms of other bases, angles, hyperbolic functions, erf.
#include "math/functions.hpp"

#include "functions.rows.hpp"
#include "kernels/elementwise.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// `vector`, whose results are then rounded; float64 calls the C library's function, lane by lane.
template <double f(double)>
struct ByLane : InDouble {
    vec<double> operator()(vec<double> x) const { return math::by_lane(f, x); }
};
template <vec<double> vector(vec<double>), double scalar(double)>
struct Function : InDouble {
    vec<double> operator()(vec<double> x) const { return vector(x); }
    using ForFloat64 = ByLane<scalar>;
};

using Exp2 = Function<math::exp2, std::exp2>;
using Expm1 = Function<math::expm1, std::expm1>;
using Log2 = Function<math::log2, std::log2>;
using Log10 = Function<math::log10, std::log10>;
using Log1p = Function<math::log1p, std::log1p>;
using Tan = Function<math::tan, std::tan>;
using Asin = Function<math::asin, std::asin>;
using Acos = Function<math::acos, std::acos>;
using Atan = Function<math::atan, std::atan>;
using Sinh = Function<math::sinh, std::sinh>;
using Cosh = Function<math::cosh, std::cosh>;
using Asinh = Function<math::asinh, std::asinh>;
using Acosh = Function<math::acosh, math::acosh>;
using Atanh = Function<math::atanh, std::atanh>;
using Erf = Function<math::erf, std::erf>;

// The same for two operands.
template <double f(double, double)>
struct ByLane2 : InDouble {
    vec<double> operator()(vec<double> x, vec<double> y) const { return math::by_lane(f, x, y); }
};
template <vec<double> vector(vec<double>, vec<double>), double scalar(double, double)>
struct Function2 : InDouble {
    vec<double> operator()(vec<double> x, vec<double> y) const { return vector(x, y); }
    using ForFloat64 = ByLane2<scalar>;
};

using Hypot = Function2<math::hypot, std::hypot>;
using Atan2 = Function2<math::atan2, std::atan2>;
using LogAddExp = Function2<math::logaddexp, math::logaddexp>;

}  // namespace

// clang-format off
TABLE(functions,
      KERNEL(exp2, run<Exp2, T>),
      KERNEL(expm1, run<Expm1, T>),
      KERNEL(log2, run<Log2, T>),
      KERNEL(log10, run<Log10, T>),
      KERNEL(log1p, run<Log1p, T>),
      KERNEL(tan, run<Tan, T>),
      KERNEL(asin, run<Asin, T>),
      KERNEL(acos, run<Acos, T>),
      KERNEL(atan, run<Atan, T>),
      KERNEL(sinh, run<Sinh, T>),
      KERNEL(cosh, run<Cosh, T>),
      KERNEL(asinh, run<Asinh, T>),
      KERNEL(acosh, run<Acosh, T>),
      KERNEL(atanh, run<Atanh, T>),
      KERNEL(erf, run<Erf, T>),
      KERNEL(hypot, run<Hypot, T>),
      KERNEL(atan2, run<Atan2, T>),
      KERNEL(logaddexp, run<LogAddExp, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
