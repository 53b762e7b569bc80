#include "checks.hpp"

#include <cstring>
#include <string>

#include "errors.hpp"

namespace tutor {

namespace {

// ---- Dtypes -------------------------------------------------------------------------------------

// What a sum of `dtype` gives. The enum has bool and the signed integers first, then the unsigned.
DType sum_of(DType dtype) { return dtype <= Int64 ? Int64 : dtype <= UInt64 ? UInt64 : dtype; }

// The letter of row.types for operand i. A '+' repeats the last one.
char letter_of(const Row& row, int i) {
    const char* letter = row.types;
    for (; i > 0 && letter[1] && letter[1] != '+'; --i) ++letter;
    return *letter;
}

// ---- Shapes -------------------------------------------------------------------------------------

constexpr int NONE = -1;

// Whether a and b have the same shape, not regarding axis `but`.
bool alike(const Operand& a, const Operand& b, int64_t but = NONE) {
    if (a.ndim != b.ndim) return false;
    for (int d = 0; d < a.ndim; ++d) {
        if (d != but && a.shape[d] != b.shape[d]) return false;
    }
    return true;
}

// Whether a is no larger than b along any axis, not regarding axis `but`.
bool within(const Operand& a, const Operand& b, int64_t but) {
    if (a.ndim != b.ndim) return false;
    for (int d = 0; d < a.ndim; ++d) {
        if (d != but && a.shape[d] > b.shape[d]) return false;
    }
    return true;
}

// Whether the shape of a is that of b without the last axis.
bool rows_of(const Operand& a, const Operand& b) {
    return b.ndim > 0 && a.ndim == b.ndim - 1 &&
           std::memcmp(a.shape, b.shape, a.ndim * sizeof(int64_t)) == 0;
}

bool reduced(const Operand& out, const Operand& x, const Params& params) {
    bool goes[MAX_DIMS] = {};
    for (int a = 0; a < params.axis_count; ++a) goes[params.axis[a]] = true;
    int left = 0;
    for (int d = 0; d < x.ndim; ++d) {
        if (goes[d]) continue;
        if (left == out.ndim || out.shape[left] != x.shape[d]) return false;
        ++left;
    }
    return left == out.ndim;
}

bool product(const Operand& z, const Operand& x, const Operand& y) {
    int last = x.ndim - 1;
    if (x.ndim < 2 || y.ndim != x.ndim || z.ndim != x.ndim) return false;
    for (int d = 0; d < last - 1; ++d) {
        if (z.shape[d] != x.shape[d] || z.shape[d] != y.shape[d]) return false;
    }
    return z.shape[last - 1] == x.shape[last - 1] && z.shape[last] == y.shape[last] &&
           x.shape[last] == y.shape[last - 1];
}

bool layer(const Operand& z, const Operand& x, const Operand& w, const Operand& b) {
    const int last = z.ndim - 1;
    return last >= 0 && w.ndim == 2 && alike(z, x, last) && x.shape[last] == w.shape[1] &&
           z.shape[last] == w.shape[0] && b.ndim == 1 && b.shape[0] == w.shape[0];
}

// Whether outputs along one axis are as many as windows fit: the taps of one, `dilation` apart,
// cover a part of the input, and the next one begins `stride` further on.
bool slides(int64_t in, int64_t out, int64_t taps, uint64_t stride, uint64_t dilation) {
    int64_t reach;
    return taps > 0 && !__builtin_mul_overflow(taps - 1, static_cast<int64_t>(dilation), &reach) &&
           reach < in && out == (in - reach - 1) / static_cast<int64_t>(stride) + 1;
}

// The same along both axes; strides and dilations are the numbers from `first` on.
bool slides(const Operand& x, const Operand& z, int64_t taps_h, int64_t taps_w,
            const Params& params, int first) {
    const uint64_t* number = params.integer + first;
    return slides(x.shape[2], z.shape[2], taps_h, number[0], number[2]) &&
           slides(x.shape[3], z.shape[3], taps_w, number[1], number[3]);
}

// Whether a kernel can compute with the sizes and keep copies: expanded operands can be larger than
// any memory.
bool moderate(const Operand& a) {
    int64_t count = 1;
    for (int d = 0; d < a.ndim; ++d) {
        if (a.shape[d] > 0 && __builtin_mul_overflow(count, a.shape[d], &count)) return false;
    }
    return count < int64_t(1) << 48;
}

bool convolved(const Operand& z, const Operand& x, const Operand& w, const Params& params) {
    int64_t groups = static_cast<int64_t>(params.integer[4]), channels;
    return z.ndim == 4 && x.ndim == 4 && w.ndim == 4 && moderate(z) && moderate(x) && moderate(w) &&
           z.shape[0] == x.shape[0] && z.shape[1] == w.shape[0] && w.shape[0] % groups == 0 &&
           !__builtin_mul_overflow(w.shape[1], groups, &channels) && x.shape[1] == channels &&
           slides(x, z, w.shape[2], w.shape[3], params, 0);
}

bool pooled(const Operand& z, const Operand& x, const Params& params) {
    return z.ndim == 4 && x.ndim == 4 && moderate(z) && moderate(x) && z.shape[0] == x.shape[0] &&
           z.shape[1] == x.shape[1] &&
           slides(x, z, static_cast<int64_t>(params.integer[0]),
                  static_cast<int64_t>(params.integer[1]), params, 2);
}

bool padded(const Operand& out, const Operand& x, const Params& params) {
    if (out.ndim != x.ndim || params.axis_count != x.ndim) return false;
    for (int d = 0; d < x.ndim; ++d) {
        int64_t end;
        if (params.axis[d] < 0 || __builtin_add_overflow(params.axis[d], x.shape[d], &end) ||
            end > out.shape[d]) {
            return false;
        }
    }
    return true;
}

bool side_by_side(const Operands& operands, int64_t axis) {
    const Operand& out = operands[0];
    int64_t total = 0;
    for (int i = 1; i < operands.count(); ++i) {
        if (!alike(out, operands[i], axis)) return false;
        if (__builtin_add_overflow(total, operands[i].shape[axis], &total)) return false;
    }
    return total == out.shape[axis];
}

bool all_alike(const Operands& operands) {
    for (int i = 1; i < operands.count(); ++i) {
        if (!alike(operands[0], operands[i])) return false;
    }
    return true;
}

bool updated(const Row& row, const Operands& operands) {
    for (int i = 1; i < operands.count(); ++i) {
        const bool cell = letter_of(row, i) != 'T';
        if (cell ? operands[i].ndim != 0 : !alike(operands[0], operands[i])) return false;
    }
    return true;
}

// nullptr if the shapes fit, else what row.form demands of them.
const char* unmet(const Row& row, const Operands& o, const Params& params) {
    int64_t axis = params.axis_count ? params.axis[0] : NONE;
    auto demand = [](bool met, const char* text) { return met ? nullptr : text; };
    switch (row.form) {
        case Form::Elementwise:
        case Form::Scan:
            return demand(all_alike(o), "every operand has the shape of out");
        case Form::Update:
            return demand(updated(row, o),
                          "gradient and state have the shape of out, and the settings and the"
                          " count, one number each, the shape ()");
        case Form::Draw:
            return demand(o[1].ndim == 0 && o[2].ndim == 0,
                          "seed and counter, one number each, have the shape ()");
        case Form::Fill:
            return demand(o.count() == 1, "there are no inputs");
        case Form::Reduce:
            return demand(reduced(o[0], o[1], params),
                          "out has the shape of the input without the axes in `axis`");
        case Form::MatMul:
            return demand(product(o[0], o[1], o[2]),
                          "(..., m, k) and (..., k, n) give (..., m, n)");
        case Form::Linear:
            return demand(layer(o[0], o[1], o[2], o[3]), "(..., k), (n, k) and (n) give (..., n)");
        case Form::Conv:
            return demand(convolved(o[0], o[1], o[2], params),
                          "(n, c, h, w) and (o, c / groups, k, l) give (n, o, p, q), p and q as"
                          " many as windows fit");
        case Form::ConvWeight:
            return demand(convolved(o[2], o[1], o[0], params),
                          "(n, c, h, w) and (n, o, p, q) give (o, c / groups, k, l), p and q as"
                          " many as windows fit");
        case Form::Pool:
            return demand(pooled(o[0], o[1], params),
                          "(n, c, h, w) gives (n, c, p, q), p and q as many as windows fit");
        case Form::PoolGrad:
            return demand(alike(o[0], o[1]) && alike(o[2], o[3]) && pooled(o[2], o[1], params),
                          "out and the input are (n, c, h, w), m and g (n, c, p, q), p and q as"
                          " many as windows fit");
        case Form::Nonzero:
            return demand(o[0].ndim == 1, "out has one axis");
        case Form::Pad:
            return demand(padded(o[0], o[1], params),
                          "the input, moved by `before`, lies inside out");
        case Form::Cat:
            return demand(side_by_side(o, axis),
                          "the inputs, side by side along the one axis, fill out");
        case Form::Gather:
            return demand(alike(o[0], o[2]) && alike(o[0], o[1], axis),
                          "out and index have one shape, that of the input but along the one axis");
        case Form::Scatter:
            return demand(
                alike(o[0], o[1]) && alike(o[2], o[3]) && within(o[3], o[0], axis),
                "out has the shape of the input, index that of src, and src is larger than out at"
                " most along the one axis");
        case Form::IndexSelect:
            return demand(
                alike(o[0], o[1], axis) && o[2].ndim == 1 && o[0].shape[axis] == o[2].shape[0],
                "out has the shape of the input, but along the one axis the length of the"
                " 1-D index");
        case Form::CrossEntropy:
            return demand(rows_of(o[2], o[1]) && (o[0].ndim == 0 || alike(o[0], o[2])),
                          "the input is (..., classes), target (...), and out (...) or ()");
        case Form::CrossEntropyGrad:
            return demand(alike(o[0], o[1]) && rows_of(o[2], o[1]) && rows_of(o[3], o[1]),
                          "out and the input are (..., classes), target and g (...)");
    }
    return nullptr;
}

}  // namespace

DType meaning(char letter, DType dtype) {
    return letter == 'T'   ? dtype
           : letter == 'S' ? sum_of(dtype)
           : letter == 'b' ? Bool
           : letter == 'i' ? Int64
           : letter == 'u' ? UInt32
           : letter == 'n' ? UInt64
           : letter == 'd' ? Float64
                           : DTYPES;
}

bool is_written(const Row& row, int i) {
    return i == 0 || (row.form == Form::Update && i > 1 && letter_of(row, i) == 'T') ||
           (row.form == Form::Draw && i == 2);
}

bool check_dtypes(const Row& row, const Operands& operands) {
    for (int i = 0; i < operands.count(); ++i) {
        DType wanted = meaning(letter_of(row, i), row.dtype);
        if (wanted == DTYPES || operands[i].dtype == wanted) continue;
        raise("DTypeError", std::string("kernel ") + row.name + " for " + name_of(row.dtype),
              operand_name(i) + " is " + name_of(operands[i].dtype) + ", not " + name_of(wanted),
              "cast it first, or look the kernel up for the dtype of the operands");
        return false;
    }
    return true;
}

bool check_shapes(const Row& row, const Operands& operands, const Params& params) {
    const char* demand = unmet(row, operands, params);
    if (!demand) return true;
    std::string found = "out " + shape_of(operands[0]);
    for (int i = 1; i < operands.count(); ++i) {
        found += (i > 1 ? ", " : "; inputs ") + shape_of(operands[i]);
    }
    if (params.axis_count) {
        found += row.form == Form::Pad ? "; before " : "; axis ";
        found += text_of(params.axis, params.axis_count);
    }
    raise("ShapeError", std::string("kernel ") + row.name, found,
          std::string("give operands such that ") + demand);
    return false;
}

}  // namespace tutor
