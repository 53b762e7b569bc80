// Group norm: the channels of x (k, n, m) are split into `groups` of equal size (the last is
// smaller if they do not divide), and h = (x - mean) / sqrt(var + eps) over each group of each
// example, with a weight and a bias for each channel. float16 and bfloat16 are computed in float
// and rounded once.
//
// A group is one row: in place where its numbers lie side by side, otherwise a copy. The gradient
// recomputes h, as that of a layer norm does. It needs only the sums of each channel of each
// example: those of g and of g (x - mean). The gradients of weight and bias add them up, one
// example after another, so that no bit depends on the number of threads.
#include "groups.rows.hpp"
#include "kernels/norm.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// How x (k, n, m) is cut into groups.
struct Cut {
    int64_t examples, channels, places, width, groups;  // width: channels of a group

    Cut(const Operand& x, int64_t wanted)
        : examples(x.shape[0]),
          channels(x.shape[1]),
          places(x.shape[2]),
          width(larger(1, ceil_div(channels, larger(1, wanted)))),
          groups(ceil_div(channels, width)) {}
    int64_t count() const { return places ? examples * groups : 0; }
    int64_t row() const { return width * places; }  // at most
};

// Group `index` of an operand as a row; groups are counted example by example.
template <class T, class F>
struct Group {
    static constexpr bool same = std::is_same<std::remove_const_t<T>, F>::value;
    int64_t first, channels, places;  // the first of its channels, and how many they are
    int64_t channel, place;           // strides
    T* data;
    bool whole;  // whether the numbers lie side by side, in the type computed in

    Group(const Operand& x, const Cut& cut, int64_t index)
        : first(index % cut.groups * cut.width),
          channels(smaller(cut.width, cut.channels - first)),
          places(cut.places),
          channel(x.strides[1]),
          place(x.strides[2]),
          data(reinterpret_cast<T*>(x.data) + index / cut.groups * x.strides[0] + first * channel),
          whole(same && (place == 1 || places == 1) && (channel == places || channels == 1)) {}

    int64_t count() const { return channels * places; }
    const F* read(F* room) const {
        if constexpr (same)
            if (whole) return data;
        for (int64_t c = 0; c < channels; ++c)
            move_row(data + c * channel, place, room + c * places, 1, places);
        return room;
    }
    F* to(F* room) const {
        if constexpr (same)
            if (whole) return data;
        return room;
    }
    void leave(const F* made) const {
        for (int64_t c = 0; c < channels && !whole; ++c)
            move_row(made + c * places, 1, data + c * channel, place, places);
    }
};

// Calls step(i, at, a, b) for each vector of a group, with a and b the numbers for its channel;
// channels of one place share a vector.
template <class F, class Step>
inline void each_of_channels(int64_t channels, int64_t places, const F* a, const F* b,
                             const Step& step) {
    if (places == 1)
        return each_vector<F>(channels, [&](int64_t i, const auto& at) {
            step(i, at, at.read(a + i), at.read(b + i));
        });
    for (int64_t c = 0; c < channels; ++c) {
        const vec<F> of_a(a[c]), of_b(b[c]);
        each_vector<F>(places,
                       [&](int64_t i, const auto& at) { step(c * places + i, at, of_a, of_b); });
    }
}

template <class F>
struct Moments {
    F mean, inverse;  // 1 / sqrt(var + eps)

    Moments(const F* x, int64_t n, F eps) {
        mean = sum_of<F>(n, [&](int64_t i, const auto& at) { return at.read(x + i); }) / F(n);
        const vec<F> middle(mean);
        const F squares = sum_of<F>(n, [&](int64_t i, const auto& at) {
            const vec<F> away = at.only(at.read(x + i) - middle);
            return away * away;
        });
        inverse = F(1) / std::sqrt(squares / F(n) + eps);
    }
};

