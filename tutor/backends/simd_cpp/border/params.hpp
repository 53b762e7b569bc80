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

// false, with a Python error set, when memory runs out or the row has too many.
bool make_keywords(const Row& row, Keywords* keywords);

// Reads the `given` names (a tuple or nullptr) and their values. Every keyword must be given, and
// no other: else a Python error is set and the result is false. So it is for an axis that the first
// input does not have, or that is named twice.
bool read_params(const Row& row, const Keywords& keywords, PyObject* given, PyObject* const* values,
                 const Operands& operands, Params* params);

}  // namespace tutor
