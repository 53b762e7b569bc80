// Shared by reduce.cpp and fused.cpp: walking the axes around an inner loop, and the one summation
// tree that every sum of floats follows.
#pragma once

#include <cstring>

#include "half.hpp"
#include "simd.hpp"

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

// ---- vectors ------------------------------------------------------------------------------------

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

// ---- the sum ------------------------------------------------------------------------------------

// Which numbers are added to which follows from their positions alone, so a sum is the same to the
// bit on every level, for every layout and with any number of threads. The terms are cut into
// blocks of 512. In a block, lane l of 32 adds up the terms l, l + 32, l + 64, ... from +0 on; the
// lanes are added upper half to lower half, five times; the blocks are added in pairs, the pairs in
// pairs, and so on (pairwise summation: Higham, Accuracy and Stability of Numerical Algorithms,
// 4.2). So the error is at most (16 + 5 + log2(n / 512)) * u * sum |terms|. Sums start from +0 and
// so are never -0, which lets +0 fill lanes that have no term.
constexpr int SUM_LANES = 32;
constexpr int BLOCK = 512;

// The largest power of two below `count`: how many of the blocks are the left half of the tree.
inline int64_t left_half(int64_t count) {
    int64_t half = 1;
    while (2 * half < count) half *= 2;
    return half;
}

// One block of n <= 512 terms: term(i) gives those from i on as a vector, and `rest` the last ones
// that do not fill a vector, followed by zeros.
template <class F, class Term>
inline F sum_block(int64_t n, const Term& term, vec<F> rest) {
    constexpr int WIDTH = lanes<F>, VECTORS = SUM_LANES / WIDTH;
    vec<F> sum[VECTORS];
    for (int k = 0; k < VECTORS; k++) sum[k] = vec<F>(F(0));
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES)
#pragma GCC unroll 16
        for (int k = 0; k < VECTORS; k++) sum[k] += term(i + k * WIDTH);
#pragma GCC unroll 16
    for (int k = 0; k < VECTORS; k++) {
        const int64_t left = n - i - k * WIDTH;
        if (left >= WIDTH)
            sum[k] += term(i + k * WIDTH);
        else if (left > 0)
            sum[k] += rest;
    }
#pragma GCC unroll 8
    for (int half = VECTORS / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    return across(sum[0], [](F a, F b) { return a + b; });
}

// The whole tree over the n terms from `first` on, n a multiple of the vector's width.
template <class F, class Term>
inline F sum_tree(int64_t first, int64_t n, const Term& term) {
    if (n <= BLOCK)
        return sum_block<F>(n, [&](int64_t i) { return term(first + i); }, vec<F>(F(0)));
    const int64_t left = BLOCK * left_half(ceil_div(n, BLOCK));
    return sum_tree<F>(first, left, term) + sum_tree<F>(first + left, n - left, term);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
