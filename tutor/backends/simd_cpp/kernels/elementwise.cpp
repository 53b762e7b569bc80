// The elementwise kernels: formulas.hpp says what, loops.hpp says where, this file joins the two.
#include <cstring>

#include "formulas.hpp"
#include "half.hpp"
#include "loops.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

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

// ---- cast: n elements at a time -----------------------------------------------------------------

template <class To, class From>
void convert(int64_t n, void* out, const void* const* ins) {
    Stored<To>* z = static_cast<Stored<To>*>(out);
    const Stored<From>* x = static_cast<const Stored<From>*>(ins[0]);
    if constexpr (is_16_bit_float<From> && std::is_floating_point_v<To>) {
        widen(n, z, x);
    } else if constexpr (is_16_bit_float<To> && std::is_floating_point_v<From>) {
        narrow(n, z, x);
    } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) {
            if constexpr (is_bool<From>)  // chosen, because a bool is not converted by vectors
                z[i] = x[i] ? cast<To>(uint8_t(1)) : cast<To>(uint8_t(0));
            else
                z[i] = cast<To>(x[i]);
        }
    }
}

// Signed or not makes no difference to integers that only wrap: the two share their code.
template <class T, class = void>
struct WithoutSign {
    using type = T;
};
template <class T>
struct WithoutSign<T, std::enable_if_t<std::is_integral_v<T> && !is_bool<T>>> {
    using type = std::make_unsigned_t<T>;
};

template <class To, class From>
constexpr Inner conversion() {
    if constexpr (is_float<From>)
        return convert<To, From>;
    else
        return convert<typename WithoutSign<To>::type, From>;
}

// ---- formulas -----------------------------------------------------------------------------------

// What a formula computes with: the dtype's own type, float for the 16-bit floats, double where it
// asks.
template <class Formula, class T>
using Computed = std::conditional_t<is_float<T> && Formula::doubles, double,
                                    std::conditional_t<is_16_bit_float<T>, float, T>>;

// What the elements are in the tiles: floats become doubles only in the registers.
template <class Formula, class T>
using Tiled = std::conditional_t<std::is_same_v<T, float>, float, Computed<Formula, T>>;

// The inner loop for a formula over elements of type T. (Doubles that stand for 16 bits are made
// beforehand, in a tile: they must not be rounded to float on their way.)
template <class Formula, class T>
constexpr Inner inner() {
    if constexpr (Formula::compares) {
        return map_scalars<Formula, bool_t, Stored<T>, T>;
    } else if constexpr (std::is_floating_point_v<T>) {
        return map_vectors<Formula, Computed<Formula, T>, T>;
    } else if constexpr (Formula::wraps && !is_bool<T>) {
        using U = typename WithoutSign<T>::type;  // at least 32 bits, or C++ would compute as int
        return map_scalars<Formula, U, U, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
    } else {
        return map_scalars<Formula, Stored<T>, Stored<T>, T>;
    }
}

bool empty(const Operand& x) {
    for (int axis = 0; axis < x.ndim; axis++)
        if (x.shape[axis] == 0) return true;
    return false;
}

// Whether y, which is not empty, has an element that the formula refuses.
template <class Formula, class T>
bool any_refused(const Operand& y, const T* at, int axis) {
    if (axis == y.ndim) return Formula::refuses == Status::DivisionByZero ? *at == 0 : *at < T(0);
    for (int64_t i = 0; i < y.shape[axis]; i++)
        if (any_refused<Formula>(y, at + i * y.strides[axis], axis + 1)) return true;
    return false;
}

template <class Formula, class T>
constexpr bool refuses_some =
    std::is_integral_v<T> && (Formula::refuses == Status::DivisionByZero ||
                              (Formula::refuses != Status::Ok && std::is_signed_v<T>));

