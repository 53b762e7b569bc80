// Every float there is: what a kernel should have given, and how far off it was.
//
// A function of one float32 has 4,294,967,296 inputs. A computer tries them in minutes, and then
// nothing is left to believe: the largest error is not estimated from samples but known, and so is
// the input that has it. (The mathematical libraries CORE-MATH and RLIBM are tested like that. A
// float64 has 2^64 inputs, which is out of reach: there the method ends.) Two operands of 16 bits
// have as many pairs.
//
// What should have come out is what the C library gives in double, rounded once. That is also how
// python_ref is defined, whose numbers are doubles. A double has 29 bits more than a float32, so an
// error of a few units in a double's last place is invisible, except where the true value lies that
// close to the middle of two neighbouring floats. There the C library may not know which of the two
// is nearer; such a result is wrong by the definition, but counts as `undecided`, too.
//
// This file knows no kernel: exhaustive.py calls them, and hands their results over by the block.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "dtypes.hpp"

namespace {

// ---- the definitions ----------------------------------------------------------------------------

struct OfOne {
    const char* name;
    double (*f)(double);
};

// For gelu: P(X <= x) of a standard normal X, and the sigmoid that stands for it. Beyond 40 they
// are 0 and 1.
double near(double x) { return x < -40 ? -40 : x > 40 ? 40 : x; }
double below(double x) { return 0.5 * std::erfc(-near(x) * 0.7071067811865475244); }
double bent(double any) {
    const double x = near(any), u = x * (1.5957691216057307117 + 0.071354816272600248 * (x * x));
    const double e = std::exp(-std::fabs(u));
    return (u < 0 ? e : 1.0) / (1.0 + e);
}

// The sigmoid of x, and where it is neither 0 nor 1; the softplus of x.
double bounded(double x) { return x < -800 ? -800 : x > 800 ? 800 : x; }
double sigmoid(double x) {
    const double e = std::exp(-std::fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
double softplus(double x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x))); }

constexpr OfOne OF_ONE[] = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"relu", [](double x) { return x <= 0 ? 0.0 : x; }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"sign", [](double x) { return x != x ? x : static_cast<double>((x > 0) - (x < 0)); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", sigmoid},
    {"softplus", softplus},
    {"silu", [](double x) { return (x < 0 ? bounded(x) : x) * sigmoid(x); }},
    {"mish", [](double x) { return (x < 0 ? bounded(x) : x) * std::tanh(softplus(x)); }},
    {"gelu", [](double x) { return (x < 0 ? near(x) : x) * below(x); }},
    {"gelu_tanh", [](double x) { return (x < 0 ? near(x) : x) * bent(x); }},
    {"copy", [](double x) { return x; }},
    {"cast", [](double x) { return x; }},
};

// Python's x % y and x // y: the remainder has the sign of y.
double remainder(double x, double y) {
    const double rest = std::fmod(x, y);
    if (rest == 0) return std::copysign(0.0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}
double floor_divide(double x, double y) {
    if (y == 0 || x != x || y != y) return x / y;
    const double rest = std::fmod(x, y);
    const double quotient = (x - rest) / y - (rest != 0 && (rest < 0) != (y < 0));
    if (quotient == 0) return std::copysign(0.0, x / y);
    const double below = std::floor(quotient);
    return quotient - below > 0.5 ? below + 1 : below;
}

double maximum(double x, double y) {
    if (x != x || y != y) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0 && y == 0) return x + y;
    return x > y ? x : y;
}

struct OfTwo {
    const char* name;
    double (*f)(double, double);
};

