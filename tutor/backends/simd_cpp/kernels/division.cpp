// Division with remainder, and powers: kernels that refuse some integers.
#include "division.rows.hpp"
#include "kernels/elementwise.hpp"
#include "math/functions.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// C's x / y and x % y for integers. Where a processor refuses, they wrap, or are 0 if y is 0: the
// kernel has excluded 0, but another thread that writes into y must not end the process.
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

// As math::steps_down, for integers.
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

// ---- powers -------------------------------------------------------------------------------------

// Most powers are x**2, and x**1 in its gradient. A product takes a sixteenth of the time, and its
// error is its rounding at most. Each lane chooses by its own exponent, so that no result depends
// on its neighbours; `power` is called only if some lane has another exponent.
template <class F>
vec<double> square_or(vec<double> x, vec<double> y, F power) {
    const auto square = y == vec<double>(2.0);
    const auto known = square | (y == vec<double>(1.0));
    const vec<double> z = xsimd::select(square, x * x, x);
    return xsimd::all(known) ? z : xsimd::select(known, z, power(x, y));
}

struct PowByLane : InDouble {
    vec<double> operator()(vec<double> x, vec<double> y) const {
        return square_or(x, y, [](vec<double> a, vec<double> b) {
            return math::by_lane([](double c, double d) { return std::pow(c, d); }, a, b);
        });
    }
};

// Integers: by repeated squaring.
struct Pow : InDouble {
    static constexpr Status::Kind refuses = Status::NegativeExponent;
    using ForFloat64 = PowByLane;
    template <class V>
    V operator()(V x, V y) const {
        V z = 1;
        for (; y != 0; y >>= 1, x *= x)
            if (y & 1) z *= x;
        return z;
    }
    vec<double> operator()(vec<double> x, vec<double> y) const {
        return square_or(x, y, [](vec<double> a, vec<double> b) { return math::pow(a, b); });
    }
};

}  // namespace

// clang-format off
TABLE(division,
      KERNEL(floor_divide, run<FloorDivide, T>),
      KERNEL(remainder, run<Remainder, T>),
      KERNEL(fmod, run<Fmod, T>),
      KERNEL(pow, run<Pow, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
