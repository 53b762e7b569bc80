// Optimizer steps, which read and write each parameter once. float16 and bfloat16 are computed in
// float and rounded once.
#include "math/computed.hpp"
#include "optimizer.rows.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 8192;  // elements in about 10 us of work

// What a later kernel would read back from memory: the vector rounded to T.
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

// p <- p - lr * (g + weight_decay * p)
template <class T>
struct Descend {
    using F = Computed<T>;
    static constexpr int OPERANDS = 2;  // p g
    vec<F> lr, weight_decay;

    explicit Descend(const double* number) : lr(F(number[0])), weight_decay(F(number[1])) {}

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

    explicit Sgd(const double* number)
        : lr(F(number[0])), momentum(F(number[1])), weight_decay(F(number[2])) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + weight_decay * p;
        const vec<F> v = rounded<T>(momentum * load(at[2] + i) + d);
        store(at[2] + i, v);
        store(at[0] + i, p - lr * v);
    }
};

// d = g + weight_decay * p;  m <- beta1 * m + (1 - beta1) * d;  v <- beta2 * v + (1 - beta2) * d *
// d; p <- p - lr * m / (sqrt(v) / correction + eps)   (Kingma and Ba, 2015)
template <class T>
struct Adam {
    using F = Computed<T>;
    static constexpr int OPERANDS = 4;  // p g m v
    vec<F> lr, beta1, beta2, eps, correction, weight_decay, rest1, rest2;

    explicit Adam(const double* number)
        : lr(F(number[0])),
          beta1(F(number[1])),
          beta2(F(number[2])),
          eps(F(number[3])),
          correction(F(number[4])),
          weight_decay(F(number[5])),
          rest1(F(1 - number[1])),
          rest2(F(1 - number[2])) {}

    void operator()(F* const* at, int64_t i) const {
        const vec<F> p = load(at[0] + i), g = load(at[1] + i), d = g + weight_decay * p;
        const vec<F> m = rounded<T>(beta1 * load(at[2] + i) + rest1 * d);
        const vec<F> v = rounded<T>(beta2 * load(at[3] + i) + rest2 * d * d);
        store(at[2] + i, m);
        store(at[3] + i, v);
        store(at[0] + i, p - lr * m / (xsimd::sqrt(v) / correction + eps));
    }
};

// One optimizer step over all elements of the operands. Where they lie side by side they are
// updated in place, vector by vector; everything else passes through tiles on the stack.
template <class T, template <class> class Optimizer>
Status update(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    constexpr int WIDTH = lanes<F>, OPERANDS = Optimizer<T>::OPERANDS, TILE = 256;
    const Optimizer<T> step(params.number);
    const Operand* operands[MAX_OPERANDS];
    for (int k = 0; k < OPERANDS; k++) operands[k] = k == 0 ? &out : &ins[k - 1];

    Nest outer;
    int axes[MAX_DIMS];
    for (int d = 0; d < out.ndim; d++) axes[d] = d;
    sort_axes(axes, out.ndim, out.strides);
    for (int i = 0; i < out.ndim; i++) {
        int64_t strides[MAX_OPERANDS] = {};
        for (int k = 0; k < OPERANDS; k++) strides[k] = operands[k]->strides[axes[i]];
        outer.add(out.shape[axes[i]], strides);
    }
    const Nest inner = outer.split_inner();
    const int64_t length = inner.size[0], pieces = ceil_div(length, GRAIN);
    bool in_place = std::is_same<T, F>::value;
    for (int k = 0; k < OPERANDS; k++) in_place &= inner.stride[0][k] == 1;

    parallel_each(outer.count() * pieces, smaller(length, GRAIN), GRAIN, [&](int64_t index) {
        alignas(64) F tiles[OPERANDS][TILE];
        int64_t at[MAX_OPERANDS];
        outer.locate(index / pieces, at);
        const int64_t begin = index % pieces * GRAIN, end = smaller(begin + GRAIN, length);
        for (int64_t i = begin, n; i < end; i += n) {
            T* stored[OPERANDS];
            F* computed[OPERANDS];
            for (int k = 0; k < OPERANDS; k++)
                stored[k] =
                    reinterpret_cast<T*>(operands[k]->data) + at[k] + i * inner.stride[0][k];
            if (in_place && end - i >= WIDTH) {
                n = (end - i) / WIDTH * WIDTH;
                for (int k = 0; k < OPERANDS; k++) computed[k] = reinterpret_cast<F*>(stored[k]);
                for (int64_t j = 0; j < n; j += WIDTH) step(computed, j);
                continue;
            }
            n = smaller(TILE, end - i);
            const int64_t padded = ceil_div(n, WIDTH) * WIDTH;
            for (int k = 0; k < OPERANDS; k++) {
                computed[k] = tiles[k];
                move(stored[k], inner.stride[0][k], tiles[k], 1, n);
                for (int64_t j = n; j < padded; j++) tiles[k][j] = 0;
            }
            for (int64_t j = 0; j < padded; j += WIDTH) step(computed, j);
            for (int k = 0; k < OPERANDS; k++)
                if (k != 1)
                    move(tiles[k], 1, stored[k], inner.stride[0][k], n);  // 1 is g: only read
        }
    });
    return {Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(optimizer,
      KERNEL(descend, update<T, Descend>),
      KERNEL(sgd, update<T, Sgd>),
      KERNEL(adam, update<T, Adam>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
