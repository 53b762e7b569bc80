#include "border/checks.hpp"

#include <string>
#include <vector>

#include "border/errors.hpp"
#include "engine/rules.hpp"

namespace tutor {

namespace {

// ---- Dtypes -------------------------------------------------------------------------------------

// The dtype of a sum. The enum has bool and the signed integers first, then the unsigned.
DType sum_of(DType dtype) { return dtype <= Int64 ? Int64 : dtype <= UInt64 ? UInt64 : dtype; }

// The letter of row.types for operand i. A '+' repeats the last one.
char letter_of(const Row& row, int i) {
    const char* letter = row.types;
    for (; i > 0 && letter[1] && letter[1] != '+'; --i) ++letter;
    return *letter;
}

// ---- Shapes -------------------------------------------------------------------------------------

// What the forms of a network's layers demand, for the error.
const char* demand_of_layer(Form form) {
    switch (form) {
        case Form::Attention:
            return "(..., l, e), (..., s, e), (..., s, n), a mask (..., l, s) and logs (..., l) "
                   "give (..., l, n)";
        case Form::AttentionGrad:
            return "g and z are what (..., l, e), (..., s, e), (..., s, n) and a mask (..., l, s) "
                   "give, logs is (..., l), and the gradients are as out and the last two of these";
        case Form::Norm:
        case Form::NormGrad:
            return "out and what has its shape are (..., n), all others (n)";
        case Form::ChannelNorm:
        case Form::ChannelNormGrad:
            return "out and what has its shape are (k, n, m), all others (n)";
        case Form::Rnn:
        case Form::RnnGrad:
            return "places are (l, n, h), u (h, h), and what is before them (n, h)";
        case Form::Lstm:
        case Form::LstmGrad:
            return "places are (l, n, 4, h), u (4, h, h), states (2, l, n, h), and those before "
                   "them (2, n, h)";
        case Form::Gru:
        case Form::GruGrad:
            return "places are (l, n, 3, h), u (3, h, h), the bias (3, h), gates (l, n, 4, h), "
                   "states (l, n, h), and those before them (n, h)";
        default:
            return "";
    }
}

// The same for each form.
const char* demand_of(Form form) {
    switch (form) {
        case Form::Elementwise:
        case Form::Scan:
            return "every operand has the shape of out";
        case Form::Update:
            return "gradient and state have the shape of out, and the settings and the count, one"
                   " number each, the shape ()";
        case Form::Draw:
            return "seed and counter, one number each, have the shape (), and an operand that of"
                   " out";
        case Form::Fill:
            return "there are no inputs";
        case Form::Reduce:
            return "out has the shape of the input without the axes in `axis`";
        case Form::MatMul:
            return "(..., m, k) and (..., k, n) give (..., m, n)";
        case Form::Linear:
            return "(..., k), (n, k) and (n) give (..., n)";
        case Form::Conv:
            return "(n, c, h, w) and (o, c / groups, k, l) give (n, o, p, q), p and q as many as"
                   " windows fit";
        case Form::ConvWeight:
            return "(n, c, h, w) and (n, o, p, q) give (o, c / groups, k, l), p and q as many as"
                   " windows fit";
        case Form::Pool:
            return "(n, c, h, w) gives (n, c, p, q), p and q as many as windows fit";
        case Form::PoolGrad:
            return "out and the input are (n, c, h, w), m and g (n, c, p, q), p and q as many as"
                   " windows fit";
        case Form::Nonzero:
            return "out has one axis";
        case Form::Pad:
            return "the input, moved by `before`, lies inside out";
        case Form::Cat:
            return "the inputs, side by side along the one axis, fill out";
        case Form::Gather:
            return "out and index have one shape, that of the input but along the one axis";
        case Form::Scatter:
            return "out has the shape of the input, index that of src, and src is larger than out"
                   " at most along the one axis";
        case Form::IndexSelect:
            return "out has the shape of the input, but along the one axis the length of the 1-D"
                   " index";
        case Form::CrossEntropy:
            return "the input is (..., classes), target (...), and out (...) or ()";
        case Form::Fused:
            return "all inputs have one shape, out the same without the axes in `axis`; of a "
                   "product"
                   " that it begins with, all others are like its result";
        case Form::CrossEntropyGrad:
            return "out and the input are (..., classes), target and g (...)";
        default:
            return demand_of_layer(form);
    }
}

// For a kernel that updates what it reads: operands of letter T are as out, the others are cells.
bool updated(const Row& row, const Operands& operands) {
    for (int i = 1; i < operands.count(); ++i) {
        const bool cell = letter_of(row, i) != 'T';
        if (cell ? operands[i].ndim != 0 : !alike(operands[0], operands[i])) return false;
    }
    return true;
}

bool all_alike(const Operands& operands, const Operand* found) {
    for (int i = 0; i < operands.count(); ++i) {
        if (!alike(operands[i], found[i])) return false;
    }
    return true;
}

// Whether out is what the rule infers, and the inputs are already as the kernel walks them.
bool fits(const Row& row, const Operands& operands, const Params& params) {
    if (row.form == Form::Update) return updated(row, operands);
    std::vector<Operand> found(&operands[0], &operands[0] + operands.count());
    Operand *out = found.data(), *ins = out + 1;
    const int count = operands.count() - 1;
    if (!infer(row.form, ins, count, params, out) || !alike(operands[0], *out)) return false;
    fit(row.form, *out, ins, count, params);
    return all_alike(operands, found.data());
}

}  // namespace

DType meaning(char letter, DType dtype) {
    return letter == 'T'   ? dtype
           : letter == 'S' ? sum_of(dtype)
           : letter == 'C' ? (dtype == Float64 ? Float64 : Float32)
           : letter == 'b' ? Bool
           : letter == 'i' ? Int64
           : letter == 'u' ? UInt32
           : letter == 'n' ? UInt64
           : letter == 'd' ? Float64
                           : DTYPES;
}

bool is_written(const Row& row, int i) {
    return i == 0 || (row.form == Form::Update && i > 1 && letter_of(row, i) == 'T') ||
           (row.form == Form::Draw && i == 2) || (row.form == Form::Attention && i == 5) ||
           (row.form == Form::AttentionGrad && i > 7) || (row.form == Form::NormGrad && i > 3) ||
           (row.form == Form::ChannelNorm && i > 3) ||
           (row.form == Form::ChannelNormGrad && i > 5) || (row.form == Form::RnnGrad && i == 4) ||
           (row.form == Form::Lstm && i == 4) || (row.form == Form::LstmGrad && i == 6) ||
           (row.form == Form::Gru && i == 5) || (row.form == Form::GruGrad && i > 5);
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
    if (fits(row, operands, params)) return true;
    std::string found = "out " + shape_of(operands[0]);
    for (int i = 1; i < operands.count(); ++i) {
        found += (i > 1 ? ", " : "; inputs ") + shape_of(operands[i]);
    }
    if (params.axis_count) {
        found += row.form == Form::Pad ? "; before " : "; axis ";
        found += text_of(params.axis, params.axis_count);
    }
    raise("ShapeError", std::string("kernel ") + row.name, found,
          std::string("give operands such that ") + demand_of(row.form));
    return false;
}

}  // namespace tutor
