// What a class of Op declares about itself, read once, and the kernels found for it.
#pragma once

#include <Python.h>

#include "border/params.hpp"
#include "engine/classes.hpp"
#include "kernel.hpp"

namespace tutor {

// An op that only changes the walk; Own: as its method `layout` says.
enum class View : uint8_t {
    None,
    Own,
    Reshape,
    Unsqueeze,
    Squeeze,
    Permute,
    Transpose,
    Expand,
    Index,
    Diagonal,
    Windows,
    Place,  // no view: zeros, with the operand in the view that the parameters describe
};

// When an op's method `settle` has work to do besides counting its axis.
enum class Settle : uint8_t {
    Never,
    Always,
    Scalar,   // the first operand has no axes
    Vectors,  // an operand has fewer than two axes, or is of bools
    Bools,    // the operand is of bools
    Indices,  // the second operand is not an int64 Tensor or is empty, or the first has no axes
    Axes,     // the operands differ in their number of axes
    Key,      // the key has anything but ints, slices, None and Ellipsis
};

struct Info {
    Class node;        // its instances are the nodes of graphs
    PyObject* kernel;  // the kernel's name; nullptr if the op has none
    View view;
    Settle settle;
    int least, most;   // how many operands
    int first;         // from this operand on, all are brought to one dtype; -1: none is
    PyObject* casts;   // what autocast does to its operands; nullptr: nothing
    bool wants_float;  // integer operands become float32 first
    bool differentiable;
    bool chooses;         // chooses an element: a reduced axis must not be empty
    bool finishes;        // has a method to be called with the result
    bool keeps_dims;      // only restores the axes of a reduction, with size 1
    PyObject* accepts;    // names of its parameters; None: any
    bool accepts_none;    // has no parameters at all
    PyObject* defaults;   // {name: value} of the optional ones
    PyObject* required;   // a tuple of the names of the required ones
    int saves, saved[8];  // which operands backward needs; -1: the result
    int wants[8];         // the operand whose gradient wants that value; -1: any

    // The kernels found last, by dtype; valid as long as the backend keeps that dict.
    PyObject* found_in;
    PyObject* callables[DTYPES];
    const Row* rows[DTYPES];  // nullptr: the kernel is another backend's
    // The same in all of these rows, which differ only in dtype:
    Keywords keywords;
    int inputs;  // how many; the least number if there may be `more`
    bool more;
    int index;  // the operand that holds positions, 0 if none does
};

// What is known about a class of Op. nullptr with a Python error set if that fails, and without one
// if its ops are made or run in their own way.
Info* info_of(PyObject* cls);

// The same by the name in the catalogue.
Info* info_named(PyObject* name);

// The dict in which the backend in use keeps what was looked up: another one for another backend,
// or after its kernels have changed. Nothing, and no Python error, if there is none.
Ref kernels_in_use();

// A kernel called by ops that have none of their own.
Info* info_of_kernel(const char* name);

// The kernel in use for that dtype: one of our rows, nullptr for another backend's. false if there
// is none: Python will say why.
bool find_kernel(Info* info, DType dtype, const Row** row);

}  // namespace tutor