constexpr OfTwo OF_TWO[] = {
    {"add", [](double x, double y) { return x + y; }},
    {"sub", [](double x, double y) { return x - y; }},
    {"mul", [](double x, double y) { return x * y; }},
    {"div", [](double x, double y) { return x / y; }},
    {"pow", [](double x, double y) { return std::pow(x, y); }},
    {"floor_divide", floor_divide},
    {"remainder", remainder},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }},
    {"hypot", [](double x, double y) { return std::hypot(x, y); }},
    {"atan2", [](double x, double y) { return std::atan2(x, y); }},
    {"logaddexp",
     [](double x, double y) {
         if (x == y) return x + std::log(2.0);
         return (x > y ? x : y) + std::log1p(std::exp(-std::fabs(x - y)));
     }},
    {"copysign", [](double x, double y) { return std::copysign(x, y); }},
    {"relu_grad", [](double g, double z) { return z > 0 ? g : 0.0; }},
    {"tanh_grad", [](double g, double z) { return g * ((1 - z) * (1 + z)); }},
    {"sigmoid_grad", [](double g, double z) { return g * (z * (1 - z)); }},
    {"gelu_grad",
     [](double g, double any) {
         const double x = near(any);
         return g * -(-x * std::exp(-x * x / 2) * 0.39894228040143267794 - below(x));
     }},
    {"gelu_tanh_grad",
     [](double g, double any) {
         const double x = near(any), s = bent(x);
         const double slope = 1.5957691216057307117 + 3 * 0.071354816272600248 * (x * x);
         return g * -(-x * slope * (s * (1 - s)) - s);
     }},
    {"softplus_grad", [](double g, double x) { return g * sigmoid(x); }},
    {"silu_grad",
     [](double g, double any) {
         const double x = bounded(any), s = sigmoid(x);
         return g * -(-x * (s * (1 - s)) - s);
     }},
    {"mish_grad",
     [](double g, double any) {
         const double x = bounded(any), t = std::tanh(softplus(x));
         return g * -(-x * (sigmoid(x) * (1 - t * t)) - t);
     }},
    {"maximum", maximum},
    {"minimum", [](double x, double y) { return -maximum(-x, -y); }},
    {"eq", [](double x, double y) { return x == y ? 1.0 : 0.0; }},
    {"ne", [](double x, double y) { return x != y ? 1.0 : 0.0; }},
    {"lt", [](double x, double y) { return x < y ? 1.0 : 0.0; }},
    {"le", [](double x, double y) { return x <= y ? 1.0 : 0.0; }},
    {"gt", [](double x, double y) { return x > y ? 1.0 : 0.0; }},
    {"ge", [](double x, double y) { return x >= y ? 1.0 : 0.0; }},
};

bool is_nan(const DType& t, uint64_t bits) {
    return t.kind == DType::Float && (bits & (t.sign() - 1)) > t.infinity();
}

}  // namespace

// ---- what Python calls --------------------------------------------------------------------------

// Which inputs: first, first + step, first + 2 step, ...
extern "C" void count(uint64_t first, uint64_t step, int64_t n, uint32_t* index) {
    for (int64_t i = 0; i < n; i++) index[i] = static_cast<uint32_t>(first + i * step);
}

// Input number k of a function of one operand has the bits k. Of two operands of 16 bits the first
// is the upper half of k, the second (y, else nullptr) the lower.
extern "C" void inputs(int bytes, int64_t n, const uint32_t* index, void* x, void* y) {
    for (int64_t i = 0; i < n; i++) {
        if (bytes == 4) {
            static_cast<uint32_t*>(x)[i] = index[i];
        } else {
            static_cast<uint16_t*>(x)[i] = static_cast<uint16_t>(y ? index[i] >> 16 : index[i]);
            if (y) static_cast<uint16_t*>(y)[i] = static_cast<uint16_t>(index[i]);
        }
    }
}

