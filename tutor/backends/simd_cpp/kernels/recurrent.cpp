// Recurrent layers, LSTM, GRU and RNN, along all places of a sequence, and their gradients, back
// from the last place to the first. Each place is the product of the state with U, which is packed
// once for all places, and a formula for the units.
//
// Both are done piece by piece (recurrent.hpp): the sums of a piece are still in the L1 cache when
// its formula reads them. A place is complete before the next one begins, which reads all units of
// it; its pieces do not depend on each other, and threads share them. 16-bit floats are computed in
// float, and what is carried on is rounded as it is in memory.
#include "kernels/cells.hpp"
#include "recurrent.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- walks --------------------------------------------------------------------------------------

// The operands of a layer: some have only those of forward, some only those of the gradient.
template <class T>
struct Layer {
    int64_t places, rows, units, kept;  // kept: places of `gates`
    Places<const T> x, u, bias, start;  // x: W x, or in the gradient g, that of the states
    Places<T> states, gates, dx, da, dstart;
};

template <class F>
F* room_for(int slot, int64_t count) {
    return static_cast<F*>(scratch(slot, larger(1, count) * int64_t(sizeof(F))));
}

template <class T>
Places<const T> constant(const Places<T>& x) {
    return {x.data, x.part, x.place, x.row, x.unit};
}

// A piece as it has been rounded in memory.
template <class T, class F = Computed<T>>
void write_rounded(F* piece, Places<T> x, int64_t p, int64_t t, const Region& at) {
    write(piece, x, p, t, at);
    if constexpr (!std::is_same<T, F>::value) read(constant(x), p, t, at, piece);
}

