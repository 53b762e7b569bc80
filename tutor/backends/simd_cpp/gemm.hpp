// C = A B, as fast as the CPU multiplies.
//
// A product of two n x n matrices has 2 n^3 operations on 3 n^2 numbers, so it can be limited by
// arithmetic alone, provided that every number that is fetched is used many times while it is near.
// The way to do that is K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix
// Multiplication (2008), in the form of F. Van Zee and R. van de Geijn, BLIS (2015):
//
//   micro-kernel  ROWS x VECTORS registers hold a piece of C, while k runs     registers
//   panel         those ROWS of A, KC long, meet one sliver of B after another  L1 cache
//   block         KC x NC of B, cut into slivers, meets all panels of A         L2 cache
//   tile          at most MC x NC of C is one chunk of work                     one thread
//
// Sums: k is cut into blocks of at most KC, of equal length; in a block one chain of fma runs over
// k from 0 on; the blocks are added in order. So the bits of C depend on k and the level alone, not
// on layout, tiles or threads. The error is at most (KC + k / KC) u sum |terms|, that of blocked
// summation (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
#pragma once

#include <type_traits>
#include <utility>

#include "half.hpp"
#include "rows.hpp"
#include "simd.hpp"

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

// ---- block sizes --------------------------------------------------------------------------------

// The piece of C in registers must have at least 8 vectors, or the fma units wait for each other's
// results (2 units, 4 cycles each). It should be nearly square: a step reads ROWS + VECTORS values
// for ROWS * VECTORS fmas, and a core reads 2 in the time of 2 fmas. Beside C there must be room
// for VECTORS of B and one of A: 14 * 2 + 2 + 1 of 32 registers, 6 * 2 + 2 + 1 of 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int64_t ROWS = 14;
#else
constexpr int64_t ROWS = 6;
#endif
constexpr int64_t VECTORS = 2;
template <class F>
constexpr int64_t SLIVER = VECTORS * lanes<F>;  // columns

// A panel of A stays in L1: 14 * 256 floats are 14 KiB of the usual 32 to 48 KiB, and leave room
// for the sliver of B that flows past it (32 KiB with AVX-512). Longer panels would load and store
// C less often, but that is 1 % of the work: 2 * 28 vectors for every 28 * 256 fmas.
constexpr int64_t KC = 256;

// A block of B, KC * NC values, stays in L2: 512 KiB of the usual 1 or 2 MiB. The panels of a tile,
// KC * MC values of A, may be beside it.
template <class F>
constexpr int64_t NC = 512 * 1024 / (KC * sizeof(F));
constexpr int64_t MC = 512;

// How many pages of memory are walked side by side: fewer than the first-level TLB holds (64 and
// more). Each row of a large matrix lies in another page.
constexpr int64_t PAGES = 32;

template <class F>
constexpr int64_t whole_vectors(int64_t n) {
    return (n + lanes<F> - 1) / lanes<F> * lanes<F>;
}

// ---- packing ------------------------------------------------------------------------------------

template <int STEP>
struct Partner {
    static constexpr unsigned get(unsigned lane, unsigned) { return lane ^ STEP; }
};
template <int STEP>
struct IsLower {
    static constexpr bool get(unsigned lane, unsigned) { return (lane & STEP) == 0; }
};

// Transposes a square of as many vectors as each has lanes: first the quarters of the square are
// exchanged, then the quarters of each quarter, and so on. (xsimd::transpose goes through memory
// with AVX-512, and gives wrong results for integers where GCC sees that it breaks aliasing.)
template <class F, int STEP = lanes<F> / 2>
inline void transpose(vec<F>* square) {
    using Index = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
    constexpr auto partner = xsimd::make_batch_constant<Index, Partner<STEP>, Arch>();
    constexpr auto is_lower = xsimd::make_batch_bool_constant<F, IsLower<STEP>, Arch>();
#pragma GCC unroll 16
    for (int i = 0; i < lanes<F>; ++i) {
        if (i & STEP) continue;
        const vec<F> upper = square[i], lower = square[i + STEP];
        square[i] = xsimd::select(is_lower, upper, xsimd::swizzle(lower, partner));
        square[i + STEP] = xsimd::select(is_lower, xsimd::swizzle(upper, partner), lower);
    }
    if constexpr (STEP > 1) transpose<F, STEP / 2>(square);
}

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

