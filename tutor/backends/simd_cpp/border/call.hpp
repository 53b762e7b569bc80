// What every call of a kernel has in common, whoever makes it: bindings.cpp, engine/run.cpp,
// replay/plan.cpp.
#pragma once

#include <Python.h>

#include <exception>

#include "border/operand.hpp"
#include "border/params.hpp"

namespace tutor {

// A kernel as a Python object.
struct Kernel {
    PyObject head;
    vectorcallfunc call;
    const Row* row;
    const char* level;
    Keywords keywords;
    int inputs;  // how many; at least this many if types ends in '+'
    bool more;   // whether it does
    int index;   // the operand that holds indices (letter 'i'), 0 if none does
};

// The object as a Kernel of the module; nullptr for any other object.
const Kernel* kernel_of(PyObject* object);

// Which row that is; nullptr for any other object.
const Row* row_of(PyObject* object);

// Whether the kernel takes so many operands, out included. Else a TypeError is set.
bool takes(const Kernel& kernel, Py_ssize_t count);

// Whether operands that were read, and the parameters (`names`, a tuple or nullptr, and `values`),
// are a call that the kernel can run. Else a Python error is set.
bool check_call(const Kernel& kernel, const Operands& operands, PyObject* names,
                PyObject* const* values, Params* params);

// The Python error for a C++ exception, none of which may cross into the interpreter: nullptr.
PyObject* raise(const std::exception& exception);

// Runs the kernel on operands that were checked. None, or nullptr with a Python error set. A draw
// finds in `params` where its numbers begin.
PyObject* run(const Row& row, const Operands& operands, Params& params);

// ---- The parts of `run`, for who runs several kernels at once -----------------------------------

// Other Python threads may run meanwhile only where that is worth the 0.1 us it costs: from so much
// work on, counted in elements that are touched.
constexpr double LONG = 1 << 14;
double work_of(const Row& row, const Operand* operands, int count, const Params& params);

// Takes the GIL again, which PyEval_SaveThread has given away.
void come_back(PyThreadState* thread);

// Takes the next blocks of a random stream, which the operands of a draw name, for `params`. No two
// calls get the same ones, whichever threads they are made in.
void take_blocks(const Operand* operands, Params* params);

// None, or the Python error for what a kernel met in the numbers.
PyObject* result_of(const Row& row, const Status& status, const Operand* operands,
                    const Params& params);

}  // namespace tutor
