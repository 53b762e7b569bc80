// Batch norm: each channel c of x (k, n, m) over k and m, with h = (x - mean) / sqrt(var + eps).
// float16 and bfloat16 are computed in float and rounded once.
//
// A channel's numbers are k rows of m. Where m is 1 they are a column, and those of neighbouring
// channels are computed together, row by row as they lie in memory. The shape alone decides which
// way it is; no channel's bits depend on its neighbours.
#include "channels.rows.hpp"
#include "kernels/norm.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t BESIDE = 16;  // vectors of channels that are computed together

// Operand x (k, n, m) from `channel` on, as k rows of `width` numbers: `at(r)` finds row r,
// `back(r)` writes back what was written to `to(r)`. Callers that need several rows at once give
// each a `slot`.
template <class T, class F = Computed<T>>
struct Lines {
    const Operand& x;
    int64_t channel, width, step;  // from one number of a row to the next
    F* room;

    Lines(const Operand& of, int64_t first, int64_t count, F* memory)
        : x(of),
          channel(first),
          width(of.shape[2] == 1 ? count : of.shape[2]),
          step(of.shape[2] == 1 ? of.strides[1] : of.strides[2]),
          room(memory) {}
    T* place(int64_t r) const {
        return reinterpret_cast<T*>(x.data) + r * x.strides[0] + channel * x.strides[1];
    }
    const F* at(int64_t r, int slot = 0) const {
        return row_at<T>(place(r), step, width, room + slot * width);
    }
    F* to(int64_t r) const { return row_for(place(r), step, room); }
    void back(const F* made, int64_t r) const { leave(made, place(r), step, width); }
};

// The number of x for a channel.
template <class T>
T& of_channel(const Operand& x, int64_t c) {
    return reinterpret_cast<T*>(x.data)[c * x.strides[0]];
}

// Adds up a function of (i, at) over all of k rows; term(r, slot) gives that of row r.
template <class F, class Term>
inline F sum_rows(int64_t rows, int64_t width, const Term& term) {
    F total = 0;
    for (int64_t r = 0; r < rows; ++r) total += sum_of<F>(width, term(r, 0));
    return total;
}

// The same for each column separately, four rows at a time.
template <class F, class Term>
inline void sum_columns(int64_t rows, int64_t width, F* sums, const Term& term) {
    std::memset(sums, 0, BESIDE * lanes<F> * sizeof(F));
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const auto a = term(r, 0), b = term(r + 1, 1), c = term(r + 2, 2), d = term(r + 3, 3);
        each_vector<F>(width, [&](int64_t i, const auto& at) {
            store(sums + i, load(sums + i) + ((a(i, at) + b(i, at)) + (c(i, at) + d(i, at))));
        });
    }
    for (; r < rows; ++r) {
        const auto a = term(r, 0);
        each_vector<F>(
            width, [&](int64_t i, const auto& at) { store(sums + i, load(sums + i) + a(i, at)); });
    }
}

// One number for each of up to BESIDE * lanes columns, on cache lines of their own.
template <class F>
struct Columns {
    F* memory;
    int64_t count;

    F* number(int i) const { return memory + i * BESIDE * lanes<F>; }
    template <class T>
    F* read(int i, const Operand& x, int64_t c) const {
        move_row(&of_channel<const T>(x, c), x.strides[0], number(i), 1, count);
        return number(i);
    }
    template <class T>
    void write(const F* from, const Operand& x, int64_t c) const {
        move_row(from, 1, &of_channel<T>(x, c), x.strides[0], count);
    }
    // Calls change(i) for each vector of numbers.
    template <class Change>
    void each(const Change& change) const {
        for (int64_t i = 0; i < count; i += lanes<F>) change(i);
    }
};

