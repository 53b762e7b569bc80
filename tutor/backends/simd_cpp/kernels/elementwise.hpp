// An elementwise kernel from its formula. A file of formulas includes this and ends in its table:
//
//     FORMULA2(Sub, Wrapping, x - y)
//     TABLE(arithmetic, KERNEL(sub, run<Sub, T>))
//
// A formula says once what is computed: `V` is a register of floats or one integer, so the same
// line serves all dtypes; where the two differ (signed zeros, nan) there are two lines.
// walk/each.cpp decides which memory is walked in which order.
#pragma once

#include <cstring>
#include <type_traits>

#include "math/half.hpp"
#include "math/simd.hpp"
#include "math/stored.hpp"
#include "table.hpp"
#include "walk/each.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- dtypes -------------------------------------------------------------------------------------

template <class T>
constexpr DType dtype_of = DTYPES;
#define ROW(name, type, format) \
    template <>                 \
    constexpr DType dtype_of<type> = name;
TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW

template <class T>
constexpr bool is_float = std::is_floating_point_v<T> || is_16_bit_float<T>;
template <class T>
constexpr bool is_bool = std::is_same_v<T, bool>;

// ---- kinds of formula: how the loops must treat it ----------------------------------------------

struct Arithmetic {
    static constexpr bool wraps = false;     // integers: compute with unsigned ones, which may wrap
    static constexpr bool compares = false;  // gives a bool
    static constexpr bool doubles = false;   // floats: compute in double, round to float once
    static constexpr int64_t grain = 65536;  // elements worth a thread: about 10 us
    // What an integer kernel reports, without writing, for some y: for 0, or for a negative one.
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

// A formula written as one expression of x, or of x and y, for every V.
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

// -x for an integer; the lowest one wraps to itself.
template <class V>
inline V negated(V x) {
    using U = std::make_unsigned_t<V>;
    return static_cast<V>(U(0) - U(x));
}

// ---- inner loops --------------------------------------------------------------------------------

// f(x) or f(x, y), whichever the formula has. With one operand, `y` is never read.
template <class Formula, class V>
inline auto apply(V x, [[maybe_unused]] V y) {
    if constexpr (std::is_invocable_v<Formula, V, V>)
        return Formula{}(x, y);
    else
        return Formula{}(x);
}

// Numbers T in memory as a register of C to compute with, and back: floats may become doubles.
template <class C, class T>
inline vec<C> load_as(const T* from) {
    if constexpr (std::is_same_v<C, T>) {
        return load(from);
    } else {
        typedef T Narrow __attribute__((vector_size(lanes<C> * sizeof(T))));
        typedef C Wide __attribute__((vector_size(lanes<C> * sizeof(C))));
        Narrow narrow;
        std::memcpy(&narrow, from, sizeof narrow);
        const Wide wide = __builtin_convertvector(narrow, Wide);
        return load(reinterpret_cast<const C*>(&wide));
    }
}
template <class C, class T>
inline void store_as(T* to, vec<C> values) {
    if constexpr (std::is_same_v<C, T>) {
        store(to, values);
    } else {
        typedef T Narrow __attribute__((vector_size(lanes<C> * sizeof(T))));
        typedef C Wide __attribute__((vector_size(lanes<C> * sizeof(C))));
        Wide wide;
        store(reinterpret_cast<C*>(&wide), values);
        const Narrow narrow = __builtin_convertvector(wide, Narrow);
        std::memcpy(to, &narrow, sizeof narrow);
    }
}

// Floats T, one register at a time, computed as C. The last full register overlaps the one before
// it: its operands are read first, since z may be x, and what both hold is written twice alike.
// Fewer elements go through a padded register and the same formula: a result must not depend on its
// place in the array. (Not inlined into itself, which would compile every formula twice.)
template <class Formula, class C, class T>
[[gnu::noinline]] void map_vectors(int64_t n, void* out, const void* const* ins) {
    constexpr int L = lanes<C>;
    T* z = static_cast<T*>(out);
    const T *x = static_cast<const T*>(ins[0]), *y = static_cast<const T*>(ins[1]);
    if (n >= L) {
        const vec<C> last_x = load_as<C>(x + n - L), last_y = load_as<C>(y + n - L);
        for (int64_t i = 0; i < n; i += L) {
            vec<C> a = last_x, b = last_y;
            if (i + L <= n)
                a = load_as<C>(x + i), b = load_as<C>(y + i);
            else
                i = n - L;
            store_as<C>(z + i, apply<Formula>(a, b));
        }
        return;
    }
    T xs[L] = {}, ys[L] = {}, zs[L];
    const void* const padded[] = {xs, ys};
    for (int64_t k = 0; k < n; k++) xs[k] = x[k], ys[k] = y[k];
    map_vectors<Formula, C, T>(L, zs, padded);
    for (int64_t k = 0; k < n; k++) z[k] = zs[k];
}

// Everything else, one element at a time, for the compiler to vectorise: reads In, computes with V
// and writes Out. `out` is an input's own memory or apart from it, hence TUTOR_INDEPENDENT.
template <class Formula, class Out, class In, class V>
void map_scalars(int64_t n, void* out, const void* const* ins) {
    Out* z = static_cast<Out*>(out);
    const In *x = static_cast<const In*>(ins[0]), *y = static_cast<const In*>(ins[1]);
    TUTOR_INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        z[i] = static_cast<Out>(apply<Formula>(static_cast<V>(x[i]), static_cast<V>(y[i])));
}

// ---- a kernel
// -------------------------------------------------------------------------------------

// The type that a formula computes with: the dtype's own, float for the 16-bit floats, double where
// the formula asks for it.
template <class Formula, class T>
using ComputedBy = std::conditional_t<is_float<T> && Formula::doubles, double,
                                      std::conditional_t<is_16_bit_float<T>, float, T>>;

// The type of the elements in the tiles: floats become doubles only in the registers.
template <class Formula, class T>
using Tiled = std::conditional_t<std::is_same_v<T, float>, float, ComputedBy<Formula, T>>;

// The inner loop for a formula over elements of type T. (Doubles for 16-bit floats are made
// beforehand, in a tile: they must not be rounded to float on their way.)
template <class Formula, class T>
constexpr Inner inner() {
    if constexpr (Formula::compares) {
        return map_scalars<Formula, bool_t, Stored<T>, T>;
    } else if constexpr (std::is_floating_point_v<T>) {
        return map_vectors<Formula, ComputedBy<Formula, T>, T>;
    } else if constexpr (Formula::wraps && !is_bool<T>) {
        using U = WithoutSign<T>;  // at least 32 bits, or C++ would compute as int
        return map_scalars<Formula, U, U, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
    } else {
        return map_scalars<Formula, Stored<T>, Stored<T>, T>;
    }
}

inline bool empty(const Operand& x) {
    for (int axis = 0; axis < x.ndim; axis++)
        if (x.shape[axis] == 0) return true;
    return false;
}

// Whether y, which is not empty, has an element that is refused.
template <Status::Kind refuses, class T>
bool any_refused(const Operand& y, const T* at, int axis) {
    if (axis == y.ndim) return refuses == Status::DivisionByZero ? *at == 0 : *at < T(0);
    for (int64_t i = 0; i < y.shape[axis]; i++)
        if (any_refused<refuses>(y, at + i * y.strides[axis], axis + 1)) return true;
    return false;
}

template <class Formula, class T>
constexpr bool refuses_some =
    std::is_integral_v<T> && (Formula::refuses == Status::DivisionByZero ||
                              (Formula::refuses != Status::Ok && std::is_signed_v<T>));

// The inner loops to and from the tiles, for floats that are computed in another type.
template <class C, class T>
void widen_items(int64_t n, void* out, const void* const* ins) {
    widen(n, static_cast<C*>(out), static_cast<const T*>(ins[0]));
}
template <class C, class T>
void narrow_items(int64_t n, void* out, const void* const* ins) {
    narrow(n, static_cast<T*>(out), static_cast<const C*>(ins[0]));
}

// The same question for n elements side by side.
template <Status::Kind refuses, class T>
bool some_refused(int64_t n, const void* y) {
    const T* from = static_cast<const T*>(y);
    bool some = false;
    for (int64_t i = 0; i < n; i++)
        some |= refuses == Status::DivisionByZero ? from[i] == 0 : from[i] < T(0);
    return some;
}

template <class Wanted, class T>
constexpr Work work_of() {
    using Other = typename Wanted::ForFloat64;
    constexpr bool other = std::is_same_v<T, double> && !std::is_void_v<Other>;
    using Formula = std::conditional_t<other, Other, Wanted>;
    using C = Tiled<Formula, T>;
    Work work{inner<Formula, C>(), dtype_of<T>, dtype_of<C>, nullptr, nullptr, Formula::grain};
    if constexpr (!std::is_same_v<C, T>)
        work.widen = widen_items<C, T>, work.narrow = narrow_items<C, T>;
    if constexpr (refuses_some<Wanted, T>)
        work.refuses = Wanted::refuses, work.refused = some_refused<Wanted::refuses, T>;
    return work;
}
template <class Formula, class T>
constexpr Work work = work_of<Formula, T>();

template <class Formula, class T>
Status run_formula(const Operand& out, const Operand* ins, int count, const Params&) {
    if constexpr (refuses_some<Formula, T>)
        if (!empty(out) &&
            any_refused<Formula::refuses>(ins[1], reinterpret_cast<const T*>(ins[1].data), 0))
            return {Formula::refuses, 0, 0};
    return each(out, ins, count, work<Formula, T>);
}
template <class Formula, class T>
constexpr Parts run = {run_formula<Formula, T>, &work<Formula, T>};

// Work on elements as they are, without conversion.
constexpr Work plain(Inner inner) {
    return {inner, DTYPES, DTYPES, nullptr, nullptr, Arithmetic::grain};
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
