// Direct convolution over two axes and its gradient for the weights: nothing is packed.
//
// A convolution needs no im2col, which would write every number of x once for each of the K * L
// taps of a window. Let the image be one long row, with `pitch` numbers from one image row to the
// next: the number that tap (i, j) sees from the output at position p * pitch + q is `shift`
// numbers further on, and the shift is the same for all positions:
//
//     z[o][position] = sum over k = (c, i, j) of w[o][k] * x[at[k] + position]
//
// That is a matrix product whose second factor is read at K * L places of one small copy. The
// positions between the end of one row of outputs and the start of the next are meaningless; they
// are computed, because whole registers are cheaper than short rows, and discarded.
//
// Copying x removes strides: with stride 2, odd and even rows and columns go to planes of their own
// (phases), and in each of them the window moves on by 1 (Vasudevan, Anderson and Gregg, Parallel
// multi channel convolution using general matrix multiplication, 2017, also sum shifted products).
#pragma once

#include <utility>

#include "kernels/window.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- bands --------------------------------------------------------------------------------------

// How all the outputs are cut into bands of about `wanted` positions, decided by the sizes alone.
struct Bands {
    const Window& window;
    int64_t batch, images, rows, down;

    Bands(const Window& all, int64_t n, int64_t wanted) : window(all), batch(n) {
        const int64_t pitch = all.w.length(all.w.out), most = larger(1, wanted / pitch);
        down = larger(1, ceil_div(all.h.out, most));
        rows = ceil_div(all.h.out, down);
        images = down > 1 ? 1 : larger(1, wanted / larger(1, all.h.length(rows) * pitch));
    }
    int64_t count() const { return ceil_div(batch, images) * down; }
    Band operator[](int64_t b) const {
        const int64_t n = b / down * images, p = b % down * rows;
        return {window, n, smaller(images, batch - n), p, smaller(rows, window.h.out - p)};
    }
};

// ---- the convolution ----------------------------------------------------------------------------

// In registers: HEIGHT outputs of WIDTH vectors of positions. A step reads WIDTH vectors and
// HEIGHT weights for HEIGHT * WIDTH fmas; beside the sums there is room for what it reads.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int HEIGHT = 8;
#else
constexpr int HEIGHT = 4;
#endif
constexpr int WIDTH = 3;

// z[i][position] for R outputs and V vectors of positions: w holds R weights for each k.
template <class F, int R, int V>
void weighted_sums(int64_t terms, const int64_t* at, const F* x, const F* w, F* z, int64_t z_row) {
    constexpr int L = lanes<F>;
    vec<F> sum[R][V];
#pragma GCC unroll 24
    for (int k = 0; k < R * V; ++k) sum[k / V][k % V] = vec<F>(F(0));
    for (int64_t k = 0; k < terms; ++k, w += R) {
        vec<F> x_k[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) x_k[v] = load(x + at[k] + v * L);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            const vec<F> w_i(w[i]);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sum[i][v] = xsimd::fma(w_i, x_k[v], sum[i][v]);
        }
    }
#pragma GCC unroll 24
    for (int k = 0; k < R * V; ++k) store(z + k / V * z_row + k % V * L, sum[k / V][k % V]);
}

// sums[i][v], a vector each, += g[i][position] * x[at[v] + position] over n positions. Where g is
// padded with zeros, x may be inf or nan, whose product with 0 is nan: `careful` looks only where
// `valid` is not 0. Without it, nothing is stored and the result is false if a sum is nan.
template <class F, int R, int V, bool careful>
bool correlate(int64_t n, const F* g, int64_t g_row, const F* x, const int64_t* at, const F* valid,
               F* sums) {
    constexpr int L = lanes<F>;
    vec<F> sum[R][V];
    const F* from[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) from[v] = x + at[v];
#pragma GCC unroll 24
    for (int k = 0; k < R * V; ++k) sum[k / V][k % V] = load(sums + k * L);
    for (int64_t p = 0; p < n; p += L) {
        vec<F> x_p[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
            x_p[v] = load(from[v] + p);
            if constexpr (careful)
                x_p[v] = xsimd::select(load(valid + p) != vec<F>(F(0)), x_p[v], vec<F>(F(0)));
        }
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            const vec<F> g_i = load(g + i * g_row + p);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sum[i][v] = xsimd::fma(g_i, x_p[v], sum[i][v]);
        }
    }
    mask<F> is_nan(false);
