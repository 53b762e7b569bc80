// Batch norm: each channel c of x (k, n, m) over all else, with h = (x - mean) / sqrt(var + eps).
// float16 and bfloat16 are computed in float and rounded once.
//
// A channel's numbers stand in k rows of m. Where m is 1, the numbers of neighbouring channels are
// taken side by side instead, one lane each. Which way it is follows from the shape alone, and so
// do the bits.
#include "channels.rows.hpp"
#include "kernels/norm.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// Operand x (k, n, m), as rows: `at(i)` finds row i of the channels from `channel` on, of `width`
// numbers; what is written goes back by `back(i)`.
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
    T* place(int64_t i) const {
        return reinterpret_cast<T*>(x.data) + i * x.strides[0] + channel * x.strides[1];
    }
    const F* at(int64_t i) const { return row_at<T>(place(i), step, width, room); }
    F* to(int64_t i) const { return row_for(place(i), step, room); }
    void back(const F* made, int64_t i) const { leave(made, place(i), step, width); }
};

// Sums over all rows: one for each channel, in lanes, or all lanes the one channel's. Four sums at
// once where rows are short: no addition waits for the one before.
template <class F, class Term>
inline vec<F> sum_rows(int64_t rows, int64_t width, bool beside, const Term& term) {
    int64_t i = 0;
    if (!beside) {
        F total = 0;
        for (; i < rows; ++i) total += sum_of<F>(width, term(i));
        return vec<F>(total);
    }
    vec<F> a(F(0)), b(F(0)), c(F(0)), d(F(0));
    for (; i + 4 <= rows; i += 4)
        a += term(i)(0), b += term(i + 1)(0), c += term(i + 2)(0), d += term(i + 3)(0);
    for (; i < rows; ++i) a += term(i)(0);
    return (a + b) + (c + d);
}

// Of `lanes` channels, or one: what x holds for them, one number each.
template <class T, class F = Computed<T>>
inline vec<F> per_channel(const Operand& x, int64_t channel, int64_t count, bool beside) {
    const T* from = reinterpret_cast<const T*>(x.data) + channel * x.strides[0];
    if (!beside) return vec<F>(convert<F>(*from));
    alignas(64) F line[lanes<F>] = {};
    for (int64_t l = 0; l < count; ++l) line[l] = convert<F>(from[l * x.strides[0]]);
    return load(line);
}
template <class T, class F>
inline void set_channels(const Operand& x, int64_t channel, int64_t count, vec<F> values) {
    T* to = reinterpret_cast<T*>(x.data) + channel * x.strides[0];
    alignas(64) F line[lanes<F>];
    store(line, values);
    for (int64_t l = 0; l < count; ++l) to[l * x.strides[0]] = convert<T>(line[l]);
}

// Calls work(first channel, how many, whether they are side by side, room for three rows) for all.
template <class F, class Work>
Status each_channels(const Operand& x, const Work& work) {
    const bool beside = x.shape[2] == 1;
    const int64_t channels = x.shape[1], group = beside ? lanes<F> : 1;
    const int64_t width = beside ? lanes<F> : x.shape[2];
    bool failed = false;
    parallel_each(ceil_div(channels, group), 3 * x.shape[0] * width, GRAIN, [&](int64_t task) {
        F* room = static_cast<F*>(scratch(0, larger(1, 3 * width) * sizeof(F)));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        work(task * group, smaller(group, channels - task * group), beside, room);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// z = h * w + b, and mean and variance of each channel.
template <class T>
Status batch_norm(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand& x = ins[0];
    const int64_t rows = x.shape[0];
    const F eps = static_cast<F>(params.number[0]), numbers = F(rows * x.shape[2]);
    return each_channels<F>(x, [&](int64_t c, int64_t count, bool beside, F* room) {
        const Lines<T> from(x, c, count, room), to(out, c, count, room + from.width);
        const int64_t n = from.width;
        const vec<F> mean = sum_rows<F>(rows, n, beside,
                                        [&](int64_t r) {
                                            const F* row = from.at(r);
                                            return [=](int64_t i) { return get(row, i, n); };
                                        }) /
                            vec<F>(numbers);
        const vec<F> var = sum_rows<F>(rows, n, beside,
                                       [&](int64_t r) {
                                           const F* row = from.at(r);
                                           return [=](int64_t i) {
                                               const vec<F> away =
                                                   only(get(row, i, n) - mean, i, n);
                                               return away * away;
                                           };
                                       }) /
                           vec<F>(numbers);
        const vec<F> scale =
            per_channel<T>(ins[1], c, count, beside) / xsimd::sqrt(var + vec<F>(eps));
        const vec<F> shift = per_channel<T>(ins[2], c, count, beside);
        for (int64_t r = 0; r < rows; ++r) {
            const F* row = from.at(r);
            F* made = to.to(r);
            for (int64_t i = 0; i < n; i += lanes<F>)
                put(made, i, n, (get(row, i, n) - mean) * scale + shift);
            to.back(made, r);
        }
        set_channels<F>(ins[3], c, count, mean);
        set_channels<F>(ins[4], c, count, var);
    });
}

// dw = sum of g h,  db = sum of g,  dx = (g - mean of g - h * mean of g h) w / sqrt(var + eps)
template <class T>
Status batch_norm_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &g = ins[0], &x = ins[1];
    const int64_t rows = x.shape[0];
    const F eps = static_cast<F>(params.number[0]), numbers = F(rows * x.shape[2]);
    return each_channels<F>(x, [&](int64_t c, int64_t count, bool beside, F* room) {
        const Lines<T> from(x, c, count, room), slope(g, c, count, room + from.width),
            to(out, c, count, room + 2 * from.width);
        const int64_t n = from.width;
        const vec<F> mean = per_channel<F>(ins[3], c, count, beside);
        const vec<F> var = per_channel<F>(ins[4], c, count, beside);
        const vec<F> inverse = vec<F>(F(1)) / xsimd::sqrt(var + vec<F>(eps));
        const vec<F> db = sum_rows<F>(rows, n, beside, [&](int64_t r) {
            const F* row = slope.at(r);
            return [=](int64_t i) { return get(row, i, n); };
        });
        const vec<F> dw = inverse * sum_rows<F>(rows, n, beside, [&](int64_t r) {
                              const F *row = slope.at(r), *other = from.at(r);
                              return [=](int64_t i) {
                                  return get(row, i, n) * only(get(other, i, n) - mean, i, n);
                              };
                          });
        const vec<F> by = per_channel<T>(ins[2], c, count, beside) * inverse;
        const vec<F> level = db / vec<F>(numbers), tilt = dw * inverse / vec<F>(numbers);
        for (int64_t r = 0; r < rows; ++r) {
            const F *row = slope.at(r), *other = from.at(r);
            F* made = to.to(r);
            for (int64_t i = 0; i < n; i += lanes<F>)
                put(made, i, n, (get(row, i, n) - level - (get(other, i, n) - mean) * tilt) * by);
            to.back(made, r);
        }
        set_channels<T>(ins[5], c, count, dw);
        set_channels<T>(ins[6], c, count, db);
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
