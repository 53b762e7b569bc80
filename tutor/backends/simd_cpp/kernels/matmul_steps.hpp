// The matrix product in five steps, from the definition to gemm.hpp. Each does the same
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

// 2. The loops over j and p are swapped: the inner loop walks along rows of B and C, and its sums
// are independent of each other, so that the compiler can use vectors.
template <class T>
void matmul_ikj(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    for (int64_t i = 0; i < c.rows; ++i) {
        for (int64_t j = 0; j < c.cols; ++j) c(i, j) = 0;
        for (int64_t p = 0; p < a.cols; ++p) {
            const T a_ip = a(i, p);
            for (int64_t j = 0; j < c.cols; ++j) c(i, j) += a_ip * b(p, j);
        }
    }
}

// 3. Step 2 reads all of B for every row of A. Here a square of B is used for all rows while it is
// in the cache: 64 * 64 floats are 16 KiB, half of a small L1.
template <class T>
void matmul_tiled(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    constexpr int64_t SIDE = 64;
    for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.cols; ++j) c(i, j) = 0;
    for (int64_t p0 = 0; p0 < a.cols; p0 += SIDE)
        for (int64_t j0 = 0; j0 < c.cols; j0 += SIDE)
            for (int64_t i = 0; i < c.rows; ++i)
                for (int64_t p = p0; p < smaller(p0 + SIDE, a.cols); ++p) {
                    const T a_ip = a(i, p);
                    for (int64_t j = j0; j < smaller(j0 + SIDE, c.cols); ++j)
                        c(i, j) += a_ip * b(p, j);
                }
}

// 4. Step 3 still loads and stores a number of C for every multiplication. Here a piece of C stays
// in registers, and what the inner loop reads is packed in the order in which it reads it.
template <class T>
bool matmul_packed(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    const Tiles tiles = tiles_of<Computed<T>>(c.rows, c.cols, a.cols);
    bool done = true;
    for (int64_t t = 0; t < tiles.count(); ++t) done &= multiply_tile(a, b, c, tiles, t);
    return done;
}

// 5. The tiles of C do not depend on each other: every thread takes the next one.
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