// Cuts `from` into slivers of `step` columns, the last one perhaps narrower, and lays each down row
// by row, every row filled up with zeros to whole vectors. A sliver takes as much room as if it had
// `step` columns.
template <class F, class T>
void pack(Matrix<const T> from, int64_t step, F* to) {
    constexpr int L = lanes<F>;
    const int64_t room = whole_vectors<F>(step) * from.rows;
    // Contiguous rows are copied, PAGES of them at a time.
    for (int64_t p = 0; p < from.rows && from.col == 1; p += PAGES) {
        for (int64_t j = 0; j < from.cols; j += step) {
            const int64_t columns = smaller(step, from.cols - j), width = whole_vectors<F>(columns);
            F* row = to + j / step * room + p * width;
            for (int64_t q = p; q < smaller(p + PAGES, from.rows); ++q, row += width) {
                convert_row(columns, row, &from(q, j));
                for (int64_t s = columns; s < width; ++s) row[s] = 0;
            }
        }
    }
    // Contiguous columns are transposed square by square; what is neither goes number by number.
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

// ---- the micro-kernel ---------------------------------------------------------------------------

// c (R x V vectors) = or += a (R x depth) b (depth x V vectors). For each p, column p of a times
// row p of b is added to R * V vectors that never leave their registers.
template <class F, int R, int V>
void micro_kernel(int64_t depth, const F* a, int64_t a_row, int64_t a_col, const F* b,
                  int64_t b_row, F* c, int64_t c_row, bool add) {
    constexpr int L = lanes<F>;
    vec<F> sum[R][V];
    // A loop over registers must be unrolled completely: they have no addresses.
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[i][v] = vec<F>(F(0));
    // One pointer for every third row is few enough to be kept in registers, too.
    const F* at[(R + 2) / 3];
#pragma GCC unroll 16
    for (int i = 0; i < R; i += 3) at[i / 3] = a + i * a_row;

    for (int64_t p = 0; p < depth; ++p) {
        vec<F> b_p[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) b_p[v] = load(b + v * L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const vec<F> a_ip(at[i / 3][i % 3 * a_row]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sum[i][v] = xsimd::fma(a_ip, b_p[v], sum[i][v]);
        }
        b += b_row;
#pragma GCC unroll 16
        for (int i = 0; i < R; i += 3) at[i / 3] += a_col;
    }

#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            F* to = c + i * c_row + v * L;
            store(to, add ? load(to) + sum[i][v] : sum[i][v]);
        }
}

template <class F>
using MicroKernel = void (*)(int64_t, const F*, int64_t, int64_t, const F*, int64_t, F*, int64_t,
                             bool);

template <class F, int V, int... R>
inline MicroKernel<F> with_rows(int64_t rows, std::integer_sequence<int, R...>) {
    static constexpr MicroKernel<F> kernels[] = {micro_kernel<F, R + 1, V>...};
    return kernels[rows - 1];
}

// There is one for every size up to ROWS x VECTORS, so that the edges of C cost no wasted work.
template <class F>
inline MicroKernel<F> micro_kernel_for(int64_t rows, int64_t vectors) {
    static_assert(VECTORS == 2, "name them all here");
    constexpr auto up_to_rows = std::make_integer_sequence<int, ROWS>();
    return vectors == 2 ? with_rows<F, 2>(rows, up_to_rows) : with_rows<F, 1>(rows, up_to_rows);
}

// ---- one tile -----------------------------------------------------------------------------------

// C = A B for a C of at most MC x NC, on this thread. false: out of memory.
template <class T>
bool multiply_tile(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
    using F = Computed<T>;
    constexpr int64_t L = lanes<F>;
    constexpr bool same = std::is_same<T, F>::value;
    const int64_t m = c.rows, n = c.cols, k = a.cols;
    const int64_t blocks = larger(1, ceil_div(k, KC)), depth = ceil_div(k, blocks);
    const int64_t panels = ceil_div(m, ROWS), height = ceil_div(m, panels);  // 15 = 8 + 7 rows

    // Packing costs as much as 10 rows or columns of arithmetic, so it must be worth it. The
    // micro-kernel walks A with any strides; only if columns of A are contiguous, each step down
    // k may be in another page, and many slivers would go through them all again. Of B it needs
    // whole vectors; where many panels read them they should be aligned and not too scattered.
    const bool a_as_is = same && (a.col == 1 || n <= 4 * SLIVER<F>);
    const bool near = b.row % L == 0 && depth * magnitude(b.row) <= KC * NC<F>;
    const bool b_as_is = same && b.col == 1 && (panels == 1 || (near && m <= 256));
    const bool c_as_is = same && c.col == 1;
    // Columns from here on are packed. The last sliver has to be, if not all of its vectors are
    // whole.
    const int64_t packed_from = !b_as_is ? 0 : n % L == 0 ? n : n / SLIVER<F> * SLIVER<F>;

    F* a_packed =
        static_cast<F*>(scratch(0, panels * whole_vectors<F>(height) * depth * sizeof(F)));
    F* b_packed = static_cast<F*>(scratch(1, whole_vectors<F>(n) * depth * sizeof(F)));
    F* sums = reinterpret_cast<F*>(c.data);
    int64_t sums_row = c.row;
    if (!c_as_is) {
        sums_row = whole_vectors<F>(n);
        sums = static_cast<F*>(scratch(2, m * sums_row * sizeof(F)));
    }
    if (!a_packed || !b_packed || !sums) return false;

    for (int64_t block = 0; block < blocks; ++block) {  // one, of depth 0, if k is 0
        const int64_t p = block * depth, here = smaller(depth, k - p);
        if (!a_as_is) pack(a.block(0, p, m, here).transposed(), height, a_packed);
        pack(b.block(p, packed_from, here, n - packed_from), SLIVER<F>,
             b_packed + packed_from * here);
        for (int64_t i = 0; i < m; i += height) {
            const int64_t rows = smaller(height, m - i);
            const F* a_panel = a_packed + i / height * whole_vectors<F>(height) * here;
            int64_t a_row = 1, a_col = whole_vectors<F>(rows);
            if (a_as_is) {
                a_panel = reinterpret_cast<const F*>(&a(i, p));
                a_row = a.row, a_col = a.col;
            }
            for (int64_t j = 0; j < n; j += SLIVER<F>) {
                const int64_t width = smaller(SLIVER<F>, n - j), vectors = ceil_div(width, L);
                const F* b_sliver = b_packed + j * here;
                int64_t b_row = vectors * L;
                if (j < packed_from) {
                    b_sliver = reinterpret_cast<const F*>(&b(p, j));
                    b_row = b.row;
                }
                const MicroKernel<F> kernel = micro_kernel_for<F>(rows, vectors);
                F* to = sums + i * sums_row + j;
                if (!c_as_is || width % L == 0) {
                    kernel(here, a_panel, a_row, a_col, b_sliver, b_row, to, sums_row, p > 0);
                    continue;
                }
                // The last vector would stick out of C.
                alignas(64) F edge[ROWS * SLIVER<F>];
                kernel(here, a_panel, a_row, a_col, b_sliver, b_row, edge, SLIVER<F>, false);
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t s = 0; s < width; ++s) {
                        const F sum = edge[r * SLIVER<F> + s];
                        to[r * sums_row + s] = p > 0 ? to[r * sums_row + s] + sum : sum;
                    }
            }
        }
    }
    for (int64_t i = 0; i < m && !c_as_is; ++i) {
        const F* row = sums + i * sums_row;
        if (c.col == 1) {
            convert_row(n, &c(i, 0), row);
        } else {
            for (int64_t j = 0; j < n; ++j) c(i, j) = convert<T>(row[j]);
        }
    }
    return true;
}

