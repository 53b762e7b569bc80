#include "engine/rules.hpp"

#include <algorithm>
#include <cstring>

namespace tutor {

namespace {

void set_shape(Operand* out, const int64_t* shape, int ndim) {
    out->ndim = ndim;
    std::copy_n(shape, ndim, out->shape);
}

// Whether a is no larger than b along every axis except `but`.
bool within(const Operand& a, const Operand& b, int64_t but) {
    if (a.ndim != b.ndim) return false;
    for (int d = 0; d < a.ndim; ++d) {
        if (d != but && a.shape[d] > b.shape[d]) return false;
    }
    return true;
}

// Whether a has the shape of b without its last axis.
bool rows_of(const Operand& a, const Operand& b) {
    return b.ndim > 0 && a.ndim == b.ndim - 1 &&
           std::memcmp(a.shape, b.shape, a.ndim * sizeof(int64_t)) == 0;
}

// Broadcasts the inputs' leading axes (all except the last `kept`), aligned at the right: sizes
// must be equal or 1.
bool broadcast(const Operand* ins, int count, int kept, Operand* out) {
    out->ndim = 0;
    for (int i = 0; i < count; ++i) out->ndim = std::max(out->ndim, ins[i].ndim - kept);
    std::fill_n(out->shape, out->ndim, 1);
    for (int i = 0; i < count; ++i) {
        const int axes = ins[i].ndim - kept, extra = out->ndim - axes;
        for (int d = 0; d < axes; ++d) {
            const int64_t size = ins[i].shape[d];
            int64_t& found = out->shape[extra + d];
            if (size == found || size == 1) continue;
            if (found != 1) return false;
            found = size;
        }
    }
    return true;
}

// The shape of x without the axes in `params`.
void reduce(const Operand& x, const Params& params, Operand* out) {
    bool goes[MAX_DIMS] = {};
    for (int a = 0; a < params.axis_count; ++a) goes[params.axis[a]] = true;
    out->ndim = 0;
    for (int d = 0; d < x.ndim; ++d) {
        if (!goes[d]) out->shape[out->ndim++] = x.shape[d];
    }
}

bool product(const Operand& x, const Operand& y, Operand* z) {
    const Operand both[] = {x, y};
    const int last = x.ndim - 1;
    if (x.ndim < 2 || y.ndim < 2 || x.shape[last] != y.shape[y.ndim - 2] ||
        !broadcast(both, 2, 2, z))
        return false;
    z->shape[z->ndim++] = x.shape[last - 1];
    z->shape[z->ndim++] = y.shape[y.ndim - 1];
    return true;
}

// The bias is optional.
bool layer(const Operand* ins, int count, Operand* z) {
    const Operand &x = ins[0], &w = ins[1];
    const int last = x.ndim - 1;
    if (last < 0 || w.ndim != 2 || x.shape[last] != w.shape[1]) return false;
    if (count > 2 && (ins[2].ndim != 1 || ins[2].shape[0] != w.shape[0])) return false;
    set_shape(z, x.shape, x.ndim);
    z->shape[last] = w.shape[0];
    return true;
}

// `out` says how far the padding extends beyond the end of the input.
bool padded(const Operand& x, const Params& params, const Operand& out) {
    if (out.ndim != x.ndim || params.axis_count != x.ndim) return false;
    for (int d = 0; d < x.ndim; ++d) {
        int64_t end;
        if (params.axis[d] < 0 || __builtin_add_overflow(params.axis[d], x.shape[d], &end) ||
            end > out.shape[d])
            return false;
    }
    return true;
}

bool side_by_side(const Operand* ins, int count, int64_t axis, Operand* out) {
    int64_t total = 0;
    for (int i = 0; i < count; ++i) {
        if (!alike(ins[0], ins[i], axis) || axis >= ins[i].ndim ||
            __builtin_add_overflow(total, ins[i].shape[axis], &total))
            return false;
    }
    set_shape(out, ins[0].shape, ins[0].ndim);
    out->shape[axis] = total;
    return true;
}

// Gather, scatter and index_select index x (and out) along one axis.
bool indexed(Form form, const Operand* ins, int64_t axis, Operand* out) {
    const Operand &x = ins[0], &index = ins[1];
    if (form == Form::Gather) {
        set_shape(out, index.shape, index.ndim);
        return within(index, x, axis);
    }
    set_shape(out, x.shape, x.ndim);
    if (form == Form::Scatter) return alike(index, ins[2]) && within(index, x, axis);
    if (index.ndim != 1 || axis >= x.ndim) return false;
    out->shape[axis] = index.shape[0];
    return true;
}

bool entropy(Form form, const Operand* ins, Operand* out) {
    const Operand &x = ins[0], &target = ins[1];
    if (form == Form::CrossEntropyGrad) {
        set_shape(out, x.shape, x.ndim);
        return rows_of(target, x) && rows_of(ins[2], x);
    }
    if (out->ndim) set_shape(out, target.shape, target.ndim);
    return rows_of(target, x);
}

// Whether a's shape is (leading axes of q, rows), or (..., rows, columns) if `columns` >= 0.
bool is_of(const Operand& a, const Operand& q, int64_t rows, int64_t columns) {
    const int lead = q.ndim - 2;
    return a.ndim == lead + (columns < 0 ? 1 : 2) && std::equal(a.shape, a.shape + lead, q.shape) &&
           a.shape[lead] == rows && (columns < 0 || a.shape[lead + 1] == columns);
}

// ins = (q, k, v, mask, logs)
bool attended(const Operand* ins, const Operand& logs, Operand* out) {
    const Operand &q = ins[0], &k = ins[1], &v = ins[2];
    const int last = q.ndim - 1;
    if (last < 1 || k.ndim != q.ndim || v.ndim != q.ndim) return false;
    const int64_t rows = q.shape[last - 1], keys = k.shape[last - 1];
    set_shape(out, q.shape, q.ndim);
    out->shape[last] = v.shape[last];
    return is_of(k, q, keys, q.shape[last]) && is_of(v, q, keys, v.shape[last]) &&
           is_of(ins[3], q, rows, keys) && is_of(logs, q, rows, -1);
}

// ins = (g, q, k, v, mask, z, logs, dk, dv)
bool attended_grad(const Operand* ins, Operand* out) {
    Operand z;
    if (!attended(ins + 1, ins[6], &z) || !alike(ins[0], z) || !alike(ins[5], z) ||
        !alike(ins[7], ins[2]) || !alike(ins[8], ins[3]))
        return false;
    return set_shape(out, ins[1].shape, ins[1].ndim), true;
}

// The first `wholes` operands share a shape; the others have one number per index along `axis`.
bool normed(const Operand* ins, int count, int wholes, int axis, Operand* out) {
    const Operand& x = ins[0];
    if (axis < 0 || axis >= x.ndim) return false;
    for (int i = 1; i < count; ++i) {
        if (i < wholes ? !alike(ins[i], x) : ins[i].ndim != 1 || ins[i].shape[0] != x.shape[axis])
            return false;
    }
    return set_shape(out, x.shape, x.ndim), true;
}

// A chain of elementwise kernels: of what its product makes, where it begins with one.
bool chain(const Operand* ins, int count, const Params& params, Operand* out) {
    const int first = params.code.product;
    if (first == 0) {
        reduce(ins[0], params, out);
    } else if (!infer(params.code.of[0].row->form, ins, first, params, out)) {
        return false;
    }
    for (int i = first ? first : 1; i < count; ++i)
        if (!alike(first ? *out : ins[0], ins[i])) return false;
    return true;
}

}  // namespace

bool infer(Form form, const Operand* ins, int count, const Params& params, Operand* out) {
    const int64_t axis = params.axis_count ? params.axis[0] : -1;
    switch (form) {
        case Form::Elementwise:
        case Form::Scan:
            return broadcast(ins, count, 0, out);
        case Form::Update:
            return set_shape(out, ins[0].shape, ins[0].ndim), true;
        case Form::Draw:
            if (count > 2) set_shape(out, ins[2].shape, ins[2].ndim);
            return count >= 2 && ins[0].ndim == 0 && ins[1].ndim == 0;
        case Form::Fill:
            return count == 0;
        case Form::Reduce:
            return reduce(ins[0], params, out), true;
        case Form::MatMul:
            return product(ins[0], ins[1], out);
        case Form::Linear:
            return layer(ins, count, out);
        case Form::Conv:
            return infer_conv(ins[0], ins[1], params, out);
        case Form::ConvWeight:
            return infer_conv_weight(ins[0], ins[1], params, out);
        case Form::Pool:
            return infer_pool(ins[0], params, out);
        case Form::PoolGrad:
            return infer_pool_grad(ins, params, out);
        case Form::Nonzero:
            return out->ndim == 1;
        case Form::Pad:
            return padded(ins[0], params, *out);
        case Form::Cat:
            return side_by_side(ins, count, axis, out);
        case Form::Gather:
        case Form::Scatter:
        case Form::IndexSelect:
            return indexed(form, ins, axis, out);
        case Form::CrossEntropy:
        case Form::CrossEntropyGrad:
            return entropy(form, ins, out);
        case Form::Attention:
            return attended(ins, ins[4], out);
        case Form::AttentionGrad:
            return attended_grad(ins, out);
        case Form::Norm:
            return normed(ins, count, 1, ins[0].ndim - 1, out);
        case Form::NormGrad:
            return normed(ins, count, 2, ins[0].ndim - 1, out);
        case Form::ChannelNorm:
            return ins[0].ndim == 3 && normed(ins, count, 1, 1, out);
        case Form::ChannelNormGrad:
            return ins[0].ndim == 3 && normed(ins, count, 2, 1, out);
        case Form::Fused:
            return chain(ins, count, params, out);
    }
    return false;
}

void fit(Form form, const Operand& out, Operand* ins, int count, const Params& params) {
    switch (form) {
        case Form::Elementwise:
        case Form::Scan:
            for (int i = 0; i < count; ++i) stretch(&ins[i], out.shape, out.ndim);
            return;
        case Form::Fused:
            if (params.code.product) fit(params.code.of[0].row->form, out, ins, count, params);
            return;
        case Form::MatMul:
            for (int i = 0; i < 2; ++i) stretch_leading(&ins[i], out, 2);
            return;
        case Form::Gather:  // x is cut to the index's sizes on all other axes
            for (int d = 0; d < out.ndim; ++d) {
                if (d != params.axis[0]) ins[0].shape[d] = out.shape[d];
            }
            return;
        default:
            return;
    }
}

bool stretch(Operand* x, const int64_t* shape, int ndim) {
    const int extra = ndim - x->ndim;
    if (extra == 0 && std::equal(shape, shape + ndim, x->shape)) return true;  // the usual case
    if (extra < 0) return false;
    int64_t strides[MAX_DIMS] = {};
    for (int d = 0; d < x->ndim; ++d) {
        if (x->shape[d] == shape[extra + d])
            strides[extra + d] = x->strides[d];
        else if (x->shape[d] != 1)
            return false;
    }
    set_shape(x, shape, ndim);
    std::copy_n(strides, ndim, x->strides);
    return true;
}

bool stretch_leading(Operand* x, const Operand& out, int kept) {
    int64_t shape[MAX_DIMS];
    const int lead = out.ndim - kept;
    std::copy_n(out.shape, lead, shape);
    std::copy_n(x->shape + x->ndim - kept, kept, shape + lead);
    return stretch(x, shape, out.ndim);
}

int64_t lay_out(Operand* out) {
    int64_t step = 1, count = 1;
    for (int d = out->ndim - 1; d >= 0; --d) {
        const int64_t size = out->shape[d];
        out->strides[d] = step;
        if (__builtin_mul_overflow(step, size > 0 ? size : 1, &step)) return -1;
        count *= size;
    }
    return step > PTRDIFF_MAX / 16 ? -1 : count;
}

bool alike(const Operand& a, const Operand& b, int64_t but) {
    if (a.ndim != b.ndim) return false;
    for (int d = 0; d < a.ndim; ++d) {
        if (d != but && a.shape[d] != b.shape[d]) return false;
    }
    return true;
}

}  // namespace tutor
