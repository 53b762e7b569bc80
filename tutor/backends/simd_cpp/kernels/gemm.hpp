// C = A B, as fast as the CPU multiplies.
//
// A product of two n x n matrices has 2 n^3 operations on 3 n^2 numbers, so arithmetic alone can
// limit it, provided that every number fetched is used many times while it is near. The way to do
// that is K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication (2008), in
// the form of F. Van Zee and R. van de Geijn, BLIS (2015):
//
//   micro-kernel  ROWS x VECTORS registers hold a piece of C, while k runs     registers
//   panel         those ROWS of A, KC long, meet one sliver of B after another  L1 cache
//   block         KC x NC of B, cut into slivers, meets all panels of A         L2 cache
//   tile          at most MC x NC of C is one chunk of work                     one thread
//
// A few rows times a matrix use each number of B a few times, so memory is the limit: they have
// paths of their own, which pack nothing.
//
// Sums: k is cut into blocks of at most KC, of equal length; in a block one chain of fma runs over
// k from 0 on; the blocks are added in order. So the bits of C depend on k and the level alone, not
// on layout, tiles or threads. The error is at most (KC + k / KC) u sum |terms|, that of blocked
// summation (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
//
// What follows a product in a network, a bias and a relu, is done to C while it is still in
// registers (Finish): a pass over memory of its own would cost as much as a small product. A longer
// chain (kernels/fused.cpp) follows panel by panel, while that is in the L1 cache.
#pragma once

#include "kernels/micro_kernel.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- block sizes --------------------------------------------------------------------------------

// A panel of A stays in L1: 14 * 384 floats are 21 KiB of the usual 32 to 48 KiB; the sliver of B
// flows past it. The longer a panel, the less often C is loaded and stored.
constexpr int64_t KC = 384;

// A block of B, KC * NC values, stays in L2: 768 KiB of the usual 1 or 2 MiB. It is packed once for
// all of the tile's rows. Panels of A are packed just before they are read, 16 at a time, because a
// single one would take a few bytes of every page.
template <class F>
constexpr int64_t NC = 2048 / sizeof(F);
constexpr int64_t MC = 4096;
constexpr int64_t PANELS = 16;

// The number of blocks that k is cut into.
inline int64_t blocks_of(int64_t k) { return larger(1, ceil_div(k, KC)); }

// ---- a few rows ---------------------------------------------------------------------------------

// C of few rows, where columns of B are contiguous, as in a linear layer: each square of B is
// transposed once for all rows. Packing would store it, and read it again.
constexpr int64_t FEW = ROWS > 8 ? 8 : 4;

// c (R x L) = or += a (R x depth) b (depth x L), where the columns of b are contiguous: its squares
// are transposed in registers, so that the sums are those of the micro-kernel.
template <class F, int R>
void rows_by_columns(int64_t depth, const F* a, int64_t a_row, int64_t a_col, const F* b,
                     int64_t b_col, F* c, int64_t c_row, bool add, const Finish<F>& finish) {
    constexpr int L = lanes<F>;
    vec<F> sum[R][1];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sum[r][0] = vec<F>(F(0));
    int64_t p = 0;
    for (; p + L <= depth; p += L) {
        vec<F> square[L];
        load_transposed<F>(b + p, b_col, square);
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) {
            const F* column = a + (p + i) * a_col;
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
                sum[r][0] = xsimd::fma(vec<F>(column[r * a_row]), square[i], sum[r][0]);
        }
    }
    for (; p < depth; ++p) {
        alignas(64) F row[L];
        for (int i = 0; i < L; ++i) row[i] = b[i * b_col + p];
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
            sum[r][0] = xsimd::fma(vec<F>(a[r * a_row + p * a_col]), load(row), sum[r][0]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
        if (add) sum[r][0] = load(c + r * c_row) + sum[r][0];
    if constexpr (std::is_floating_point_v<F>)
        if (finish.bias) finish.apply(sum);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) store(c + r * c_row, sum[r][0]);
}

template <class F, int... R>
inline MicroKernel<F> few_rows(int64_t rows, std::integer_sequence<int, R...>) {
    static constexpr MicroKernel<F> kernels[] = {rows_by_columns<F, R + 1>...};
    return kernels[rows - 1];
}

// C = a b, at most FEW rows, a vector of columns at a time. The last one begins earlier if it would
// stick out of C, and computes some columns twice: so each is finished before the next begins.
template <class F>
void multiply_few(Matrix<const F> a, Matrix<const F> b, Matrix<F> c, const Finish<F>& finish) {
    const int64_t n = c.cols, blocks = blocks_of(a.cols), depth = ceil_div(a.cols, blocks);
    const MicroKernel<F> kernel = few_rows<F>(c.rows, std::make_integer_sequence<int, FEW>());
    for (int64_t j = 0; j < n; j += lanes<F>) {
        const int64_t from = smaller(j, n - lanes<F>);
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t p = block * depth, here = smaller(depth, a.cols - p);
            const Finish<F> last = block == blocks - 1 ? finish.at(0, from) : Finish<F>();
            kernel(here, &a(0, p), a.row, a.col, &b(p, from), b.col, &c(0, from), c.row, p > 0,
                   last);
        }
    }
}

