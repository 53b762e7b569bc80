// Pooling over two axes by the largest number in each window, and its gradient.
#include "window.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 1 << 15;  // elements in about 10 us of work, which waking a thread costs
constexpr Status OK = {Status::Ok, 0, 0}, OUT_OF_MEMORY = {Status::OutOfMemory, 0, 0};

Window pool_of(const Params& params, const Operand& x, const Operand& z) {
    return window_of(params, 2, static_cast<int64_t>(params.integer[0]),
                     static_cast<int64_t>(params.integer[1]), x, z);
}

// The largest of each column of a window first, a row at a time; of these then the largest of each
// window. Compared are the keys of rows.hpp, integers that order numbers, with nan on top.
template <class T>
Status max_pool2d(const Operand& out, const Operand* ins, int, const Params& params) {
    using Order = Ordered<T>;
    using Key = typename Order::Key;
    const Operand& x = ins[0];
    const Window window = pool_of(params, x, out);
    const Axis &h = window.h, &w = window.w;
    const int64_t step = x.strides[3], lines = out.shape[0] * out.shape[1] * h.out;
    bool failed = false;
    parallel_each(lines, h.taps * w.in, GRAIN, [&](int64_t line) {
        const int64_t n = line / h.out / out.shape[1], c = line / h.out % out.shape[1];
        Key* largest = static_cast<Key*>(scratch(0, w.in * sizeof(Key)));
        if (!largest) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t i = 0; i < h.taps; ++i) {
            const T* row = element<const T>(x, n, c, line % h.out * h.stride + i * h.dilation);
            const auto take = [&](int64_t by) {
                for (int64_t q = 0; q < w.in; ++q) {
                    const Key key = Order::key(row[q * by]);
                    largest[q] = i == 0 || key > largest[q] ? key : largest[q];
                }
            };
            step == 1 ? take(1) : take(step);
        }
        T* z = element<T>(out, n, c, line % h.out);
        const auto give = [&](int64_t stride, int64_t by) {
            for (int64_t q = 0; q < w.out; ++q) {
                Key key = largest[q * stride];
                for (int64_t j = 1; j < w.taps; ++j) {
                    const Key other = largest[q * stride + j * w.dilation];
                    key = other > key ? other : key;
                }
                z[q * by] = Order::value(key);
            }
        };
        give(w.stride, out.strides[3]);
    });
    return failed ? OUT_OF_MEMORY : OK;
}

// Row by row of windows: how many elements equal the largest, then to each of them its share. As
// above, columns that are a stride apart are brought side by side.
template <class T>
Status max_pool2d_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &m = ins[1], &g = ins[2];
    const Window window = pool_of(params, x, m);
    const Axis &h = window.h, &w = window.w;
    const int64_t pitch = w.length(w.out), line = w.phases() * pitch;
    bool failed = false;
    parallel_each(out.shape[0] * out.shape[1], h.in * w.in, GRAIN / 2, [&](int64_t plane) {
        const int64_t n = plane / out.shape[1], c = plane % out.shape[1];
        F* z = static_cast<F*>(scratch(0, h.in * line * sizeof(F)));
        F* seen = static_cast<F*>(scratch(1, h.taps * line * sizeof(F)));
        F* largest = static_cast<F*>(scratch(2, 3 * w.out * sizeof(F)));
        if (!z || !seen || !largest) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        F *share = largest + w.out, *count = share + w.out;
        for (int64_t k = 0; k < h.in * line; ++k) z[k] = 0;
        for (int64_t p = 0; p < h.out; ++p) {
            copy_row(w.out, largest, 1, element<const T>(m, n, c, p), m.strides[3]);
            copy_row(w.out, share, 1, element<const T>(g, n, c, p), g.strides[3]);
            for (int64_t q = 0; q < w.out; ++q) count[q] = 0;
            for (int64_t i = 0; i < h.taps; ++i) {
                const T* row = element<const T>(x, n, c, p * h.stride + i * h.dilation);
                for (int64_t b = 0; b < w.phases(); ++b)
                    copy_row(w.columns(b), seen + i * line + b * pitch, 1, row + b * x.strides[3],
                             w.stride * x.strides[3]);
                for (int64_t j = 0; j < w.taps; ++j) {
                    const F* at = seen + i * line + w.phase(j) * pitch + w.shift(j);
#pragma GCC ivdep
                    for (int64_t q = 0; q < w.out; ++q)
                        count[q] += at[q] == largest[q] ? F(1) : F(0);
                }
            }
            for (int64_t q = 0; q < w.out; ++q) share[q] /= count[q];
            for (int64_t i = 0; i < h.taps; ++i)
                for (int64_t j = 0; j < w.taps; ++j) {
                    const int64_t place = w.phase(j) * pitch + w.shift(j);
                    const F* at = seen + i * line + place;
                    F* to = z + (p * h.stride + i * h.dilation) * line + place;
#pragma GCC ivdep
                    for (int64_t q = 0; q < w.out; ++q)
                        to[q] += at[q] == largest[q] ? share[q] : F(0);
                }
        }
        for (int64_t r = 0; r < h.in; ++r) {
            T* to = element<T>(out, n, c, r);
            for (int64_t q = 0; q < w.in; ++q) to[q * out.strides[3]] = convert<T>(F(0));
            for (int64_t b = 0; b < w.phases(); ++b)
                copy_row(w.columns(b), to + b * out.strides[3], w.stride * out.strides[3],
                         z + r * line + b * pitch, 1);
        }
    });
    return failed ? OUT_OF_MEMORY : OK;
}

// ---- table --------------------------------------------------------------------------------------

#define POOL "size_h size_w stride_h stride_w dilation_h dilation_w"
#define GRAD(dtype, T) {"max_pool2d_grad", dtype, Form::PoolGrad, "TTTT", POOL, max_pool2d_grad<T>},

const Row rows[] = {GRAD(Float16, half_t) GRAD(BFloat16, bfloat_t) GRAD(Float32, float)
                        GRAD(Float64, double)
#define ROW(name, type, format) \
    {"max_pool2d", name, Form::Pool, "TT", POOL, max_pool2d<Stored<type>>},
                            TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
};

}  // namespace

Rows pool() { return {rows, sizeof rows / sizeof *rows}; }

}  // namespace TUTOR_LEVEL
}  // namespace tutor
