// Shared by all kernel files but elementwise.cpp: walking the axes around an inner loop, what a
// dtype is computed and compared in, and the one tree that every sum of floats follows.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "half.hpp"
#include "simd.hpp"
#include "stored.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- axes ---------------------------------------------------------------------------------------

constexpr int MAX_OPERANDS = 4;

// Some axes of up to four operands, walked together in row-major order. Axes of size 1 are dropped,
// and an axis that continues the one outside it in every operand is merged with it.
struct Nest {
    int depth = 0;
    int64_t size[MAX_DIMS];
    int64_t stride[MAX_DIMS][MAX_OPERANDS];

    // One more axis, inside those that are there.
    void add(int64_t length, const int64_t (&steps)[MAX_OPERANDS]) {
        if (length == 1) return;
        bool continues = depth > 0;
        for (int k = 0; continues && k < MAX_OPERANDS; k++)
            continues = stride[depth - 1][k] == steps[k] * length;
        if (continues)
            size[depth - 1] *= length;
        else
            size[depth++] = length;
        for (int k = 0; k < MAX_OPERANDS; k++) stride[depth - 1][k] = steps[k];
    }

    // Takes the innermost axis away and returns it as a nest of its own, of depth 1.
    Nest split_inner() {
        Nest inner;
        inner.depth = 1;
        inner.size[0] = depth > 0 ? size[depth - 1] : 1;
        for (int k = 0; k < MAX_OPERANDS; k++)
            inner.stride[0][k] = depth > 0 ? stride[depth - 1][k] : 0;
        if (depth > 0) depth--;
        return inner;
    }

    int64_t count() const {
        int64_t product = 1;
        for (int d = 0; d < depth; d++) product *= size[d];
        return product;
    }

    // How far element `index` is from the first one in each operand, counted in elements. Returns
    // how many elements, from this one on, lie along the innermost axis.
    int64_t locate(int64_t index, int64_t (&offsets)[MAX_OPERANDS]) const {
        for (int k = 0; k < MAX_OPERANDS; k++) offsets[k] = 0;
        int64_t run = 1;
        for (int d = depth - 1; d >= 0; d--) {
            const int64_t outer = d > 0 ? index / size[d] : 0, here = index - outer * size[d];
            if (d == depth - 1) run = size[d] - here;
            for (int k = 0; k < MAX_OPERANDS; k++) offsets[k] += here * stride[d][k];
            index = outer;
        }
        return run;
    }
};

// Sorts axis numbers so that the one with the smallest steps in memory comes last.
inline void sort_axes(int* axes, int count, const int64_t* strides) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && magnitude(strides[axes[j - 1]]) < magnitude(strides[axes[j]]);
             j--) {
            const int moved = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = moved;
        }
}

// ---- threads ------------------------------------------------------------------------------------

// Calls task(i) for each i in [0, count), in parallel groups of at least `grain` elements, where
// one call handles `cost` of them. A group should take 10 us, what waking a thread costs.
template <class Task>
inline void parallel_each(int64_t count, int64_t cost, int64_t grain, const Task& task) {
    const int64_t group = larger(1, grain / larger(1, cost)), groups = ceil_div(count, group);
    if (groups == 0) return;
    parallel(groups, [&](int64_t g) {
        for (int64_t i = g * group; i < smaller(count, (g + 1) * group); i++) task(i);
    });
}

// ---- what to compute in -------------------------------------------------------------------------

// 16-bit floats are widened. Integers become unsigned, because signed ones may not wrap in C++; the
// bits are the same. Small ones take 32 bits: the lowest bits of a sum of products, the only ones
// that are kept, follow from the lowest bits of its factors.
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

// n elements from one array to another.
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

// n elements from one array to another, converted if their types differ.
template <class From, class To>
inline void move_row(const From* from, int64_t from_stride, To* to, int64_t to_stride, int64_t n) {
    if (from_stride == 1 && to_stride == 1) return convert_row(n, to, from);
    for (int64_t i = 0; i < n; i++) to[i * to_stride] = convert<To>(from[i * from_stride]);
}

// ---- order --------------------------------------------------------------------------------------

// To be compared, values become keys: integers in the order of the values, with nan on top. IEEE
// 754 floats were laid out for this: of positive ones the bits are in order, of negative ones in
// reverse. -0 has the key -1, just below that of +0; zeros_alike gives both the same.
template <class T>
struct Ordered {
    using Key = T;
    static Key key(T x) { return x; }
    static T value(Key key) { return key; }
    static Key number(T x) { return x; }
    static Key nan_on_top(T, Key key) { return key; }
    static Key zeros_alike(Key key) { return key; }
};

