// Windows that slide over the last two axes of (n, c, h, w), and copies of the rows they see.
#pragma once

#include "rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// One axis of a window: tap t of output p looks at p * stride + t * dilation.
struct Axis {
    int64_t taps, stride, dilation, in, out;

    int64_t phase(int64_t t) const { return t * dilation % stride; }
    int64_t shift(int64_t t) const { return t * dilation / stride; }
    int64_t phases() const { return smaller(stride, (taps - 1) * dilation + 1); }
    int64_t length(int64_t outputs) const { return outputs + shift(taps - 1); }  // of one phase
    // How many elements of phase b there are, up to the last that is seen.
    int64_t columns(int64_t b) const { return smaller(ceil_div(in - b, stride), length(out)); }
};

struct Window {
    Axis h, w;
    int64_t taps() const { return h.taps * w.taps; }
};

// Params hold the strides and dilations from number `first` on.
Window window_of(const Params& params, int first, int64_t taps_h, int64_t taps_w, const Operand& x,
                 const Operand& z) {
    const auto number = [&](int i) { return static_cast<int64_t>(params.integer[first + i]); };
    return {{taps_h, number(0), number(2), x.shape[2], z.shape[2]},
            {taps_w, number(1), number(3), x.shape[3], z.shape[3]}};
}

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

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
