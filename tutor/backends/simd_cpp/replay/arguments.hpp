// Are the arguments of a call of the kind that was recorded? And which part of its Buffer does each
// stand for: `windows` of tutor/programs/call.py.
#pragma once

#include <Python.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tutor {

// What an argument was when the call was recorded. References are borrowed.
struct Argument {
    PyObject *shape, *strides, *dtype;
    Py_ssize_t offset;         // from where its window begins
    Py_ssize_t size;           // of the window
    Py_ssize_t elements;       // of its own
    int contiguous, written;   // written: by the Program, so that its Buffer changes
    Py_ssize_t first, itself;  // the first argument over the same Buffer; which is this very Tensor
    Py_ssize_t place;          // of the window in the list of Buffers; -1: it is not needed
    PyObject* device;          // its name, or None: memory of the host
};

// A stretch of a Buffer: `size` numbers from `start` on, of `whole` in all.
struct Window {
    PyObject* buf;  // borrowed from the argument
    int64_t start, size, whole;

    bool is_part() const { return size < whole; }

    // A Buffer of these numbers alone, which shares the memory. A new reference; nullptr, with a
    // Python error set, without room for it.
    PyObject* buffer() const;
};

// So many Tensors a call may be given that is made again without Python.
constexpr Py_ssize_t MOST_ARGUMENTS = 64;

// Whether the arguments are such, and none of their Buffers is one of the function's `states`. Then
// `windows` has that of each.
bool fit(const std::vector<Argument>& recorded, const std::unordered_set<PyObject*>& states,
         PyObject* const* args, Window* windows);

}  // namespace tutor
