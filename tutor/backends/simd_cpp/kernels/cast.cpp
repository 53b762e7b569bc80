// Elements as they are, or converted to another dtype: copy, cast, fill.
#include "cast.rows.hpp"
#include "kernels/elementwise.hpp"
#include "walk/items.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- one number ---------------------------------------------------------------------------------

// An integer as a double that is then rounded to 16 bits. A double has 53 bits, so larger
// numbers lose their lowest 11. If these were not all 0, the twelfth bit is set: rounding twice
// is safe if the first time is to odd (S. Boldo and G. Melquiond, Emulation of FMA and correctly
// rounded sums, 2008).
template <class From>
inline double widened(From x) {
    if constexpr (sizeof(From) < 8) {
        return static_cast<double>(x);
    } else {
        const From lost = x & 0x7ff, kept = (x - lost) | (lost != 0 ? 0x800 : 0);
        return static_cast<double>((x < From(0) ? negated(x) : x) >> 53 == 0 ? x : kept);
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

// ---- n numbers ----------------------------------------------------------------------------------

template <class To, class From>
void convert(int64_t n, void* out, const void* const* ins) {
    Stored<To>* z = static_cast<Stored<To>*>(out);
    const Stored<From>* x = static_cast<const Stored<From>*>(ins[0]);
    if constexpr (is_16_bit_float<From> && std::is_floating_point_v<To>) {
        widen(n, z, x);
    } else if constexpr (is_16_bit_float<To> && std::is_floating_point_v<From>) {
        narrow(n, z, x);
    } else {
        TUTOR_INDEPENDENT
        for (int64_t i = 0; i < n; i++) {
            if constexpr (is_bool<From>)  // a select, because vectors do not convert bools
                z[i] = x[i] ? cast<To>(uint8_t(1)) : cast<To>(uint8_t(0));
            else
                z[i] = cast<To>(x[i]);
        }
    }
}

template <class To, class From>
constexpr Inner conversion() {
    if constexpr (is_float<From>)
        return convert<To, From>;
    else
        return convert<WithoutSign<To>, From>;
}

// ---- kernels ------------------------------------------------------------------------------------

template <class T>
constexpr Work copying = plain(copy_items<Stored<T>>);

template <class T>
Status run_copy(const Operand& out, const Operand* ins, int count, const Params&) {
    return each(out, ins, count, copying<T>);
}

template <class T>
Status run_fill(const Operand& out, const Operand*, int, const Params& params) {
    T value;
    if constexpr (is_float<T> || is_bool<T>)
        value = cast<T>(params.number[0]);
    else
        value = cast<T>(params.integer[0]);
    Operand repeated = out;
    repeated.data = reinterpret_cast<char*>(&value);
    for (int axis = 0; axis < out.ndim; axis++) repeated.strides[axis] = 0;
    return run_copy<T>(out, &repeated, 1, params);
}

// One for each dtype that an element may be converted to.
template <class From>
constexpr Work conversions[DTYPES] = {
#define ROW(name, type, format) plain(conversion<type, From>()),
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
};

template <class From>
Status run_cast(const Operand& out, const Operand* ins, int count, const Params&) {
    return each(out, ins, count, conversions<From>[out.dtype]);
}

}  // namespace

// clang-format off
TABLE(cast,
      KERNEL(copy, run_copy<T>, &copying<T>),
      KERNEL(cast, run_cast<T>, conversions<T>),
      KERNEL(fill, run_fill<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