// ---- tiles --------------------------------------------------------------------------------------

// How C is cut into tiles, row by row. This follows from the sizes alone.
struct Tiles {
    int64_t height, width, down, across;

    int64_t count() const { return down * across; }
};

// GRAIN multiplications take a thread 5 to 10 us, what waking it costs.
constexpr int64_t GRAIN = 1 << 20;

// Every tile packs what it reads of A and B for itself: no thread waits for another, but the work
// grows with the number of tiles. Two are made as soon as it pays to wake a thread. Beyond that the
// number grows only as the sides of the product do: 4 tiles for 512 x 512 x 512, 8 for 1024. None
// is made smaller than 64 x 64.
template <class F>
inline Tiles tiles_of(int64_t m, int64_t n, int64_t k) {
    const double grains = double(m) * double(n) * double(k) / GRAIN;
    int64_t down = ceil_div(m, MC), across = ceil_div(n, NC<F>);
    for (;;) {
        const double count = double(2 * down * across);
        const int64_t height = m / down, width = n / across;
        if (grains < (count == 2 ? 2 : count * count * count / 2)) break;
        if (larger(height, width) < 128) break;
        (width >= height ? across : down) *= 2;
    }
    const int64_t height = ceil_div(ceil_div(m, down), ROWS) * ROWS;
    const int64_t width = ceil_div(ceil_div(n, across), SLIVER<F>) * SLIVER<F>;
    return {height, width, ceil_div(m, height), ceil_div(n, width)};
}

// Tile `index` of C = A B. false: out of memory.
template <class T>
inline bool multiply_tile(Matrix<const T> a, Matrix<const T> b, Matrix<T> c, const Tiles& tiles,
                          int64_t index) {
    const int64_t i = index / tiles.across * tiles.height;
    const int64_t j = index % tiles.across * tiles.width;
    const int64_t height = smaller(tiles.height, c.rows - i);
    const int64_t width = smaller(tiles.width, c.cols - j);
    return multiply_tile<T>(a.block(i, 0, height, a.cols), b.block(0, j, b.rows, width),
                            c.block(i, j, height, width));
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
