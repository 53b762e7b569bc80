// What Python hands over, once, when `tutor` is imported: tutor/ops/native.py.
#pragma once

#include <Python.h>

#include "engine/classes.hpp"

namespace tutor {

// What the twins stand for, in the order in which tutor/backends/simd_cpp/__init__.py names them.
enum Twin { APPLY, RUN, ORDER, ARRIVALS, STORE, WRITE, CHECK_WRITABLE, TWINS };

struct Given {
    bool complete = false;    // has all of the following been handed over?
    bool ready = false;       // and is it to be used?
    PyObject* python[TWINS];  // the Engine's own functions: they define what happens
    Class tensor, buffer, node, in_use;
    Class constant_edge;       // the edge to an operand that requires no gradient
    PyObject* node_slots;      // the names of an Op's slots
    PyObject* dtypes[DTYPES];  // the DType objects
    PyObject* catalogue;       // {name: class of Op}
    PyObject* plan;            // plan(class): what the class says about itself, or None
    PyObject* serials;         // counts the Ops of all graphs
    PyObject* recording;       // a ContextVar: True, False, or a block that is_recording knows
    PyObject* is_recording;
    PyObject* keeping;  // a ContextVar: do nodes keep their operands? True, False, or a block that
    PyObject* is_keeping;     // knows
    PyObject* nothing;        // what is saved in the place of a value that no gradient wants
    PyObject* host;           // the name of the host among the devices
    PyObject* backend;        // a ContextVar: the backend in use, or a block
    PyObject* kernels_of;     // the name of the attribute in which it keeps what was looked up
    PyObject* lookup;         // lookup(name, dtype): the kernel
    PyObject* watches;        // a dict: empty if nobody watches
    PyObject* mode;           // a ContextVar: None unless steps are noted here, and do not run
    PyObject* casting;        // a dict: empty if nobody is in an autocast block
    PyObject* cast_operands;  // cast_operands(rule, operands): as they are to be computed with
    PyObject* emit;           // emit(step), where somebody does
    PyObject* step;           // Step(kernel, dtype, out, ins, params)
    PyObject* constant;       // constant(number, dtype): a Tensor of that one number
    PyObject* no_params;      // an empty mapping: the parameters of ops that have none
    PyObject *settle, *forward, *finish, *backward;  // names of the methods that an Op may have
    PyObject* touch;                                 // and of the one that a Buffer has
    PyObject *after, *linked, *fit;                  // parts of the Engine's walk
    PyObject* check_all;                             // check_all(inputs, name): the border
    PyObject *freed, *changed, *wrong_count;         // make the errors of a walk
};

extern Given given;

// Takes over a dict of all of these but the first two. false, with a Python error set, if one is
// missing.
bool take_over(PyObject* things);

// The dtype of that object, DTYPES if it is none of them.
DType dtype_of_object(PyObject* object);

}  // namespace tutor
