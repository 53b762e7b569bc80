// Prepare: brings operands to one dtype, reads parameters, infers the result.
#include <algorithm>
#include <cstring>
#include <utility>

#include "border/checks.hpp"
#include "engine/rules.hpp"
#include "engine/run.hpp"

namespace tutor {

Run::Run(Info* info, PyObject* const* ins, int count)
    : info_(info), count_(count), operands_(count + 1) {
    ins_ = count <= ON_STACK ? ins_on_stack_ : new PyObject*[count];
    rooms_ = count <= ON_STACK ? rooms_on_stack_ : new Number[count];
    for (int i = 0; i < count; ++i) ins_[i] = Py_NewRef(ins[i]);
    kernel_params_.axis_count = 0;
}

Run::~Run() {
    for (int i = 0; i < count_; ++i) Py_DECREF(ins_[i]);
    for (int p = 0; p < params_count_; ++p) Py_DECREF(names_[p]), Py_DECREF(values_[p]);
    Py_XDECREF(node_);
    if (ins_ != ins_on_stack_) delete[] ins_;
    if (rooms_ != rooms_on_stack_) delete[] rooms_;
}

// ---- Parameters ---------------------------------------------------------------------------------

// Sets a parameter, replacing any of that name.
bool Run::add(PyObject* name, PyObject* value) {
    int p = 0;
    while (p < params_count_ && names_[p] != name && PyUnicode_Compare(names_[p], name) != 0) ++p;
    if (p == MOST_PARAMS) return false;
    Py_INCREF(value);
    if (p < params_count_) return std::swap(values_[p], value), Py_DECREF(value), true;
    names_[p] = Py_NewRef(name);
    values_[p] = value;
    return ++params_count_, true;
}

PyObject* Run::param(const char* name) const {
    for (int p = 0; p < params_count_; ++p) {
        if (PyUnicode_CompareWithASCIIString(names_[p], name) == 0) return values_[p];
    }
    return nullptr;
}

bool Run::add_all(PyObject* dict) {
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &name, &value);) {
        if (!PyUnicode_Check(name) || !add(name, value)) return false;
    }
    return true;
}

bool Run::take(PyObject* names, PyObject* const* values) {
    if (!add_all(info_->defaults)) return false;
    const Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t p = 0; p < count; ++p) {
        if (!is_known(PyTuple_GET_ITEM(names, p)) || !add(PyTuple_GET_ITEM(names, p), values[p]))
            return false;
    }
    return has_required();
}

// Whether every parameter that the kernel or its form reads is there.
bool Run::has_required() const {
    for (Py_ssize_t r = 0; r < PyTuple_GET_SIZE(info_->required); ++r) {
        const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(info_->required, r));
        if (!name || !param(name)) return false;
    }
    return true;
}

bool Run::take(PyObject* node) {
    node_ = Py_NewRef(node);
    PyObject* params = info_->node.at(node, N_PARAMS);
    if (!params || !PyDict_Check(params) || !add_all(info_->defaults) || !add_all(params))
        return false;
    for (int p = 0; p < params_count_; ++p) {
        if (!is_known(names_[p])) return false;
    }
    return has_required();
}

bool Run::is_known(PyObject* name) const {
    return info_->accepts == Py_None || PySet_Contains(info_->accepts, name) == 1;
}

// ---- Operands -----------------------------------------------------------------------------------

// Casts operand i by an op, so that gradients flow back through it.
bool Run::cast(int i, DType dtype) {
    PyObject* result = run_named("cast", ins_[i], "dtype", given.dtypes[dtype]);
    if (!result) return false;
    Py_DECREF(ins_[i]);
    ins_[i] = result;
    return true;
}

// The operands as they are to be computed with in an autocast block: tutor/core/engine/casting.py.
bool Run::autocast() {
    for (int i = 0; i < count_; ++i) {
        if (is_tensor(ins_[i]) && is_on_device(ins_[i])) return for_python_ = true, false;
    }
    Ref inputs(new_inputs());
    PyObject* args[] = {info_->casts, inputs.get()};
    Ref found(inputs ? PyObject_Vectorcall(given.cast_operands, args, 2, nullptr) : nullptr);
    if (!found || !PyTuple_Check(found.get()) || PyTuple_GET_SIZE(found.get()) != count_)
        return false;
    for (int i = 0; i < count_; ++i)
        Py_DECREF(std::exchange(ins_[i], Py_NewRef(PyTuple_GET_ITEM(found.get(), i))));
    return true;
}

