// Optimizer steps: descend sgd nesterov adam adamw rmsprop adagrad lion. Each reads and writes a
// parameter and its state once. float16 and bfloat16 are computed in float and rounded once.
//
// What changes from step to step, the settings and the step count, is in cells: operands of one
// number. So the same call, repeated, is the next step.
#include "math/computed.hpp"
#include "math/math.hpp"
#include "optimizer.rows.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 8192;     // elements in about 10 us of work
constexpr int64_t GATHERED = 1024;  // elements of each operand gathered on the stack

inline double setting(const Operand& cell) { return *reinterpret_cast<const double*>(cell.data); }

// The vector rounded to T: what a later kernel would read back from memory.
template <class T>
inline vec<Computed<T>> rounded(vec<Computed<T>> values) {
    if constexpr (is_16_bit_float<T>) {
        float wide[lanes<float>];
        T stored[lanes<float>];
        store(wide, values);
        narrow(lanes<float>, stored, wide);
        widen(lanes<float>, wide, stored);
        return load(wide);
    } else {
        return values;
    }
}

// A formula is constructed from the cells, in the order of signatures.py, and gets vectors of the
// parameter p, its gradient g and the state.

// p <- p - lr * (g + weight_decay * p)
template <class T>
struct Descend {
    using F = Computed<T>;
    static constexpr int OPERANDS = 2;  // p g
    vec<F> lr, weight_decay;

    explicit Descend(const Operand* cells)
        : lr(F(setting(cells[0]))), weight_decay(F(setting(cells[1]))) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i);
        store(at[0] + i, p - lr * (g + weight_decay * p));
    }
};

// d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * v
template <class T>
struct Sgd {
    using F = Computed<T>;
    static constexpr int OPERANDS = 3;  // p g v
    vec<F> lr, momentum, weight_decay;

    explicit Sgd(const Operand* cells)
        : lr(F(setting(cells[0]))),
          momentum(F(setting(cells[1]))),
          weight_decay(F(setting(cells[2]))) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + weight_decay * p;
        const vec<F> v = rounded<T>(momentum * load(at[2] + i) + d);
        store(at[2] + i, v);
        store(at[0] + i, p - lr * v);
    }
};

// d = g + weight_decay * p;  v <- momentum * v + d;  p <- p - lr * (d + momentum * v)
template <class T>
struct Nesterov : Sgd<T> {
    using F = Computed<T>;
    using Sgd<T>::Sgd;

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + this->weight_decay * p;
        const vec<F> v = rounded<T>(this->momentum * load(at[2] + i) + d);
        store(at[2] + i, v);
        store(at[0] + i, p - this->lr * (d + this->momentum * v));
    }
};

inline double steps_before(const Operand& count) {
    return static_cast<double>(*reinterpret_cast<const uint64_t*>(count.data));
}

// t = count + 1;  d = g + weight_decay * p;  m <- beta1 * m + (1 - beta1) * d;
// v <- beta2 * v + (1 - beta2) * d * d;
// p <- p - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps)
// (Kingma and Ba, 2015). What is the same for all elements is computed in double.
// DECOUPLED: d = g, and p decays on its own, p <- (1 - lr * weight_decay) * p - ...
// (Loshchilov and Hutter, 2019).
template <class T, bool DECOUPLED>
struct Moments {
    using F = Computed<T>;
    static constexpr int OPERANDS = 4;  // p g m v
    vec<F> lr, beta1, beta2, eps, weight_decay, kept, correction, rest1, rest2;

