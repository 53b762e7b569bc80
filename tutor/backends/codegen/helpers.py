"""C functions that the expressions call: those that a Program needs come before its steps.

They are written to be readable, and so that the compiler can vectorize them: without branches where
that is as clear. The `BITS` of a float are copied by memcpy, which costs nothing.
"""

from __future__ import annotations

import re

from tutor.backends.codegen.dialect import C99, Dialect

_BITS = """
static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}"""

_FLOAT_OF = """
static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}"""

_FROM_FLOAT16 = """
/* float16 has 1 sign bit, 5 of exponent, 10 of mantissa; a float's exponent counts from 127 instead
   of 15. As a product this is right for subnormals, too. */
static inline float from_float16(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, size = (bits & 0x7fffu) << 13;
    const uint32_t finite = bits_of(float_of(size) * 0x1p112f);
    return float_of(sign | (size < 0x0f800000u ? finite : size | 0x7f800000u));
}"""

_TO_FLOAT16 = """
/* 13 bits go. Just under half of what the lowest kept bit counts, and that bit itself, carry
   exactly when rounding to nearest even goes up. Below 2^-14 the addition of 1/2 rounds: next to it
   floats are 2^-24 apart, as the subnormals of float16 are. */
static inline uint16_t to_float16(float x) {
    const uint32_t sign = bits_of(x) & 0x80000000u, size = bits_of(x) ^ sign;
    const uint32_t rounded = (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
    const uint32_t normal = rounded < 0x7c00u ? rounded : 0x7c00u;
    const uint32_t subnormal = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
    const uint32_t number = size < 0x38800000u ? subnormal : normal;
    return (uint16_t)(sign >> 16 | (size > 0x7f800000u ? 0x7e00u : number));
}"""

_FROM_BFLOAT16 = """
/* bfloat16 is the upper half of a float. */
static inline float from_bfloat16(uint16_t bits) { return float_of((uint32_t)bits << 16); }"""

_TO_BFLOAT16 = """
/* The lower half goes, rounded to nearest even; of a nan not all bits may go. */
static inline uint16_t to_bfloat16(float x) {
    const uint32_t bits = bits_of(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : rounded);
}"""

_ROUND_TO_ODD = """
/* x as a float whose last bit is set if anything was lost. Rounded once more, to 16 bits, it gives
   what x itself would (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums"). */
static inline float round_to_odd(double x) {
    const float near = (float)x;
    const uint32_t bits = bits_of(near), even = (bits & 1) == 0, lost = near != x && x == x;
    const uint32_t away = fabs((double)near) < fabs(x);  /* one step up in size, else one down */
    return float_of(even && lost ? (away ? bits + 1 : bits - 1) : bits);
}"""

_ODD_INT64 = """
/* The same of integers: a double holds the upper 53 bits, the last one set if any below it was. */
static inline float odd_from_uint64(uint64_t x) {
    const uint64_t lost = x & 0x7ffu, kept = (x - lost) | (lost != 0 ? 0x800u : 0);
    return round_to_odd((double)(x >> 53 == 0 ? x : kept));
}"""

_ODD_SIGNED = """
static inline float odd_from_int64(int64_t x) {
    return x < 0 ? -odd_from_uint64(0 - (uint64_t)x) : odd_from_uint64((uint64_t)x);
}"""

_WIDE_EXP = """
/* e^x. Where a driver's own is infinite a little too early, e^(x - 1) e is not. */
static inline double wide_exp(double x) {
    return x > 709 ? exp(x - 1) * 2.71828182845904523536 : exp(x);
}"""

_EVEN_TANH = """
/* tanh, which is 1 from {edge} on to the last bit, where a driver's own may be a unit off. */
static inline {type} even_tanh_{type}({type} x) {{
    return fabs(x) > ({type}){edge} ? copysign(({type})1, x) : tanh(x);
}}"""

_FLOOR_DIVIDE = """
/* Python's x // y. (x - r) / y is an integer but for the rounding, which is undone. */
static inline double floor_divide(double x, double y) {
    const double r = fmod(x, y), steps_down = r != 0 && (r < 0) != (y < 0);
    const double quotient = (x - r) / y - steps_down, below = floor(quotient);
    const double whole = quotient - below > 0.5 ? below + 1 : below;
    return y == 0 ? x / y : quotient == 0 ? copysign(0.0, x / y) : whole;
}"""

