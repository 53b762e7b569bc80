// The type that a dtype is computed in, and the conversions on the way to and from memory.
#pragma once

#include <cstring>
#include <type_traits>

#include "math/half.hpp"
#include "math/simd.hpp"
#include "math/stored.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- what to compute in -------------------------------------------------------------------------

// 16-bit floats are widened. Integers become unsigned, because signed ones may not wrap in C++; the
// bits are the same. Small ones take 32 bits: the lowest bits of a sum of products, the only ones
// kept, depend on the lowest bits of its factors alone.
template <class T>
using Unsigned = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <class T>
using Computed = std::conditional_t<is_16_bit_float<T>, float,
                                    std::conditional_t<std::is_integral<T>::value, Unsigned<T>, T>>;

template <class To, class From>
inline To convert(From x) {
    if constexpr (std::is_same<From, To>::value)
        return x;
    else if constexpr (is_16_bit_float<From>)
        return static_cast<To>(to_float(x));
    else if constexpr (is_16_bit_float<To>)
        return narrowed<To>(x);
    else
        return static_cast<To>(x);
}

// Converts n elements from one array to another.
template <class To, class From>
inline void convert_row(int64_t n, To* to, const From* from) {
    if constexpr (std::is_same<From, To>::value)
        std::memcpy(to, from, n * sizeof(To));
    else if constexpr (is_16_bit_float<From>)
        widen(n, to, from);
    else if constexpr (is_16_bit_float<To>)
        narrow(n, to, from);
    else
        for (int64_t i = 0; i < n; i++) to[i] = static_cast<To>(from[i]);
}

// Moves n elements from one array to another, converting them if their types differ.
template <class From, class To>
inline void move_row(const From* from, int64_t from_stride, To* to, int64_t to_stride, int64_t n) {
    if (from_stride == 1 && to_stride == 1) return convert_row(n, to, from);
    for (int64_t i = 0; i < n; i++) to[i * to_stride] = convert<To>(from[i * from_stride]);
}

// ---- vectors ------------------------------------------------------------------------------------

// The next values at x; 16-bit floats are widened.
template <class T>
inline vec<Computed<T>> load_wide(const T* x) {
    if constexpr (is_16_bit_float<T>) {
        alignas(64) float wide[lanes<float>];
        widen(lanes<float>, wide, x);
        return load(wide);
    } else {
        return load(x);
    }
}

// The first `count` < lanes values at `from`, and `rest` in the other lanes.
template <class F>
inline vec<F> load_part(const F* from, int64_t count, F rest) {
    alignas(64) F buffer[lanes<F>];
    for (int l = 0; l < lanes<F>; l++) buffer[l] = rest;
    for (int64_t l = 0; l < count; l++) buffer[l] = from[l];
    return load(buffer);
}

// Combines all lanes, the upper half with the lower until one is left.
template <class F, class Combine>
inline F across(vec<F> values, Combine combine) {
    alignas(64) F lane[lanes<F>];
    store(lane, values);
#pragma GCC unroll 8
    for (int width = lanes<F> / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++) lane[l] = combine(lane[l], lane[l + width]);
    return lane[0];
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
