// The one tree that every sum and every product of floats follows.
#pragma once

#include "math/computed.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

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

// The largest power of two below `count`: the number of blocks in the left half of the tree.
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
