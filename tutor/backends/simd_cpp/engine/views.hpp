// Where the elements of a view are: the twin of the view rules in tutor/_storage/layout.py.
#pragma once

#include <Python.h>

#include "kernel.hpp"

namespace tutor {

// Walking instructions over a Buffer, counted in elements.
struct Walk {
    int ndim;
    int64_t shape[MAX_DIMS], strides[MAX_DIMS], offset;
};

// Integers: the sizes of a shape, or axes.
struct Sizes {
    int count = 0;
    int64_t size[MAX_DIMS];
};

// All of these return false if there is no such view, or it needs a closer look. They raise
// nothing: Python, asked for the same, says what is wrong.

// Reads the object as an int, if it has __index__ and fits into 64 bits.
bool read_whole(PyObject* object, int64_t* number);

// An int, a tuple or list of ints, or a tuple that holds one of these.
bool read_sizes(PyObject* object, Sizes* sizes);

// An axis counted from the front.
bool read_axis(PyObject* object, int ndim, int64_t* axis);

// An int, or a tuple or list of ints, as sorted axes counted from the front; None means all axes. A
// scalar accepts axes 0 and -1, which yield no axis.
bool read_axes(PyObject* object, int ndim, Sizes* axes);

// The shape and strides of a Tensor from their tuples.
bool read_walk(PyObject* shape, PyObject* strides, PyObject* offset, Walk* walk);

int64_t count_of(const Walk& x);
int64_t count_of(const Sizes& sizes);  // -1: too many, or a size is negative

// Replaces the one -1 in `to` so that the shape holds `count` elements.
bool fill_in(int64_t count, Sizes* to);

// x's elements, row-major, in another shape. false also if no strides can walk them that way.
bool reshape(const Walk& x, const Sizes& to, Walk* z);

// Axis axes[d] of x becomes axis d. Each is named once.
bool permute(const Walk& x, const Sizes& axes, Walk* z);

// All axes in reverse order.
void reverse(const Walk& x, Walk* z);

// Axes a and b exchanged (nullptr: the last two); a scalar has axes 0 and -1 here.
bool transpose(const Walk& x, PyObject* a, PyObject* b, Walk* z);

// A new axis of size 1 at that place.
bool unsqueeze(const Walk& x, PyObject* axis, Walk* z);

// Drops those axes, which have size 1, or every axis of size 1 if `axis` is None.
bool squeeze(const Walk& x, PyObject* axis, Walk* z);

// Axes of size 1 stretched, new ones added at the front; -1 keeps a size.
bool expand(const Walk& x, const Sizes& to, Walk* z);

// The elements [i, i + k] of axes a and b, as a new last axis.
bool diagonal(const Walk& x, int64_t k, int64_t a, int64_t b, Walk* z);

// The windows of `size` elements at each place along `axis`, as a new last axis.
bool windows(const Walk& x, int64_t axis, int64_t size, int64_t step, int64_t dilation, Walk* z);

// x[key], for ints, slices, None and Ellipsis: index.cpp.
bool index(const Walk& x, PyObject* key, Walk* z);

// Such a key as a new tuple of ints, slices, None and Ellipsis; nullptr, with a Python error set,
// if memory runs out.
PyObject* plain_key(PyObject* key);

}  // namespace tutor
