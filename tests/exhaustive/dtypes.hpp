// The dtypes: what their bits stand for, and how a double becomes one of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

struct DType {
    const char* name;
    int bytes;
    enum { Float, Signed, Unsigned, Bool } kind;
    int mantissa, highest;  // of floats: bits behind the point, exponent of the largest numbers

    uint64_t sign() const { return uint64_t(1) << (8 * bytes - 1); }
    int lowest() const { return 1 - highest; }  // exponent of the smallest normal numbers
    uint64_t infinity() const { return uint64_t(2 * highest + 1) << mantissa; }
};

constexpr DType DTYPES[] = {
    {"bool", 1, DType::Bool, 0, 0},         {"int8", 1, DType::Signed, 0, 0},
    {"int16", 2, DType::Signed, 0, 0},      {"int32", 4, DType::Signed, 0, 0},
    {"int64", 8, DType::Signed, 0, 0},      {"uint8", 1, DType::Unsigned, 0, 0},
    {"uint16", 2, DType::Unsigned, 0, 0},   {"uint32", 4, DType::Unsigned, 0, 0},
    {"uint64", 8, DType::Unsigned, 0, 0},   {"float16", 2, DType::Float, 10, 15},
    {"bfloat16", 2, DType::Float, 7, 127},  {"float32", 4, DType::Float, 23, 127},
    {"float64", 8, DType::Float, 52, 1023},
};

template <class Row, size_t count>
const Row* row_named(const Row (&rows)[count], const char* name) {
    for (const Row& row : rows)
        if (std::strcmp(row.name, name) == 0) return &row;
    return nullptr;
}

uint64_t bits_of(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// 2^k, for -1023 < k < 1024.
double power_of_two(int k) {
    const uint64_t bits = uint64_t(k + 1023) << 52;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t read(int bytes, const void* from, int64_t i) {
    switch (bytes) {
        case 1:
            return static_cast<const uint8_t*>(from)[i];
        case 2:
            return static_cast<const uint16_t*>(from)[i];
        case 4:
            return static_cast<const uint32_t*>(from)[i];
        default:
            return static_cast<const uint64_t*>(from)[i];
    }
}

// The number that a float of at most 32 bits stands for: by the definition of IEEE 754, so that no
// conversion of the kernels' own is trusted.
double value(const DType& t, uint64_t bits) {
    const uint64_t place = bits & (t.sign() - 1),
                   fraction = place & ((uint64_t(1) << t.mantissa) - 1);
    const int exponent = static_cast<int>(place >> t.mantissa);
    double size;
    if (place >= t.infinity())
        size = place == t.infinity() ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
        size = static_cast<double>(fraction) * power_of_two(t.lowest() - t.mantissa);
    else
        size = static_cast<double>(fraction + (uint64_t(1) << t.mantissa)) *
               power_of_two(exponent - t.highest - t.mantissa);
    return bits & t.sign() ? -size : size;
}

// The distance of t's numbers around x: 2^(the exponent of x, at least the lowest - the mantissa).
int unit_exponent(const DType& t, double x) {
    const int exponent = static_cast<int>(bits_of(x) >> 52 & 0x7ff) - 1023;
    return (exponent > t.lowest() ? exponent : t.lowest()) - t.mantissa;
}

// The bits of the t next to x, to even if two are. The positive numbers of t, counted upwards from
// 0, are their own bits: the units up to x, and 2^mantissa more for each power of two.
uint64_t rounded(const DType& t, double x) {
    if (t.bytes == 8) return bits_of(x);
    const uint64_t sign = std::signbit(x) ? t.sign() : 0;
    if (x != x) return sign | t.infinity() | (uint64_t(1) << (t.mantissa - 1));
    const double size = std::fabs(x);
    const int unit = unit_exponent(t, size), powers = unit + t.mantissa - t.lowest();
    if (powers > t.highest - t.lowest()) return sign | t.infinity();
    // Next to 2^52 doubles are 1 apart: the addition rounds to an integer, to even.
    const double units = (size * power_of_two(-unit) + 0x1p52) - 0x1p52;
    return sign | (static_cast<uint64_t>(units) + (static_cast<uint64_t>(powers) << t.mantissa));
}

// A float as an integer: cut towards 0, at the nearest end of the range beyond it, 0 for nan.
uint64_t cut(const DType& t, double x) {
    const uint64_t all = ~uint64_t(0) >> (64 - 8 * t.bytes);
    const bool is_signed = t.kind == DType::Signed;
    const double end = std::ldexp(1.0, 8 * t.bytes - is_signed);
    if (x != x) return 0;
    if (x >= end) return is_signed ? all >> 1 : all;
    if (x <= (is_signed ? -end : 0.0)) return is_signed ? t.sign() : 0;
    return (is_signed ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x)) &
           all;
}

}  // namespace
