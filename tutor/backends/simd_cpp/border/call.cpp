#include "border/call.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "border/errors.hpp"

namespace tutor {

namespace {

// Other Python threads may run meanwhile only where that is worth the 0.1 us it costs.
bool is_long(const Row& row, const Operands& operands) {
    constexpr double LONG = 1 << 14;
    double work = 0;  // elements touched; a double, for the sum may not fit into 64 bits
    for (int i = 0; i < operands.count(); ++i) work += numel(operands[i]);
    if (row.form == Form::MatMul || row.form == Form::Linear) {
        const Operand& x = operands[1];
        work = static_cast<double>(numel(operands[0])) * x.shape[x.ndim - 1] / 16;
    }
    if (row.form == Form::Conv || row.form == Form::ConvWeight) {
        const Operand &x = operands[1], &w = operands[row.form == Form::Conv ? 2 : 0];
        work = static_cast<double>(numel(x)) * numel(w) / 16;
    }
    return work > LONG;
}

// Takes the GIL again. Where Python ends meanwhile, it ends this thread (until 3.13) by unwinding
// its stack. Destructors would then touch Python objects without the GIL: better to wait here for
// the end of the process, as 3.14 does.
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

// An index that is no position, or a target that is no class.
PyObject* out_of_range(const Row& row, const Status& status, const Operands& operands,
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

PyObject* result_of(const Row& row, const Status& status, const Operands& operands,
                    const Params& params) {
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

// Takes the next `blocks` blocks of a random stream: its cells are read, and the counter moves on,
// while no other Python thread runs, so that no two get the same ones.
void take_blocks(const Operands& operands, Params* params) {
    uint64_t* counter = reinterpret_cast<uint64_t*>(operands[2].data);
    params->integer[Draw::SEED] = *reinterpret_cast<const uint64_t*>(operands[1].data);
    params->integer[Draw::COUNTER] = *counter;
    *counter += params->integer[Draw::BLOCKS];
}

}  // namespace

PyObject* raise(const std::exception& exception) {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&exception);
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, exception.what());
    return nullptr;
}

PyObject* run(const Row& row, const Operands& operands, Params& params) {
    if (row.form == Form::Draw) take_blocks(operands, &params);
    PyThreadState* thread = is_long(row, operands) ? PyEval_SaveThread() : nullptr;
    Status status = row.run(operands[0], &operands[0] + 1, operands.count() - 1, params);
    if (thread) come_back(thread);
    return result_of(row, status, operands, params);
}

}  // namespace tutor