_MODULO = """
/* Python's x % y, which has the sign of y. */
static inline double modulo(double x, double y) {
    const double r = fmod(x, y);
    return r == 0 ? copysign(0.0, y) : (r < 0) != (y < 0) ? r + y : r;
}"""

_LOG_ADD_EXP = """
/* ln(e^x + e^y) = max + ln(1 + e^-|x - y|), where equal infinities are max. */
static inline double log_add_exp(double x, double y) {
    if (x == y) return x + 0.69314718055994530942;
    return (x > y ? x : y) + log1p(exp(-fabs(x - y)));
}"""

_TANH_GRAD = """
/* g times the slope of tanh where its result is z. */
static inline double tanh_grad(double g, double z) { return g * ((1 - z) * (1 + z)); }"""

_SIGMOID_GRAD = """
/* g times the slope of the sigmoid where its result is z. */
static inline double sigmoid_grad(double g, double z) { return g * (z * (1 - z)); }"""

_NORMAL = """
/* P(X <= x) of a standard normal X, and x where that is neither 0 nor 1. */
static inline double near(double x) { return x < -40 ? -40 : x > 40 ? 40 : x; }
static inline double normal(double x) { return 0.5 * erfc(-x * 0.7071067811865475244); }"""

_GELU = """
/* x P(X <= x), whose limit at -inf is -0. */
static inline double gelu(double x) { return (x > 0 ? x : near(x)) * normal(x); }"""

_GELU_GRAD = """
/* g times the slope of gelu at x: e^(-x^2/2) / sqrt(2 pi) is the density of X. */
static inline double gelu_grad(double g, double x) {
    x = near(x);
    return g * -(-x * exp(-x * x / 2) * 0.39894228040143267794 - normal(x));
}"""

_BENT = """
/* The sigmoid of 2 sqrt(2/pi) (x + 0.044715 x^3), which is close to P(X <= x). */
static inline double bent(double x) {
    const double u = x * (1.5957691216057307117 + 0.071354816272600248 * (x * x));
    return u < 0 ? exp(u) / (1 + exp(u)) : 1 / (1 + exp(-u));
}"""

_GELU_TANH = """
/* x times that. */
static inline double gelu_tanh(double x) { return (x > 0 ? x : near(x)) * bent(near(x)); }"""

_GELU_TANH_GRAD = """
/* g times the slope of gelu_tanh at x. */
static inline double gelu_tanh_grad(double g, double x) {
    x = near(x);
    const double slope = 1.5957691216057307117 + 3 * 0.071354816272600248 * (x * x);
    return g * -(-x * slope * (bent(x) * (1 - bent(x))) - bent(x));
}"""

_WHOLE_POWER = """
/* x to the power y by squaring, modulo 2^64, of which narrower integers keep the low bits. */
static inline uint64_t whole_power(uint64_t x, uint64_t y) {
    uint64_t z = 1;
    for (; y != 0; y >>= 1, x *= x)
        if (y & 1) z *= x;
    return z;
}"""

_EXTREME = """
/* The {words}; nan if either is; of zeros {zero}. */
static inline {type} {name}_{type}({type} x, {type} y) {{
    if (x {sign} y) return x;
    return y {sign} x ? y : x == y && x != 0 ? x : {other};
}}"""

_TREE = """
/* A sum in pairs. Block number `block` joins the sums of those before it as a carry does in
   counting: two blocks make a pair, two pairs a pair of pairs. sums[] holds what waits for its
   neighbour; the result is how many do. So which numbers are added to which follows from their
   positions alone. */
static inline int join_{op}_{name}({type} *sums, int waiting, int64_t block, {type} sum) {{
    for (; block & 1; block >>= 1) sum = sums[--waiting] {sign} sum;
    sums[waiting] = sum;
    return waiting + 1;
}}

static inline {type} join_all_{op}_{name}({type} *sums, int waiting) {{
    for (; waiting > 1; waiting--) sums[waiting - 2] = sums[waiting - 2] {sign} sums[waiting - 1];
    return sums[0];
}}"""

