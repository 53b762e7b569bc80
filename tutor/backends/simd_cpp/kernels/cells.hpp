// The formulas of recurrent layers: one place, forward, and back.
//
// Each over n numbers of a piece's arrays, PIECE apart. `forward` gets in z the sums of the gates
// (with RESETS those of U h + b, and W x in x), leaves there what the gradient wants, and turns
// `state` into the next one. `backward` gets that and the state that PART says, now and before, and
// d, the gradient of h; it writes those of W x, with RESETS also that of U h + b, and `carry`: of
// an LSTM the gradient of c, of a GRU the part of h's that does not go through U.
#pragma once

#include "kernels/recurrent.hpp"
#include "math/math.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

struct Lstm {
    static constexpr int GATES = 4, KEPT = 4, STATES = 2, PART = 1;
    static constexpr bool RESETS = false, CARRIES = true;

    template <class F>
    static void forward(F* z, const F*, F* state, int64_t n) {
        constexpr int64_t P = PIECE<F>;
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> i = math::sigmoid(load(z + k)), f = math::sigmoid(load(z + P + k));
            const vec<F> g = math::tanh(load(z + 2 * P + k));
            const vec<F> o = math::sigmoid(load(z + 3 * P + k));
            const vec<F> c = f * load(state + P + k) + i * g;
            store(z + k, i), store(z + P + k, f), store(z + 2 * P + k, g), store(z + 3 * P + k, o);
            store(state + P + k, c);
            store(state + k, o * math::tanh(c));
        }
    }

    template <class F>
    static void backward(const F* z, const F* now, const F* before, const F* d, F* carry, F* dx, F*,
                         int64_t n) {
        constexpr int64_t P = PIECE<F>;
        const vec<F> one(F(1));
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> i = load(z + k), f = load(z + P + k), g = load(z + 2 * P + k);
            const vec<F> o = load(z + 3 * P + k), t = math::tanh(load(now + k)), dh = load(d + k);
            const vec<F> dc = load(carry + k) + dh * o * ((one - t) * (one + t));
            store(dx + k, dc * g * (i * (one - i)));
            store(dx + P + k, dc * load(before + k) * (f * (one - f)));
            store(dx + 2 * P + k, dc * i * ((one - g) * (one + g)));
            store(dx + 3 * P + k, dh * t * (o * (one - o)));
            store(carry + k, dc * f);
        }
    }
};

struct Gru {
    static constexpr int GATES = 3, KEPT = 4, STATES = 1, PART = 0;
    static constexpr bool RESETS = true, CARRIES = true;

    template <class F>
    static void forward(F* z, const F* x, F* state, int64_t n) {
        constexpr int64_t P = PIECE<F>;
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> r = math::sigmoid(load(x + k) + load(z + k));
            const vec<F> u = math::sigmoid(load(x + P + k) + load(z + P + k));
            const vec<F> m = math::tanh(load(x + 2 * P + k) + r * load(z + 2 * P + k));
            store(z + k, r), store(z + P + k, u), store(z + 3 * P + k, m);
            store(state + k, m + u * (load(state + k) - m));
        }
    }

    template <class F>
    static void backward(const F* z, const F*, const F* before, const F* d, F* carry, F* dx, F* da,
                         int64_t n) {
        constexpr int64_t P = PIECE<F>;
        const vec<F> one(F(1));
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> r = load(z + k), u = load(z + P + k), a = load(z + 2 * P + k);
            const vec<F> m = load(z + 3 * P + k), dh = load(d + k) + load(carry + k);
            const vec<F> dm = dh * (one - u) * ((one - m) * (one + m));
            const vec<F> dr = dm * a * (r * (one - r));
            const vec<F> du = dh * (load(before + k) - m) * (u * (one - u));
            store(dx + k, dr), store(dx + P + k, du), store(dx + 2 * P + k, dm);
            store(da + k, dr), store(da + P + k, du), store(da + 2 * P + k, dm * r);
            store(carry + k, dh * u);
        }
    }
};

template <bool RELU>
struct Rnn {
    static constexpr int GATES = 1, KEPT = 0, STATES = 1, PART = 0;
    static constexpr bool RESETS = false, CARRIES = false;

    template <class F>
    static void forward(F* z, const F*, F* state, int64_t n) {
        const vec<F> zero(F(0));
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> a = load(z + k);
            if constexpr (RELU)
                store(state + k, xsimd::select(a <= zero, zero, a));
            else
                store(state + k, math::tanh(a));
        }
    }

    template <class F>
    static void backward(const F*, const F* now, const F*, const F* d, F*, F* dx, F*, int64_t n) {
        const vec<F> zero(F(0)), one(F(1));
        for (int64_t k = 0; k < n; k += lanes<F>) {
            const vec<F> h = load(now + k), dh = load(d + k);
            if constexpr (RELU)
                store(dx + k, xsimd::select(h > zero, dh, zero));
            else
                store(dx + k, dh * ((one - h) * (one + h)));
        }
    }
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