// Brings the operands from `first` on to one dtype, if the op wants that. A Python number is weak:
// it takes the dtype beside it. It stays a number for now; its bytes are in rooms_.
bool Run::bring_together() {
    const int first = info_->first;
    DType dtype = DTYPES;
    int tensors = 0;
    for (int i = 0; i < count_; ++i) {
        if (!is_tensor(ins_[i])) {
            for_python_ |= first >= 0 && !is_number(ins_[i]);
            continue;
        }
        const DType found = dtype_of(ins_[i]);
        if (found == DTYPES) return false;
        if (is_on_device(ins_[i]) && info_->view <= View::Own) return for_python_ = true, false;
        ++tensors;
        if (i >= first) dtype = dtype == DTYPES || first < 0 ? found : meeting_of(dtype, found);
        if (i == std::max(first, 0)) dtype_ = found;
    }
    if (first < 0) return count_ == 0 || is_tensor(ins_[0]);
    if (for_python_ || tensors == 0) return false;
    for (int i = first; tensors < count_ && i < count_; ++i) {
        if (is_tensor(ins_[i])) continue;
        dtype = dtype == DTYPES ? own_dtype(ins_[i]) : dtype_beside(ins_[i], dtype);
    }
    if (info_->wants_float && dtype < Float16) dtype = Float32;
    dtype_ = dtype;
    return bring_to(first, dtype);
}

bool Run::bring_to(int first, DType dtype) {
    for (int i = 0; i < count_; ++i) {
        if (!is_tensor(ins_[i])) {
            const DType wanted = i < first ? own_dtype(ins_[i]) : dtype;
            if (!pack(ins_[i], wanted, &rooms_[i])) return false;
            Operand& number = operands_.at(1 + i);
            number.data = rooms_[i].bytes, number.dtype = wanted, number.ndim = 0;
        } else if (i >= first && dtype_of(ins_[i]) != dtype && !cast(i, dtype)) {
            return false;
        }
    }
    return true;
}

bool forget_error() {
    if (!PyErr_Occurred()) return true;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
    return PyErr_Clear(), true;
}

// Reads the operands and checks them as the border does.
bool Run::read_operands(const char* kernel) {
    for (int i = 0; i < count_; ++i) {
        if (!is_tensor(ins_[i])) {
            if (info_->first < 0) return false;
            continue;  // a number, which is an operand already
        }
        if (!operands_.read(1 + i, ins_[i], kernel)) return forget_error(), false;
    }
    return true;
}

// Whether the operands have the dtypes of the row's letters.
bool Run::dtypes_fit(const Row& row) const {
    const char* letter = row.types + 1;
    for (int i = 0; i < count_; ++i) {
        const DType wanted = meaning(*letter, row.dtype);
        if (wanted != DTYPES && operands_[1 + i].dtype != wanted) return false;
        if (letter[1] != '+' && letter[1]) ++letter;
    }
    return true;
}

// ---- The kernel's parameters --------------------------------------------------------------------

// Counts `axis` from the front: a sorted tuple for a reduction, one axis for any other form.
bool Run::count_axis(const Row& row) {
    PyObject* given_axis = param("axis");
    if (!given_axis) return true;
    int ndim = operands_[1].ndim;
    Sizes axes;
    if (row.form == Form::Reduce) {
        if (!read_axes(given_axis, ndim, &axes)) return false;
        Ref counted(tuple_of(axes.size, axes.count));
        return counted && set("axis", counted.get());
    }
    const bool several = row.form == Form::Elementwise || row.form == Form::Scan;
    for (int i = 1; several && i < count_; ++i) ndim = std::max(ndim, operands_[1 + i].ndim);
    if (!read_axis(given_axis, std::max(ndim, 1), &axes.size[0])) return false;
    Ref counted(PyLong_FromLongLong(axes.size[0]));
    return counted && set("axis", counted.get());
}

