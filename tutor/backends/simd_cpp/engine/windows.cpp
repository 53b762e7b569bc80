// Shapes where windows slide over images: n images, c channels, h rows, w columns.
#include "engine/rules.hpp"

namespace tutor {

namespace {

// How many windows fit into `in` elements: a window's taps are `dilation` apart, and the next
// window begins `stride` further on. 0 if not even one fits.
int64_t places(int64_t in, int64_t taps, uint64_t stride, uint64_t dilation) {
    int64_t reach;
    const bool fits = taps > 0 &&
                      !__builtin_mul_overflow(taps - 1, static_cast<int64_t>(dilation), &reach) &&
                      reach < in;
    return fits ? (in - reach - 1) / static_cast<int64_t>(stride) + 1 : 0;
}

// Whether the sizes are small enough for a kernel to compute with and copy: expanded operands can
// be larger than any memory.
bool moderate(const Operand& a) {
    int64_t count = 1;
    for (int d = 0; d < a.ndim; ++d) {
        if (a.shape[d] > 0 && __builtin_mul_overflow(count, a.shape[d], &count)) return false;
    }
    return count < int64_t(1) << 48;
}

// How many windows fit along both axes of x; strides and dilations begin at number `first`.
bool slide(const Operand& x, int64_t taps_h, int64_t taps_w, const Params& params, int first,
           int64_t* p, int64_t* q) {
    const uint64_t* number = params.integer + first;
    *p = places(x.shape[2], taps_h, number[0], number[2]);
    *q = places(x.shape[3], taps_w, number[1], number[3]);
    return *p > 0 && *q > 0;
}

void four(Operand* z, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t shape[] = {a, b, c, d};
    z->ndim = 4;
    for (int i = 0; i < 4; ++i) z->shape[i] = shape[i];
}

}  // namespace

bool infer_conv(const Operand& x, const Operand& w, const Params& params, Operand* z) {
    int64_t channels, p, q;
    const int64_t groups = static_cast<int64_t>(params.integer[4]);
    if (x.ndim != 4 || w.ndim != 4 || !moderate(x) || !moderate(w) || w.shape[0] % groups ||
        __builtin_mul_overflow(w.shape[1], groups, &channels) || x.shape[1] != channels ||
        !slide(x, w.shape[2], w.shape[3], params, 0, &p, &q))
        return false;
    four(z, x.shape[0], w.shape[0], p, q);
    return moderate(*z);
}

// x and g do not determine the size of a window, so the result must give it.
bool infer_conv_weight(const Operand& x, const Operand& g, const Params& params, Operand* z) {
    Operand given = g;
    if (z->ndim != 4 || g.ndim != 4 || !infer_conv(x, *z, params, &given) || !alike(given, g))
        return false;
    return true;
}

bool infer_pool(const Operand& x, const Params& params, Operand* z) {
    int64_t p, q;
    if (x.ndim != 4 || !moderate(x) ||
        !slide(x, static_cast<int64_t>(params.integer[0]), static_cast<int64_t>(params.integer[1]),
               params, 2, &p, &q))
        return false;
    four(z, x.shape[0], x.shape[1], p, q);
    return moderate(*z);
}

bool infer_pool_grad(const Operand* ins, const Params& params, Operand* z) {
    Operand pooled = ins[1];
    if (!infer_pool(ins[0], params, &pooled) || !alike(pooled, ins[1]) || !alike(ins[1], ins[2]))
        return false;
    four(z, ins[0].shape[0], ins[0].shape[1], ins[0].shape[2], ins[0].shape[3]);
    return true;
}

}  // namespace tutor