// Columns j to n of c (1 x n) = a b, V vectors at a time, then half as many, and so on. A vector
// that would stick out of c begins earlier instead, and computes some columns twice.
template <class F, int V = WIDE>
void multiply_row(int64_t j, Matrix<const F> a, Matrix<const F> b, Matrix<F> c,
                  const Finish<F>& finish) {
    constexpr int64_t WIDTH = V * lanes<F>;
    const int64_t n = c.cols, blocks = blocks_of(a.cols), depth = ceil_div(a.cols, blocks);
    for (; V > 1 ? j + WIDTH <= n : j < n; j += WIDTH) {
        const int64_t from = smaller(j, n - WIDTH);
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t p = block * depth, here = smaller(depth, a.cols - p);
            const Finish<F> last = block == blocks - 1 ? finish.at(0, from) : Finish<F>();
            F* to = &c(0, from);
            micro_kernel<F, 1, V>(here, &a(0, p), 0, a.col, &b(p, from), b.row, to, 0, p > 0, last);
        }
    }
    if constexpr (V > 1) multiply_row<F, V / 2>(j, a, b, c, finish);
}

// ---- one tile -----------------------------------------------------------------------------------

// C = A B, finished, for a C of at most MC x NC, on this thread.
template <class T, class F = Computed<T>>
struct TileProduct {
    static constexpr int64_t L = lanes<F>;
    static constexpr bool same = std::is_same<T, F>::value;
    Matrix<const T> a, b;
    Matrix<T> c;
    const Finish<F>& finish;
    int64_t m = c.rows, n = c.cols, k = a.cols;
    int64_t blocks = blocks_of(k), depth = ceil_div(k, blocks);
    int64_t panels = ceil_div(m, ROWS), height = ceil_div(m, panels);  // 15 = 8 + 7 rows

    // Packing costs as much as 10 rows or columns of arithmetic, so it must be worth it. The
    // micro-kernel walks A with any strides. But if columns of A are contiguous, each step down k
    // may be in another page, and many slivers would go through them all again. Rows a multiple of
    // 2 KiB apart would share a few places of L1, so they are packed as well. The micro-kernel
    // needs B in whole vectors; where many panels read them, they should not be too scattered.
    bool a_collides = a.row * int64_t(sizeof(F)) % 2048 == 0 && blocks > 1;
    bool a_as_is = same && ((a.col == 1 && !a_collides) || n <= 4 * SLIVER<F>);
    bool near = depth * magnitude(b.row) <= KC * NC<F>;
    bool b_as_is = same && b.col == 1 && (panels == 1 || (near && m <= 256));
    bool c_as_is = same && c.col == 1;
    // If the last vector of a row would stick out, it may begin earlier instead, which computes
    // some numbers of C twice; but if C is a sum of blocks, they would be added twice.
    bool overlap = b_as_is && c_as_is && blocks == 1 && n >= L;
    // Columns of B from here on are packed.
    int64_t packed_from = !b_as_is ? 0 : overlap || n % L == 0 ? n : n / SLIVER<F> * SLIVER<F>;

    int64_t room = smaller(panels, PANELS) * whole_vectors<F>(height) * depth;
    F* a_packed = static_cast<F*>(scratch(0, room * sizeof(F)));
    F* b_packed = static_cast<F*>(scratch(1, whole_vectors<F>(n) * depth * sizeof(F)));
    int64_t sums_row = c_as_is ? c.row : whole_vectors<F>(n);
    F* sums = c_as_is ? reinterpret_cast<F*>(c.data)
                      : static_cast<F*>(scratch(2, m * sums_row * sizeof(F)));

    // false: out of memory.
    [[gnu::always_inline]] bool run() const {
        if (!a_packed || !b_packed || !sums) return false;
        for (int64_t block = 0; block < blocks; ++block) {  // one, of depth 0, if k is 0
            const int64_t p = block * depth, here = smaller(depth, k - p);
            pack(b.block(p, packed_from, here, n - packed_from), SLIVER<F>,
                 b_packed + packed_from * here);
            for (int64_t i = 0; i < m; i += height) {
                add_panel(block, i);
                if (block < blocks - 1) continue;
                const int64_t rows = smaller(height, m - i);
                if (!c_as_is) convert_rows(i, rows);
                finish.go_on(&c(i, 0), rows * n);
            }
        }
        return true;
    }

    // Converts sums to C.
    void convert_rows(int64_t begin, int64_t rows) const {
        for (int64_t i = begin; i < begin + rows; ++i) {
            const F* row = sums + i * sums_row;
            if (c.col == 1) {
                convert_row(n, &c(i, 0), row);
            } else {
                for (int64_t j = 0; j < n; ++j) c(i, j) = convert<T>(row[j]);
            }
        }
    }