// Calls group(index, room) for each group, with room for `slots` rows.
template <class F, class Each>
Status each_group(const Cut& cut, int slots, const Each& group) {
    bool failed = false;
    parallel_each(cut.count(), 3 * cut.row(), GRAIN, [&](int64_t index) {
        F* room = static_cast<F*>(scratch(0, slots * cut.row() * int64_t(sizeof(F))));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        group(index, room);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// The numbers of each channel, one after another.
template <class T, class F = Computed<T>>
void gather(const Operand& x, F* to) {
    move_row(reinterpret_cast<const T*>(x.data), x.strides[0], to, 1, x.shape[0]);
}

// z = h * w + b
template <class T>
Status group_norm(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Cut cut(ins[0], static_cast<int64_t>(params.integer[1]));
    const F eps = static_cast<F>(params.number[0]);
    F* w = static_cast<F*>(scratch(1, larger(1, 2 * cut.channels) * int64_t(sizeof(F))));
    if (w == nullptr) return {Status::OutOfMemory, 0, 0};
    F* b = w + cut.channels;
    gather<T>(ins[1], w), gather<T>(ins[2], b);
    return each_group<F>(cut, 2, [&](int64_t index, F* room) {
        const Group<const T, F> from(ins[0], cut, index);
        const Group<T, F> to(out, cut, index);
        const F* x = from.read(room);
        F* z = to.to(room + cut.row());
        const Moments<F> moments(x, from.count(), eps);
        const vec<F> middle(moments.mean), by(moments.inverse);
        each_of_channels(from.channels, from.places, w + from.first, b + from.first,
                         [&](int64_t i, const auto& at, vec<F> wc, vec<F> bc) {
                             at.write(z + i, (at.read(x + i) - middle) * (by * wc) + bc);
                         });
        to.leave(z);
    });
}

// For each channel of a group, the sums of g and of g (x - mean).
template <class F>
inline void sums_of_channels(int64_t channels, int64_t places, const F* g, const F* x, F mean,
                             F* all, F* turned) {
    const vec<F> middle(mean);
    if (places == 1)
        return each_vector<F>(channels, [&](int64_t i, const auto& at) {
            at.write(all + i, at.read(g + i));
            at.write(turned + i, at.read(g + i) * (at.read(x + i) - middle));
        });
    for (int64_t c = 0; c < channels; ++c, g += places, x += places) {
        vec<F> sums[2] = {vec<F>(F(0)), vec<F>(F(0))}, turns[2] = {sums[0], sums[0]};
        each_in_turn<2, F>(places, [&](int64_t i, int k, const auto& at) {
            const vec<F> slope = at.read(g + i);  // 0 beyond the row
            sums[k] += slope;
            turns[k] += slope * (at.read(x + i) - middle);
        });
        all[c] = xsimd::reduce_add(sums[0] + sums[1]);
        turned[c] = xsimd::reduce_add(turns[0] + turns[1]);
    }
}

// With a = g w:  dx = (a - mean of a - h * mean of a h) / sqrt(var + eps),  dw = sum of g h,
// db = sum of g.
template <class T>
Status group_norm_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Cut cut(ins[1], static_cast<int64_t>(params.integer[1]));
    const F eps = static_cast<F>(params.number[0]);
    const int64_t channels = cut.channels, examples = cut.count() ? cut.examples : 1;
    const int64_t numbers = larger(1, (1 + 2 * examples) * channels);
    F* w = static_cast<F*>(scratch(1, numbers * int64_t(sizeof(F))));
    if (w == nullptr) return {Status::OutOfMemory, 0, 0};
    F *dw = w + channels, *db = dw + examples * channels;
    gather<T>(ins[2], w);
    if (cut.count() == 0) std::memset(dw, 0, 2 * channels * sizeof(F));
    const Status done = each_group<F>(cut, 3, [&](int64_t index, F* room) {
        const Group<const T, F> slope(ins[0], cut, index), from(ins[1], cut, index);
        const Group<T, F> to(out, cut, index);
        const int64_t n = from.count(), at = index / cut.groups * channels + from.first;
        const F *g = slope.read(room), *x = from.read(room + cut.row()), *own = w + from.first;
        F *dx = to.to(room + 2 * cut.row()), *all = db + at, *turned = dw + at;
        const Moments<F> moments(x, n, eps);
        sums_of_channels(from.channels, from.places, g, x, moments.mean, all, turned);
        F level = 0, tilt = 0;
        for (int64_t c = 0; c < from.channels; ++c) {
            level += own[c] * all[c];
            tilt += own[c] * turned[c];
            turned[c] *= moments.inverse;
        }
        const vec<F> middle(moments.mean), by(moments.inverse), mean(level / F(n));
        const vec<F> bend(tilt * moments.inverse * moments.inverse / F(n));
        each_of_channels(from.channels, from.places, own, own,
                         [&](int64_t i, const auto& at, vec<F> wc, vec<F>) {
                             const vec<F> away = at.read(x + i) - middle;
                             at.write(dx + i, (at.read(g + i) * wc - mean - away * bend) * by);
                         });
        to.leave(dx);
    });
    for (int s = 0; s < 2 && done.kind == Status::Ok; ++s) {
        F* sums = s == 0 ? dw : db;
        for (int64_t i = 1; i < examples; ++i)
            for (int64_t c = 0; c < channels; ++c) sums[c] += sums[i * channels + c];
        const Operand& to = ins[3 + s];
        move_row(sums, 1, reinterpret_cast<T*>(to.data), to.strides[0], channels);
    }
    return done;
}

}  // namespace

// clang-format off
TABLE(groups,
      KERNEL(group_norm, group_norm<T>),
      KERNEL(group_norm_grad, group_norm_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