// false below true, whatever byte stands for it.
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
    // In arithmetic, not by a branch: so loops over keys become loops over vectors.
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

// ---- vectors ------------------------------------------------------------------------------------

// The next values at x; those of 16 bits are widened.
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

// All lanes combined, the upper half with the lower until one is left.
template <class F, class Combine>
inline F across(vec<F> values, Combine combine) {
    alignas(64) F lane[lanes<F>];
    store(lane, values);
#pragma GCC unroll 8
    for (int width = lanes<F> / 2; width > 0; width /= 2)
        for (int l = 0; l < width; l++) lane[l] = combine(lane[l], lane[l + width]);
    return lane[0];
}

// ---- sums and products --------------------------------------------------------------------------

// Which numbers are added to which follows from their positions alone, so a sum is the same to the
// bit on every level, for every layout and with any number of threads. The terms are cut into
// blocks of 512. In a block, lane l of 32 adds up the terms l, l + 32, l + 64, ... from +0 on; the
// lanes are added upper half to lower half, five times; the blocks are added in pairs, the pairs in
// pairs, and so on (pairwise summation: Higham, Accuracy and Stability of Numerical Algorithms,
// 4.2). So the error is at most (16 + 5 + log2(n / 512)) * u * sum |terms|. Sums start from +0 and
// so are never -0, which lets +0 fill lanes that have no term. Products follow the same tree,
// from 1.
constexpr int SUM_LANES = 32;
constexpr int BLOCK = 512;

struct Plus {
    static constexpr int neutral = 0;
    template <class V>
    V operator()(V a, V b) const {
        return a + b;
    }
};
struct Times {
    static constexpr int neutral = 1;
    template <class V>
    V operator()(V a, V b) const {
        return a * b;
    }
};

// The largest power of two below `count`: how many of the blocks are the left half of the tree.
inline int64_t left_half(int64_t count) {
    int64_t half = 1;
    while (2 * half < count) half *= 2;
    return half;
}

// One block of n <= 512 terms: term(i) gives those from i on as a vector, and `rest` the last ones
// that do not fill a vector, followed by neutral elements.
template <class F, class Combine, class Term>
inline F combine_block(int64_t n, const Term& term, vec<F> rest) {
    constexpr int WIDTH = lanes<F>, VECTORS = SUM_LANES / WIDTH;
    constexpr Combine combine;
    vec<F> all[VECTORS];
    for (int k = 0; k < VECTORS; k++) all[k] = vec<F>(F(Combine::neutral));
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
#pragma GCC unroll 16
        for (int k = 0; k < VECTORS; k++) all[k] = combine(all[k], term(i + k * WIDTH));
#pragma GCC unroll 16
    for (int k = 0; k < VECTORS; k++) {
        const int64_t left = n - i - k * WIDTH;
        if (left > 0) all[k] = combine(all[k], left >= WIDTH ? term(i + k * WIDTH) : rest);
    }
#pragma GCC unroll 8
    for (int half = VECTORS / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) all[k] = combine(all[k], all[k + half]);
    return across(all[0], combine);
}

// The same tree for as many sums as a vector has lanes: term(i) holds the i-th term of each.
template <class F, class Term>
inline vec<F> sums_tree(int64_t first, int64_t n, const Term& term) {
    if (n <= BLOCK) {
        vec<F> lane[SUM_LANES];
        for (vec<F>& sum : lane) sum = vec<F>(F(0));
        for (int64_t i = 0; i < n; i++) lane[i % SUM_LANES] += term(first + i);
        for (int half = SUM_LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; l++) lane[l] += lane[l + half];
        return lane[0];
    }
    const int64_t left = BLOCK * left_half(ceil_div(n, BLOCK));
    return sums_tree<F>(first, left, term) + sums_tree<F>(first + left, n - left, term);
}

// The whole tree of the sum of the n terms from `first` on, n a multiple of the vector's width.
template <class F, class Term>
inline F sum_tree(int64_t first, int64_t n, const Term& term) {
    if (n <= BLOCK)
        return combine_block<F, Plus>(n, [&](int64_t i) { return term(first + i); }, vec<F>(F(0)));
    const int64_t left = BLOCK * left_half(ceil_div(n, BLOCK));
    return sum_tree<F>(first, left, term) + sum_tree<F>(first + left, n - left, term);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
