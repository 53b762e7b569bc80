// Convolution as a matrix product whose factors exist only packed.
//
// z[o][(n, p, q)] = sum over k = (c, i, j) of w[o][k] * x[what tap k sees from (n, p, q)]
//
// is the product of the weights and a matrix with a row for each tap and a column for each output
// of all images. That matrix (im2col) would hold every number of x once for each tap. But a product
// packs pieces of its factors anyway, KC x NC numbers at a time (gemm.hpp): here they are packed
// from the windows themselves, so the large matrix is never in memory (M. Dukhan, The Indirect
// Convolution Algorithm, 2019, and the convolutions made with BLIS do so, too). Columns are only
// true outputs, of several images side by side: a plane of 4 x 4 wastes nothing.
//
// The gradient for the weights is the product with the roles changed: its sums run over outputs,
//
// z[k][o] = sum over (n, p, q) of x[what tap k sees from (n, p, q)] * g[o][(n, p, q)]
//
// computed with a row for each tap, because a row of windows is copied and need not be transposed.
//
// Sums are those of gemm.hpp: blocks of about KC terms, each one chain of fma, added in order. The
// sizes of the convolution alone determine the blocks.
#pragma once

#include "kernels/packed_windows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- the convolution ----------------------------------------------------------------------------

// Weights as a matrix with a row for each output: as they lie in memory, if one step leads from
// each tap to the next, or else copied, in slot 6 of the scratch. Its data is nullptr if memory is
// out.
template <class T, class F = Computed<T>>
Matrix<const F> weight_matrix(const Operand& w, const Window& window) {
    const int64_t taps = window.taps(), terms = w.shape[1] * taps, inner = w.strides[3];
    const bool rows = window.h.taps == 1 || w.strides[2] == window.w.taps * inner;
    const bool even = rows && (w.shape[1] == 1 || w.strides[1] == taps * inner);
    if (std::is_same<T, F>::value && (taps == 1 || even))
        return {reinterpret_cast<const F*>(w.data), w.shape[0], terms, w.strides[0],
                taps == 1 ? w.strides[1] : inner};
    F* copy = static_cast<F*>(scratch(6, w.shape[0] * terms * sizeof(F)));
    if (copy)
        parallel_each(w.shape[0], terms, CONV_GRAIN / 64, [&](int64_t o) {
            each_row(w.shape[1], window, [&](int64_t c, int64_t i, int64_t k) {
                copy_row(window.w.taps, copy + o * terms + k, 1, element<const T>(w, o, c, i),
                         inner);
            });
        });
    return {copy, w.shape[0], terms, terms, 1};
}

// The outputs of one band, for `rows` rows of weights from `first` on.
template <class T, class F = Computed<T>>
bool convolve_band(const Operand& out, const Operand& x, Matrix<const F> weights, const Band& band,
                   int64_t group_channel, int64_t first, int64_t rows) {
    constexpr int64_t L = lanes<F>;
    const Window& window = band.window;
    const int64_t n = band.images * band.rows * window.w.out, terms = weights.cols;
    const int64_t blocks = blocks_of(terms), depth = ceil_div(terms, blocks);
    const int64_t height = ceil_div(rows, ceil_div(rows, ROWS));

    const auto right = [&](int64_t block) -> std::pair<const F*, int64_t> {
        const int64_t p = block * depth, here = smaller(depth, terms - p);
        F* slivers = static_cast<F*>(scratch(1, (whole_vectors<F>(n) * depth + L) * sizeof(F)));
        Seen<F> seen;
        if (!slivers || !seen.template copy<T>(x, group_channel, band, p, here))
            return {nullptr, 0};
        for (int64_t j = 0; j < n; j += SLIVER<F>) {
            const int64_t columns = smaller(SLIVER<F>, n - j), width = whole_vectors<F>(columns);
            Run runs[SLIVER<F>];
            const int64_t count = runs_of(band, j, j + columns, runs);
            F* to = slivers + j * here;
            if (columns < width) std::memset(to, 0, width * here * sizeof(F));
            if (count == 1 && columns == SLIVER<F>) {
                for (int64_t k = p; k < p + here; ++k, to += width) {
                    const F* from = seen.tap(k) + runs[0].from;
                    store(to, load(from));
                    store(to + L, load(from + L));
                }
                continue;
            }
            for (int64_t k = p; k < p + here; ++k, to += width)
                copy_runs(runs, count, seen.tap(k), to);
        }
        return {slivers, here};
    };

    const bool as_is = weights.col == 1 && n <= 4 * SLIVER<F>;
    const auto left = [&](int64_t block, int64_t i, int64_t here) -> Panel<F> {
        const int64_t p = block * depth, deep = smaller(depth, terms - p);
        if (as_is) return {&weights(first + i, p), weights.row, 1};
        const int64_t room = whole_vectors<F>(height) * deep, index = i / height % PANELS;
        F* packed = static_cast<F*>(scratch(0, PANELS * room * sizeof(F)));
        const int64_t next = smaller(PANELS * height, rows - i);
        if (packed && index == 0)
            pack(weights.block(first + i, p, next, deep).transposed(), height, packed);
        return {packed ? packed + index * room : nullptr, 1, whole_vectors<F>(here)};
    };

    const bool joined = out.strides[2] == window.w.out * out.strides[3];
    const int64_t times = joined ? 1 : band.rows, run = window.w.out * band.rows / times;
    const auto put = [&](int64_t i, int64_t here, const F* sums, int64_t row) {
        for (int64_t o = 0; o < here; ++o, sums += row) {
            const F* from = sums;
            for (int64_t image = 0; image < band.images; ++image)
                for (int64_t p = 0; p < times; ++p, from += run)
                    copy_row(run, element<T>(out, band.image + image, first + i + o, band.row + p),
                             out.strides[3], from, 1);
        }
    };
    return multiply_packed<F>(rows, n, blocks, left, right, put);
}