bool Run::set(const char* name, PyObject* value) {
    for (int p = 0; p < params_count_; ++p) {
        if (PyUnicode_CompareWithASCIIString(names_[p], name) == 0) return add(names_[p], value);
    }
    return false;
}

// Reads the row's keywords: each is a parameter of the op.
bool Run::set_params(const Row& row) {
    PyObject* names = info_->keywords.names;
    PyObject* values[MAX_PARAMS];
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
        const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, k));
        if (!name || !(values[k] = param(name))) return false;
    }
    if (PyTuple_GET_SIZE(names) == 0) return true;
    if (read_params(row, info_->keywords, names, values, operands_, &kernel_params_)) return true;
    return PyErr_Clear(), false;
}

// ---- The result ---------------------------------------------------------------------------------

// Sets the sizes that some forms leave open, from the op's own parameters.
bool Run::set_open_sizes(const Row& row, Operand* out) {
    if (row.form == Form::Pad) return padded_shape(out);
    if (row.form == Form::ConvWeight) return weight_shape(out);
    if (row.form == Form::CrossEntropy) {
        PyObject* reduction = param("reduction");
        if (!reduction || !PyUnicode_Check(reduction)) return false;
        out->ndim = PyUnicode_CompareWithASCIIString(reduction, "none") == 0;
    }
    return true;
}

bool Run::padded_shape(Operand* out) {
    PyObject* widths = param("widths");
    const Operand& x = operands_[1];
    if (!widths || !PyTuple_Check(widths) || PyTuple_GET_SIZE(widths) != x.ndim) return false;
    out->ndim = x.ndim;
    for (int d = 0; d < x.ndim; ++d) {
        Sizes pair;
        int64_t* size = &out->shape[d];
        if (!read_sizes(PyTuple_GET_ITEM(widths, d), &pair) || pair.count != 2 ||
            pair.size[0] < 0 || pair.size[1] < 0 ||
            __builtin_add_overflow(x.shape[d], pair.size[0], size) ||
            __builtin_add_overflow(*size, pair.size[1], size))
            return false;
    }
    return true;
}

bool Run::weight_shape(Operand* out) {
    PyObject* window = param("size");
    Sizes size;
    const Operand &x = operands_[1], &g = operands_[2];
    const int64_t groups = static_cast<int64_t>(kernel_params_.integer[4]);
    if (!window || !read_sizes(window, &size) || size.count != 2 || x.ndim != 4 || g.ndim != 4)
        return false;
    const int64_t shape[] = {g.shape[1], x.shape[1] / groups, size.size[0], size.size[1]};
    out->ndim = 4;
    std::copy_n(shape, 4, out->shape);
    return true;
}

// Whether a reduced axis of x has no elements: then there is nothing to choose from.
bool Run::has_no_choice() const {
    const int64_t* axes = kernel_params_.axis;
    return std::any_of(axes, axes + kernel_params_.axis_count,
                       [this](int64_t axis) { return operands_[1].shape[axis] == 0; });
}

// Turns operands of the right dtypes into a call that the kernel can take as it is.
bool Run::prepare(const Row& row) {
    Operand &out = operands_.at(0), *ins = &operands_.at(1);
    out.ndim = 0;
    out.dtype = meaning(row.types[0], row.dtype);
    if (out.dtype == DTYPES) {  // any dtype: a parameter of the op says which
        PyObject* dtype = param("dtype");
        out.dtype = dtype ? dtype_of_object(dtype) : DTYPES;
        if (out.dtype == DTYPES) return false;
    }
    // Where operands are stretched, their axes are counted afterwards.
    const bool stretched = row.form == Form::Elementwise || row.form == Form::Scan;
    if (!count_axis(row)) return false;
    if (stretched) {
        if (!infer(row.form, ins, count_, kernel_params_, &out)) return false;
        fit(row.form, out, ins, count_, kernel_params_);
    }
    if (!set_params(row) || (info_->chooses && has_no_choice())) return false;
    if (!stretched) {
        if (!set_open_sizes(row, &out) || !infer(row.form, ins, count_, kernel_params_, &out))
            return false;
        fit(row.form, out, ins, count_, kernel_params_);
    }
    return true;
}

}  // namespace tutor