    // Rows i to i + height of A, in one block of k, times one sliver of B after another.
    [[gnu::always_inline]] void add_panel(int64_t block, int64_t i) const {
        const int64_t p = block * depth, here = smaller(depth, k - p);
        const int64_t rows = smaller(height, m - i), panel = i / height % PANELS;
        const F* a_panel = a_packed + panel * whole_vectors<F>(height) * here;
        int64_t a_row = 1, a_col = whole_vectors<F>(rows);
        if (a_as_is) {
            a_panel = reinterpret_cast<const F*>(&a(i, p));
            a_row = a.row, a_col = a.col;
        } else if (panel == 0) {
            const int64_t next = smaller(PANELS * height, m - i);
            pack(a.block(i, p, next, here).transposed(), height, a_packed);
        }
        for (int64_t at = 0, width; at < n; at += width) {
            width = smaller(SLIVER<F>, n - at);
            if (overlap && width < SLIVER<F>) width = L;
            const int64_t j = overlap ? smaller(at, n - width) : at;
            const int64_t vectors = ceil_div(width, L);
            const F* b_sliver = b_packed + j * here;
            int64_t b_row = vectors * L;
            if (j < packed_from) {
                b_sliver = reinterpret_cast<const F*>(&b(p, j));
                b_row = b.row;
            }
            const Finish<F> last = block == blocks - 1 ? finish.at(i, j) : Finish<F>();
            const MicroKernel<F> kernel = micro_kernel_for<F>(rows, vectors);
            F* to = sums + i * sums_row + j;
            if (!c_as_is || width % L == 0) {
                kernel(here, a_panel, a_row, a_col, b_sliver, b_row, to, sums_row, p > 0, last);
                continue;
            }
            // The last vector would stick out of C.
            alignas(64) F edge[ROWS * SLIVER<F>];
            for (int64_t r = 0; r < rows && p > 0; ++r)
                copy_few(width, edge + r * SLIVER<F>, to + r * sums_row);
            kernel(here, a_panel, a_row, a_col, b_sliver, b_row, edge, SLIVER<F>, p > 0, last);
            for (int64_t r = 0; r < rows; ++r)
                copy_few(width, to + r * sums_row, edge + r * SLIVER<F>);
        }
    }
};

// The same for any C that one tile may be: one row has its own path. false: out of memory.
template <class T, class F = Computed<T>>
bool multiply_tile(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const Finish<F>& finish) {
    if constexpr (std::is_same<T, F>::value) {
        const bool in_place = (b.col == 1 || b.row == 1) && c.col == 1;
        if (c.rows <= (b.col == 1 ? 1 : FEW) && c.cols >= lanes<F> && in_place) {
            if (b.col == 1)
                multiply_row<F>(0, a, b, c, finish);
            else
                multiply_few<F>(a, b, c, finish);
            finish.go_on(c.data, c.rows * c.cols);
            return true;
        }
    }
    return TileProduct<T, F>{a, b, c, finish}.run();
}

// ---- tiles --------------------------------------------------------------------------------------

// How C is cut into tiles, row by row. No bit of C depends on it.
struct Tiles {
    int64_t height, width, down, across;

    int64_t count() const { return down * across; }
};

// GRAIN multiplications take a thread 5 to 10 us, the cost of waking it.
constexpr int64_t GRAIN = 1 << 20;

// Every tile packs what it reads of A and B itself: no thread waits for another, but the work grows
// with the number of tiles. So a single thread makes no more than it must. Tiles side by side read
// different columns of B and share only A, which need not be packed if k is one block; then C is
// cut that way first, until a tile is 256 wide, otherwise along its longer side. A second tile is
// made as soon as it pays to wake a thread. Beyond that the number grows only as the sides of the
// product do: 2 tiles for 512 x 512 x 512, 4 for 1024. None is smaller than 64 x 64.
template <class F>
inline Tiles tiles_of(int64_t m, int64_t n, int64_t k) {
    const double grains = double(m) * double(n) * double(k) / GRAIN;
    int64_t down = ceil_div(m, MC), across = ceil_div(n, NC<F>);
    while (thread_count() > 1) {
        const double count = double(2 * down * across);
        const int64_t height = m / down, width = n / across;
        if (grains < (count == 2 ? 2 : 4 * count * count * count)) break;
        if (larger(height, width) < 128) break;
        (width >= (blocks_of(k) > 1 ? height : smaller(height, 512)) ? across : down) *= 2;
    }
    const int64_t height = ceil_div(ceil_div(m, down), ROWS) * ROWS;
    const int64_t width = ceil_div(ceil_div(n, across), SLIVER<F>) * SLIVER<F>;
    return {height, width, ceil_div(m, height), ceil_div(n, width)};
}

// Tile `index` of C = A B, finished. false: out of memory.
template <class T, class F = Computed<T>>
inline bool multiply_tile(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const Tiles& tiles,
                          int64_t index, const Finish<F>& finish = {}) {
    const int64_t i = index / tiles.across * tiles.height;
    const int64_t j = index % tiles.across * tiles.width;
    const int64_t height = smaller(tiles.height, c.rows - i);
    const int64_t width = smaller(tiles.width, c.cols - j);
    return multiply_tile<T>(a.block(i, 0, height, a.cols), b.block(0, j, b.rows, width),
                            c.block(i, j, height, width), finish.at(i, j));
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