#pragma GCC unroll 24
    for (int k = 0; k < R * V; ++k) is_nan = is_nan | (sum[k / V][k % V] != sum[k / V][k % V]);
    if (!careful && xsimd::any(is_nan)) return false;
#pragma GCC unroll 24
    for (int k = 0; k < R * V; ++k) store(sums + k * L, sum[k / V][k % V]);
    return true;
}

template <class F>
using WeightedSums = void (*)(int64_t, const int64_t*, const F*, const F*, F*, int64_t);
template <class F>
using Correlate = bool (*)(int64_t, const F*, int64_t, const F*, const int64_t*, const F*, F*);

// Both for every size up to HEIGHT x WIDTH, so that edges cost no wasted work.
template <class F, int... R>
inline WeightedSums<F> weighted_sums_for(int64_t r, int64_t v, std::integer_sequence<int, R...>) {
    static constexpr WeightedSums<F> all[][WIDTH] = {
        {weighted_sums<F, R + 1, 1>, weighted_sums<F, R + 1, 2>, weighted_sums<F, R + 1, 3>}...};
    return all[r - 1][v - 1];
}
template <class F, bool careful, int... R>
inline Correlate<F> correlate_for(int64_t r, int64_t v, std::integer_sequence<int, R...>) {
    static constexpr Correlate<F> all[][WIDTH] = {{correlate<F, R + 1, 1, careful>,
                                                   correlate<F, R + 1, 2, careful>,
                                                   correlate<F, R + 1, 3, careful>}...};
    return all[r - 1][v - 1];
}
constexpr auto HEIGHTS = std::make_integer_sequence<int, HEIGHT>();

// The outputs of a group, in blocks of nearly equal height.
struct Blocks {
    int64_t outputs, count = ceil_div(outputs, HEIGHT), each = ceil_div(outputs, larger(1, count));

    int64_t start(int64_t b) const { return smaller(outputs, b * each); }
    int64_t height(int64_t b) const { return start(b + 1) - start(b); }
};

// Positions of a band: enough for the registers, and the copy of its input stays in L2.
constexpr int64_t POSITIONS = 1024, INPUT = 1 << 17;

