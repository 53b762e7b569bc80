// Rows of numbers as norms see them: computed in F, in whatever type they are stored.
#pragma once

#include <cmath>

#include "math/computed.hpp"
#include "math/math.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// Numbers in about 10 us of work.
constexpr int64_t GRAIN = 1 << 15;

// How the numbers of a vector are read and written: as a whole vector, or as the `count` numbers
// that a row has left for its last one. `only` has 0 in the lanes beyond the row.
struct Whole {
    template <class F>
    vec<F> read(const F* from) const {
        return load(from);
    }
    template <class F>
    void write(F* to, vec<F> values) const {
        store(to, values);
    }
    template <class V>
    V only(V values) const {
        return values;
    }
};
struct Part {
    int64_t count;

    template <class F>
    vec<F> read(const F* from) const {
        return load_part(from, count, F(0));
    }
    template <class F>
    void write(F* to, vec<F> values) const {
        alignas(64) F line[lanes<F>];
        store(line, values);
        for (int64_t l = 0; l < count; ++l) to[l] = line[l];
    }
    template <class V>
    V only(V values) const {
        alignas(64) typename V::value_type line[V::size];
        store(line, values);
        return read(line);
    }
};

// Calls step(i, k, at) for each vector of a row of n, k from 0 to WAYS - 1 in turn: with a sum for
// each k, no addition waits for the one just before.
template <int WAYS, class F, class Step>
inline void each_in_turn(int64_t n, const Step& step) {
    constexpr int L = lanes<F>;
    int64_t i = 0;
    for (; i + WAYS * L <= n; i += WAYS * L)
        for (int k = 0; k < WAYS; ++k) step(i + k * L, k, Whole{});
    for (; i + L <= n; i += L) step(i, 0, Whole{});
    if (i < n) step(i, 0, Part{n - i});
}
template <class F, class Step>
inline void each_vector(int64_t n, const Step& step) {
    each_in_turn<1, F>(n, [&](int64_t i, int, const auto& at) { step(i, at); });
}

// A row in place if it can be read as it is, or a copy of it in `room`.
template <class T, class F = Computed<T>>
const F* row_at(const T* from, int64_t stride, int64_t n, F* room) {
    if constexpr (std::is_same<T, F>::value)
        if (stride == 1) return from;
    move_row(from, stride, room, 1, n);
    return room;
}

// A row to write to: its own place, or `room`, from which `leave` copies it there.
template <class T, class F = Computed<T>>
F* row_for(T* to, int64_t stride, F* room) {
    if constexpr (std::is_same<T, F>::value)
        if (stride == 1) return to;
    return room;
}
template <class T, class F>
void leave(const F* made, T* to, int64_t stride, int64_t n) {
    if (static_cast<const void*>(made) != to) move_row(made, 1, to, stride, n);
}

// The sum of term(i, at) over a row of n, as vectors; terms beyond the row must be 0.
template <class F, class Term>
inline F sum_of(int64_t n, const Term& term) {
    vec<F> sums[4] = {vec<F>(F(0)), vec<F>(F(0)), vec<F>(F(0)), vec<F>(F(0))};
    each_in_turn<4, F>(n, [&](int64_t i, int k, const auto& at) { sums[k] += term(i, at); });
    return xsimd::reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
