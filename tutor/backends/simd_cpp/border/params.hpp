// Reading the keyword parameters of a kernel call.
#pragma once

#include <Python.h>

#include "border/operand.hpp"
#include "kernel.hpp"

namespace tutor {

// The keywords that a kernel takes, as Row::params spells them.
struct Keywords {
    enum Kind : uint8_t { Number, Axis, Before, Code };

    PyObject* names;  // a tuple of interned str
    Kind kinds[MAX_PARAMS];
};

// Returns false, with a Python error set, if memory runs out or the row has too many.
bool make_keywords(const Row& row, Keywords* keywords);

// Reads the `given` names (a tuple or nullptr) and their values. Returns false, with a Python error
// set, unless exactly the row's keywords are given; also if the first input does not have an axis,
// or an axis is named twice.
bool read_params(const Row& row, const Keywords& keywords, PyObject* given, PyObject* const* values,
                 const Operands& operands, Params* params);

}  // namespace tutor
