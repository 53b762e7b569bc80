// Python numbers beside Tensors: the dtype the two meet in, and the number's bytes in it.
#pragma once

#include <Python.h>

#include "kernel.hpp"

namespace tutor {

// Room for the bytes of one number of any dtype.
union Number {
    uint64_t bits;
    char bytes[8];
};

// Whether the object is a Python number: a bool, an int, a float, or an instance of a subclass.
bool is_number(PyObject* object);

// Takes over the promotion tables of tutor/dtype.py, which alone has the rules: meeting[a][b] is
// where two dtypes meet, beside[k][d] what a bool, int or float (k) takes beside a Tensor of dtype
// d. Both nest tuples of positions in the table of dtypes. false, with a Python error set, if not.
bool set_promotion(PyObject* meeting, PyObject* beside);

DType meeting_of(DType a, DType b);
DType dtype_beside(PyObject* number, DType dtype);
DType own_dtype(PyObject* number);  // with nothing beside it

// The number as the bytes of a dtype, like `pack` of tutor/_storage/array_like.py. false if an
// integer dtype cannot hold it.
bool pack(PyObject* number, DType dtype, Number* room);

}  // namespace tutor
