"""C functions that the expressions call: those that a Program needs come before its steps.

They are written to be readable, and so that the compiler can vectorize them: without branches where
that is as clear. The `BITS` of a float are copied by memcpy, which costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tutor.backends.codegen.dialect import C99, Dialect
from tutor.backends.codegen.expressions import EXPRESSIONS
from tutor.backends.python_ref.activations import CURVE, LINE

_PLAIN = """\
static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* float16 has 1 sign bit, 5 of exponent, 10 of mantissa; a float's exponent counts from 127 instead
   of 15. As a product this is right for subnormals, too. */
static inline float from_float16(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, size = (bits & 0x7fffu) << 13;
    const uint32_t finite = bits_of(float_of(size) * 0x1p112f);
    return float_of(sign | (size < 0x0f800000u ? finite : size | 0x7f800000u));
}

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
}

/* bfloat16 is the upper half of a float. */
static inline float from_bfloat16(uint16_t bits) { return float_of((uint32_t)bits << 16); }

/* The lower half goes, rounded to nearest even; of a nan not all bits may go. */
static inline uint16_t to_bfloat16(float x) {
    const uint32_t bits = bits_of(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? bits >> 16 | 0x40u : rounded);
}

/* x as a float whose last bit is set if anything was lost. Rounded once more, to 16 bits, it gives
   what x itself would (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums"). */
static inline float round_to_odd(double x) {
    const float near = (float)x;
    const uint32_t bits = bits_of(near), even = (bits & 1) == 0, lost = near != x && x == x;
    const uint32_t away = fabs((double)near) < fabs(x);  /* one step up in size, else one down */
    return float_of(even && lost ? (away ? bits + 1 : bits - 1) : bits);
}

/* The same of integers: a double holds the upper 53 bits, the last one set if any below it was. */
static inline float odd_from_uint64(uint64_t x) {
    const uint64_t lost = x & 0x7ffu, kept = (x - lost) | (lost != 0 ? 0x800u : 0);
    return round_to_odd((double)(x >> 53 == 0 ? x : kept));
}

static inline float odd_from_int64(int64_t x) {
    return x < 0 ? -odd_from_uint64(0 - (uint64_t)x) : odd_from_uint64((uint64_t)x);
}

/* e^x. Where a driver's own is infinite a little too early, e^(x - 1) e is not. */
static inline double wide_exp(double x) {
    return x > 709 ? exp(x - 1) * 2.71828182845904523536 : exp(x);
}

/* Python's x // y. (x - r) / y is an integer but for the rounding, which is undone. */
static inline double floor_divide(double x, double y) {
    const double r = fmod(x, y), steps_down = r != 0 && (r < 0) != (y < 0);
    const double quotient = (x - r) / y - steps_down, below = floor(quotient);
    const double whole = quotient - below > 0.5 ? below + 1 : below;
    return y == 0 ? x / y : quotient == 0 ? copysign(0.0, x / y) : whole;
}

/* Python's x % y, which has the sign of y. */
static inline double modulo(double x, double y) {
    const double r = fmod(x, y);
    return r == 0 ? copysign(0.0, y) : (r < 0) != (y < 0) ? r + y : r;
}

/* ln(e^x + e^y) = max + ln(1 + e^-|x - y|), where equal infinities are max. */
static inline double log_add_exp(double x, double y) {
    if (x == y) return x + 0.69314718055994530942;
    return (x > y ? x : y) + log1p(exp(-fabs(x - y)));
}

/* g times the slope of tanh where its result is z. */
static inline double tanh_grad(double g, double z) { return g * ((1 - z) * (1 + z)); }

/* g times the slope of the sigmoid where its result is z. */
static inline double sigmoid_grad(double g, double z) { return g * (z * (1 - z)); }

/* x where P(X <= x) of a standard normal X is neither 0 nor 1. */
static inline double near(double x) { return x < -40 ? -40 : x > 40 ? 40 : x; }

/* P(X <= x) */
static inline double probability(double x) { return 0.5 * erfc(-x * 0.7071067811865475244); }

/* x P(X <= x), whose limit at -inf is -0. */
static inline double gelu(double x) { return (x > 0 ? x : near(x)) * probability(x); }

/* g times the slope of gelu at x: e^(-x^2/2) / sqrt(2 pi) is the density of X. */
static inline double gelu_grad(double g, double x) {
    x = near(x);
    return g * -(-x * exp(-x * x / 2) * 0.39894228040143267794 - probability(x));
}

/* The sigmoid of 2 sqrt(2/pi) (x + 0.044715 x^3), which is close to P(X <= x). */
static inline double bent(double x) {
    const double u = x * (LINE + CURVE * (x * x));
    return u < 0 ? exp(u) / (1 + exp(u)) : 1 / (1 + exp(-u));
}

/* x times that. */
static inline double gelu_tanh(double x) { return (x > 0 ? x : near(x)) * bent(near(x)); }

/* g times the slope of gelu_tanh at x. */
static inline double gelu_tanh_grad(double g, double x) {
    x = near(x);
    const double slope = LINE + 3 * CURVE * (x * x);
    return g * -(-x * slope * (bent(x) * (1 - bent(x))) - bent(x));
}

/* x where its sigmoid is neither 0 nor 1. */
static inline double bounded(double x) { return x < -800 ? -800 : x > 800 ? 800 : x; }

