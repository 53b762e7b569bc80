// Convolution over two axes and its gradient for the weights: by a product of packed windows, or
// directly. The sizes alone decide, so that bits do not depend on the number of threads.
#include "conv.rows.hpp"
#include "kernels/conv_direct.hpp"
#include "kernels/conv_product.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- which way ----------------------------------------------------------------------------------

// What each way costs, in products of which a result is made. Packing a number takes as long as
// PACKING of them, and the group's outputs share it. The direct way computes all positions between
// the rows of outputs as well, and reads its image from further away.
constexpr double PACKING = 12, DIRECT = 1.1;

bool better_as_product(const Window& window, int64_t outputs) {
    const Axis &h = window.h, &w = window.w;
    if (w.out > 2 * NC<float>) return false;  // a tile has whole rows of outputs
    const double wasted =
        double(h.length(h.out)) * double(w.length(w.out)) / (double(h.out) * double(w.out));
    return DIRECT * wasted > 1 + PACKING / double(outputs);
}

// Sums over places waste no registers on either way; fewer outputs than this do not fill those of
// the product.
constexpr int64_t FEW_OUTPUTS = 16;

// ---- the kernels --------------------------------------------------------------------------------

template <class T>
Status conv2d(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand &x = ins[0], &w = ins[1];
    const Window window = window_of(params, 0, w.shape[2], w.shape[3], x, out);
    const int64_t groups = static_cast<int64_t>(params.integer[4]);
    if (out.shape[0] * out.shape[1] == 0) return OK;
    if (w.shape[1] > 0 && better_as_product(window, out.shape[1] / groups))
        return convolve_by_product<T>(out, x, w, window, groups);
    return convolve_directly<T>(out, x, w, window, groups);
}

template <class T>
Status conv2d_weight(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand &x = ins[0], &g = ins[1];
    const Window window = window_of(params, 0, out.shape[2], out.shape[3], x, g);
    const int64_t groups = static_cast<int64_t>(params.integer[4]);
    if (out.shape[0] * out.shape[1] == 0) return OK;
    if (x.shape[0] > 0 && out.shape[0] / groups >= FEW_OUTPUTS && window.w.out <= 2 * NC<float>)
        return weigh_by_product<T>(out, x, g, window, groups);
    return weigh_directly<T>(out, x, g, window, groups);
}

}  // namespace

// clang-format off
TABLE(conv,
      KERNEL(conv2d, conv2d<T>),
      KERNEL(conv2d_weight, conv2d_weight<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
