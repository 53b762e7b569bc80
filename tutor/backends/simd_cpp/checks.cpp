#include "checks.hpp"

#include <cstring>
#include <string>

#include "errors.hpp"

namespace tutor {

namespace {

// ---- Dtypes --------------------------------------------------------------------------------------

DType sum_of(DType dtype) {
    switch (dtype) {
        case Bool: case Int8: case Int16: case Int32: case Int64: return Int64;
        case UInt8: case UInt16: case UInt32: case UInt64: return UInt64;
        default: return dtype;
    }
}

// What a letter of signatures.py demands of a kernel registered for `dtype`; DTYPES: nothing.
DType meaning(char letter, DType dtype) {
    switch (letter) {
        case 'T': return dtype;
        case 'S': return sum_of(dtype);
        case 'b': return Bool;
        case 'i': return Int64;
        case 'u': return UInt32;
        default: return DTYPES;
    }
}

// ---- Shapes --------------------------------------------------------------------------------------

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

// What each Form demands, in words and in code.
const char* demand(Form form) {
    switch (form) {
        case Form::Elementwise: return "every operand has the shape of out";
        case Form::Fill: return "there are no inputs";
        case Form::Reduce: return "out has the shape of the input without the axes in `axis`";
        case Form::MatMul: return "(..., m, k) and (..., k, n) give (..., m, n)";
        case Form::Pad: return "the input, moved by `before`, lies inside out";
        case Form::Cat: return "the inputs, side by side along the one `axis`, fill out";
        case Form::Gather:
            return "out and index have one shape, that of the input but along the one `axis`";
        case Form::ScatterAdd:
            return "out has the shape of the input, index that of src, and src is nowhere larger"
                   " but along the one `axis`";
        case Form::IndexSelect:
            return "out has the shape of the input, with the length of the 1-D index along the one"
                   " `axis`";
        case Form::CrossEntropy: return "x is (..., classes), target (...), and out (...) or ()";
        case Form::CrossEntropyGrad: return "out and x are (..., classes), target and g (...)";
    }
    return "";
}

bool fits(Form form, const Operands& o, const Params& params) {
    int64_t axis = params.axis[0];
    bool one_axis = params.axis_count == 1;
    switch (form) {
        case Form::Elementwise:
            for (int i = 1; i < o.count(); ++i) {
                if (!alike(o[0], o[i])) return false;
            }
            return true;
        case Form::Fill: return o.count() == 1;
        case Form::Reduce: return reduced(o[0], o[1], params);
        case Form::MatMul: return product(o[0], o[1], o[2]);
        case Form::Pad: return padded(o[0], o[1], params);
        case Form::Cat: return one_axis && side_by_side(o, axis);
        case Form::Gather: return one_axis && alike(o[0], o[2]) && alike(o[0], o[1], axis);
        case Form::ScatterAdd:
            return one_axis && alike(o[0], o[1]) && alike(o[2], o[3]) && within(o[3], o[0], axis);
        case Form::IndexSelect:
            return one_axis && alike(o[0], o[1], axis) && o[2].ndim == 1 &&
                   o[0].shape[axis] == o[2].shape[0];
        case Form::CrossEntropy:
            return rows_of(o[2], o[1]) && (o[0].ndim == 0 || alike(o[0], o[2]));
        case Form::CrossEntropyGrad:
            return alike(o[0], o[1]) && rows_of(o[2], o[1]) && rows_of(o[3], o[1]);
    }
    return false;
}

}  // namespace

bool check_dtypes(const Row& row, const Operands& operands) {
    const char* letter = row.types;
    for (int i = 0; i < operands.count(); ++i) {
        DType wanted = meaning(*letter, row.dtype);
        if (wanted != DTYPES && operands[i].dtype != wanted) {
            raise("DTypeError", std::string("kernel ") + row.name + " for " + name_of(row.dtype),
                  (i ? "input " + std::to_string(i) : std::string("out")) + " is " +
                      name_of(operands[i].dtype) + ", not " + name_of(wanted),
                  "cast it first, or look the kernel up for the dtype of the operands");
            return false;
        }
        if (letter[1] && letter[1] != '+') ++letter;  // '+': the last letter holds for the rest
    }
    return true;
}

bool check_shapes(const Row& row, const Operands& operands, const Params& params) {
    if (fits(row.form, operands, params)) return true;
    std::string found = "out " + shape_of(operands[0]);
    for (int i = 1; i < operands.count(); ++i) found += (i > 1 ? ", " : "; inputs ") + shape_of(operands[i]);
    if (params.axis_count) found += "; " + std::string(row.form == Form::Pad ? "before " : "axis ") + text_of(params.axis, params.axis_count);
    raise("ShapeError", std::string("kernel ") + row.name, found,
          std::string("give operands such that ") + demand(row.form));
    return false;
}

}  // namespace tutor