// Calls channel(c, room) for each channel, or columns(first channel, their numbers, room) for
// several at once, with `each` numbers for each; there is room for `slots` rows.
template <class F, class Channel, class Some>
Status each_channels(const Operand& x, int slots, int each, const Channel& channel,
                     const Some& columns) {
    const bool beside = x.shape[2] == 1;
    const int64_t channels = x.shape[1], most = BESIDE * lanes<F>, group = beside ? most : 1;
    const int64_t width = beside ? smaller(most, channels) : x.shape[2];
    const int64_t numbers = beside ? each * most : 0;
    bool failed = false;
    parallel_each(ceil_div(channels, group), 3 * x.shape[0] * width, GRAIN, [&](int64_t task) {
        F* memory =
            static_cast<F*>(scratch(0, larger(1, numbers + slots * width) * int64_t(sizeof(F))));
        if (memory == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        const int64_t c = task * group;
        if (!beside) return channel(c, memory);
        columns(c, Columns<F>{memory, smaller(group, channels - c)}, memory + numbers);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// ---- forward ------------------------------------------------------------------------------------

template <class T, class F = Computed<T>>
void norm_channel(const Operand& out, const Operand* ins, int64_t c, F eps, F* room) {
    const Lines<T> from(ins[0], c, 1, room), to(out, c, 1, room + from.width);
    const int64_t rows = out.shape[0], n = from.width;
    const F numbers = F(rows * n);
    const F mean = sum_rows<F>(rows, n,
                               [&](int64_t r, int) {
                                   const F* x = from.at(r);
                                   return [=](int64_t i, const auto& at) { return at.read(x + i); };
                               }) /
                   numbers;
    const vec<F> middle(mean);
    const F var = sum_rows<F>(rows, n,
                              [&](int64_t r, int) {
                                  const F* x = from.at(r);
                                  return [=](int64_t i, const auto& at) {
                                      const vec<F> away = at.only(at.read(x + i) - middle);
                                      return away * away;
                                  };
                              }) /
                  numbers;
    const vec<F> scale(convert<F>(of_channel<T>(ins[1], c)) / std::sqrt(var + eps));
    const vec<F> shift(convert<F>(of_channel<T>(ins[2], c)));
    for (int64_t r = 0; r < rows; ++r) {
        const F* x = from.at(r);
        F* z = to.to(r);
        each_vector<F>(n, [&](int64_t i, const auto& at) {
            at.write(z + i, (at.read(x + i) - middle) * scale + shift);
        });
        to.back(z, r);
    }
    of_channel<F>(ins[3], c) = mean;
    of_channel<F>(ins[4], c) = var;
}

template <class T, class F = Computed<T>>
void norm_columns(const Operand& out, const Operand* ins, int64_t c, const Columns<F>& columns,
                  F eps, F* room) {
    const int64_t rows = out.shape[0], n = columns.count;
    const Lines<T> from(ins[0], c, n, room), to(out, c, n, room + n);
    const vec<F> numbers(static_cast<F>(rows));
    F *mean = columns.number(0), *var = columns.number(1);
    F *scale = columns.template read<T>(2, ins[1], c),
      *shift = columns.template read<T>(3, ins[2], c);
    sum_columns<F>(rows, n, mean, [&](int64_t r, int slot) {
        const F* x = from.at(r, slot);
        return [=](int64_t i, const auto& at) { return at.read(x + i); };
    });
    columns.each([&](int64_t i) { store(mean + i, load(mean + i) / numbers); });
    sum_columns<F>(rows, n, var, [&](int64_t r, int slot) {
        const F* x = from.at(r, slot);
        return [=](int64_t i, const auto& at) {
            const vec<F> away = at.read(x + i) - load(mean + i);
            return away * away;
        };
    });
    columns.each([&](int64_t i) {
        store(var + i, load(var + i) / numbers);
        store(scale + i, load(scale + i) / xsimd::sqrt(load(var + i) + vec<F>(eps)));
    });
    for (int64_t r = 0; r < rows; ++r) {
        const F* x = from.at(r);
        F* z = to.to(r);
        each_vector<F>(n, [&](int64_t i, const auto& at) {
            const vec<F> away = at.read(x + i) - load(mean + i);
            at.write(z + i, away * load(scale + i) + load(shift + i));
        });
        to.back(z, r);
    }
    columns.template write<F>(mean, ins[3], c);
    columns.template write<F>(var, ins[4], c);
}

// z = h * w + b, and the mean and variance of each channel.
template <class T>
Status batch_norm(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const F eps = static_cast<F>(params.number[0]);
    return each_channels<F>(
        ins[0], 4, 4, [&](int64_t c, F* room) { norm_channel<T>(out, ins, c, eps, room); },
        [&](int64_t c, const Columns<F>& columns, F* room) {
            norm_columns<T>(out, ins, c, columns, eps, room);
        });
}

// ---- gradient -----------------------------------------------------------------------------------
// dw = sum of g h,  db = sum of g,  dx = (g - mean of g - h * mean of g h) w / sqrt(var + eps)

template <class T, class F = Computed<T>>
void grad_channel(const Operand& out, const Operand* ins, int64_t c, F eps, F* room) {
    const int64_t rows = out.shape[0], n = out.shape[2];
    const Lines<T> slope(ins[0], c, 1, room), from(ins[1], c, 1, room + n),
        to(out, c, 1, room + 2 * n);
    const F mean = of_channel<F>(ins[3], c);
    const F inverse = F(1) / std::sqrt(of_channel<F>(ins[4], c) + eps);
    const vec<F> middle(mean);
    const F db = sum_rows<F>(rows, n, [&](int64_t r, int) {
        const F* g = slope.at(r);
        return [=](int64_t i, const auto& at) { return at.read(g + i); };
    });
    const F dw = inverse * sum_rows<F>(rows, n, [&](int64_t r, int) {
                     const F *g = slope.at(r), *x = from.at(r);
                     return [=](int64_t i, const auto& at) {
                         return at.read(g + i) * at.only(at.read(x + i) - middle);
                     };
                 });
    const F numbers = F(rows * n);
    const vec<F> by(convert<F>(of_channel<T>(ins[2], c)) * inverse);
    const vec<F> level(db / numbers), tilt(dw * inverse / numbers);
    for (int64_t r = 0; r < rows; ++r) {
        const F *g = slope.at(r), *x = from.at(r);
        F* dx = to.to(r);
        each_vector<F>(n, [&](int64_t i, const auto& at) {
            const vec<F> away = at.read(x + i) - middle;
            at.write(dx + i, (at.read(g + i) - level - away * tilt) * by);
        });
        to.back(dx, r);
    }
    of_channel<T>(ins[5], c) = convert<T>(dw);
    of_channel<T>(ins[6], c) = convert<T>(db);
}

template <class T, class F = Computed<T>>
void grad_columns(const Operand& out, const Operand* ins, int64_t c, const Columns<F>& columns,
                  F eps, F* room) {
    const int64_t rows = out.shape[0], n = columns.count;
    const Lines<T> slope(ins[0], c, n, room), from(ins[1], c, n, room + 4 * n),
        to(out, c, n, room + 5 * n);
    const vec<F> numbers(static_cast<F>(rows));
    const F* mean = columns.template read<F>(0, ins[3], c);
    F* inverse = columns.template read<F>(1, ins[4], c);  // the variance at first
    F* by = columns.template read<T>(2, ins[2], c);       // the weight at first
    F *dw = columns.number(3), *db = columns.number(4), *tilt = columns.number(5);
    columns.each([&](int64_t i) {
        const vec<F> root = xsimd::sqrt(load(inverse + i) + vec<F>(eps));
        store(inverse + i, vec<F>(F(1)) / root);
        store(by + i, load(by + i) * load(inverse + i));
    });
    sum_columns<F>(rows, n, db, [&](int64_t r, int slot) {
        const F* g = slope.at(r, slot);
        return [=](int64_t i, const auto& at) { return at.read(g + i); };
    });
    sum_columns<F>(rows, n, dw, [&](int64_t r, int slot) {
        const F *g = slope.at(r, slot), *x = from.at(r, slot);
        return [=](int64_t i, const auto& at) {
            return at.read(g + i) * (at.read(x + i) - load(mean + i));
        };
    });
    columns.template write<T>(db, ins[6], c);
    columns.each([&](int64_t i) {
        store(dw + i, load(dw + i) * load(inverse + i));
        store(tilt + i, load(dw + i) * load(inverse + i) / numbers);
        store(db + i, load(db + i) / numbers);  // the mean of g from here on
    });
    columns.template write<T>(dw, ins[5], c);
    for (int64_t r = 0; r < rows; ++r) {
        const F *g = slope.at(r), *x = from.at(r);
        F* dx = to.to(r);
        each_vector<F>(n, [&](int64_t i, const auto& at) {
            const vec<F> away = at.read(x + i) - load(mean + i);
            const vec<F> level = at.read(g + i) - load(db + i);
            at.write(dx + i, (level - away * load(tilt + i)) * load(by + i));
        });
        to.back(dx, r);
    }
}

template <class T>
Status batch_norm_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const F eps = static_cast<F>(params.number[0]);
    return each_channels<F>(
        ins[1], 8, 6, [&](int64_t c, F* room) { grad_channel<T>(out, ins, c, eps, room); },
        [&](int64_t c, const Columns<F>& columns, F* room) {
            grad_columns<T>(out, ins, c, columns, eps, room);
        });
}

}  // namespace

// clang-format off
TABLE(channels,
      KERNEL(batch_norm, batch_norm<T>),
      KERNEL(batch_norm_grad, batch_norm_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
