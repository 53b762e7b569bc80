// The inner part of a matrix product: a piece of C that stays in registers while k runs, and what
// is done to it before it leaves them.
#pragma once

#include <utility>

#include "kernels/packing.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// C of one row: as many vectors as registers allow are summed up side by side, so that 1 KiB of
// each row of B is read at once, and prefetched AHEAD rows before. Rows are in different pages of
// memory, where the CPU does not prefetch by itself.
constexpr int64_t WIDE = ROWS > 8 ? 16 : 8;
constexpr int64_t AHEAD = 8;

// ---- what follows the sums ----------------------------------------------------------------------

// c_ij + bias_j, or c_ij + bias_i where C is computed transposed; and if `relu`, 0 where that is
// below. `bias` is contiguous, and can be read a sliver beyond its end; nullptr leaves C as it is.
template <class F>
struct Finish {
    const F* bias = nullptr;
    bool per_row = false, relu = false;
    const Then* then = nullptr;  // only where C lies row by row

    // The same for the piece of C that begins at (i, j).
    Finish at(int64_t i, int64_t j) const {
        return {bias ? bias + (per_row ? i : j) : nullptr, per_row, relu, then};
    }

    // What follows complete rows of C, in memory.
    template <class T>
    void go_on(T* first, int64_t count) const {
        if (then) then->run(*then, reinterpret_cast<char*>(first), count);
    }

    template <int R, int V>
    void apply(vec<F> (&c)[R][V]) const {
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v)
                c[i][v] = c[i][v] + (per_row ? vec<F>(bias[i]) : load(bias + v * lanes<F>));
        if (!relu) return;
        const vec<F> zero(F(0));
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v) c[i][v] = xsimd::select(c[i][v] <= zero, zero, c[i][v]);
    }
};

// ---- the micro-kernel ---------------------------------------------------------------------------

// c (R x V vectors) = or += a (R x depth) b (depth x V vectors), finished if there is a bias. For
// each p, column p of a times row p of b is added to R * V vectors that never leave registers.
template <class F, int R, int V>
void micro_kernel(int64_t depth, const F* a, int64_t a_row, int64_t a_col, const F* b,
                  int64_t b_row, F* c, int64_t c_row, bool add, const Finish<F>& finish) {
    constexpr int L = lanes<F>;
    vec<F> sum[R][V];
    // A loop over registers must be unrolled completely: they have no addresses.
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sum[i][v] = vec<F>(F(0));
    // One pointer for every third row: few enough to be kept in registers as well.
    const F* at[(R + 2) / 3];
#pragma GCC unroll 16
    for (int i = 0; i < R; i += 3) at[i / 3] = a + i * a_row;

    // C is needed last, but may come from far away. A short loop ends before it arrives.
#pragma GCC unroll 16
    for (int i = 0; i < R && depth >= 64; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) __builtin_prefetch(c + i * c_row + v * L, 1);

    for (int64_t p = 0; p < depth; ++p) {
        vec<F> b_p[V];
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) b_p[v] = load(b + v * L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const vec<F> a_ip(at[i / 3][i % 3 * a_row]);
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v) sum[i][v] = xsimd::fma(a_ip, b_p[v], sum[i][v]);
        }
        if constexpr (R == 1 && V > VECTORS) {
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v) __builtin_prefetch(b + AHEAD * b_row + v * L);
        }
        b += b_row;
#pragma GCC unroll 16
        for (int i = 0; i < R; i += 3) at[i / 3] += a_col;
    }

#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
            if (add) sum[i][v] = load(c + i * c_row + v * L) + sum[i][v];
    if constexpr (std::is_floating_point_v<F>)
        if (finish.bias) finish.apply(sum);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) store(c + i * c_row + v * L, sum[i][v]);
}

template <class F>
using MicroKernel = void (*)(int64_t, const F*, int64_t, int64_t, const F*, int64_t, F*, int64_t,
                             bool, const Finish<F>&);

// The same in several kernels, the largest first, for products of integers: few programs multiply
// them, so their edges may take a little longer, and compiling all sizes takes long as well.
template <class F, int R, int V>
void in_parts(int64_t depth, const F* a, int64_t a_row, int64_t a_col, const F* b, int64_t b_row,
              F* c, int64_t c_row, bool add, const Finish<F>& finish) {
    constexpr int FIRST = R == ROWS ? R : R >= 8 ? 8 : R >= 4 ? 4 : R >= 2 ? 2 : 1;
    micro_kernel<F, FIRST, V>(depth, a, a_row, a_col, b, b_row, c, c_row, add, finish);
    if constexpr (R > FIRST)
        in_parts<F, R - FIRST, V>(depth, a + FIRST * a_row, a_row, a_col, b, b_row,
                                  c + FIRST * c_row, c_row, add, finish);
}

template <class F, int V, int... R>
inline MicroKernel<F> with_rows(int64_t rows, std::integer_sequence<int, R...>) {
    if constexpr (std::is_floating_point_v<F>) {
        static constexpr MicroKernel<F> kernels[] = {micro_kernel<F, R + 1, V>...};
        return kernels[rows - 1];
    } else {
        static constexpr MicroKernel<F> kernels[] = {in_parts<F, R + 1, V>...};
        return kernels[rows - 1];
    }
}

// One for every size up to ROWS x VECTORS, so that the edges of C cost no wasted work.
template <class F>
inline MicroKernel<F> micro_kernel_for(int64_t rows, int64_t vectors) {
    static_assert(VECTORS == 2, "name them all here");
    constexpr auto up_to_rows = std::make_integer_sequence<int, ROWS>();
    return vectors == 2 ? with_rows<F, 2>(rows, up_to_rows) : with_rows<F, 1>(rows, up_to_rows);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
