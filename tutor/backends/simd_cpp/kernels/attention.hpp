// Attention, block by block: products that stay in the cache, and the softmax between them.
//
// No matrix of all scores is stored. T. Dao et al., FlashAttention (2022): the keys come in blocks,
// and each query carries three things from one block to the next, the largest score m so far, the
// sum l of e**(s - m), and the sum o of e**(s - m) v. If a block has a larger score m', the earlier
// sums are off by one factor, e**(m - m'), and are multiplied by it. In the end the answer is
// o / l, and the gradient needs only m + ln l, one number for each query, to recompute the weights:
// e**(s - (m + ln l)).
#pragma once

#include "kernels/micro_kernel.hpp"
#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// Keys of a block: with 64 numbers each, keys and values take 64 KiB and stay in L2.
constexpr int64_t KEYS = 128;

// Queries of one chunk of work. The gradient takes BESIDE at a time: their weights, BESIDE x KEYS,
// are read along both axes.
constexpr int64_t QUERIES = 512;
constexpr int64_t BESIDE = 64;

// Multiplications in 5 to 10 us, the cost of waking a thread.
constexpr int64_t GRAIN = 1 << 18;

// ---- operands -----------------------------------------------------------------------------------

// Matrix number `index`, counted over all axes but the last two.
template <class T>
Matrix<T> matrix_of(const Operand& x, int64_t index) {
    T* data = reinterpret_cast<T*>(x.data);
    const int last = x.ndim - 1;
    for (int d = last - 2; d >= 0; index /= x.shape[d], --d)
        data += index % x.shape[d] * x.strides[d];
    return {data, x.shape[last - 1], x.shape[last], x.strides[last - 1], x.strides[last]};
}

// Row number `index`, counted over all axes but the last one, as a matrix of one column.
template <class T>
Matrix<T> column_of(const Operand& x, int64_t index) {
    T* data = reinterpret_cast<T*>(x.data);
    const int last = x.ndim - 1;
    for (int d = last - 1; d >= 0; index /= x.shape[d], --d)
        data += index % x.shape[d] * x.strides[d];
    return {data, x.shape[last], 1, x.strides[last], 1};
}

inline int64_t matrices_of(const Operand& x) {
    int64_t count = 1;
    for (int d = 0; d < x.ndim - 2; ++d) count *= x.shape[d];
    return count;
}

// Takes pieces of one scratch memory, each of whole vectors.
template <class F>
struct Room {
    F* memory;  // nullptr: they are only counted
    int64_t count = 0;
    F* take(int64_t numbers) {
        F* taken = memory ? memory + count : nullptr;
        count += whole_vectors<F>(numbers);
        return taken;
    }
};

// Rows in whole vectors, as the micro-kernel can read them: in place, or copied to `to`.
template <class T, class F = Computed<T>>
Matrix<const F> whole_rows(Matrix<const T> from, F* to) {
    const int64_t width = whole_vectors<F>(from.cols);
    if constexpr (std::is_same<T, F>::value)
        if (from.col == 1 && width == from.cols) return from;
    for (int64_t i = 0; i < from.rows; ++i) {
        F* row = to + i * width;
        move_row(&from(i, 0), from.col, row, 1, from.cols);
        for (int64_t j = from.cols; j < width; ++j) row[j] = 0;
    }
    return {to, from.rows, from.cols, width, 1};
}

// The columns of such rows as rows, KEYS apart, padded with zeros to whole vectors.
template <class F>
void turn(Matrix<const F> from, F* to) {
    constexpr int L = lanes<F>;
    for (int64_t i = 0; i < from.rows; i += L)
        for (int64_t j = 0; j < from.cols; j += L) {
            vec<F> square[L];
#pragma GCC unroll 16
            for (int r = 0; r < L; ++r)
                square[r] = i + r < from.rows ? load(&from(i + r, j)) : vec<F>(F(0));
            transpose<F>(square);
            const int64_t rows = smaller(L, from.cols - j);
            for (int64_t r = 0; r < rows; ++r) store(to + (j + r) * KEYS + i, square[r]);
        }
}

template <class T, class F>
void write_rows(Matrix<T> to, const F* from, int64_t step) {
    for (int64_t i = 0; i < to.rows; ++i) move_row(from + i * step, 1, &to(i, 0), to.col, to.cols);
}

// ---- products -----------------------------------------------------------------------------------

// C = or += A B, for rows padded to whole vectors.
template <class F>
void multiply(int64_t rows, int64_t cols, int64_t depth, const F* a, int64_t a_row, int64_t a_col,
              const F* b, int64_t b_row, F* c, int64_t c_row, bool add) {
    const int64_t panels = ceil_div(rows, ROWS), height = ceil_div(rows, larger(1, panels));
    for (int64_t i = 0; i < rows; i += height)
        for (int64_t j = 0; j < cols; j += SLIVER<F>) {
            const int64_t vectors = smaller(VECTORS, ceil_div(cols - j, lanes<F>));
            micro_kernel_for<F>(smaller(height, rows - i), vectors)(
                depth, a + i * a_row, a_row, a_col, b + j, b_row, c + i * c_row + j, c_row, add,
                Finish<F>());
        }
}

// ---- scores -------------------------------------------------------------------------------------

// Turns products into scores: s_ij = scale * (q k)_ij + mask_ij, for the keys that query i sees.
template <class T, class F = Computed<T>>
struct Scores {
    Matrix<const T> mask;
    F scale;
    bool causal;
    bool plain = mask.row == 0 && mask.col == 0 && mask.rows * mask.cols > 0 &&
                 convert<F>(*mask.data) == 0;  // nothing is added

    // How many of the `count` keys from `first` on query i sees.
    int64_t seen(int64_t i, int64_t first, int64_t count) const {
        return causal ? larger(0, smaller(count, i + 1 - first)) : count;
    }

    // The mask of query i, for `count` keys from `first` on; nullptr: there is none.
    const F* added(int64_t i, int64_t first, int64_t count, F* room) const {
        if (plain || count == 0) return nullptr;
        move_row(&mask(i, first), mask.col, room, 1, count);
        return room;
    }

    // Scores c to c + lanes of a row, of which `count` are seen; the others are -inf.
    vec<F> at(const F* products, const F* add, int64_t c, int64_t count) const {
        vec<F> s = load(products + c) * vec<F>(scale);
        if (add) s += load(add + c);
        if (c + lanes<F> <= count) return s;
        alignas(64) F lane[lanes<F>];
        store(lane, s);
        for (int64_t l = larger(0, count - c); l < lanes<F>; ++l)
            lane[l] = -std::numeric_limits<F>::infinity();
        return load(lane);
    }
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