    explicit Moments(const Operand* cells)
        : beta1(F(setting(cells[1]))),
          beta2(F(setting(cells[2]))),
          eps(F(setting(cells[3]))),
          weight_decay(F(setting(cells[4]))),
          kept(F(1 - setting(cells[0]) * setting(cells[4]))),
          rest1(F(1 - setting(cells[1]))),
          rest2(F(1 - setting(cells[2]))) {
        const double t = steps_before(cells[5]) + 1;
        lr = vec<F>(F(setting(cells[0]) / (1 - std::pow(setting(cells[1]), t))));
        correction = vec<F>(F(std::sqrt(1 - std::pow(setting(cells[2]), t))));
    }

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i);
        const vec<F> d = DECOUPLED ? g : g + weight_decay * p;
        const vec<F> m = rounded<T>(beta1 * load(at[2] + i) + rest1 * d);
        const vec<F> v = rounded<T>(beta2 * load(at[3] + i) + rest2 * d * d);
        store(at[2] + i, m);
        store(at[3] + i, v);
        store(at[0] + i, (DECOUPLED ? kept * p : p) - lr * m / (xsimd::sqrt(v) / correction + eps));
    }
};

template <class T>
using Adam = Moments<T, false>;
template <class T>
using AdamW = Moments<T, true>;

// d = g + weight_decay * p;  v <- alpha * v + (1 - alpha) * d * d;
// p <- p - lr * d / (sqrt(v) + eps)
template <class T>
struct RmsProp {
    using F = Computed<T>;
    static constexpr int OPERANDS = 3;  // p g v
    vec<F> lr, alpha, eps, weight_decay, rest;

    explicit RmsProp(const Operand* cells)
        : lr(F(setting(cells[0]))),
          alpha(F(setting(cells[1]))),
          eps(F(setting(cells[2]))),
          weight_decay(F(setting(cells[3]))),
          rest(F(1 - setting(cells[1]))) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + weight_decay * p;
        const vec<F> v = rounded<T>(alpha * load(at[2] + i) + rest * d * d);
        store(at[2] + i, v);
        store(at[0] + i, p - lr * d / (xsimd::sqrt(v) + eps));
    }
};

// d = g + weight_decay * p;  s <- s + d * d;
// p <- p - lr / (1 + count * lr_decay) * d / (sqrt(s) + eps)
template <class T>
struct Adagrad {
    using F = Computed<T>;
    static constexpr int OPERANDS = 3;  // p g s
    vec<F> lr, eps, weight_decay;

    explicit Adagrad(const Operand* cells)
        : lr(F(setting(cells[0]) / (1 + steps_before(cells[4]) * setting(cells[1])))),
          eps(F(setting(cells[2]))),
          weight_decay(F(setting(cells[3]))) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + weight_decay * p;
        const vec<F> s = rounded<T>(load(at[2] + i) + d * d);
        store(at[2] + i, s);
        store(at[0] + i, p - lr * d / (xsimd::sqrt(s) + eps));
    }
};

// u = beta1 * m + (1 - beta1) * g;  p <- (1 - lr * weight_decay) * p - lr * sign(u);
// m <- beta2 * m + (1 - beta2) * g
template <class T>
struct Lion {
    using F = Computed<T>;
    static constexpr int OPERANDS = 3;  // p g m
    vec<F> lr, beta1, beta2, rest1, rest2, kept;

    explicit Lion(const Operand* cells)
        : lr(F(setting(cells[0]))),
          beta1(F(setting(cells[1]))),
          beta2(F(setting(cells[2]))),
          rest1(F(1 - setting(cells[1]))),
          rest2(F(1 - setting(cells[2]))),
          kept(F(1 - setting(cells[0]) * setting(cells[3]))) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), m = load(at[2] + i);
        const vec<F> u = beta1 * m + rest1 * g, none = vec<F>(F(0)), one = vec<F>(F(1));
        const vec<F> sign = xsimd::select(u > none, one, xsimd::select(u < none, -one, u));
        store(at[2] + i, rounded<T>(beta2 * m + rest2 * g));
        store(at[0] + i, kept * p - lr * sign);
    }
};

// ---- the loop -----------------------------------------------------------------------------------

