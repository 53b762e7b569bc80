// The matrix product in six steps, from the definition to gemm.hpp. Each does the same
// multiplications as the one before it; only their order and the memory they touch change.
// All take any strides, and C must not overlap A or B.
#pragma once

#include "kernels/gemm.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// 1. The definition, c_ij = sum_p a_ip b_pj. The inner loop walks down a column of B, so every
// number comes from another cache line, and each sum waits for the one before it.
template <class T>
void matmul_naive(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.cols; ++j) {
            T sum = 0;
            for (int64_t p = 0; p < a.cols; ++p) sum += a(i, p) * b(p, j);
            c(i, j) = sum;
        }
}

// c += a b for a row b and a number a. Where both rows lie side by side in memory, the compiler
// makes vectors of this loop; with strides that it does not know, it cannot.
template <class T>
void add_row(int64_t n, T a, const T* __restrict b, int64_t b_col, T* __restrict c, int64_t c_col) {
    if (b_col == 1 && c_col == 1)
        for (int64_t j = 0; j < n; ++j) c[j] += a * b[j];
    else
        for (int64_t j = 0; j < n; ++j) c[j * c_col] += a * b[j * b_col];
}

template <class T>
void fill_zero(Matrix<T> c) {
    for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.cols; ++j) c(i, j) = 0;
}

// C += A B. The loops over j and p are swapped: the inner one walks along rows of B and C.
template <class T>
void add_rows(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t p = 0; p < a.cols; ++p)
            add_row(c.cols, a(i, p), &b(p, 0), b.col, &c(i, 0), c.col);
}

// 2. Walking along rows, every line that is fetched is used up; and the sums of a row are
// independent of each other, so that the compiler can use vectors.
template <class T>
void matmul_ikj(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    fill_zero(c);
    add_rows(a, b, c);
}

// Steps 3 and 4 take B in blocks of DEEP x LONG, 32 KiB of floats: small enough to stay in a cache
// near the core, with rows that are long enough for vectors to be worth it.
constexpr int64_t DEEP = 32, LONG = 256;

// add(the part of A, the block of B, the part of C) for every block of B.
template <class T, class Add>
void block_by_block(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const Add& add) {
    fill_zero(c);
    for (int64_t p = 0; p < a.cols; p += DEEP)
        for (int64_t j = 0; j < c.cols; j += LONG) {
            const int64_t deep = smaller(DEEP, a.cols - p), wide = smaller(LONG, c.cols - j);
            add(a.block(0, p, c.rows, deep), b.block(p, j, deep, wide),
                c.block(0, j, c.rows, wide));
        }
}

// 3. Step 2 reads all of B for every row of A. Here a block of B is used for all rows while it is
// in the cache. That pays where B does not fit there as a whole.
template <class T>
void matmul_tiled(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    block_by_block(a, b, c, add_rows<T>);
}

// C += A B for R rows, two registers of columns at a time, then what is left. Loops over rows are
// unrolled, because only what has a name of its own can be in a register.
template <int R, class T>
void add_in_lanes(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    constexpr int64_t L = lanes<T>;
    int64_t j = 0;
    for (; j + 2 * L <= c.cols; j += 2 * L) {
        vec<T> sums[R][2];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sums[r][0] = load(&c(r, j)), sums[r][1] = load(&c(r, j + L));
        for (int64_t p = 0; p < a.cols; ++p) {
            const vec<T> left = load(&b(p, j)), right = load(&b(p, j + L));
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const vec<T> x(a(r, p));
                sums[r][0] = xsimd::fma(x, left, sums[r][0]);
                sums[r][1] = xsimd::fma(x, right, sums[r][1]);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) store(&c(r, j), sums[r][0]), store(&c(r, j + L), sums[r][1]);
    }
    add_rows(a, b.block(0, j, b.rows, c.cols - j), c.block(0, j, R, c.cols - j));
}

// 4. Steps 2 and 3 load and store a number of C for every multiplication. Here a piece of C, 4 rows
// by 2 registers, stays in registers for the depth of a block: 6 loads for 8 fma, and no store, and
// these 8 do not wait for each other. Columns that are not side by side are left to step 3.
template <class T>
void matmul_lanes(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    if (b.col != 1 || c.col != 1) return matmul_tiled(a, b, c);
    block_by_block(a, b, c, [](Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
        int64_t i = 0;
        for (; i + 4 <= c.rows; i += 4)
            add_in_lanes<4>(a.block(i, 0, 4, a.cols), b, c.block(i, 0, 4, c.cols));
        for (; i < c.rows; ++i)
            add_in_lanes<1>(a.block(i, 0, 1, a.cols), b, c.block(i, 0, 1, c.cols));
    });
}

// 5. Step 4 goes down B with a stride, through another line and often another page at every step,
// and its piece of C is small. Here what the inner loop reads is packed in the order in which it
// reads it, in blocks for each cache, and the piece of C is as large as the registers allow.
template <class T>
bool matmul_packed(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    const Tiles tiles = tiles_of<Computed<T>>(c.rows, c.cols, a.cols);
    bool done = true;
    for (int64_t t = 0; t < tiles.count(); ++t) done &= multiply_tile(a, b, c, tiles, t);
    return done;
}

// 6. The tiles of C do not depend on each other: every thread takes the next one.
template <class T>
bool matmul_threaded(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    const Tiles tiles = tiles_of<Computed<T>>(c.rows, c.cols, a.cols);
    bool failed = false;
    parallel_each(tiles.count(), GRAIN, GRAIN, [&](int64_t t) {
        if (!multiply_tile(a, b, c, tiles, t)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return !failed;
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
