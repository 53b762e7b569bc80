// The steps of sum_steps.hpp as kernels: `sum.naive` and so on, over any axes of operands of any
// layout, output by output.
#include "kernels/sum_steps.hpp"

#include "sum_steps.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

template <float sum(int64_t, const float*)>
Status run(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand& x = ins[0];
    bool goes[MAX_DIMS] = {};
    for (int i = 0; i < params.axis_count; ++i) goes[params.axis[i]] = true;
    Nest outputs, terms;
    for (int d = 0, left = 0; d < x.ndim; ++d) {
        if (goes[d])
            terms.add(x.shape[d], {x.strides[d]});
        else
            outputs.add(x.shape[d], {x.strides[d], out.strides[left++]});
    }
    const int64_t count = terms.count(), total = outputs.count();
    const bool side_by_side = terms.depth == 0 || (terms.depth == 1 && terms.stride[0][0] == 1);
    float* gathered = static_cast<float*>(scratch(0, count * sizeof(float)));
    if (gathered == nullptr) return {Status::OutOfMemory, 0, 0};
    for (int64_t o = 0; o < total; ++o) {
        int64_t at[MAX_OPERANDS], term[MAX_OPERANDS];
        outputs.locate(o, at);
        const float* from = reinterpret_cast<const float*>(x.data) + at[0];
        for (int64_t i = 0; i < count && !side_by_side; ++i) {
            terms.locate(i, term);
            gathered[i] = from[term[0]];
        }
        const float result = sum(count, side_by_side ? from : gathered);
        reinterpret_cast<float*>(out.data)[at[1]] = result;
    }
    return {Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(sum_steps,
      STEP(sum, naive, run<sum_naive>),
      STEP(sum, unrolled, run<sum_unrolled>),
      STEP(sum, simd, run<sum_simd>),
      STEP(sum, accumulators, run<sum_accumulators>),
      STEP(sum, tree, run<sum_tree_of>),
      STEP(sum, threaded, run<sum_threaded>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
