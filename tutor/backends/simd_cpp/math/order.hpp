// The keys by which a dtype is compared: integers in the order of the values.
#pragma once

#include <cstring>
#include <limits>

#include "math/half.hpp"
#include "math/stored.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// For comparisons, values become keys: integers in the order of the values, with nan on top. IEEE
// 754 floats were designed for this: the bits of positive ones are in order, those of negative ones
// in reverse. -0 has the key -1, just below that of +0; zeros_alike gives both the same.
template <class T>
struct Ordered {
    using Key = T;
    static Key key(T x) { return x; }
    static T value(Key key) { return key; }
    static Key number(T x) { return x; }
    static Key nan_on_top(T, Key key) { return key; }
    static Key zeros_alike(Key key) { return key; }
};

// false below true, whatever byte represents it.
template <>
struct Ordered<bool_t> : Ordered<uint8_t> {
    static Key key(bool_t x) { return x ? 1 : 0; }
    static bool_t value(Key key) { return key != 0; }
    static Key number(bool_t x) { return key(x); }
    static Key nan_on_top(bool_t, Key key) { return key; }
};

template <class T, class Bits, Bits INFINITY_BITS>
struct OrderedFloat {
    using Key = Bits;
    static constexpr Bits ALL_BUT_SIGN = std::numeric_limits<Bits>::max();
    static Bits bits(T x) {
        Bits b;
        std::memcpy(&b, &x, sizeof b);
        return b;
    }
    static Bits turned(Bits b) { return Bits(b ^ (-Bits(b < 0) & ALL_BUT_SIGN)); }  // b < 0: ~b
    static Key number(T x) { return turned(bits(x)); }
    // Arithmetic instead of a branch, so that loops over keys are vectorized.
    static Key nan_on_top(T x, Key key) {
        const Bits all = -Bits(Bits(bits(x) & ALL_BUT_SIGN) > INFINITY_BITS);  // for nan: all bits
        return Bits((key | all) ^ (all & ~ALL_BUT_SIGN));
    }
    static Key key(T x) { return nan_on_top(x, number(x)); }
    static T value(Key key) {
        const Bits b = turned(key);
        T x;
        std::memcpy(&x, &b, sizeof x);
        return x;
    }
    static Key zeros_alike(Key key) { return Key(key + (key == Key(-1))); }
};

template <>
struct Ordered<half_t> : OrderedFloat<half_t, int16_t, 0x7c00> {};
template <>
struct Ordered<bfloat_t> : OrderedFloat<bfloat_t, int16_t, 0x7f80> {};
template <>
struct Ordered<float> : OrderedFloat<float, int32_t, 0x7f800000> {};
template <>
struct Ordered<double> : OrderedFloat<double, int64_t, 0x7ff0000000000000> {};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
