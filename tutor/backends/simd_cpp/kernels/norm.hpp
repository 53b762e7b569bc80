// Rows of numbers as norms see them: computed in F, whatever they are stored as.
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

// The lanes from i on of n numbers, 0 behind them; and back.
template <class F>
inline vec<F> get(const F* from, int64_t i, int64_t n) {
    return i + lanes<F> <= n ? load(from + i) : load_part(from + i, n - i, F(0));
}
template <class F>
inline void put(F* to, int64_t i, int64_t n, vec<F> values) {
    if (i + lanes<F> <= n) return store(to + i, values);
    alignas(64) F line[lanes<F>];
    store(line, values);
    for (int64_t l = 0; i + l < n; ++l) to[i + l] = line[l];
}

// The values in the lanes from i on that are numbers of the row, 0 in the others.
template <class F>
inline vec<F> only(vec<F> values, int64_t i, int64_t n) {
    if (i + lanes<F> <= n) return values;
    alignas(64) F line[lanes<F>];
    store(line, values);
    return load_part(line, n - i, F(0));
}

// Calls step(i) for each vector of a row of n: for the last one, if it is none of a whole vector,
// in code of its own, so that the others need not ask.
template <class F, class Step>
inline void each_vector(int64_t n, const Step& step) {
    int64_t i = 0;
    for (; i + lanes<F> <= n; i += lanes<F>) step(i);
    if (i < n) step(i);
}

// A row where it can be read as it is, or a copy of it in `room`.
template <class T, class F = Computed<T>>
const F* row_at(const T* from, int64_t stride, int64_t n, F* room) {
    if constexpr (std::is_same<T, F>::value)
        if (stride == 1) return from;
    move_row(from, stride, room, 1, n);
    return room;
}

// A row to write to: where it belongs, or `room`, from which `leave` brings it there.
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

// The sum of term(i) over a row of n, as vectors; terms behind the row must be 0.
template <class F, class Term>
inline F sum_of(int64_t n, const Term& term) {
    constexpr int L = lanes<F>;
    vec<F> a(F(0)), b(F(0));
    int64_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) a += term(i), b += term(i + L);
    for (; i < n; i += L) a += term(i);
    return xsimd::reduce_add(a + b);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