// What the kernel should make of x, or of x and y: the double, and the bits of it as an `out`.
// false if the kernel or a dtype is not known here.
extern "C" bool expect(const char* kernel, const char* in, const char* out, int64_t n,
                       const void* x, const void* y, double* exact, uint64_t* expected) {
    const DType *from = row_named(DTYPES, in), *to = row_named(DTYPES, out);
    const OfOne* one = y ? nullptr : row_named(OF_ONE, kernel);
    const OfTwo* two = y ? row_named(OF_TWO, kernel) : nullptr;
    if (!from || !to || (!one && !two)) return false;
    for (int64_t i = 0; i < n; i++) {
        const double a = value(*from, read(from->bytes, x, i));
        exact[i] = one ? one->f(a) : two->f(a, value(*from, read(from->bytes, y, i)));
    }
    for (int64_t i = 0; i < n; i++)
        expected[i] = to->kind == DType::Float  ? rounded(*to, exact[i])
                      : to->kind == DType::Bool ? exact[i] != 0
                                                : cut(*to, exact[i]);
    return true;
}

struct Found {
    int64_t wrong;      // results that are not the expected ones
    int64_t undecided;  // those of them that may be the nearest all the same
    int64_t ulps;       // the most numbers from an expected result to the one found; -1: unlike
    double error;       // the most units in the last place from the exact value
    uint32_t at;        // the first input with that error
};

// Adds what became of n results to `found`. They are unlike where one is special and the other not.
extern "C" void compare(const char* out, int64_t n, const uint32_t* index, const double* exact,
                        const uint64_t* expected, const void* results, Found* found) {
    const DType& t = *row_named(DTYPES, out);
    const double doubt = 0.5 + std::ldexp(1.0, t.mantissa - 49);  // eight units of a double
    for (int64_t i = 0; i < n; i++) {
        const uint64_t got = read(t.bytes, results, i), wanted = expected[i];
        if (got == wanted || (is_nan(t, got) && is_nan(t, wanted))) continue;
        const uint64_t size = got & (t.sign() - 1), other = wanted & (t.sign() - 1);
        double error = std::numeric_limits<double>::infinity();
        found->wrong++;
        if (t.kind != DType::Float || t.bytes == 8 || size >= t.infinity() ||
            other >= t.infinity() || (size == 0 && other == 0)) {
            found->ulps = -1;
        } else {
            const bool same = ((got ^ wanted) & t.sign()) == 0;
            const int64_t far = same ? std::llabs(static_cast<int64_t>(size - other))
                                     : static_cast<int64_t>(size + other);
            if (found->ulps >= 0 && far > found->ulps) found->ulps = far;
            error = std::fabs(value(t, got) - exact[i]) * power_of_two(-unit_exponent(t, exact[i]));
            found->undecided += error <= doubt;
        }
        if (error > found->error) found->error = error, found->at = index[i];
    }
}

// Of each 2^23 inputs the one whose exact value comes closest to the middle of two numbers.
struct Hardest {
    double distance[512];  // in units in the last place; at first 1
    uint32_t at[512];
};

// Looks for harder inputs among these. They are the first whose results change when a formula does.
extern "C" void harder(const char* out, int64_t n, const uint32_t* index, const double* exact,
                       Hardest* hardest) {
    const DType& t = *row_named(DTYPES, out);
    for (int64_t i = 0; i < n; i++) {
        const double size = std::fabs(exact[i]);
        const int unit = unit_exponent(t, size);
        if (unit + t.mantissa > t.highest) continue;  // infinite
        const double units = size * power_of_two(-unit);
        const double distance =
            std::fabs(units - static_cast<double>(static_cast<int64_t>(units)) - 0.5);
        const uint32_t part = index[i] >> 23;
        if (distance < hardest->distance[part])
            hardest->distance[part] = distance, hardest->at[part] = index[i];
    }
}

// A number that changes if one of these results does: FNV-1a, over 64 bits at a time. The payload
// of a nan and its sign are nobody's business.
extern "C" uint64_t digest(const char* out, int64_t n, const void* results) {
    const DType& t = *row_named(DTYPES, out);
    uint64_t hash = 0xcbf29ce484222325;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = read(t.bytes, results, i);
        hash = (hash ^ (is_nan(t, bits) ? ~uint64_t(0) : bits)) * 0x100000001b3;
    }
    return hash;
}
