// Cross entropy and its gradient, straight from the scores: no probability is ever stored.
#include "kernels/scores.hpp"
#include "loss.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// The targets of a group's rows, operand 2.
template <int ROWS>
struct Targets {
    int64_t of[ROWS] = {};
    Targets(const Operand& t, Places at, int rows) {
        for (int r = 0; r < rows; r++) of[r] = reinterpret_cast<const int64_t*>(t.data)[at[r][2]];
    }
};

// Checks every target before anything is written.
Status check_targets(const Nest& rows, const Operand& t, int64_t classes) {
    int64_t at[MAX_OPERANDS];
    for (int64_t row = 0, count = rows.count(); row < count; row++) {
        rows.locate(row, at);
        const int64_t target = reinterpret_cast<const int64_t*>(t.data)[at[2]];
        if (target < 0 || target >= classes) return {Status::IndexOutOfRange, target, classes};
    }
    return {Status::Ok, 0, 0};
}

// l = ln sum_j e**x_j - x_t
template <class T>
Status cross_entropy(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &t = ins[1];
    const int last = x.ndim - 1;
    const bool total = out.ndim < last;
    const T* from = reinterpret_cast<const T*>(x.data);
    Scores<T> scores{{}, x.shape[last], from, x.strides[last]};
    for (int d = 0; d < last; d++)
        scores.rows.add(x.shape[d], {x.strides[d], 0, t.strides[d], total ? 0 : out.strides[d]});
    const Status targets = check_targets(scores.rows, t, scores.classes);
    if (targets.kind != Status::Ok) return targets;

    const F scale = static_cast<F>(params.number[0]);
    const int64_t rows = scores.rows.count(), padded = ceil_div(rows, lanes<F>) * lanes<F>;
    F* losses = nullptr;  // to be added up, where `out` is 0-d
    if (total) {
        losses = static_cast<F*>(scratch(1, padded * sizeof(F)));
        if (losses == nullptr) return {Status::OutOfMemory, 0, 0};
        for (int64_t i = rows; i < padded; i++) losses[i] = 0;
    }
    T* to = reinterpret_cast<T*>(out.data);
    const Status status = each_group(scores, [&](const auto& group, int64_t first, Places at) {
        const Targets<lanes<F>> target(t, at, group.rows);
        const auto max = group.max(), log = log_sum(group, max);
        F loss[lanes<F>];
        store(loss, (max - group.pick(group.x, target.of)) + log);
        for (int r = 0; r < group.rows; r++) {
            if (total)
                losses[first + r] = loss[r];
            else
                to[at[r][3]] = convert<T>(scale * loss[r]);
        }
    });
    if (total && status.kind == Status::Ok)
        *to =
            convert<T>(scale * sum_tree<F>(0, padded, [&](int64_t i) { return load(losses + i); }));
    return status;
}

// z_j = scale * g * (softmax(x)_j - [j = t])
template <class T>
Status cross_entropy_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &t = ins[1], &g = ins[2];
    const int last = x.ndim - 1;
    Scores<T> scores{{},
                     x.shape[last],
                     reinterpret_cast<const T*>(x.data),
                     x.strides[last],
                     reinterpret_cast<T*>(out.data),
                     out.strides[last]};
    for (int d = 0; d < last; d++)
        scores.rows.add(x.shape[d], {x.strides[d], out.strides[d], t.strides[d], g.strides[d]});
    const Status targets = check_targets(scores.rows, t, scores.classes);
    if (targets.kind != Status::Ok) return targets;

    const F scale = static_cast<F>(params.number[0]);
    return each_group(scores, [&](const auto& group, int64_t, Places at) {
        const Targets<lanes<F>> target(t, at, group.rows);
        F factors[lanes<F>] = {};
        for (int r = 0; r < group.rows; r++)
            factors[r] = convert<F>(reinterpret_cast<const T*>(g.data)[at[r][3]]);
        const vec<F> factor = group.by_row(factors) * scale;
        const vec<F> inverse = F(1) / exponentials(group);
        const vec<F> at_target = (group.pick(group.y, target.of) * inverse - F(1)) * factor;
        const vec<F> scaled = inverse * factor;
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.y, i) * scaled);
        group.put(at_target, target.of);
    });
}

}  // namespace

// clang-format off
TABLE(loss,
      KERNEL(cross_entropy, cross_entropy<T>),
      KERNEL(cross_entropy_grad, cross_entropy_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
