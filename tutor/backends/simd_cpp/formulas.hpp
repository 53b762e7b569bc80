// Every elementwise kernel's formula, once. `V` is a register of floats or one integer, so that the
// same line serves all dtypes; where the two differ (signed zeros, nan) there are two lines.
#pragma once

#include <type_traits>

#include "functions.hpp"
#include "half.hpp"
#include "math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- kinds of formula: how the loops must treat it ----------------------------------------------

struct Arithmetic {
    static constexpr bool wraps = false;     // integers: compute with unsigned ones, which may wrap
    static constexpr bool compares = false;  // gives a bool
    static constexpr bool doubles = false;   // floats: compute in double, round to float once
    static constexpr int64_t grain = 65536;  // elements worth a thread: about 10 us
    // What an integer kernel reports, writing nothing, of some y: of 0, or of a negative one.
    static constexpr Status::Kind refuses = Status::Ok;
    using ForFloat64 = void;  // the formula for float64, if it is another one
};
struct Wrapping : Arithmetic {
    static constexpr bool wraps = true;
};
struct Comparison : Arithmetic {
    static constexpr bool compares = true;
};
struct Elementary : Arithmetic {
    static constexpr int64_t grain = 16384;
};
struct InDouble : Wrapping {
    static constexpr bool doubles = true;
    static constexpr int64_t grain = 8192;
};
struct Division : Arithmetic {
    static constexpr bool doubles = true;
    static constexpr int64_t grain = 8192;
    static constexpr Status::Kind refuses = Status::DivisionByZero;
};

// A formula that one expression of x, or of x and y, says for every V.
#define FORMULA(Name, Kind, expression) \
    struct Name : Kind {                \
        template <class V>              \
        V operator()(V x) const {       \
            return expression;          \
        }                               \
    };
#define FORMULA2(Name, Kind, expression) \
    struct Name : Kind {                 \
        template <class V>               \
        V operator()(V x, V y) const {   \
            return expression;           \
        }                                \
    };

// ---- one operand --------------------------------------------------------------------------------

// The comparison is false for nan, which therefore stays.
FORMULA(Relu, Arithmetic, xsimd::select(x <= V(0), V(0), x))

FORMULA(Sqrt, Arithmetic, xsimd::sqrt(x))
FORMULA(Exp, Elementary, math::exp(x))
FORMULA(Log, Elementary, math::log(x))
FORMULA(Tanh, Elementary, math::tanh(x))
FORMULA(Sigmoid, Elementary, math::sigmoid(x))

// The result has the sign of x, also where it is 0; not every level of xsimd sees to that.
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

// -x for an integer; the lowest one wraps to itself.
template <class V>
inline V negated(V x) {
    using U = std::make_unsigned_t<V>;
    return static_cast<V>(U(0) - U(x));
}

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

// `vector`, whose results are then rounded; for float64 the C library's function, lane by lane.
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
using Acosh = Function<math::acosh, std::acosh>;
using Atanh = Function<math::atanh, std::atanh>;
using Erf = Function<math::erf, std::erf>;

// ---- two operands -------------------------------------------------------------------------------

// The same with two.
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

// Integers: by squaring.
struct Pow : InDouble {
    static constexpr Status::Kind refuses = Status::NegativeExponent;
    using ForFloat64 = ByLane2<std::pow>;
    template <class V>
    V operator()(V x, V y) const {
        V z = 1;
        for (; y != 0; y >>= 1, x *= x)
            if (y & 1) z *= x;
        return z;
    }
    vec<double> operator()(vec<double> x, vec<double> y) const { return math::pow(x, y); }
};

struct CopySign : Arithmetic {
    template <class T>
    vec<T> operator()(vec<T> x, vec<T> y) const {
        return xsimd::abs(x) | math::sign_bit_of(y);
    }
};

// Gradients, given that of the result, x, and the result itself, y. 1 - y * y would cancel near 1.
// Nobody says that y came from tanh or sigmoid; the square of a large float overflows in float.
FORMULA2(ReluGrad, Arithmetic, xsimd::select(y > V(0), x, V(0)))
FORMULA2(TanhGrad, InDouble, x*((V(1) - y) * (V(1) + y)))
FORMULA2(SigmoidGrad, InDouble, x*(y*(V(1) - y)))

// ---- division with remainder --------------------------------------------------------------------

// C's x / y and x % y for integers. What a processor refuses wraps or, by 0, is 0: the kernel has
// made sure that there is no 0, but whoever writes into y meanwhile must not end the process.
template <class V>
struct Divided {
    V quotient, rest;
};
template <class V>
inline Divided<V> divided(V x, V y) {
    if (y == V(0)) return {V(0), V(0)};
    if (std::is_signed_v<V> && y == V(-1)) return {negated(x), V(0)};
    return {static_cast<V>(x / y), static_cast<V>(x % y)};
}

// The same for integers as math::steps_down.
template <class V>
inline bool steps_down(V rest, V y) {
    return rest != V(0) && (rest < V(0)) != (y < V(0));
}

