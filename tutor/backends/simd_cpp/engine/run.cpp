// Running an Op: the order of its steps, and emit.
#include "engine/run.hpp"

#include <algorithm>
#include <utility>

#include "border/call.hpp"
#include "engine/rules.hpp"
#include "memory/memory.hpp"

namespace tutor {

// ---- An Op with a kernel ------------------------------------------------------------------------

// Makes the Buffer and the Tensor of the result before the kernel runs: meanwhile another thread
// may change the operands.
bool Run::make_result(Ref* out) {
    Operand& result = operands_.at(0);
    const int64_t count = lay_out(&result);
    if (count < 0) return false;
    Ref buf(new_buffer(count, result.dtype, &result.data));
    if (!buf) return PyErr_Clear(), false;
    PyObject* like = is_tensor(ins_[0]) ? ins_[0] : ins_[count_ - 1];
    *out = Ref(tensor_over(buf.get(), result.ndim, result.shape, result.strides, 0,
                           is_tensor(like) ? like : nullptr));
    return bool(*out);
}

// The kernel fills the result. An index is copied first: see Operands::copy.
bool Run::emit_here(const Row& row) {
    if (info_->index && !operands_.copy(info_->index)) return false;
    Ref done(tutor::run(row, operands_, kernel_params_));
    return bool(done);
}

// For watchers: the same call as a Step, whose operands are Tensors.
bool Run::emit_step(const Row& row, PyObject* out) {
    Ref ins(PyTuple_New(count_)), params(PyDict_New());
    if (!ins || !params || !make_tensors()) return false;
    for (int i = 0; i < count_; ++i) {
        const Operand& walked = operands_[1 + i];
        PyObject* offset = part(ins_[i], T_OFFSET);
        PyObject* buf = part(ins_[i], T_BUF);
        int64_t start;
        if (!buf || !offset || !read_whole(offset, &start)) return false;
        PyObject* operand =
            tensor_over(buf, walked.ndim, walked.shape, walked.strides, start, ins_[i]);
        if (!operand) return false;
        PyTuple_SET_ITEM(ins.get(), i, operand);
    }
    PyObject* names = info_->keywords.names;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
        PyObject* name = PyTuple_GET_ITEM(names, k);
        if (PyDict_SetItem(params.get(), name, param(PyUnicode_AsUTF8(name))) < 0) return false;
    }
    PyObject* args[] = {info_->kernel, given.dtypes[row.dtype], out, ins.get(), params.get()};
    Ref step(PyObject_Vectorcall(given.step, args, 5, nullptr));
    Ref done(step ? PyObject_CallOneArg(given.emit, step.get()) : nullptr);
    return bool(done);
}

bool Run::run_kernel(Ref* out) {
    const Row* row;
    if (dtype_ == DTYPES || !find_kernel(info_, dtype_, &row)) return false;
    if (!row || row->form == Form::Update || row->form == Form::Draw)
        return for_python_ = true, false;  // another backend's; or it writes to its inputs
    if (info_->more ? count_ < info_->inputs : count_ != info_->inputs) return false;
    if (!read_operands(row->name) || !dtypes_fit(*row) || !prepare(*row) || !make_result(out))
        return false;
    return (PyDict_GET_SIZE(given.watches) ? emit_step(*row, out->get()) : emit_here(*row)) &&
           finish(out);
}

// A reduction with keepdims returns the same numbers with the reduced axes kept at size 1.
bool Run::finish(Ref* out) {
    if (!info_->finishes) return true;
    if (info_->keeps_dims) {
        PyObject* keep = param("keepdims");
        const int kept = keep ? PyObject_IsTrue(keep) : -1;
        if (kept <= 0) return kept == 0;
        Operand shaped = operands_[1];
        for (int a = 0; a < kernel_params_.axis_count; ++a)
            shaped.shape[kernel_params_.axis[a]] = 1;
        if (lay_out(&shaped) < 0) return false;
        *out = Ref(tensor_over(part(out->get(), T_BUF), shaped.ndim, shaped.shape, shaped.strides,
                               0, nullptr));
        return bool(*out);
    }
    PyObject* op = node();
    if (!op || !take_back()) return false;
    *out = Ref(PyObject_CallMethodOneArg(op, given.finish, out->get()));
    return *out && is_tensor(out->get());
}