/* 1 / (1 + e^-x) */
static inline double gate(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

/* ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|) */
static inline double softplus(double x) { return (x < 0 ? 0 : x) + log1p(exp(-fabs(x))); }

/* g times its slope at x. */
static inline double softplus_grad(double g, double x) { return g * gate(x); }

/* x / (1 + e^-x), whose limit at -inf is -0. */
static inline double silu(double x) { return (x > 0 ? x : bounded(x)) * gate(x); }

/* g times its slope at x. */
static inline double silu_grad(double g, double x) {
    x = bounded(x);
    return g * -(-x * (gate(x) * (1 - gate(x))) - gate(x));
}

/* x tanh(ln(1 + e^x)), whose limit at -inf is -0. */
static inline double mish(double x) { return (x > 0 ? x : bounded(x)) * tanh(softplus(x)); }

/* g times its slope at x. */
static inline double mish_grad(double g, double x) {
    const double t = tanh(softplus(bounded(x)));
    return g * -(-bounded(x) * (gate(bounded(x)) * (1 - t * t)) - t);
}

/* x to the power y by squaring, modulo 2^64, of which narrower integers keep the low bits. */
static inline uint64_t whole_power(uint64_t x, uint64_t y) {
    uint64_t z = 1;
    for (; y != 0; y >>= 1, x *= x)
        if (y & 1) z *= x;
    return z;
}

/* A function that is compiled anew for each of its calls, as the sizes in them are known. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
"""

# Written once for several types, or several kernels.
_EVEN_TANH = """\
/* tanh, which is 1 from {edge} on to the last bit, where a driver's own may be a unit off. */
static inline {type} even_tanh_{type}({type} x) {{
    return fabs(x) > ({type}){edge} ? copysign(({type})1, x) : tanh(x);
}}
"""

_OF_TWO = """\
/* {name} as a function: nan if either is; of zeros {zero}. */
static inline {type} {name}_{type}({type} x, {type} y) {{
    return {text};
}}
"""

_TREE = """\
/* A sum in pairs. Block number `block` joins the sums of those before it as a carry does in
   counting: two blocks make a pair, two pairs a pair of pairs. sums[] holds what waits for its
   neighbour; the result is how many do. So which numbers are added to which follows from their
   positions alone. */
static inline int join_{op}_{type}({type} *sums, int waiting, int64_t block, {type} sum) {{
    for (; block & 1; block >>= 1) sum = sums[--waiting] {sign} sum;
    sums[waiting] = sum;
    return waiting + 1;
}}

static inline {type} join_all_{op}_{type}({type} *sums, int waiting) {{
    for (; waiting > 1; waiting--) sums[waiting - 2] = sums[waiting - 2] {sign} sums[waiting - 1];
    return sums[0];
}}
"""

_WIDE = """\
/* Columns of a tile: two registers of this processor. */
#if defined __AVX512F__
enum {{ WIDE_{type} = 128 / sizeof({type}) }};
#elif defined __AVX__
enum {{ WIDE_{type} = 64 / sizeof({type}) }};
#else
enum {{ WIDE_{type} = 32 / sizeof({type}) }};
#endif
"""

_SUM_OF_LANES = """\
/* 16 lanes, the upper half added to the lower until one is left. */
INLINE {type} sum_of_lanes_{type}({type} *lane) {{
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}}
"""

_RELU = """\
/* relu: what is not above 0 is 0, but nan stays. */
static inline {type} relu_{type}({type} x) {{ return {text}; }}
"""

_MULTIPLY_ADD = """\
/* x * y + z: rounded once, where the processor has an instruction for it. */
static inline {type} multiply_add_{type}({type} x, {type} y, {type} z) {{
#ifdef FP_FAST_FMA{F}
    return fma{f}(x, y, z);
#else
    return x * y + z;
#endif
}}
"""

_FLOATS = ({"type": "float", "F": "F", "f": "f"}, {"type": "double", "F": "", "f": ""})
_SUMS = (*_FLOATS, {"type": "uint32_t"}, {"type": "uint64_t"})
_NAME = re.compile(
    r"^(?:static inline|INLINE) .*?(\w+)\(|^#define (\w+)|^enum { (\w+)", re.MULTILINE
)


def _functions(text: str) -> dict[str, str]:
    """The functions of a text, which empty lines separate, by name."""
    found = {}
    for part in text.strip("\n").split("\n\n"):
        names = _NAME.search(part)
        assert names, part
        found[next(filter(None, names.groups()))] = f"\n{part}"
    return found


def _of_table(kernel: str) -> str:
    """The expression of that kernel for floats."""
    return EXPRESSIONS[kernel]["float"].text


def _all() -> Iterator[str]:
    """The texts, in the order that C requires."""
    yield re.sub(r"\bLINE\b", repr(LINE), re.sub(r"\bCURVE\b", repr(CURVE), _PLAIN))
    for kind, edge in (("float", 9.1), ("double", 19.1)):
        yield _EVEN_TANH.format(type=kind, edge=edge)
    for name, zero in (("maximum", "+0"), ("minimum", "-0")):
        for each in _FLOATS:
            yield _OF_TWO.format(**each, name=name, zero=zero, text=_of_table(name))
    for op, sign in (("sum", "+"), ("product", "*")):
        for each in _FLOATS:
            yield _TREE.format(**each, op=op, sign=sign)
    for text in (_WIDE, _SUM_OF_LANES):
        for each in _SUMS:
            yield text.format(**each)
    for each in _FLOATS:
        yield _RELU.format(**each, text=_of_table("relu"))
    for each in _FLOATS:
        yield _MULTIPLY_ADD.format(**each)


HELPERS = {name: text for each in _all() for name, text in _functions(each).items()}
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