_MULTIPLY_ADD = """
/* x * y + z: rounded once, where the processor has an instruction for it. */
static inline {type} multiply_add_{type}({type} x, {type} y, {type} z) {{
#ifdef FP_FAST_FMA{F}
    return fma{f}(x, y, z);
#else
    return x * y + z;
#endif
}}"""

_INLINE = """
/* A function that is compiled anew for each of its calls, as the sizes in them are known. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif"""

_WIDE = """
/* Columns of a tile: two registers of this processor. */
#if defined __AVX512F__
enum {{ WIDE_{type} = 128 / sizeof({type}) }};
#elif defined __AVX__
enum {{ WIDE_{type} = 64 / sizeof({type}) }};
#else
enum {{ WIDE_{type} = 32 / sizeof({type}) }};
#endif"""

_SUM_OF_LANES = """
/* 16 lanes, the upper half added to the lower until one is left. */
INLINE {type} sum_of_lanes_{type}({type} *lane) {{
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}}"""

_ABOVE_0 = """
/* relu: what is not above 0 is 0, but nan stays. */
static inline {type} above_0_{type}({type} x) {{ return x <= 0 ? 0 : x; }}"""

HELPERS = {  # in the order that C requires
    "bits_of": _BITS,
    "float_of": _FLOAT_OF,
    "from_float16": _FROM_FLOAT16,
    "to_float16": _TO_FLOAT16,
    "from_bfloat16": _FROM_BFLOAT16,
    "to_bfloat16": _TO_BFLOAT16,
    "round_to_odd": _ROUND_TO_ODD,
    "odd_from_uint64": _ODD_INT64,
    "odd_from_int64": _ODD_SIGNED,
    "wide_exp": _WIDE_EXP,
    "even_tanh_float": _EVEN_TANH.format(type="float", edge=9.1),
    "even_tanh_double": _EVEN_TANH.format(type="double", edge=19.1),
    "floor_divide": _FLOOR_DIVIDE,
    "modulo": _MODULO,
    "log_add_exp": _LOG_ADD_EXP,
    "tanh_grad": _TANH_GRAD,
    "sigmoid_grad": _SIGMOID_GRAD,
    "near": _NORMAL,
    "gelu": _GELU,
    "gelu_grad": _GELU_GRAD,
    "bent": _BENT,
    "gelu_tanh": _GELU_TANH,
    "gelu_tanh_grad": _GELU_TANH_GRAD,
    "whole_power": _WHOLE_POWER,
    **{
        f"{name}_{kind}": _EXTREME.format(
            words=words, name=name, type=kind, sign=sign, other=other, zero=zero
        )
        for name, words, sign, other, zero in (
            ("maximum", "larger", ">", "x + y", "+0"),
            ("minimum", "smaller", "<", "-(-x - y)", "-0"),
        )
        for kind in ("float", "double")
    },
    **{
        f"join_{op}_{name}": _TREE.format(op=op, sign=sign, name=name, type=name)
        for op, sign in (("sum", "+"), ("product", "*"))
        for name in ("float", "double")
    },
    "INLINE": _INLINE,
    **{
        f"{name}_{kind}": text.format(type=kind)
        for name, text in (("WIDE", _WIDE), ("sum_of_lanes", _SUM_OF_LANES))
        for kind in ("float", "double", "uint32_t", "uint64_t")
    },
    "above_0_float": _ABOVE_0.format(type="float"),
    "above_0_double": _ABOVE_0.format(type="double"),
    "multiply_add_float": _MULTIPLY_ADD.format(type="float", F="F", f="f"),
    "multiply_add_double": _MULTIPLY_ADD.format(type="double", F="", f=""),
}
_WORDS = {name: set(re.findall(r"\w+", text)) for name, text in HELPERS.items()}


def needed(code: str, c: Dialect = C99) -> str:
    """The helpers that the code calls, directly or indirectly, in order."""
    words = set(re.findall(r"\w+", code))
    for name in reversed(HELPERS):  # a helper calls earlier ones
        if name in words:
            words |= _WORDS[name]
    return "".join(
        c.helpers.get(name, text) + "\n" for name, text in HELPERS.items() if name in words
    )
