// Raising the typed, three-part errors of tutor/errors.py from C++.
#pragma once

#include <Python.h>

#include <string>

#include "kernel.hpp"

namespace tutor {

// Sets the Python error `type`, a class of tutor.errors by name. Returns nullptr, for
// `return raise(...)`.
PyObject* raise(const char* type, const std::string& asked, const std::string& found,
                const std::string& advice);

// How errors write a shape: (2, 3).
std::string text_of(const int64_t* shape, int ndim);
inline std::string shape_of(const Operand& operand) { return text_of(operand.shape, operand.ndim); }

// How errors and Python write a dtype: float32.
std::string name_of(DType dtype);

}  // namespace tutor