template <class T>
Status convolve_by_product(const Operand& out, const Operand& x, const Operand& w,
                           const Window& window, int64_t groups) {
    const int64_t outputs = out.shape[1] / groups;
    const Matrix<const Computed<T>> weights = weight_matrix<T>(w, window);
    if (!weights.data) return OUT_OF_MEMORY;
    const Cut bands(window, out.shape[0], NC<Computed<T>>);
    // For several threads the rows of weights are cut as well, if there are too few bands: each
    // part packs all windows anew. No bit depends on it.
    int64_t parts = 1;
    while (bands.count() * groups * parts < 2 * thread_count() && outputs / parts >= 128 &&
           thread_count() > 1)
        parts *= 2;
    const int64_t each = ceil_div(ceil_div(outputs, parts), ROWS) * ROWS;
    parts = ceil_div(outputs, each);
    bool failed = false;
    parallel_each(groups * bands.count() * parts, each * weights.cols * bands.places(), CONV_GRAIN,
                  [&](int64_t task) {
                      const int64_t group = task / parts / bands.count(),
                                    from = task % parts * each;
                      if (!convolve_band<T>(out, x, weights, bands[task / parts % bands.count()],
                                            group * w.shape[1], group * outputs + from,
                                            smaller(each, outputs - from)))
                          __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
                  });
    return failed ? OUT_OF_MEMORY : OK;
}

// ---- its gradient for the weights ---------------------------------------------------------------

// Stores at most `lanes` rows as columns: each vector of columns is turned in registers.
template <class T, class F>
void put_turned(T* to, int64_t step, int64_t columns, int64_t rows, const F* sums, int64_t row) {
    constexpr int64_t L = lanes<F>;
    for (int64_t j = 0; j < columns; j += L) {
        vec<F> square[L];
#pragma GCC unroll 16
        for (int r = 0; r < L; ++r) square[r] = r < rows ? load(sums + r * row + j) : vec<F>(F(0));
        transpose<F>(square);
        alignas(64) F turned[L * L];
#pragma GCC unroll 16
        for (int r = 0; r < L; ++r) store(turned + r * L, square[r]);
        for (int64_t r = 0; r < smaller(L, columns - j); ++r, to += step)
            copy_few(rows, to, turned + r * L);
    }
}

// Packs g, transposed, in slivers: a row for each place of the band, `columns` outputs from
// `first`.
template <class T, class F>
void pack_places(const Operand& g, const Band& band, int64_t first, int64_t columns, F* slivers) {
    const int64_t wide = band.window.w.out, depth = band.images * band.rows * wide;
    const bool joined = g.strides[2] == wide * g.strides[3];
    const int64_t times = joined ? 1 : band.rows, run = band.rows * wide / times;
    for (int64_t j = 0; j < columns; j += SLIVER<F>) {
        const int64_t here = smaller(SLIVER<F>, columns - j);
        F* to = slivers + j * depth;
        for (int64_t n = 0; n < band.images; ++n)
            for (int64_t p = 0; p < times; ++p, to += run * whole_vectors<F>(here))
                pack(Matrix<const T>{element<const T>(g, band.image + n, first + j, band.row + p),
                                     run, here, g.strides[3], g.strides[1]},
                     SLIVER<F>, to);
    }
}