// Floats: `fmod` is exact, but the fast one only for floats inside doubles.
template <vec<double> fmod(vec<double>, vec<double>)>
struct FloorDivideBy : Division {
    template <class V>
    V operator()(V x, V y) const {
        const Divided<V> by = divided(x, y);
        return static_cast<V>(by.quotient - steps_down(by.rest, y));
    }
    vec<double> operator()(vec<double> x, vec<double> y) const {
        return math::floor_divide(x, y, fmod(x, y));
    }
    using ForFloat64 = FloorDivideBy<math::fmod_by_lane>;
};
using FloorDivide = FloorDivideBy<math::fmod>;

template <vec<double> fmod(vec<double>, vec<double>)>
struct RemainderBy : Division {
    template <class V>
    V operator()(V x, V y) const {
        const V rest = divided(x, y).rest;
        return static_cast<V>(steps_down(rest, y) ? rest + y : rest);
    }
    vec<double> operator()(vec<double> x, vec<double> y) const {
        return math::remainder(fmod(x, y), y);
    }
    using ForFloat64 = RemainderBy<math::fmod_by_lane>;
};
using Remainder = RemainderBy<math::fmod>;

template <vec<double> fmod(vec<double>, vec<double>)>
struct FmodBy : Division {
    template <class V>
    V operator()(V x, V y) const {
        return divided(x, y).rest;
    }
    vec<double> operator()(vec<double> x, vec<double> y) const { return fmod(x, y); }
    using ForFloat64 = FmodBy<math::fmod_by_lane>;
};
using Fmod = FmodBy<math::fmod>;

// ---- bits ---------------------------------------------------------------------------------------

FORMULA2(BitwiseAnd, Wrapping, x& y)
FORMULA2(BitwiseOr, Wrapping, x | y)
FORMULA2(BitwiseXor, Wrapping, x ^ y)

struct BitwiseNot : Wrapping {
    template <class V>
    V operator()(V x) const {
        return ~x;
    }
    bool operator()(bool x) const { return !x; }
};

// C++ leaves open what a shift by all the bits gives: 0, or what the sign fills in from the left.
struct LeftShift : Wrapping {
    static constexpr Status::Kind refuses = Status::NegativeShift;
    template <class V>
    V operator()(V x, V y) const {
        return y < V(8 * sizeof(V)) ? x << y : V(0);
    }
};

struct RightShift : Arithmetic {
    static constexpr Status::Kind refuses = Status::NegativeShift;
    template <class V>
    V operator()(V x, V y) const {
        const V rest = x < V(0) ? V(-1) : V(0);
        return static_cast<V>(y < V(8 * sizeof(V)) ? x >> y : rest);
    }
};

// ---- the larger and the smaller, comparisons ----------------------------------------------------

// Equal numbers differ at most in the sign of a zero: `&` keeps a minus that both have, `|` one
// that either has. What is neither larger, smaller nor equal is nan, and so is its sum.
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

#define COMPARISON(Name, operation)       \
    struct Name : Comparison {            \
        template <class V>                \
        bool operator()(V x, V y) const { \
            return x operation y;         \
        }                                 \
    };
COMPARISON(Eq, ==)
COMPARISON(Ne, !=)
COMPARISON(Lt, <)
COMPARISON(Le, <=)
COMPARISON(Gt, >)
COMPARISON(Ge, >=)
#undef COMPARISON
#undef FORMULA
#undef FORMULA2

// ---- cast ---------------------------------------------------------------------------------------

// An integer as a double, for one that is then rounded to 16 bits. A double has 53, so larger
// numbers lose their lowest 11. That these were not all 0 shows in the twelfth, set then: rounding
// twice is safe if the first time is to odd (S. Boldo and G. Melquiond, Emulation of FMA and
// correctly rounded sums, 2008).
template <class From>
inline double widened(From x) {
    if constexpr (sizeof(From) < 8) {
        return static_cast<double>(x);
    } else {
        const From lost = x & 0x7ff, kept = (x - lost) | (lost != 0 ? 0x800 : 0);
        return static_cast<double>(Abs{}(x) >> 53 == 0 ? x : kept);
    }
}

// x as a To. The limits are powers of two, which every float type has; a nan fails both comparisons
// and then the third.
template <class To, class From>
inline To cast(From x) {
    if constexpr (is_16_bit_float<From>) {
        return cast<To>(to_float(x));
    } else if constexpr (is_16_bit_float<To>) {
        if constexpr (std::is_floating_point_v<From>)
            return narrowed<To>(x);
        else
            return narrowed<To>(widened(x));
    } else if constexpr (std::is_same_v<To, bool>) {
        return x != 0;
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        using Limits = std::numeric_limits<To>;
        constexpr From end = From(To(1) << (Limits::digits - 1)) * 2, start = From(Limits::min());
        return x >= end     ? Limits::max()
               : x <= start ? Limits::min()
               : x == x     ? static_cast<To>(x)
                            : To(0);
    } else {
        return static_cast<To>(x);
    }
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
