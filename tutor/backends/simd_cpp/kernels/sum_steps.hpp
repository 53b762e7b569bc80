// The sum of n numbers in six steps, from the definition to the kernel in use: the first lesson in
// SIMD. Each is the step before it with one idea more. (matmul_steps.hpp is the second lesson.)
#pragma once

#include "walk/tree.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// 1. The definition. Every addition waits for the result of the one before it, which takes four
// cycles, although the CPU could begin two additions in each of them.
inline float sum_naive(int64_t n, const float* x) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

// 2. Four sums that do not wait for each other. The compiler may not do this by itself: numbers
// that are added in another order round to another result.
inline float sum_unrolled(int64_t n, const float* x) {
    float a = 0, b = 0, c = 0, d = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) a += x[i], b += x[i + 1], c += x[i + 2], d += x[i + 3];
    for (; i < n; ++i) a += x[i];
    return (a + b) + (c + d);
}

// 3. One instruction adds a whole register of numbers: 4 with SSE, 8 with AVX, 16 with AVX-512.
inline float sum_simd(int64_t n, const float* x) {
    constexpr int L = lanes<float>;
    vec<float> sums(0.0f);
    int64_t i = 0;
    for (; i + L <= n; i += L) sums += load(x + i);
    float sum = xsimd::reduce_add(sums);
    for (; i < n; ++i) sum += x[i];
    return sum;
}

// 4. Steps 2 and 3 together: several registers full of sums. From here on memory is the limit for
// long x, no longer arithmetic.
inline float sum_accumulators(int64_t n, const float* x) {
    constexpr int L = lanes<float>, STEP = 4 * L;
    vec<float> a(0.0f), b(0.0f), c(0.0f), d(0.0f);
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        a += load(x + i);
        b += load(x + i + L);
        c += load(x + i + 2 * L);
        d += load(x + i + 3 * L);
    }
    float sum = xsimd::reduce_add((a + b) + (c + d));
    for (; i < n; ++i) sum += x[i];
    return sum;
}

// 5. Step 4 gives another result on a CPU with wider registers, and in all steps so far the error
// grows with n. Here each of 32 sums takes every 32nd number, whatever the registers; after 512
// numbers they are added up, and the results of these blocks in pairs, the pairs in pairs, and so
// on: the tree of tree.hpp. The same bits everywhere, and an error that grows with log n.
inline float sum_tree_of(int64_t n, const float* x) {
    if (n <= BLOCK) {
        const int64_t left = n % lanes<float>;
        const vec<float> rest = load_part(x + n - left, left, 0.0f);
        return combine_block<float, Plus>(n, [&](int64_t i) { return load(x + i); }, rest);
    }
    const int64_t left = BLOCK * left_half(ceil_div(n, BLOCK));
    return sum_tree_of(left, x) + sum_tree_of(n - left, x + left);
}

// 6. Branches of the tree do not depend on each other: every thread takes the next one. They are
// cut where the sizes say, not where there are threads, so the bits stay the same.
inline float sum_threaded(int64_t n, const float* x) {
    constexpr int64_t BRANCH = 64 * BLOCK;
    if (n <= BRANCH) return sum_tree_of(n, x);
    const int64_t branches = ceil_div(n, BRANCH);
    float* sums = static_cast<float*>(scratch(1, branches * sizeof(float)));
    if (sums == nullptr) return sum_tree_of(n, x);
    parallel(branches, [&](int64_t b) {
        sums[b] = sum_tree_of(smaller(BRANCH, n - b * BRANCH), x + b * BRANCH);
    });
    for (int64_t count = branches; count > 1; count = ceil_div(count, 2))
        for (int64_t b = 0; b < count; b += 2)
            sums[b / 2] = b + 1 < count ? sums[b] + sums[b + 1] : sums[b];
    return sums[0];
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