template <class T, class Cell, class F = Computed<T>>
Status forward(const Layer<T>& layer) {
    constexpr int64_t P = PIECE<F>;
    const int64_t n = layer.rows, h = layer.units, width = Carried<F>::width(h);
    const Weights<T> weights{Cell::GATES, h};
    // h twice, read and written in turn, and c.
    F* memory = room_for<F>(2, 3 * n * width);
    if (!weights.packed || !memory) return {Status::OutOfMemory, 0, 0};
    weights.fill(layer.u, true);
    std::memset(memory, 0, 3 * n * width * sizeof(F));
    const Carried<F> c{memory + 2 * n * width, width};
    for (int64_t i = 0; i < n; ++i)
        for (int s = 0; s < Cell::STATES; ++s)
            move_row(layer.start.at(s, 0, i, 0), layer.start.unit, memory + (2 * s * n + i) * width,
                     1, h);

    const Pieces<F> pieces{n, h};
    bool failed = false;
    for (int64_t t = 0; t < layer.places && !failed; ++t) {
        const Carried<F> from{memory + t % 2 * n * width, width};
        const Carried<F> to{memory + (1 - t % 2) * n * width, width};
        const int64_t cost = pieces.height * SLIVER<F> * Cell::GATES * h;
        parallel_each(pieces.count(), cost, GRAIN, [&](int64_t index) {
            F* z = room_for<F>(0, 9 * P);
            if (z == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            F *x = z + 4 * P, *state = z + 7 * P;
            const Region at = pieces[index];
            for (int g = 0; g < Cell::GATES; ++g) {
                read(Cell::RESETS ? layer.bias : layer.x, g, t, at, z + g * P);
                if (Cell::RESETS) read(layer.x, g, t, at, x + g * P);
            }
            const F* h_before = from.data + at.row * width;
            if (at.rows == 1 && at.units > lanes<F>)
                weights.template multiply_row<Cell::GATES>(h_before, at, z);
            else
                for (int g = 0; g < Cell::GATES; ++g)
                    weights.multiply(g, h_before, width, at, z + g * P);

            from.load_piece(at, state);
            if (Cell::STATES > 1) c.load_piece(at, state + P);
            Cell::forward(z, x, state, at.rows * SLIVER<F>);
            for (int s = 0; s < Cell::STATES; ++s)
                write_rounded(state + s * P, layer.states, s, t, at);
            for (int g = 0; g < Cell::KEPT && layer.kept > 0; ++g)
                write(z + g * P, layer.gates, g, smaller(t, layer.kept - 1), at);
            to.store_piece(state, at);
            if (Cell::STATES > 1) c.store_piece(state + P, at);
        });
    }
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// The gradients of a piece's states: d of h, what comes with `later` through U from the next place
// and what is asked of this one, and in `carry` of an LSTM's c; both end here in what came before
// the first place, -1. `room`: for one array.
template <class T, class Cell, class F = Computed<T>>
void arriving(const Layer<T>& layer, const Weights<T>& weights, const F* later, int64_t t,
              const Region& at, F* d, F* carry, F* room) {
    const int64_t width = Carried<F>::width(layer.units), wide = Cell::GATES * width;
    const int64_t n = at.rows * SLIVER<F>;
    std::memset(d, 0, n * sizeof(F));
    if (t >= 0) read(layer.x, 0, t, at, d);
    for (int g = 0; g < Cell::GATES && t < layer.places - 1; ++g)
        weights.multiply(g, later + at.row * wide + g * width, wide, at, d);
    if (Cell::STATES > 1 && t >= 0) {
        read(layer.x, 1, t, at, room);
        for (int64_t k = 0; k < n; ++k) carry[k] += room[k];
    }
    if (t >= 0) return;
    for (int64_t k = 0; k < n && Cell::RESETS; ++k) d[k] += carry[k];
    write(d, layer.dstart, 0, 0, at);
    if (Cell::STATES > 1) write(carry, layer.dstart, 1, 0, at);
}

template <class T, class Cell, class F = Computed<T>>
Status backward(const Layer<T>& layer) {
    constexpr int64_t P = PIECE<F>;
    const int64_t n = layer.rows, h = layer.units, width = Carried<F>::width(h);
    const int64_t wide = Cell::GATES * width;
    const Weights<T> weights{Cell::GATES, h};
    // The gradient of U h twice, read and written in turn, and `carry`.
    F* memory = room_for<F>(2, n * (2 * wide + width));
    if (!weights.packed || !memory) return {Status::OutOfMemory, 0, 0};
    weights.fill(layer.u, false);
    std::memset(memory, 0, n * (2 * wide + width) * sizeof(F));
    const Carried<F> carried{memory + 2 * n * wide, width};
    const Places<const T> z = constant(layer.states), kept = constant(layer.gates);

    const Pieces<F> pieces{n, h};
    bool failed = false;
    for (int64_t t = layer.places - 1; t >= -1 && !failed; --t) {
        const F* later = memory + (t + 2) % 2 * n * wide;
        F* here = memory + (t + 1) % 2 * n * wide;
        const int64_t cost = pieces.height * SLIVER<F> * Cell::GATES * h;
        parallel_each(pieces.count(), cost, GRAIN, [&](int64_t index) {
            F* gates = room_for<F>(0, 16 * P);
            if (gates == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
            F *now = gates + 4 * P, *before = now + P, *d = before + P, *carry = d + P;
            F *dx = carry + P, *da = dx + 4 * P;
            const Region at = pieces[index];
            carried.load_piece(at, carry);
            arriving<T, Cell>(layer, weights, later, t, at, d, carry, now);
            if (t < 0) return;
            for (int g = 0; g < Cell::KEPT; ++g) read(kept, g, t, at, gates + g * P);
            read(z, Cell::PART, t, at, now);
            if (Cell::CARRIES) read(t ? z : layer.start, Cell::PART, t ? t - 1 : 0, at, before);
            Cell::backward(gates, now, before, d, carry, dx, da, at.rows * SLIVER<F>);
            F* through = Cell::RESETS ? da : dx;
            for (int g = 0; g < Cell::GATES; ++g) {
                if (Cell::RESETS) write(dx + g * P, layer.dx, g, t, at);
                write_rounded(through + g * P, Cell::RESETS ? layer.da : layer.dx, g, t, at);
                Carried<F>{here + g * width, wide}.store_piece(through + g * P, at);
            }
            carried.store_piece(carry, at);
        });
    }
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// ---- operands -----------------------------------------------------------------------------------

template <class T>
Layer<T> sized(const Operand& states) {
    const int last = states.ndim - 1;
    Layer<T> layer{};
    layer.places = states.shape[last - 2];
    layer.rows = states.shape[last - 1];
    layer.units = states.shape[last];
    return layer;
}

template <class T>
Status rnn(const Operand& out, const Operand* ins, int, const Params& params) {
    Layer<T> layer = sized<T>(out);
    layer.x = places<const T>(ins[0], -1, 0, 1);
    layer.u = places<const T>(ins[1], -1, -1, 0);
    layer.start = places<const T>(ins[2], -1, -1, 0);
    layer.states = places<T>(out, -1, 0, 1);
    return params.number[0] != 0 ? forward<T, Rnn<true>>(layer) : forward<T, Rnn<false>>(layer);
}

template <class T>
Status rnn_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    Layer<T> layer = sized<T>(out);
    layer.x = places<const T>(ins[0], -1, 0, 1);
    layer.u = places<const T>(ins[1], -1, -1, 0);
    layer.states = places<T>(ins[2], -1, 0, 1);
    layer.dstart = places<T>(ins[3], -1, -1, 0);
    layer.dx = places<T>(out, -1, 0, 1);
    return params.number[0] != 0 ? backward<T, Rnn<true>>(layer) : backward<T, Rnn<false>>(layer);
}

template <class T>
Status lstm(const Operand& out, const Operand* ins, int, const Params&) {
    Layer<T> layer = sized<T>(out);
    layer.kept = ins[3].shape[0];
    layer.x = places<const T>(ins[0], 2, 0, 1);
    layer.u = places<const T>(ins[1], 0, -1, 1);
    layer.start = places<const T>(ins[2], 0, -1, 1);
    layer.gates = places<T>(ins[3], 2, 0, 1);
    layer.states = places<T>(out, 0, 1, 2);
    return forward<T, Lstm>(layer);
}

template <class T>
Status lstm_grad(const Operand& out, const Operand* ins, int, const Params&) {
    Layer<T> layer = sized<T>(ins[0]);
    layer.x = places<const T>(ins[0], 0, 1, 2);
    layer.u = places<const T>(ins[1], 0, -1, 1);
    layer.start = places<const T>(ins[2], 0, -1, 1);
    layer.states = places<T>(ins[3], 0, 1, 2);
    layer.gates = places<T>(ins[4], 2, 0, 1);
    layer.dstart = places<T>(ins[5], 0, -1, 1);
    layer.dx = places<T>(out, 2, 0, 1);
    return backward<T, Lstm>(layer);
}

template <class T>
Status gru(const Operand& out, const Operand* ins, int, const Params&) {
    Layer<T> layer = sized<T>(out);
    layer.kept = ins[4].shape[0];
    layer.x = places<const T>(ins[0], 2, 0, 1);
    layer.u = places<const T>(ins[1], 0, -1, 1);
    layer.bias = places<const T>(ins[2], 0, -1, -1);
    layer.start = places<const T>(ins[3], -1, -1, 0);
    layer.gates = places<T>(ins[4], 2, 0, 1);
    layer.states = places<T>(out, -1, 0, 1);
    return forward<T, Gru>(layer);
}

template <class T>
Status gru_grad(const Operand& out, const Operand* ins, int, const Params&) {
    Layer<T> layer = sized<T>(ins[0]);
    layer.x = places<const T>(ins[0], -1, 0, 1);
    layer.u = places<const T>(ins[1], 0, -1, 1);
    layer.start = places<const T>(ins[2], -1, -1, 0);
    layer.states = places<T>(ins[3], -1, 0, 1);
    layer.gates = places<T>(ins[4], 2, 0, 1);
    layer.da = places<T>(ins[5], 2, 0, 1);
    layer.dstart = places<T>(ins[6], -1, -1, 0);
    layer.dx = places<T>(out, 2, 0, 1);
    return backward<T, Gru>(layer);
}

}  // namespace

// clang-format off
TABLE(recurrent,
      KERNEL(rnn, rnn<T>),
      KERNEL(rnn_grad, rnn_grad<T>),
      KERNEL(lstm, lstm<T>),
      KERNEL(lstm_grad, lstm_grad<T>),
      KERNEL(gru, gru<T>),
      KERNEL(gru_grad, gru_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