// ---- An Op without one --------------------------------------------------------------------------

namespace {

const char* const windows_params[] = {"axis", "size", "step", "dilation"};

// Reads values as integers. false if one is missing or not an integer.
bool read_all(PyObject* const* values, int count, int64_t* numbers) {
    for (int i = 0; i < count; ++i) {
        if (!values[i] || !read_whole(values[i], &numbers[i])) return false;
    }
    return true;
}

bool is(PyObject* name, const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

bool is_axis(int64_t axis, const Walk& x) { return 0 <= axis && axis < x.ndim; }

}  // namespace

// The view of x that the parameters describe, if any.
bool Run::walk(View view, const Walk& x, Walk* z) const {
    PyObject *axis = param("axis"), *axes = param("axes"), *shape = param("shape");
    Sizes sizes;
    switch (view) {
        case View::Reshape:
            return shape && read_sizes(shape, &sizes) && fill_in(count_of(x), &sizes) &&
                   reshape(x, sizes, z);
        case View::Expand:
            return shape && read_sizes(shape, &sizes) && expand(x, sizes, z);
        case View::Permute:
            if (axes && axes != Py_None) return read_sizes(axes, &sizes) && permute(x, sizes, z);
            return reverse(x, z), true;
        case View::Transpose:
            return transpose(x, param("a"), param("b"), z);
        case View::Unsqueeze:
            return axis && unsqueeze(x, axis, z);
        case View::Squeeze:
            return squeeze(x, axis ? axis : Py_None, z);
        case View::Index:
            return param("key") && index(x, param("key"), z);
        case View::Diagonal: {
            PyObject* values[] = {param("k"), param("axis1"), param("axis2")};
            int64_t n[3];
            return read_all(values, 3, n) && is_axis(n[1], x) && is_axis(n[2], x) &&
                   diagonal(x, n[0], n[1], n[2], z);
        }
        case View::Windows: {
            PyObject* values[4];
            int64_t n[4];
            for (int i = 0; i < 4; ++i) values[i] = param(windows_params[i]);
            return read_all(values, 4, n) && is_axis(n[0], x) &&
                   windows(x, n[0], n[1], n[2], n[3], z);
        }
        default:
            return false;
    }
}

namespace {

// A weak reference to the Tensor of which a view of x is a view: to that of x, while it exists.
PyObject* base_of(PyObject* x) {
    PyObject* base = part(x, T_BASE);
    const bool exists = base && PyWeakref_CheckRef(base) && PyWeakref_GetObject(base) != Py_None;
    return exists ? Py_NewRef(base) : weakly(x);
}

}  // namespace

// A view over the operand's Buffer, or over a copy if no strides can walk it that way.
bool Run::run_view(Ref* out) {
    if (count_ != 1 || !is_tensor(ins_[0])) return false;
    Walk x, z;
    if (dtype_of(ins_[0]) == DTYPES || !walk_of(ins_[0], &x) || was_changed(ins_[0])) return false;
    if (!walk(info_->view, x, &z)) {
        PyObject* copy = param("copy");
        if (info_->view != View::Reshape || (copy && copy != Py_True)) return false;
        PyObject* copied = run_named("copy", ins_[0], nullptr, nullptr);
        if (!copied) return false;
        Py_DECREF(std::exchange(ins_[0], copied));
        if (!walk_of(copied, &x) || !walk(info_->view, x, &z)) return false;
    }
    *out = Ref(tensor_over(part(ins_[0], T_BUF), z.ndim, z.shape, z.strides, z.offset, ins_[0]));
    PyObject* base = *out ? base_of(ins_[0]) : nullptr;
    if (base) given.tensor.put(out->get(), T_BASE, base);
    return base != nullptr;
}

// Zeros, with the operand written into a view of them: two kernels.
bool Run::run_place(Ref* out) {
    PyObject *view = param("view"), *shape = param("shape");
    Info* of = view && PyUnicode_Check(view) ? info_named(view) : nullptr;
    Sizes sizes;
    const Row *fill, *copy;
    const bool known =
        of && (of->view == View::Index || of->view == View::Diagonal) &&
        std::all_of(names_, names_ + params_count_, [&](PyObject* name) {
            return PySet_Contains(of->accepts, name) == 1 || is(name, "view") || is(name, "shape");
        });
    if (!known || !is_tensor(ins_[0]) || !shape || !read_sizes(shape, &sizes) ||
        PyDict_GET_SIZE(given.watches) || !operands_.read(1, ins_[0], "place") ||
        !find_kernel(info_of_kernel("fill"), dtype_, &fill) ||
        !find_kernel(info_of_kernel("copy"), dtype_, &copy) || !fill || !copy)
        return forget_error() && run_forward(out);
    Operand& zeros = operands_.at(0);
    zeros.dtype = dtype_;
    zeros.ndim = sizes.count;
    std::copy_n(sizes.size, sizes.count, zeros.shape);
    Walk whole, z;
    if (!fill_in(count_of(sizes), &sizes) || !make_result(out) || !walk_of(out->get(), &whole) ||
        !walk(of->view, whole, &z))
        return false;
    Operands window(2), alone(1);
    alone.at(0) = window.at(0) = zeros;
    window.at(1) = operands_[1];
    window.at(0).data += z.offset * itemsize_of[dtype_];
    window.at(0).ndim = z.ndim;
    std::copy_n(z.shape, z.ndim, window.at(0).shape);
    std::copy_n(z.strides, z.ndim, window.at(0).strides);
    if (!alike(window[0], window[1])) return false;
    kernel_params_.number[0] = 0, kernel_params_.integer[0] = 0;
    Ref filled(tutor::run(*fill, alone, kernel_params_));
    Ref copied(filled ? tutor::run(*copy, window, kernel_params_) : nullptr);
    return bool(copied);
}

// Several kernels, or a layout of its own: calls the method `forward`.
bool Run::run_forward(Ref* out) {
    if (info_->first < 0 && !std::all_of(ins_, ins_ + count_, is_tensor)) return false;
    PyObject* op = node();
    if (!op) return false;
    Ref forward(PyObject_GetAttr(op, given.forward)), inputs(new_inputs()), params(new_params());
    if (!forward || !inputs || !params) return false;
    *out = Ref(PyObject_Call(forward.get(), inputs.get(), params.get()));
    return *out && take_back() && is_tensor(out->get());
}

// ---- All of them --------------------------------------------------------------------------------

namespace {

// Whether steps are noted here, and do not run (or were, a moment ago): the Engine in Python
// prepares them without asking for the bytes of operands, which may be promised only.
bool is_noted() {
    PyObject* mode = nullptr;
    if (PyDict_GET_SIZE(given.watches) == 0) return false;
    if (PyContextVar_Get(given.mode, nullptr, &mode) < 0 || !mode) return PyErr_Clear(), false;
    Py_DECREF(mode);
    return mode != Py_None;
}

}  // namespace

PyObject* Run::result() {
    Ref out;
    if (info_->kernel && is_noted()) return for_python_ = true, nullptr;
    if (count_ < info_->least || count_ > info_->most) return nullptr;
    for (int i = 0; i < count_; ++i) {
        if (is_tensor(ins_[i]) && may_be_outdated(ins_[i])) return for_python_ = true, nullptr;
    }
    if (info_->casts && PyDict_GET_SIZE(given.casting) && !autocast()) return nullptr;
    if (!bring_together()) return nullptr;
    if (!is_settled() && (!settle(&out) || out)) return out.release();
    const bool done = info_->kernel                ? run_kernel(&out)
                      : info_->view == View::Place ? run_place(&out)
                      : info_->view > View::Own    ? run_view(&out)
                                                   : run_forward(&out);
    return done && remember(out.get()) ? out.release() : nullptr;
}

PyObject* run_named(const char* op, PyObject* x, const char* param, PyObject* value) {
    Ref name(PyUnicode_InternFromString(op)), names(PyTuple_New(param ? 1 : 0));
    if (!name || !names) return nullptr;
    if (param) PyTuple_SET_ITEM(names.get(), 0, PyUnicode_InternFromString(param));
    if (Info* info = info_named(name.get())) {
        Run run(info, &x, 1);
        PyObject* result = run.take(names.get(), &value) ? run.result() : nullptr;
        if (result || PyErr_Occurred()) return result;
    }
    PyObject* args[] = {name.get(), x, value};  // another backend's, perhaps
    return PyErr_Occurred()
               ? nullptr
               : PyObject_Vectorcall(given.python[APPLY], args, 2, param ? names.get() : nullptr);
}

}  // namespace tutor
