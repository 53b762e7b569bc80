// Windows that slide over the last two axes of (n, c, h, w), and copies of the rows they see.
#pragma once

#include "math/computed.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// One axis of a window: tap t of output p looks at p * stride + t * dilation - before. What lies
// outside of the input is 0. (`before` is below 0 where the first windows begin further inside.)
struct Axis {
    int64_t taps, stride, dilation, in, out, before = 0;

    int64_t phase(int64_t t) const { return t * dilation % stride; }
    int64_t shift(int64_t t) const { return t * dilation / stride; }
    int64_t phases() const { return smaller(stride, (taps - 1) * dilation + 1); }
    int64_t length(int64_t outputs) const { return outputs + shift(taps - 1); }  // of one phase
    // Of the elements of phase b, up to the last that is seen: how many lie before the input, and
    // how many up to its end.
    int64_t first(int64_t b) const { return reached(before - b); }
    int64_t end(int64_t b) const { return reached(in + before - b); }
    int64_t reached(int64_t n) const {
        return smaller(ceil_div(larger(n, 0), stride), length(out));
    }
};

struct Window {
    Axis h, w;
    int64_t taps() const { return h.taps * w.taps; }
};

// Params hold the strides and dilations from number `first` on. One larger than the input is never
// taken: there is room for one window, or one tap. Cut to its size, nothing overflows.
Window window_of(const Params& params, int first, int64_t taps_h, int64_t taps_w, const Operand& x,
                 const Operand& z) {
    const auto number = [&](int i, int64_t in) {
        return smaller(static_cast<int64_t>(params.integer[first + i]), larger(in, 1));
    };
    const int64_t h = x.shape[2], w = x.shape[3];
    return {{taps_h, number(0, h), number(2, h), h, z.shape[2]},
            {taps_w, number(1, w), number(3, w), w, z.shape[3]}};
}

// The outputs computed at one time: some rows of an image, or some whole images.
struct Band {
    const Window& window;
    int64_t image, images, row, rows;
    int64_t pitch = window.w.length(window.w.out), height = window.h.length(rows);
    int64_t plane = images * height * pitch;
    int64_t channel = plane * window.h.phases() * window.w.phases();
    int64_t positions = (images * height - height + rows - 1) * pitch + window.w.out;

    int64_t position(int64_t n, int64_t p) const { return (n * height + p) * pitch; }
    int64_t shift(int64_t i, int64_t j) const {
        const Axis &h = window.h, &w = window.w;
        return (h.phase(i) * w.phases() + w.phase(j)) * plane + h.shift(i) * pitch + w.shift(j);
    }
    // at[k] for all k = (c, i, j).
    void places(int64_t channels, int64_t* at) const {
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < window.h.taps; ++i)
                for (int64_t j = 0; j < window.w.taps; ++j) *at++ = c * channel + shift(i, j);
    }
};

// Calls row(c, i, k) for each row of taps, k = (c, i, 0).
template <class Row>
void each_row(int64_t channels, const Window& window, const Row& row) {
    int64_t k = 0;
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < window.h.taps; ++i, k += window.w.taps) row(c, i, k);
}

constexpr Status OK = {Status::Ok, 0, 0}, OUT_OF_MEMORY = {Status::OutOfMemory, 0, 0};
constexpr int64_t CONV_GRAIN = 1 << 19;  // multiplications that take a thread about 10 us

// n numbers, `step` apart at both ends.
template <class To, class From>
inline void copy_row(int64_t n, To* to, int64_t to_step, const From* from, int64_t from_step) {
    constexpr int L = lanes<Computed<To>>;
    if (to_step == 1 && from_step == 2) {  // which compilers turn into shuffles
        for (int64_t q = 0; q < n; ++q) to[q] = convert<To>(from[2 * q]);
    } else if (to_step != 1 || from_step != 1) {
        for (int64_t q = 0; q < n; ++q) to[q * to_step] = convert<To>(from[q * from_step]);
    } else if constexpr (std::is_same<To, From>::value && !is_16_bit_float<To>) {
        for (int64_t q = 0; q + L <= n; q += L) store(to + q, load(from + q));
        if (n >= L) return store(to + n - L, load(from + n - L));  // overlaps what is there
        for (int64_t q = 0; q < n; ++q) to[q] = from[q];
    } else {
        convert_row(n, to, from);
    }
}

template <class T>
T* element(const Operand& x, int64_t n, int64_t c, int64_t h) {
    return reinterpret_cast<T*>(x.data) + n * x.strides[0] + c * x.strides[1] + h * x.strides[2];
}

// Copies what a band sees of the channels from `first` on: phase by phase, image by image, row by
// row, with zeros where the input ends, and after it all, where the last register reaches.
template <class T, class F>
void copy_input(const Operand& x, int64_t first, int64_t channels, const Band& band, F* to) {
    const Axis &h = band.window.h, &w = band.window.w;
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t a = 0; a < h.phases(); ++a)
            for (int64_t b = 0; b < w.phases(); ++b)
                for (int64_t n = 0; n < band.images; ++n)
                    for (int64_t r = 0; r < band.height; ++r, to += band.pitch) {
                        const int64_t row = (band.row + r) * h.stride + a - h.before;
                        const bool there = row >= 0 && row < h.in;
                        const int64_t from = there ? w.first(b) : 0, end = there ? w.end(b) : 0;
                        for (int64_t q = 0; q < from; ++q) to[q] = 0;
                        if (from < end)
                            copy_row(end - from, to + from, 1,
                                     element<T>(x, band.image + n, first + c, row) +
                                         (from * w.stride + b - w.before) * x.strides[3],
                                     w.stride * x.strides[3]);
                        for (int64_t q = end; q < band.pitch; ++q) to[q] = 0;
                    }
    for (int l = 0; l < lanes<F>; ++l) to[l] = 0;
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
