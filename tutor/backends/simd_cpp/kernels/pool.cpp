// Max pooling over two axes, and its gradient.
#include "kernels/window.hpp"
#include "math/order.hpp"
#include "pool.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 1 << 15;  // elements in about 10 us of work, the cost of waking a thread
constexpr int64_t TOGETHER = 1 << 12;  // numbers at one time: they stay in the L1 cache

Window pool_of(const Params& params, const Operand& x, const Operand& z) {
    return window_of(params, 2, static_cast<int64_t>(params.integer[0]),
                     static_cast<int64_t>(params.integer[1]), x, z);
}

// ---- the largest --------------------------------------------------------------------------------

// z[q] = the largest of row[q * STRIDE + j * dilation] for all taps j. A stride known to be 1 or 2
// becomes shuffles of vectors; STRIDE 0 means any other.
template <int STRIDE, class Key>
void largest_along(const Axis& w, int64_t n, const Key* row, Key* z) {
    const int64_t stride = STRIDE > 0 ? STRIDE : w.stride;
    for (int64_t q = 0; q < n; ++q) z[q] = row[q * stride];
    for (int64_t j = 1; j < w.taps; ++j) {
        const Key* tap = row + j * w.dilation;
        TUTOR_INDEPENDENT
        for (int64_t q = 0; q < n; ++q) z[q] = tap[q * stride] > z[q] ? tap[q * stride] : z[q];
    }
}

// A row of adjacent 2 x 2 windows, the most common: two rows of x. Rows are often short, and a loop
// of known length is vectorized, so N windows are computed at a time. The last ones may be computed
// twice; a row of fewer than N takes half as many at a time.
template <class T, int N = 16>
void largest_2x2(int64_t n, const T* x, int64_t x_row, T* z) {
    using Order = Ordered<T>;
    using Key = typename Order::Key;
    if constexpr (N > 1)
        if (n < N) return largest_2x2<T, N / 2>(n, x, x_row, z);
    for (int64_t first = 0; first < n; first += N) {
        const int64_t at = smaller(first, n - N);
        const T *top = x + 2 * at, *bottom = top + x_row;
        T* to = z + at;
        TUTOR_INDEPENDENT
#pragma GCC unroll 1
        for (int q = 0; q < N; ++q) {
            const Key a = Order::key(top[2 * q]), b = Order::key(top[2 * q + 1]);
            const Key c = Order::key(bottom[2 * q]), d = Order::key(bottom[2 * q + 1]);
            const Key above = a > b ? a : b, below = c > d ? c : d;
            to[q] = Order::value(above > below ? above : below);
        }
    }
}

// First the largest of each column of a window, for all columns of some rows of windows; then the
// largest of these for each window. The keys of order.hpp are compared, integers that order
// numbers, with nan on top. Rows are `pitch` numbers apart, a multiple of the stride, so they form
// one long row.
template <class T>
Status max_pool2d(const Operand& out, const Operand* ins, int, const Params& params) {
    using Order = Ordered<T>;
    using Key = typename Order::Key;
    const Operand& x = ins[0];
    const Window window = pool_of(params, x, out);
    const Axis &h = window.h, &w = window.w;
    const int64_t step = x.strides[3], across = w.length(w.out), pitch = across * w.stride;
    const int64_t columns = smaller(w.in, pitch), reach = (w.taps - 1) * w.dilation;
    const int64_t rows = smaller(h.out, larger(1, TOGETHER / larger(1, pitch)));
    const int64_t stretches = ceil_div(h.out, larger(1, rows));
    const bool pairs = h.taps == 2 && w.taps == 2 && h.stride == 2 && w.stride == 2 &&
                       h.dilation == 1 && w.dilation == 1 && step == 1 && out.strides[3] == 1;
    bool failed = false;
    const int64_t planes = out.shape[0] * out.shape[1];
    parallel_each(planes * stretches, rows * h.taps * w.in, GRAIN, [&](int64_t task) {
        const int64_t n = task / stretches / out.shape[1], c = task / stretches % out.shape[1];
        const int64_t first = task % stretches * rows, here = smaller(rows, h.out - first);
        for (int64_t p = first; pairs && p < first + here; ++p)
            largest_2x2(w.out, element<const T>(x, n, c, 2 * p), x.strides[2],
                        element<T>(out, n, c, p));
        if (pairs) return;
        Key* largest = static_cast<Key*>(scratch(0, (here * pitch + reach) * sizeof(Key)));
        Key* z = static_cast<Key*>(scratch(1, here * across * sizeof(Key)));
        if (!largest || !z) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t p = 0; p < here; ++p) {
            Key* to = largest + p * pitch;
            for (int64_t i = 0; i < h.taps; ++i) {
                const T* row = element<const T>(x, n, c, (first + p) * h.stride + i * h.dilation);
                const auto take = [&](int64_t by) {
                    TUTOR_INDEPENDENT
                    for (int64_t q = 0; q < columns; ++q) {
                        const Key key = Order::key(row[q * by]);
                        to[q] = i == 0 || key > to[q] ? key : to[q];
                    }
                };
                step == 1 ? take(1) : take(step);
            }
            for (int64_t q = columns; q < pitch; ++q) to[q] = 0;
        }
        for (int64_t q = 0; q < reach; ++q) largest[here * pitch + q] = 0;
        const auto along = w.stride == 1   ? largest_along<1, Key>
                           : w.stride == 2 ? largest_along<2, Key>
                                           : largest_along<0, Key>;
        along(w, here * across, largest, z);
        for (int64_t p = 0; p < here; ++p) {
            T* to = element<T>(out, n, c, first + p);
            const auto give = [&](int64_t by) {
                for (int64_t q = 0; q < w.out; ++q) to[q * by] = Order::value(z[p * across + q]);
            };
            out.strides[3] == 1 ? give(1) : give(out.strides[3]);
        }
    });
    return failed ? OUT_OF_MEMORY : OK;
}