// Rows [k, k + rows) of the transposed gradient, for `columns` outputs from `first` on.
template <class T>
bool weigh_rows(const Operand& out, const Operand& x, const Operand& g, const Cut& bands,
                int64_t group_channel, int64_t first, int64_t columns, int64_t k, int64_t rows) {
    using F = Computed<T>;
    constexpr int64_t L = lanes<F>;
    const Window& window = bands.window;
    const int64_t wide = window.w.out, most = bands.places();
    const int64_t height = ceil_div(rows, ceil_div(rows, ROWS));
    Run* runs = static_cast<Run*>(scratch(5, most * sizeof(Run)));
    if (!runs) return false;
    int64_t count = 0;

    const auto right = [&](int64_t block) -> std::pair<const F*, int64_t> {
        const Band band = bands[block];
        const int64_t depth = band.images * band.rows * wide;
        F* slivers = static_cast<F*>(scratch(1, whole_vectors<F>(columns) * most * sizeof(F)));
        if (!slivers) return {nullptr, 0};
        count = runs_of(band, 0, depth, runs);
        pack_places<T>(g, band, first, columns, slivers);
        return {slivers, depth};
    };

    // Windows: a row for each tap, copied when the first of some panels is wanted.
    Seen<F> seen;
    const auto left = [&](int64_t block, int64_t i, int64_t here) -> Panel<F> {
        const Band band = bands[block];
        const int64_t depth = band.images * band.rows * wide;
        F* packed = static_cast<F*>(scratch(0, (height * most + L) * sizeof(F)));
        if (!packed || (i / height % PANELS == 0 &&
                        !seen.template copy<T>(x, group_channel, band, k + i,
                                               smaller(PANELS * height, rows - i))))
            return {nullptr, 0, 0};
        for (int64_t r = 0; r < here; ++r)
            copy_runs(runs, count, seen.tap(k + i + r), packed + r * depth);
        return {packed, depth, 1};
    };

    const bool dense = std::is_same<T, F>::value && ROWS <= L && out.strides[3] == 1 &&
                       out.strides[2] == window.w.taps && out.strides[1] == window.taps();
    const auto put = [&](int64_t i, int64_t here, const F* sums, int64_t row) {
        if (dense)
            return put_turned<T>(element<T>(out, first, 0, 0) + k + i, out.strides[0], columns,
                                 here, sums, row);
        for (int64_t r = 0; r < here; ++r) {
            const int64_t c = (k + i + r) / window.taps(), t = (k + i + r) % window.taps();
            T* to =
                element<T>(out, first, c, t / window.w.taps) + t % window.w.taps * out.strides[3];
            for (int64_t j = 0; j < columns; ++j)
                to[j * out.strides[0]] = convert<T>(sums[r * row + j]);
        }
    };
    return multiply_packed<F>(rows, columns, bands.count(), left, right, put);
}

template <class T>
Status weigh_by_product(const Operand& out, const Operand& x, const Operand& g,
                        const Window& window, int64_t groups) {
    const int64_t outputs = out.shape[0] / groups, terms = out.shape[1] * window.taps();
    const Cut bands(window, x.shape[0], KC);
    const int64_t across = ceil_div(outputs, NC<Computed<T>>), width = ceil_div(outputs, across);
    int64_t down = 1;  // as the parts above
    while (groups * across * down < 2 * thread_count() && terms / down >= 128 && thread_count() > 1)
        down *= 2;
    const int64_t each = ceil_div(ceil_div(terms, down), ROWS) * ROWS;
    down = ceil_div(terms, each);
    bool failed = false;
    parallel_each(
        groups * across * down, each * width * bands.places() * bands.count(), CONV_GRAIN,
        [&](int64_t task) {
            const int64_t group = task / down / across, k = task % down * each;
            const int64_t from = task / down % across * width;
            if (!weigh_rows<T>(out, x, g, bands, group * out.shape[1], group * outputs + from,
                               smaller(width, outputs - from), k, smaller(each, terms - k)))
                __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        });
    return failed ? OUT_OF_MEMORY : OK;
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
