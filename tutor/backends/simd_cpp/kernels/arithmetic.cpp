// Functions of a few operations: signs, rounding, + - * /, the larger and the smaller.
#include "arithmetic.rows.hpp"
#include "kernels/elementwise.hpp"
#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- one operand --------------------------------------------------------------------------------

// nan fails the comparison, and therefore stays.
FORMULA(Relu, Arithmetic, xsimd::select(x <= V(0), V(0), x))

FORMULA(Sqrt, Arithmetic, xsimd::sqrt(x))

// The result has the sign of x even where it is 0, which not every level of xsimd ensures.
FORMULA(Floor, Arithmetic, xsimd::floor(x) | math::sign_bit_of(x))
FORMULA(Ceil, Arithmetic, xsimd::ceil(x) | math::sign_bit_of(x))
FORMULA(Round, Arithmetic, xsimd::nearbyint(x) | math::sign_bit_of(x))
FORMULA(Trunc, Arithmetic, xsimd::trunc(x) | math::sign_bit_of(x))

struct Neg : Wrapping {
    template <class V>
    V operator()(V x) const {
        return V(0) - x;
    }
    template <class T>
    vec<T> operator()(vec<T> x) const {
        return x ^ vec<T>(T(-0.0));  // 0 - x would lose the sign of a zero
    }
};

struct Abs : Arithmetic {
    template <class V>
    V operator()(V x) const {
        return x < V(0) ? negated(x) : x;
    }
    template <class T>
    vec<T> operator()(vec<T> x) const {
        return xsimd::abs(x);
    }
};

struct Sign : Arithmetic {
    template <class V>
    V operator()(V x) const {
        return static_cast<V>((x > V(0)) - (x < V(0)));
    }
    template <class T>
    vec<T> operator()(vec<T> x) const {
        const vec<T> zero(T(0)), one(T(1)), minus(T(-1));
        const vec<T> other = xsimd::select(x == zero, zero, x);  // nan
        return xsimd::select(x > zero, one, xsimd::select(x < zero, minus, other));
    }
};

// ---- two operands -------------------------------------------------------------------------------

FORMULA2(Add, Wrapping, x + y)  // for bools: not 0 if either is not
FORMULA2(Sub, Wrapping, x - y)
FORMULA2(Div, Arithmetic, x / y)

struct Mul : Wrapping {
    template <class V>
    V operator()(V x, V y) const {
        return x * y;
    }
    bool operator()(bool x, bool y) const { return x && y; }
};

struct CopySign : Arithmetic {
    template <class T>
    vec<T> operator()(vec<T> x, vec<T> y) const {
        return xsimd::abs(x) | math::sign_bit_of(y);
    }
};

FORMULA2(ReluGrad, Arithmetic, xsimd::select(y > V(0), x, V(0)))  // x: the gradient of the result y

// ---- the larger and the smaller -----------------------------------------------------------------

// Equal numbers differ at most in the sign of a zero: `&` keeps a minus that both have, `|` one
// that either has. Numbers neither larger, smaller nor equal include a nan; their sum is nan.
struct Maximum : Arithmetic {
    template <class V>
    V operator()(V x, V y) const {
        return x > y ? x : y;
    }
    template <class T>
    vec<T> operator()(vec<T> x, vec<T> y) const {
        const vec<T> other = xsimd::select(x == y, x & y, x + y);
        return xsimd::select(x > y, x, xsimd::select(x < y, y, other));
    }
};

struct Minimum : Arithmetic {
    template <class V>
    V operator()(V x, V y) const {
        return x < y ? x : y;
    }
    template <class T>
    vec<T> operator()(vec<T> x, vec<T> y) const {
        const vec<T> other = xsimd::select(x == y, x | y, x + y);
        return xsimd::select(x < y, x, xsimd::select(x > y, y, other));
    }
};

}  // namespace

// clang-format off
TABLE(arithmetic,
      KERNEL(neg, run<Neg, T>),
      KERNEL(abs, run<Abs, T>),
      KERNEL(relu, run<Relu, T>),
      KERNEL(sqrt, run<Sqrt, T>),
      KERNEL(sign, run<Sign, T>),
      KERNEL(floor, run<Floor, T>),
      KERNEL(ceil, run<Ceil, T>),
      KERNEL(round, run<Round, T>),
      KERNEL(trunc, run<Trunc, T>),
      KERNEL(add, run<Add, T>),
      KERNEL(sub, run<Sub, T>),
      KERNEL(mul, run<Mul, T>),
      KERNEL(div, run<Div, T>),
      KERNEL(copysign, run<CopySign, T>),
      KERNEL(relu_grad, run<ReluGrad, T>),
      KERNEL(maximum, run<Maximum, T>),
      KERNEL(minimum, run<Minimum, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
