// softmax and its logarithm, in one or two passes over the scores. float16 and bfloat16 are
// computed in float and rounded once.
#include "kernels/scores.hpp"
#include "softmax.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

struct Softmax {
    template <class G>
    [[gnu::noinline]] void operator()(const G& group) const {
        const auto sum = exponentials(group), inverse = decltype(sum)(1) / sum;  // sum >= 1
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.y, i) * inverse);
    }
};

struct LogSoftmax {
    template <class G>
    [[gnu::noinline]] void operator()(const G& group) const {
        const auto max = group.max(), log = log_sum(group, max);
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.x, i) - max - log);
    }
};

template <class T, class Formula>
Status softmax(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand& x = ins[0];
    const int64_t axis = params.axis_count > 0 ? params.axis[0] : -1;  // a scalar has none
    const T* from = reinterpret_cast<const T*>(x.data);
    Scores<T> scores{{}, 1, from, 1, reinterpret_cast<T*>(out.data), 1};
    for (int d = 0; d < x.ndim; d++)
        if (d != axis) scores.rows.add(x.shape[d], {x.strides[d], out.strides[d]});
    if (axis >= 0) {
        scores.classes = x.shape[axis];
        scores.x_stride = x.strides[axis];
        scores.y_stride = out.strides[axis];
    }
    return each_group(scores, [](const auto& group, int64_t, Places) { Formula()(group); });
}

}  // namespace

// clang-format off
TABLE(softmax,
      KERNEL(softmax, softmax<T, Softmax>),
      KERNEL(log_softmax, softmax<T, LogSoftmax>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
