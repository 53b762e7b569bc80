#include "engine/rules.hpp"

#include <algorithm>
#include <numeric>

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

// A rule in letters: LETTERS in tutor/backends/shape_rules.py has the same texts, and the notation.
class Letters {
  public:
    constexpr explicit Letters(const char* text) {
        for (bool inside = false; *text; ++text) {
            Axes& axes = of_[operands_];
            if (*text == '(')
                inside = true;
            else if (*text == ')')
                inside = false, ++operands_;
            else if (inside && (*text == '.' || *text == '*'))
                axes.leading = *text;
            else if (inside && *text >= 'a' && *text <= 'z')
                axes.letter[axes.count++] = *text - 'a';
            else if (inside && *text >= '0' && *text <= '9')
                axes.letter[axes.count++] = DIGITS + *text - '0';
        }
        --operands_;  // the last one is the result
    }

    // The shape of the result; false if an operand has other axes, or a letter two sizes.
    bool infer(const Operand* ins, int count, Operand* out) const {
        const Axes& result = of_[operands_];
        const Operand* first = nullptr;  // of the operands with `...`
        int64_t sizes[DIGITS + 10];
        std::fill_n(sizes, DIGITS, -1);
        std::iota(sizes + DIGITS, sizes + DIGITS + 10, 0);
        for (int i = 0; i < count; ++i) {
            const Axes& axes = of_[i];
            const int rest = ins[i].ndim - axes.count;
            if (i >= operands_ || rest < 0 || (rest && !axes.leading)) return false;
            for (int d = 0; d < axes.count; ++d) {
                int64_t& size = sizes[axes.letter[d]];
                if (size < 0) size = ins[i].shape[rest + d];
                if (size != ins[i].shape[rest + d]) return false;
            }
            if (axes.leading != '.') continue;
            if (!first)
                first = &ins[i], set_shape(out, first->shape, rest);
            else if (rest != out->ndim || !std::equal(out->shape, out->shape + rest, ins[i].shape))
                return false;
        }
        if (result.leading == '*' && !broadcast(ins, count, result.count, out)) return false;
        if (!result.leading) out->ndim = 0;
        for (int d = 0; d < result.count; ++d) {
            const int64_t size = sizes[result.letter[d]];
            if (size < 0) return false;  // the operand that would say it is missing
            out->shape[out->ndim++] = size;
        }
        return true;
    }

  private:
    static constexpr int DIGITS = 26;  // a digit comes after the letters: it is its own size
    struct Axes {
        char leading = 0;  // '.' for `...`, '*', or none
        int count = 0;     // of the letters, each 0 for a to 25 for z
        int letter[4] = {};
    };

    int operands_ = 0;
    Axes of_[10] = {};  // of each operand, then of the result
};

constexpr Letters mat_mul("x (*, m, k), y (*, k, n) -> (*, m, n)");
constexpr Letters linear("x (..., k), weight (n, k), bias (n) -> (..., n)");
constexpr Letters cross_entropy("x (..., c), target (...) -> (...)");
constexpr Letters cross_entropy_grad("x (..., c), target (...), g (...) -> (..., c)");
constexpr Letters attention(
    "q (..., l, e), k (..., s, e), v (..., s, n), mask (..., l, s), logs (..., l) -> (..., l, n)");
constexpr Letters attention_grad(
    "g (..., l, n), q (..., l, e), k (..., s, e), v (..., s, n), mask (..., l, s), z (..., l, n), "
    "logs (..., l), dk (..., s, e), dv (..., s, n) -> (..., l, e)");
constexpr Letters norm("x (..., n), weight (n), bias (n) -> (..., n)");
constexpr Letters norm_grad("g (..., n), x (..., n), weight (n), dw (n), db (n) -> (..., n)");
constexpr Letters channel_norm("x (k, n, m), weight (n), bias (n), mean (n), var (n) -> (k, n, m)");
constexpr Letters channel_norm_grad(
    "g (k, n, m), x (k, n, m), weight (n), mean (n), var (n), dw (n), db (n) -> (k, n, m)");
constexpr Letters rnn("wx (l, n, h), u (h, h), start (n, h) -> (l, n, h)");
constexpr Letters rnn_grad("g (l, n, h), u (h, h), z (l, n, h), dstart (n, h) -> (l, n, h)");
constexpr Letters lstm(
    "wx (l, n, 4, h), u (4, h, h), start (2, n, h), gates (k, n, 4, h) -> (2, l, n, h)");
constexpr Letters lstm_grad(
    "g (2, l, n, h), u (4, h, h), start (2, n, h), z (2, l, n, h), gates (l, n, 4, h), "
    "dstart (2, n, h) -> (l, n, 4, h)");
constexpr Letters gru(
    "wx (l, n, 3, h), u (3, h, h), bias (3, h), start (n, h), gates (k, n, 4, h) -> (l, n, h)");
constexpr Letters gru_grad(
    "g (l, n, h), u (3, h, h), start (n, h), z (l, n, h), gates (l, n, 4, h), da (l, n, 3, h), "
    "dstart (n, h) -> (l, n, 3, h)");

bool infer_layer(Form form, const Operand* ins, int count, Operand* out) {
    switch (form) {
        case Form::Norm:
            return norm.infer(ins, count, out);
        case Form::NormGrad:
            return norm_grad.infer(ins, count, out);
        case Form::ChannelNorm:
            return channel_norm.infer(ins, count, out);
        case Form::ChannelNormGrad:
            return channel_norm_grad.infer(ins, count, out);
        case Form::Rnn:
            return rnn.infer(ins, count, out);
        case Form::RnnGrad:
            return rnn_grad.infer(ins, count, out);
        case Form::Lstm:
            return lstm.infer(ins, count, out);
        case Form::LstmGrad:
            return lstm_grad.infer(ins, count, out);
        case Form::Gru:
            return gru.infer(ins, count, out);
        case Form::GruGrad:
            return gru_grad.infer(ins, count, out);
        default:
            return false;
    }
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
            return mat_mul.infer(ins, count, out);
        case Form::Linear:
            return linear.infer(ins, count, out);
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
        case Form::CrossEntropy: {
            Operand losses;  // `out` has one for each row, or is their sum
            return cross_entropy.infer(ins, count, out->ndim ? out : &losses);
        }
        case Form::CrossEntropyGrad:
            return cross_entropy_grad.infer(ins, count, out);
        case Form::Attention:
            return attention.infer(ins, count, out);
        case Form::AttentionGrad:
            return attention_grad.infer(ins, count, out);
        case Form::Fused:
            return chain(ins, count, params, out);
        default:
            return infer_layer(form, ins, count, out);
    }
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
