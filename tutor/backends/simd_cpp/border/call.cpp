#include "border/call.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "border/checks.hpp"
#include "border/errors.hpp"

namespace tutor {

namespace {

// The error for an index out of range, or for a target that is no class.
PyObject* out_of_range(const Row& row, const Status& status, const Operand* operands,
                       const Params& params) {
    const bool selects = params.axis_count > 0;  // a target's axis is the last one, of the classes
    const int64_t axis = selects ? params.axis[0] : operands[1].ndim - 1;
    const std::string size = std::to_string(status.size);
    return raise("OutOfRangeError",
                 std::string("kernel ") + row.name + ", index " + std::to_string(status.found) +
                     " in axis " + std::to_string(axis),
                 "the axis has size " + size,
                 status.size == 0 ? "choose nothing, for the axis is empty"
                                  : "use " + (selects ? "-" + size : "0") + " to " +
                                        std::to_string(status.size - 1));
}

}  // namespace

double work_of(const Row& row, const Operand* operands, int count, const Params& params) {
    double work = 0;  // a double because the sum may exceed 64 bits
    for (int i = 0; i < count; ++i) work += numel(operands[i]);
    const bool begins = row.form == Form::Fused && params.code.product > 0;  // with a product
    if (row.form == Form::MatMul || row.form == Form::Linear || begins) {
        const Operand& x = operands[1];
        work = static_cast<double>(numel(operands[0])) * x.shape[x.ndim - 1] / 16;
    }
    if (row.form == Form::Attention || row.form == Form::AttentionGrad) {
        const Operand& k = operands[row.form == Form::Attention ? 2 : 3];
        work = static_cast<double>(numel(operands[0])) * k.shape[k.ndim - 2] / 8;
    }
    if (row.form == Form::Conv || row.form == Form::ConvWeight) {
        const Operand &x = operands[1], &w = operands[row.form == Form::Conv ? 2 : 0];
        work = static_cast<double>(numel(x)) * numel(w) / 16;
    }
    return work;
}

// If Python ends meanwhile, it ends this thread (until 3.13) by unwinding its stack. Destructors
// would then touch Python objects without the GIL, so the thread waits here for the end of the
// process, as 3.14 does.
void come_back(PyThreadState* thread) {
    struct Wait {
        bool armed = true;
        ~Wait() {
            while (armed) pause();
        }
    } wait;
    PyEval_RestoreThread(thread);
    wait.armed = false;
}

PyObject* result_of(const Row& called, const Status& status, const Operand* operands,
                    const Params& params) {
    const bool fused = called.form == Form::Fused && status.kind != Status::OutOfMemory;
    const Row& row = fused && status.kind ? *params.code.of[status.found].row : called;
    switch (status.kind) {
        case Status::Ok:
            break;
        case Status::IndexOutOfRange:
            return out_of_range(row, status, operands, params);
        case Status::NegativeExponent:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "an integer to a negative power is no integer",
                         "cast to a float dtype first");
        case Status::DivisionByZero:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "an integer divided by 0 is no integer",
                         "keep zeros out of the divisor, or cast to a float dtype first");
        case Status::NegativeShift:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "a shift by a negative number of bits",
                         "keep the second operand at 0 or more; shift the other way instead");
        case Status::CountDiffers:
            return raise("ShapeError", std::string("kernel ") + row.name,
                         std::to_string(status.found) + " elements are true, out has room for " +
                             std::to_string(status.size),
                         "give out as many elements as are true, and change nothing meanwhile");
        case Status::OutOfMemory:
            return PyErr_Format(PyExc_MemoryError, "kernel %s: no room for scratch memory",
                                row.name);
    }
    Py_RETURN_NONE;
}

// Atomic because others may draw from the same stream meanwhile: a Plan does not hold the GIL.
void take_blocks(const Operand* operands, Params* params) {
    const uint64_t* seed = reinterpret_cast<const uint64_t*>(operands[1].data);
    uint64_t* counter = reinterpret_cast<uint64_t*>(operands[2].data);
    params->integer[Draw::SEED] = __atomic_load_n(seed, __ATOMIC_RELAXED);
    params->integer[Draw::COUNTER] =
        __atomic_fetch_add(counter, params->integer[Draw::BLOCKS], __ATOMIC_RELAXED);
}

bool takes(const Kernel& kernel, Py_ssize_t count) {
    if (count - 1 == kernel.inputs || (kernel.more && count - 1 > kernel.inputs)) return true;
    PyErr_Format(PyExc_TypeError, "kernel %s: takes out and %s%d inputs, not %zd operands",
                 kernel.row->name, kernel.more ? "at least " : "", kernel.inputs, count);
    return false;
}

bool check_call(const Kernel& kernel, const Operands& operands, PyObject* names,
                PyObject* const* values, Params* params) {
    const Row& row = *kernel.row;
    for (int i = 0; i < operands.count(); ++i) {
        if (is_written(row, i) && !operands.check_writable(i, row.name)) return false;
    }
    return check_dtypes(row, operands) &&
           read_params(row, kernel.keywords, names, values, operands, params) &&
           check_shapes(row, operands, *params);
}

PyObject* raise(const std::exception& exception) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&exception);
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, exception.what());
    return nullptr;
}

PyObject* run(const Row& row, const Operands& operands, Params& params) {
    const Operand* all = &operands[0];
    if (row.form == Form::Draw) take_blocks(all, &params);
    const bool is_long = work_of(row, all, operands.count(), params) > LONG;
    PyThreadState* thread = is_long ? PyEval_SaveThread() : nullptr;
    Status status = row.run(all[0], all + 1, operands.count() - 1, params);
    if (thread) come_back(thread);
    return result_of(row, status, all, params);
}

}  // namespace tutor