template <class T>
Status convolve_directly(const Operand& out, const Operand& x, const Operand& w,
                         const Window& window, int64_t groups) {
    using F = Computed<T>;
    constexpr int L = lanes<F>;
    const int64_t channels = w.shape[1], terms = channels * window.taps();
    const int64_t outputs = out.shape[1] / groups;
    const Blocks blocks{outputs};
    F* weights = static_cast<F*>(scratch(0, (out.shape[1] * terms + 1) * sizeof(F)));
    if (!weights) return OUT_OF_MEMORY;
    parallel_each(groups * blocks.count, HEIGHT * terms, CONV_GRAIN / 64, [&](int64_t block) {
        const int64_t b = block % blocks.count, height = blocks.height(b);
        const int64_t first = block / blocks.count * outputs + blocks.start(b);
        F* to = weights + first * terms;
        for (int64_t o = 0; o < height; ++o)
            each_row(channels, window, [&](int64_t c, int64_t i, int64_t k) {
                const T* from = element<const T>(w, first + o, c, i);
                for (int64_t j = 0; j < window.w.taps; ++j)
                    to[(k + j) * height + o] = convert<F>(from[j * w.strides[3]]);
            });
    });

    const Bands bands(window, out.shape[0],
                      larger(POSITIONS / 8, smaller(POSITIONS, INPUT / larger(1, channels))));
    const int64_t cost = outputs * terms * bands.images * bands.rows * window.w.out;
    bool failed = false;
    parallel_each(groups * bands.count(), cost, CONV_GRAIN, [&](int64_t task) {
        const int64_t group = task / bands.count();
        const Band band = bands[task % bands.count()];
        const int64_t row = ceil_div(band.positions, L) * L;
        F* image = static_cast<F*>(scratch(1, (channels * band.channel + L) * sizeof(F)));
        F* z = static_cast<F*>(scratch(2, HEIGHT * row * sizeof(F)));
        int64_t* at = static_cast<int64_t*>(scratch(3, (terms + 1) * sizeof(int64_t)));
        if (!image || !z || !at) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        copy_input<const T>(x, group * channels, channels, band, image);
        band.places(channels, at);
        for (int64_t b = 0; b < blocks.count; ++b) {
            const int64_t height = blocks.height(b), first = group * outputs + blocks.start(b);
            for (int64_t p = 0; height > 0 && p < row; p += WIDTH * L) {
                const int64_t vectors = smaller(WIDTH, (row - p) / L);
                weighted_sums_for<F>(height, vectors, HEIGHTS)(terms, at, image + p,
                                                               weights + first * terms, z + p, row);
            }
            for (int64_t o = 0; o < height; ++o)
                for (int64_t n = 0; n < band.images; ++n)
                    for (int64_t p = 0; p < band.rows; ++p)
                        copy_row(window.w.out,
                                 element<T>(out, band.image + n, first + o, band.row + p),
                                 out.strides[3], z + o * row + band.position(n, p), 1);
        }
    });
    return failed ? OUT_OF_MEMORY : OK;
}

// ---- its gradient for the weights ---------------------------------------------------------------

// Sums over all positions of all images. They are cut into at most PARTS parts, which the sizes
// determine. A lane of a register adds up its positions of a part one after another, then the lanes
// are added, then the parts by a pairwise tree.
constexpr int64_t PARTS = 16;
constexpr int64_t SUMS = 1 << 20;  // bytes of vectors that one task adds to

// What all tasks of one call share.
template <class T>
struct WeightCall {
    using F = Computed<T>;
    const Operand &x, &g;
    const Window& window;
    const Bands& bands;
    const Blocks& blocks;
    int64_t channels, terms;

    // Adds to `sums` what `blocks` [from, to) of a group's outputs get from one band.
    // false: out of memory.
    bool add_band(const Band& band, int64_t group, int64_t from, int64_t to, int64_t* at,
                  F* sums) const {
        constexpr int L = lanes<F>;
        const int64_t row = ceil_div(band.positions, L) * L, input = channels * band.channel + L;
        F* valid = static_cast<F*>(scratch(2, ((1 + HEIGHT) * row + input) * sizeof(F)));
        if (!valid) return false;
        F *padded = valid + row, *image = padded + HEIGHT * row;
        copy_input<const T>(x, group * channels, channels, band, image);
        band.places(channels, at);
        for (int64_t s = 0; s < (1 + HEIGHT) * row; ++s) valid[s] = 0;
        for (int64_t n = 0; n < band.images; ++n)
            for (int64_t p = 0; p < band.rows; ++p)
                for (int64_t q = 0; q < window.w.out; ++q) valid[band.position(n, p) + q] = 1;
        for (int64_t b = from; b < to; ++b) {
            const int64_t first = blocks.start(b), here = blocks.height(b);
            for (int64_t o = 0; o < here; ++o)
                copy_gradient(band, group * blocks.outputs + first + o, padded + o * row);
            for (int64_t k = 0; here > 0 && k < terms; k += WIDTH) {
                const int64_t vectors = smaller(WIDTH, terms - k);
                F* add_to = sums + ((first - blocks.start(from)) * terms + k * here) * L;
                if (!correlate_for<F, false>(here, vectors, HEIGHTS)(row, padded, row, image,
                                                                     at + k, valid, add_to))
                    correlate_for<F, true>(here, vectors, HEIGHTS)(row, padded, row, image, at + k,
                                                                   valid, add_to);
            }
        }
        return true;
    }