// ---- its gradient -------------------------------------------------------------------------------

// Joins a row of phases, `apart` from each other: n elements of `to`, 0 where no window looked.
template <class T, class F>
void join_phases(const Axis& w, const F* phase, int64_t apart, T* to, int64_t step) {
    int64_t done = 0;
    if (w.stride == 2 && w.phases() == 2 && step == 1) {
        const F* odd = phase + apart;
        for (; done < w.end(1); ++done) {
            to[2 * done] = convert<T>(phase[done]);
            to[2 * done + 1] = convert<T>(odd[done]);
        }
    }
    for (int64_t q = done * w.stride; q < w.in; ++q) {
        const int64_t b = q % w.stride, place = q / w.stride;
        const bool seen = b < w.phases() && place < w.end(b);
        to[q * step] = convert<T>(seen ? phase[b * apart + place] : F(0));
    }
}

// A row of adjacent 2 x 2 windows, the most common: x and z are two rows each. Rows are often
// short, and a loop of known length is vectorized, so N windows are computed at a time. The last
// ones may be computed twice; a row of fewer than N takes half as many at a time.
template <class F, int N = 16>
void share_2x2(int64_t n, const F* x, int64_t x_row, const F* m, const F* g, F* z, int64_t z_row) {
    if constexpr (N > 1)
        if (n < N) return share_2x2<F, N / 2>(n, x, x_row, m, g, z, z_row);
    for (int64_t first = 0; first < n; first += N) {
        const int64_t at = smaller(first, n - N);
        const F *top = x + 2 * at, *bottom = top + x_row, *largest = m + at, *shared = g + at;
        F *to_top = z + 2 * at, *to_bottom = to_top + z_row;
        TUTOR_INDEPENDENT
#pragma GCC unroll 1
        for (int q = 0; q < N; ++q) {
            const F a = top[2 * q] == largest[q] ? F(1) : F(0);
            const F b = top[2 * q + 1] == largest[q] ? F(1) : F(0);
            const F c = bottom[2 * q] == largest[q] ? F(1) : F(0);
            const F d = bottom[2 * q + 1] == largest[q] ? F(1) : F(0);
            const F share = shared[q] / (a + b + c + d) + F(0);  // never -0, as a sum of one
            to_top[2 * q] = a != 0 ? share : F(0);
            to_top[2 * q + 1] = b != 0 ? share : F(0);
            to_bottom[2 * q] = c != 0 ? share : F(0);
            to_bottom[2 * q + 1] = d != 0 ? share : F(0);
        }
    }
}

// All 2 x 2 windows that lie side by side, in the rows [row, row + rows) of windows; then zeros in
// the rows of x up to `end` that no window saw.
template <class T>
void share_pairs(const Window& window, const Operand& out, const Operand* ins, int64_t n, int64_t c,
                 int64_t row, int64_t rows, int64_t end) {
    const Operand &x = ins[0], &m = ins[1], &g = ins[2];
    const Axis& w = window.w;
    for (int64_t r = row; r < row + rows; ++r) {
        T* z = element<T>(out, n, c, 2 * r);
        share_2x2<T>(w.out, element<const T>(x, n, c, 2 * r), x.strides[2],
                     element<const T>(m, n, c, r), element<const T>(g, n, c, r), z, out.strides[2]);
        if (w.in > 2 * w.out) z[w.in - 1] = z[out.strides[2] + w.in - 1] = 0;
    }
    for (int64_t r = (row + rows) * 2; r < end; ++r)
        std::memset(element<T>(out, n, c, r), 0, w.in * sizeof(T));
}