template <class Wanted, class T>
Status run(const Operand& out, const Operand* ins, int count, const Params&) {
    if constexpr (refuses_some<Wanted, T>)
        if (!empty(out) && any_refused<Wanted>(ins[1], reinterpret_cast<const T*>(ins[1].data), 0))
            return {Wanted::refuses, 0, 0};
    using Other = typename Wanted::ForFloat64;
    constexpr bool other = std::is_same_v<T, double> && !std::is_void_v<Other>;
    using Formula = std::conditional_t<other, Other, Wanted>;
    using C = Tiled<Formula, T>;
    each(out, ins, count,
         {inner<Formula, C>(), dtype_of<T>, dtype_of<C>, conversion<C, T>(), conversion<T, C>(),
          Formula::grain});
    return {Status::Ok, 0, 0};
}

// ---- copy, cast, fill, where --------------------------------------------------------------------

constexpr int64_t GRAIN = Arithmetic::grain;

// Work on elements as they are, without conversion.
inline Work plain(Inner inner) { return {inner, DTYPES, DTYPES, nullptr, nullptr, GRAIN}; }

template <class T>
Status run_copy(const Operand& out, const Operand* ins, int count, const Params&) {
    each(out, ins, count, plain(copy_items<Stored<T>>));
    return {Status::Ok, 0, 0};
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

template <class From>
Status run_cast(const Operand& out, const Operand* ins, int count, const Params&) {
    constexpr Inner to[DTYPES] = {
#define ROW(name, type, format) conversion<type, From>(),
        TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
    };
    each(out, ins, count, plain(to[out.dtype]));
    return {Status::Ok, 0, 0};
}

template <class Bits>
void choose(int64_t n, void* out, const void* const* ins) {
    Item<Bits>* z = static_cast<Item<Bits>*>(out);
    const bool_t* condition = static_cast<const bool_t*>(ins[0]);
    const Item<Bits>*x = static_cast<const Item<Bits>*>(ins[1]),
          *y = static_cast<const Item<Bits>*>(ins[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) {
        const Bits yes = x[i].bits, no = y[i].bits;  // both read: no branch, so it vectorises
        z[i].bits = condition[i] ? yes : no;
    }
}

template <class T>
Status run_where(const Operand& out, const Operand* ins, int count, const Params&) {
    each(out, ins, count, plain(choose<Moved<T>>));
    return {Status::Ok, 0, 0};
}

// ---- the table ----------------------------------------------------------------------------------

// The dtypes a kernel exists for, as in signatures.py. Bits are bool and the integers.
enum class Of { All, Numbers, Integers, Bits, Floats };

template <class T>
constexpr bool belongs(Of set) {
    return set == Of::All || (set == Of::Numbers && !is_bool<T>) ||
           (set == Of::Integers && !is_bool<T> && !is_float<T>) ||
           (set == Of::Bits && !is_float<T>) || (set == Of::Floats && is_float<T>);
}

struct Table {
    Row rows[480] = {};
    int64_t count = 0;

    // One row for each dtype of the set; function(T{}) is what runs for the C++ type T.
    template <Of set, class Function>
    constexpr void add(const char* name, const char* types, Function function,
                       Form form = Form::Elementwise, const char* params = "") {
#define ROW(dtype, type, format)      \
    if constexpr (belongs<type>(set)) \
        rows[count++] = {name, dtype, form, types, params, function(type{})};
        TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
    }

    template <class Formula, Of set>
    constexpr void add(const char* name, const char* types) {
        add<set>(name, types, [](auto x) { return run<Formula, decltype(x)>; });
    }
};

constexpr Table make_table() {
    Table t;
    t.add<Neg, Of::Numbers>("neg", "TT");
    t.add<Abs, Of::Numbers>("abs", "TT");
    t.add<Relu, Of::Numbers>("relu", "TT");
    t.add<Sqrt, Of::Floats>("sqrt", "TT");
    t.add<Sign, Of::Numbers>("sign", "TT");
    t.add<Floor, Of::Floats>("floor", "TT");
    t.add<Ceil, Of::Floats>("ceil", "TT");
    t.add<Round, Of::Floats>("round", "TT");
    t.add<Trunc, Of::Floats>("trunc", "TT");
    t.add<BitwiseNot, Of::Bits>("bitwise_not", "TT");
    t.add<Exp, Of::Floats>("exp", "TT");
    t.add<Exp2, Of::Floats>("exp2", "TT");
    t.add<Expm1, Of::Floats>("expm1", "TT");
    t.add<Log, Of::Floats>("log", "TT");
    t.add<Log2, Of::Floats>("log2", "TT");
    t.add<Log10, Of::Floats>("log10", "TT");
    t.add<Log1p, Of::Floats>("log1p", "TT");
    t.add<Sin, Of::Floats>("sin", "TT");
    t.add<Cos, Of::Floats>("cos", "TT");
    t.add<Tan, Of::Floats>("tan", "TT");
    t.add<Asin, Of::Floats>("asin", "TT");
    t.add<Acos, Of::Floats>("acos", "TT");
    t.add<Atan, Of::Floats>("atan", "TT");
    t.add<Sinh, Of::Floats>("sinh", "TT");
    t.add<Cosh, Of::Floats>("cosh", "TT");
    t.add<Tanh, Of::Floats>("tanh", "TT");
    t.add<Asinh, Of::Floats>("asinh", "TT");
    t.add<Acosh, Of::Floats>("acosh", "TT");
    t.add<Atanh, Of::Floats>("atanh", "TT");
    t.add<Erf, Of::Floats>("erf", "TT");
    t.add<Sigmoid, Of::Floats>("sigmoid", "TT");
    t.add<Of::All>("copy", "TT", [](auto x) { return run_copy<decltype(x)>; });
    t.add<Of::All>("cast", "*T", [](auto x) { return run_cast<decltype(x)>; });
    t.add<Of::All>("fill", "T", [](auto x) { return run_fill<decltype(x)>; }, Form::Fill, "value");
    t.add<Add, Of::All>("add", "TTT");
    t.add<Sub, Of::Numbers>("sub", "TTT");
    t.add<Mul, Of::All>("mul", "TTT");
    t.add<Div, Of::Floats>("div", "TTT");
    t.add<Pow, Of::Numbers>("pow", "TTT");
    t.add<FloorDivide, Of::Numbers>("floor_divide", "TTT");
    t.add<Remainder, Of::Numbers>("remainder", "TTT");
    t.add<Fmod, Of::Numbers>("fmod", "TTT");
    t.add<Hypot, Of::Floats>("hypot", "TTT");
    t.add<Atan2, Of::Floats>("atan2", "TTT");
    t.add<LogAddExp, Of::Floats>("logaddexp", "TTT");
    t.add<CopySign, Of::Floats>("copysign", "TTT");
    t.add<ReluGrad, Of::Floats>("relu_grad", "TTT");
    t.add<TanhGrad, Of::Floats>("tanh_grad", "TTT");
    t.add<SigmoidGrad, Of::Floats>("sigmoid_grad", "TTT");
    t.add<BitwiseAnd, Of::Bits>("bitwise_and", "TTT");
    t.add<BitwiseOr, Of::Bits>("bitwise_or", "TTT");
    t.add<BitwiseXor, Of::Bits>("bitwise_xor", "TTT");
    t.add<LeftShift, Of::Integers>("bitwise_left_shift", "TTT");
    t.add<RightShift, Of::Integers>("bitwise_right_shift", "TTT");
    t.add<Maximum, Of::All>("maximum", "TTT");
    t.add<Minimum, Of::All>("minimum", "TTT");
    t.add<Eq, Of::All>("eq", "bTT");
    t.add<Ne, Of::All>("ne", "bTT");
    t.add<Lt, Of::All>("lt", "bTT");
    t.add<Le, Of::All>("le", "bTT");
    t.add<Gt, Of::All>("gt", "bTT");
    t.add<Ge, Of::All>("ge", "bTT");
    t.add<Of::All>("where", "TbTT", [](auto x) { return run_where<decltype(x)>; });
    return t;
}

constexpr Table table = make_table();

}  // namespace

Rows elementwise() { return {table.rows, table.count}; }

}  // namespace TUTOR_LEVEL
}  // namespace tutor