    // The band's part of output o, each row at its positions.
    void copy_gradient(const Band& band, int64_t o, F* to) const {
        for (int64_t n = 0; n < band.images; ++n)
            for (int64_t p = 0; p < band.rows; ++p)
                copy_row(window.w.out, to + band.position(n, p), 1,
                         element<const T>(g, band.image + n, o, band.row + p), g.strides[3]);
    }
};

// Adds up the parts of each sum, and writes them to `out`.
template <class T, class F>
void add_parts(const Operand& out, F* totals, int64_t parts, const Window& window) {
    const int64_t terms = out.shape[1] * window.taps(), size = out.shape[0] * terms;
    parallel_each(out.shape[0], terms * parts, CONV_GRAIN / 64, [&](int64_t o) {
        F* total = totals + o * terms;
        for (int64_t step = 1; step < parts; step *= 2)
            for (int64_t part = 0; part + step < parts; part += 2 * step)
                for (int64_t k = 0; k < terms; ++k)
                    total[part * size + k] += total[(part + step) * size + k];
        each_row(out.shape[1], window, [&](int64_t c, int64_t i, int64_t k) {
            T* to = element<T>(out, o, c, i);
            for (int64_t j = 0; j < window.w.taps; ++j)
                to[j * out.strides[3]] = convert<T>(total[k + j]);
        });
    });
}

template <class T>
Status weigh_directly(const Operand& out, const Operand& x, const Operand& g, const Window& window,
                      int64_t groups) {
    using F = Computed<T>;
    constexpr int L = lanes<F>;
    const int64_t channels = out.shape[1], terms = channels * window.taps();
    const int64_t outputs = out.shape[0] / groups;
    const Bands bands(window, x.shape[0], POSITIONS);
    const Blocks blocks{outputs};
    const WeightCall<T> call{x, g, window, bands, blocks, channels, terms};
    const int64_t size = out.shape[0] * terms, parts = larger(1, smaller(PARTS, bands.count()));
    const int64_t most = SUMS / (HEIGHT * terms * L * int64_t(sizeof(F)));
    const int64_t together = larger(1, smaller(blocks.count, most));  // blocks of one task
    const int64_t cuts = ceil_div(blocks.count, together);
    F* totals = static_cast<F*>(scratch(0, parts * size * sizeof(F)));
    if (!totals) return OUT_OF_MEMORY;

    bool failed = false;
    parallel(parts * groups * cuts, [&](int64_t task) {
        const int64_t part = task / (groups * cuts), group = task / cuts % groups;
        const int64_t from = task % cuts * together, to = smaller(blocks.count, from + together);
        const int64_t start = blocks.start(from), height = blocks.start(to) - start;
        F* sums = static_cast<F*>(scratch(1, (height * terms + 1) * L * sizeof(F)));
        int64_t* at = static_cast<int64_t*>(scratch(3, terms * sizeof(int64_t)));
        if (!sums || !at) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t s = 0; s < height * terms * L; ++s) sums[s] = 0;
        const int64_t end = bands.count() * (part + 1) / parts;
        for (int64_t index = bands.count() * part / parts; index < end; ++index)
            if (!call.add_band(bands[index], group, from, to, at, sums))
                return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        F* total = totals + part * size + (group * outputs + start) * terms;
        for (int64_t b = from; b < to; ++b)
            for (int64_t k = 0; k < terms; k += WIDTH)
                for (int64_t o = blocks.start(b); o < blocks.start(b + 1); ++o)
                    for (int64_t v = 0; v < smaller(WIDTH, terms - k); ++v, sums += L)
                        total[(o - start) * terms + k + v] = xsimd::reduce_add(load(sums));
    });
    if (failed) return OUT_OF_MEMORY;
    add_parts<T>(out, totals, parts, window);
    return OK;
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
