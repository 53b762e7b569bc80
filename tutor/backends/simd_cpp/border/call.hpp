// What all calls of a kernel share, whoever makes them: bindings.cpp, engine/run.cpp
// or replay/plan.cpp.
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
    int inputs;  // how many; the least number if types ends in '+'
    bool more;   // whether it does
    int index;   // the operand that holds indices (letter 'i'), 0 if none does
};

// The object as a Kernel of the module; nullptr for any other object.
const Kernel* kernel_of(PyObject* object);

// Its row; nullptr for any other object.
const Row* row_of(PyObject* object);

// Whether the kernel takes that many operands, out included. If not, a TypeError is set.
bool takes(const Kernel& kernel, Py_ssize_t count);

// Whether the operands read, and the parameters (`names`, a tuple or nullptr, and `values`), are a
// call that the kernel can run. If not, a Python error is set.
bool check_call(const Kernel& kernel, const Operands& operands, PyObject* names,
                PyObject* const* values, Params* params);

// Sets the Python error for a C++ exception, which must not cross into the interpreter: nullptr.
PyObject* raise(const std::exception& exception);

// Runs the kernel on checked operands. Returns None, or nullptr with a Python error set. For a
// draw, `params` says where its random numbers begin.
PyObject* run(const Row& row, const Operands& operands, Params& params);

// ---- The parts of `run`, for callers that run several kernels at once ---------------------------

// Releasing the GIL costs 0.1 us, so other Python threads may run only during calls of at least
// this much work, counted in elements touched.
constexpr double LONG = 1 << 14;
double work_of(const Row& row, const Operand* operands, int count, const Params& params);

// Takes back the GIL that PyEval_SaveThread has released.
void come_back(PyThreadState* thread);

// Reserves for `params` the next blocks of the random stream that a draw's operands name. No two
// calls get the same blocks, whichever threads make them.
void take_blocks(const Operand* operands, Params* params);

// None, or the Python error for what a kernel found in the numbers.
PyObject* result_of(const Row& row, const Status& status, const Operand* operands,
                    const Params& params);

}  // namespace tutor