// Any windows: tap by tap, for a whole band at once, as in conv.cpp. First counts the elements that
// equal the largest, then gives each of them its share. false: out of memory.
template <class T>
bool share_band(const Band& band, const Operand& out, const Operand* ins, int64_t n, int64_t c,
                int64_t end) {
    using F = Computed<T>;
    constexpr int L = lanes<F>;
    const Axis &h = band.window.h, &w = band.window.w;
    const int64_t size = band.channel + L, length = larger(0, ceil_div(band.positions, L) * L);
    F* seen = static_cast<F*>(scratch(0, 2 * size * sizeof(F)));
    F* largest = static_cast<F*>(scratch(1, 3 * length * sizeof(F)));
    if (!seen || !largest) return false;
    F *z = seen + size, *share = largest + length, *count = share + length;
    copy_input<const T>(ins[0], c, 1, band, seen);
    for (int64_t q = 0; q < size; ++q) z[q] = 0;
    for (int64_t q = 0; q < length; ++q) {  // nan, which equals nothing, between the rows
        largest[q] = std::numeric_limits<F>::quiet_NaN();
        share[q] = count[q] = 0;
    }
    for (int64_t r = 0; r < band.rows; ++r) {
        const int64_t at = band.position(0, r);
        for (int k = 1; k <= 2; ++k)
            copy_row(w.out, (k == 1 ? largest : share) + at, 1,
                     element<const T>(ins[k], n, c, band.row + r), ins[k].strides[3]);
    }
    for (int64_t i = 0; i < h.taps; ++i)
        for (int64_t j = 0; j < w.taps; ++j) {
            const F* at = seen + band.shift(i, j);
            TUTOR_INDEPENDENT
            for (int64_t q = 0; q < length; ++q) count[q] += at[q] == largest[q] ? F(1) : F(0);
        }
    for (int64_t q = 0; q < length; ++q) share[q] /= count[q];
    for (int64_t i = 0; i < h.taps; ++i)
        for (int64_t j = 0; j < w.taps; ++j) {
            const F* at = seen + band.shift(i, j);
            F* to = z + band.shift(i, j);
            TUTOR_INDEPENDENT
            for (int64_t q = 0; q < length; ++q) to[q] += at[q] == largest[q] ? share[q] : F(0);
        }
    for (int64_t r = band.row * h.stride; r < end; ++r) {
        const int64_t a = r % h.stride, line = r / h.stride - band.row;
        T* to = element<T>(out, n, c, r);
        if (a < h.phases() && line < band.height)
            join_phases(w, z + a * w.phases() * band.plane + line * band.pitch, band.plane, to,
                        out.strides[3]);
        else
            for (int64_t q = 0; q < w.in; ++q) to[q * out.strides[3]] = convert<T>(F(0));
    }
    return true;
}

// Bands are independent if windows do not overlap; otherwise the whole image is one band.
template <class T>
Status max_pool2d_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand &x = ins[0], &m = ins[1], &g = ins[2];
    const Window window = pool_of(params, x, m);
    const Axis &h = window.h, &w = window.w;
    const bool apart = (h.taps - 1) * h.dilation < h.stride;
    const bool side_by_side = x.strides[3] == 1 && m.strides[3] == 1 && g.strides[3] == 1;
    const bool in_pairs = h.taps == 2 && w.taps == 2 && h.stride == 2 && w.stride == 2 &&
                          h.dilation == 1 && w.dilation == 1 && side_by_side &&
                          out.strides[3] == 1 && !is_16_bit_float<T>;
    const int64_t most = apart ? larger(1, TOGETHER / 4 / larger(1, w.length(w.out))) : h.out;
    const int64_t rows = larger(1, smaller(h.out, most));
    const int64_t stretches = larger(1, ceil_div(h.out, rows));
    bool failed = false;
    const int64_t planes = out.shape[0] * out.shape[1];
    parallel_each(planes * stretches, rows * h.stride * w.in, GRAIN / 2, [&](int64_t task) {
        const int64_t n = task / stretches / out.shape[1], c = task / stretches % out.shape[1];
        const int64_t p = task % stretches * rows;
        const Band band{window, n, 1, p, smaller(rows, h.out - p)};
        const bool last = p + band.rows >= h.out;
        const int64_t end = last ? h.in : (p + band.rows) * h.stride;  // of the rows of x
        if constexpr (!is_16_bit_float<T>)
            if (in_pairs) return share_pairs<T>(window, out, ins, n, c, p, band.rows, end);
        if (!share_band<T>(band, out, ins, n, c, end))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return failed ? OUT_OF_MEMORY : OK;
}

}  // namespace

// clang-format off
TABLE(pool,
      KERNEL(max_pool2d, max_pool2d<Stored<T>>),
      KERNEL(max_pool2d_grad, max_pool2d_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
