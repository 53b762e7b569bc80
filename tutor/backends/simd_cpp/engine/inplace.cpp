// In-place changes of a Tensor, the simple cases: the twin of `x += y` in methods/inplace.py.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "border/call.hpp"
#include "engine/rules.hpp"
#include "engine/run.hpp"
#include "parts.hpp"

namespace tutor {

namespace {

// An operand's first byte, and the byte after its last.
struct Bytes {
    const char *first, *end;
};

Bytes bytes_of(const Operand& x) {
    int64_t low = 0, high = 0;
    for (int d = 0; d < x.ndim; ++d) {
        const int64_t way = (x.shape[d] - 1) * x.strides[d];
        (way < 0 ? low : high) += way;
    }
    const int64_t size = itemsize_of[x.dtype];
    return {x.data + low * size, x.data + (high + 1) * size};
}

// Whether the two share no byte.
bool are_apart(const Operand& x, const Operand& y) {
    const Bytes one = bytes_of(x), other = bytes_of(y);
    return one.end <= other.first || other.end <= one.first;
}

bool lies_row_by_row(const Operand& x) {
    int64_t step = 1;
    for (int d = x.ndim - 1; d >= 0; --d) {
        if (x.shape[d] != 1 && x.strides[d] != step) return false;
        step *= x.shape[d];
    }
    return step > 0;
}

bool same_walk(const Operand& x, const Operand& y) {
    return x.data == y.data && alike(x, y) && std::equal(x.strides, x.strides + x.ndim, y.strides);
}

}  // namespace

bool is_one_to_one(const Operand& x) {
    bool walked[MAX_DIMS] = {};
    int64_t reach = 0;
    for (int done = 0; done < x.ndim; ++done) {
        int next = -1;
        for (int d = 0; d < x.ndim; ++d) {
            if (!walked[d] && (next < 0 || std::abs(x.strides[d]) < std::abs(x.strides[next])))
                next = d;
        }
        walked[next] = true;
        if (x.shape[next] == 1) continue;
        if (x.shape[next] == 0 || std::abs(x.strides[next]) <= reach) return false;
        reach += (x.shape[next] - 1) * std::abs(x.strides[next]);
    }
    return true;
}

// Whether operand 1 can be overwritten while operand `from` is read: no number of `from` is needed
// after another has taken its place.
bool Run::can_write_over(const Operand& from) const {
    return same_walk(operands_[1], from) || are_apart(operands_[1], from);
}

// Writes the result over the first operand, whose numbers must lie row by row in the result's shape
// and dtype (integers only where the kernel cannot refuse halfway, as division refuses 0). *done
// says whether it has; if not, nothing has changed. Returns false if a Python error is set.
bool Run::change(bool* done) {
    PyObject* target = ins_[0];
    *done = false;
    if (!info_->kernel || count_ != 2 || !is_tensor(target) || !is_kept(target) ||
        PyDict_GET_SIZE(given.watches))
        return true;
    auto may_have_graph = [](PyObject* x) {
        return is_tensor(x) && (requires_grad(x) || may_be_outdated(x));
    };
    if (may_have_graph(target) || may_have_graph(ins_[1])) {
        const int recording = is_recording();
        if (recording) return recording > 0;
    }
    const DType dtype = dtype_of(target);
    const Row* row;
    if (dtype == DTYPES || dtype == Bool || !bring_together() || dtype_ != dtype ||
        !find_kernel(info_, dtype, &row) || !row || row->form != Form::Elementwise ||
        (dtype < Float16 && row->work->refused) || !read_operands(row->name) || !dtypes_fit(*row) ||
        !prepare(*row))
        return forget_error();
    Operand& out = operands_.at(0);
    const Operand& x = operands_[1];
    // x has been stretched to the result's shape; its strides do not show whether axes were added.
    if (out.dtype != dtype || out.ndim != PyTuple_GET_SIZE(part(target, T_SHAPE)) ||
        !lies_row_by_row(x) || !can_write_over(operands_[2]) ||
        !operands_.check_writable(1, row->name))
        return forget_error();
    out = x;
    Ref touched(PyObject_CallMethodNoArgs(part(target, T_BUF), given.touch));
    Ref changed(touched ? tutor::run(*row, operands_, kernel_params_) : nullptr);
    return *done = bool(changed);
}

PyObject* write_over(PyObject* target, PyObject* value) {
    if (!is_tensor(target) || !is_kept(target) || PyDict_GET_SIZE(given.watches)) return nullptr;
    const DType dtype = dtype_of(target);
    Operands operands(2);
    Operand& from = operands.at(1);
    Number room;
    const Row* row;
    if (dtype == DTYPES || !find_kernel(info_of_kernel("copy"), dtype, &row) || !row ||
        !operands.read(0, target, row->name))
        return forget_error(), nullptr;
    if (!is_tensor(value)) {
        if (!is_number(value) || !pack(value, dtype, &room)) return forget_error(), nullptr;
        from.data = room.bytes, from.dtype = dtype, from.ndim = 0;
    } else if (dtype_of(value) != dtype || !operands.read(1, value, row->name)) {
        return forget_error(), nullptr;
    }
    const Operand& to = operands[0];
    if (to.dtype != dtype || from.dtype != dtype) return nullptr;  // a promise of another dtype
    if (!is_one_to_one(to) || !are_apart(to, from) || !stretch(&from, to.shape, to.ndim) ||
        !operands.check_writable(0, row->name))
        return forget_error(), nullptr;
    Params none{};
    Ref touched(PyObject_CallMethodNoArgs(part(target, T_BUF), given.touch));
    return touched ? tutor::run(*row, operands, none) : nullptr;
}

}  // namespace tutor