// The axes of all operands, the one with the smallest steps in memory last.
template <int OPERANDS>
Nest walk_of(const Operand* const* operands) {
    const Operand& out = *operands[0];
    Nest nest;
    int axes[MAX_DIMS];
    for (int d = 0; d < out.ndim; d++) axes[d] = d;
    sort_axes(axes, out.ndim, out.strides);
    for (int i = 0; i < out.ndim; i++) {
        int64_t strides[MAX_OPERANDS] = {};
        for (int k = 0; k < OPERANDS; k++) strides[k] = operands[k]->strides[axes[i]];
        nest.add(out.shape[axes[i]], strides);
    }
    return nest;
}

// n elements that do not lie side by side, or not as F: through tiles on the stack and back, except
// for g (1), which is only read.
template <class T, class Step>
void step_in_tiles(const Step& step, T* const* stored, const int64_t* strides, int64_t n) {
    using F = Computed<T>;
    constexpr int WIDTH = lanes<F>, OPERANDS = Step::OPERANDS;
    constexpr int64_t TILE = GATHERED / sizeof(F);
    alignas(64) F tiles[OPERANDS][TILE];
    F* computed[OPERANDS];
    for (int64_t begin = 0; begin < n; begin += TILE) {
        const int64_t count = smaller(TILE, n - begin), padded = ceil_div(count, WIDTH) * WIDTH;
        for (int k = 0; k < OPERANDS; k++) {
            computed[k] = tiles[k];
            move_row(stored[k] + begin * strides[k], strides[k], tiles[k], 1, count);
            for (int64_t j = count; j < padded; j++) tiles[k][j] = 0;
        }
        for (int64_t j = 0; j < padded; j += WIDTH) step(computed, j);
        for (int k = 0; k < OPERANDS; k++)
            if (k != 1) move_row(tiles[k], 1, stored[k] + begin * strides[k], strides[k], count);
    }
}

// One optimizer step over all elements of the operands. Contiguous ones are updated in place,
// vector by vector.
template <class T, template <class> class Optimizer>
Status update(const Operand& out, const Operand* ins, int, const Params&) {
    using F = Computed<T>;
    constexpr int WIDTH = lanes<F>, OPERANDS = Optimizer<T>::OPERANDS;
    const Optimizer<T> step(ins + OPERANDS - 1);
    const Operand* operands[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) operands[k] = k == 0 ? &out : &ins[k - 1];

    Nest outer = walk_of<OPERANDS>(operands);
    const Nest inner = outer.split_inner();
    const int64_t length = inner.size[0], pieces = ceil_div(length, GRAIN);
    bool in_place = std::is_same<T, F>::value;
    for (int k = 0; k < OPERANDS; k++) in_place &= inner.stride[0][k] == 1;

    parallel_each(outer.count() * pieces, smaller(length, GRAIN), GRAIN, [&](int64_t index) {
        int64_t at[MAX_OPERANDS];
        outer.locate(index / pieces, at);
        const int64_t begin = index % pieces * GRAIN, n = smaller(GRAIN, length - begin);
        const int64_t whole = in_place ? n / WIDTH * WIDTH : 0;
        T* stored[OPERANDS];
        F* computed[OPERANDS];
        for (int k = 0; k < OPERANDS; k++) {
            const int64_t stride = inner.stride[0][k];
            stored[k] = reinterpret_cast<T*>(operands[k]->data) + at[k] + begin * stride;
            computed[k] = reinterpret_cast<F*>(stored[k]);  // unused unless they are alike
            stored[k] += whole * stride;
        }
        for (int64_t j = 0; j < whole; j += WIDTH) step(computed, j);
        step_in_tiles(step, stored, inner.stride[0], n - whole);
    });
    return {Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(optimizer,
      KERNEL(descend, update<T, Descend>),
      KERNEL(sgd, update<T, Sgd>),
      KERNEL(nesterov, update<T, Nesterov>),
      KERNEL(adam, update<T, Adam>),
      KERNEL(adamw, update<T, AdamW>),
      KERNEL(rmsprop, update<T, RmsProp>),
      KERNEL(adagrad, update<T, Adagrad>),
      KERNEL(lion, update<T, Lion>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
