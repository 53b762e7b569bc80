// Making Buffers and Tensors, and reading the walking instructions of Tensors.
#pragma once

#include <Python.h>

#include "engine/given.hpp"
#include "engine/views.hpp"
#include "memory/memory.hpp"

namespace tutor {

inline bool is_tensor(PyObject* object) { return given.tensor.has(object); }

// A slot of a Tensor, borrowed.
inline PyObject* part(PyObject* tensor, TensorSlot slot) { return given.tensor.at(tensor, slot); }

inline bool requires_grad(PyObject* tensor) { return part(tensor, T_REQUIRES_GRAD) == Py_True; }

// The dtype of a Tensor; DTYPES if it has no valid Buffer, or one that claims a wrong dtype.
DType dtype_of(PyObject* tensor);

// Whether its numbers are there. If not, they are only promised, and asking computes them.
bool is_kept(PyObject* tensor);

// Whether its numbers are on a device other than the host, or promised there: ops on them are run
// by the Engine in Python.
inline bool is_on_device(PyObject* tensor) {
    PyObject* buf = part(tensor, T_BUF);
    if (!buf || !given.buffer.has(buf)) return false;
    PyObject* memory = reinterpret_cast<Holder*>(buf)->memory;
    return !is_memory(memory) && says_elsewhere(memory);
}

// Whether two Tensors are on one device.
inline bool are_together(PyObject* one, PyObject* other) {
    PyObject *a = part(one, T_BUF), *b = part(other, T_BUF);
    return a && b && given.buffer.has(a) && given.buffer.has(b) &&
           are_on_one_device(reinterpret_cast<Holder*>(a)->memory,
                             reinterpret_cast<Holder*>(b)->memory);
}

// Whether all parts of a Tensor are there: a slot may have been emptied.
bool is_whole(PyObject* tensor);

// Whether a graph has changed its memory in place: tutor/core/engine/writing.py.
inline bool was_changed(PyObject* tensor) {
    static PyObject* const never = PyLong_FromLong(0);  // small numbers exist once
    PyObject* buf = part(tensor, T_BUF);
    return buf && given.buffer.has(buf) && given.buffer.at(buf, B_REWRITTEN) != never;
}

// Whether it is a view of such memory, perhaps an older one.
inline bool may_be_outdated(PyObject* tensor) {
    PyObject* base = part(tensor, T_BASE);
    return base && base != Py_None && was_changed(tensor);
}

// A weak reference to a Tensor. The collector need not see it, for it keeps nothing alive.
PyObject* weakly(PyObject* tensor);

// Whether any hook is called with its gradient.
inline bool has_hooks(PyObject* tensor) {
    PyObject* hooks = part(tensor, T_HOOKS);
    return hooks && !(PyList_Check(hooks) && PyList_GET_SIZE(hooks) == 0);
}

// Whether one of its sizes is 0.
bool is_empty(PyObject* tensor);

// Reads a Tensor's walking instructions; false if they cannot be calculated with.
bool walk_of(PyObject* tensor, Walk* walk);

// A Tensor over `buf` with that walk. It shares equal tuples with `like`, if given.
PyObject* tensor_over(PyObject* buf, int ndim, const int64_t* shape, const int64_t* strides,
                      int64_t offset, PyObject* like);

PyObject* tuple_of(const int64_t* numbers, int count);

}  // namespace tutor
