// Matrices, and how gemm.hpp packs them: in the order in which its micro-kernel reads them.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "math/computed.hpp"
#include "math/transpose.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

template <class T>
struct Matrix {
    T* data;
    int64_t rows, cols;
    int64_t row, col;  // strides: from one row to the next, from one column to the next

    T& operator()(int64_t i, int64_t j) const { return data[i * row + j * col]; }
    Matrix block(int64_t i, int64_t j, int64_t height, int64_t width) const {
        return {data + i * row + j * col, height, width, row, col};
    }
    Matrix transposed() const { return {data, cols, rows, col, row}; }
};

// ---- the piece of C in registers ----------------------------------------------------------------

// The piece of C in registers must have at least 8 vectors, or the fma units wait for each other's
// results (2 units, 4 cycles each). It should be nearly square: a step reads ROWS + VECTORS values
// for ROWS * VECTORS fmas, and a core reads 2 in the time of 2 fmas. There must also be room for
// VECTORS of B and one of A: 14 * 2 + 2 + 1 of 32 registers, 6 * 2 + 2 + 1 of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int64_t ROWS = 14;
#else
constexpr int64_t ROWS = 6;
#endif
constexpr int64_t VECTORS = 2;
template <class F>
constexpr int64_t SLIVER = VECTORS * lanes<F>;  // columns

template <class F>
constexpr int64_t whole_vectors(int64_t n) {
    return (n + lanes<F> - 1) / lanes<F> * lanes<F>;
}

// ---- packing ------------------------------------------------------------------------------------

// How many pages of memory are walked side by side: fewer than the first-level TLB holds (64 and
// more). Each row of a large matrix is in another page.
constexpr int64_t PAGES = 32;

// The `lanes` numbers from `from` on.
template <class F, class T>
inline vec<F> load_as(const T* from) {
    if constexpr (std::is_same<F, T>::value) {
        return load(from);
    } else {
        alignas(64) F line[lanes<F>];
        convert_row(lanes<F>, line, from);
        return load(line);
    }
}

// Copies n < 2 * STEP numbers: first 32 or none, then 16 or none, and so on. For so few this is
// faster than a call, or than the `rep movs` that GCC makes of a copy of unknown length.
template <int STEP = 32, class F, class T>
inline void copy_few(int64_t n, F* to, const T* from) {
    if constexpr (!std::is_same<F, T>::value) {
        convert_row(n, to, from);
    } else {
        if (n & STEP) std::memcpy(to, from, STEP * sizeof(F)), to += STEP, from += STEP;
        if constexpr (STEP > 1) copy_few<STEP / 2>(n, to, from);
    }
}

// Copies rows of V vectors, which are `stride` apart, one right after the other.
template <int V, class F, class T>
inline void copy_rows(int64_t rows, const T* from, int64_t stride, F* to) {
    for (int64_t q = 0; q < rows; ++q, from += stride, to += V * lanes<F>)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) store(to + v * lanes<F>, load_as<F>(from + v * lanes<F>));
}

// Cuts `from` into slivers of `step` columns, the last one perhaps narrower, and stores each row by
// row, every row padded to whole vectors with what follows it in memory, or zeros. A sliver takes
// as much room as if it had `step` columns.
template <class F, class T>
void pack(Matrix<const T> from, int64_t step, F* to) {
    constexpr int L = lanes<F>;
    const int64_t room = whole_vectors<F>(step) * from.rows;
    // Contiguous rows are copied, PAGES of them at a time.
    for (int64_t p = 0; p < from.rows && from.col == 1; p += PAGES) {
        for (int64_t j = 0; j < from.cols; j += step) {
            const int64_t columns = smaller(step, from.cols - j), width = whole_vectors<F>(columns);
            const int64_t end = smaller(p + PAGES, from.rows);
            // Rows before `whole` are copied by vectors; the last ones might reach beyond the last
            // number of `from`, where memory may end.
            const int64_t beyond = larger(0, j + width - from.cols);
            int64_t whole = p;
            static_assert(VECTORS == 2, "name them all here");
            if (width <= SLIVER<F> && (beyond == 0 || from.row > 0))
                whole = smaller(end, from.rows - ceil_div(beyond, larger(1, from.row)));
            int64_t q = larger(p, whole);
            F* row = to + j / step * room + p * width;
            (width == L ? copy_rows<1, F, T> : copy_rows<2, F, T>)(q - p, &from(p, j), from.row,
                                                                   row);
            row += (q - p) * width;
            for (; q < end; ++q, row += width) {
                copy_few(columns, row, &from(q, j));
                for (int64_t s = columns; s < width; ++s) row[s] = 0;
            }
        }
    }
    // Contiguous columns are transposed square by square; other layouts go number by number.
    for (int64_t j = 0; j < from.cols && from.col != 1; j += step, to += room) {
        const int64_t columns = smaller(step, from.cols - j), width = whole_vectors<F>(columns);
        const int64_t squares = from.row == 1 ? from.rows / L * L : 0;
        for (int64_t p = 0; p < squares; p += L) {
            for (int64_t s = 0; s < width; s += L) {
                vec<F> square[L];
#pragma GCC unroll 16
                for (int i = 0; i < L; ++i)
                    square[i] = s + i < columns ? load_as<F>(&from(p, j + s + i)) : vec<F>(F(0));
                transpose<F>(square);
#pragma GCC unroll 16
                for (int i = 0; i < L; ++i) store(to + (p + i) * width + s, square[i]);
            }
        }
        for (int64_t p = squares; p < from.rows; ++p)
            for (int64_t s = 0; s < width; ++s)
                to[p * width + s] = s < columns ? convert<F>(from(p, j + s)) : F(0);
    }
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
