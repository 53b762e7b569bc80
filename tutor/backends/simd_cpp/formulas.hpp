// Every elementwise kernel's formula, once. `V` is a register of floats or one integer, so that the
// same line serves all dtypes; where the two differ (signed zeros, nan) there are two lines.
#pragma once

#include <type_traits>

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

// ---- one operand --------------------------------------------------------------------------------

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
        if constexpr (std::is_unsigned_v<V>)
            return x;
        else
            return x < 0 ? V(std::make_unsigned_t<V>(0) - std::make_unsigned_t<V>(x)) : x;
    }
    template <class T>
    vec<T> operator()(vec<T> x) const {
        return xsimd::abs(x);
    }
};

struct Relu : Arithmetic {
    template <class V>
    V operator()(V x) const {
        return xsimd::select(x <= V(0), V(0), x);  // false for nan, which therefore stays
    }
};

struct Sqrt : Arithmetic {
    template <class V>
    V operator()(V x) const {
        return xsimd::sqrt(x);
    }
};

struct Exp : Elementary {
    template <class V>
    V operator()(V x) const {
        return math::exp(x);
    }
};

struct Log : Elementary {
    template <class V>
    V operator()(V x) const {
        return math::log(x);
    }
};

struct Tanh : Elementary {
    template <class V>
    V operator()(V x) const {
        return math::tanh(x);
    }
};

struct Sigmoid : Elementary {
    template <class V>
    V operator()(V x) const {
        return math::sigmoid(x);
    }
};

struct Sin : InDouble {
    template <class V>
    V operator()(V x) const {
        return math::sin(x);
    }
};

struct Cos : InDouble {
    template <class V>
    V operator()(V x) const {
        return math::cos(x);
    }
};

// ---- two operands -------------------------------------------------------------------------------

struct Add : Wrapping {
    template <class V>
    V operator()(V x, V y) const {
        return x + y;  // for bools: not 0 if either is not
    }
};

struct Sub : Wrapping {
    template <class V>
    V operator()(V x, V y) const {
        return x - y;
    }
};

struct Mul : Wrapping {
    template <class V>
    V operator()(V x, V y) const {
        return x * y;
    }
    bool operator()(bool x, bool y) const { return x && y; }
};

struct Div : Arithmetic {
    template <class V>
    V operator()(V x, V y) const {
        return x / y;
    }
};

// Integers: by squaring, y not negative. float16 and float32: see math::pow.
struct Pow : InDouble {
    template <class V>
    V operator()(V x, V y) const {
        V z = 1;
        for (; y != 0; y >>= 1, x *= x)
            if (y & 1) z *= x;
        return z;
    }
    vec<double> operator()(vec<double> x, vec<double> y) const { return math::pow(x, y); }
};

// float64: the C library, lane by lane.
struct PowDouble : InDouble {
    vec<double> operator()(vec<double> x, vec<double> y) const {
        return math::by_lane([](double a, double b) { return std::pow(a, b); }, x, y);
    }
};

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

// ---- cast ---------------------------------------------------------------------------------------

// x as a To. The limits are powers of two, which every float type has; a nan fails both comparisons
// and then the third.
template <class To, class From>
inline To cast(From x) {
    if constexpr (std::is_same_v<From, half_t>) {
        return cast<To>(to_float(x));
    } else if constexpr (std::is_same_v<To, half_t>) {
        if constexpr (std::is_floating_point_v<From>) {
            return to_half(x);
        } else if constexpr (sizeof(From) < 4) {
            return to_half(static_cast<float>(x));
        } else {
            // Beyond +-65520 all is infinite, and up to there a float holds every integer: so the
            // one rounding is the last.
            const From end = 65520, upto = x < end ? x : end;
            if constexpr (std::is_signed_v<From>)
                return to_half(static_cast<float>(upto > -end ? upto : -end));
            else
                return to_half(static_cast<float>(upto));
        }
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
