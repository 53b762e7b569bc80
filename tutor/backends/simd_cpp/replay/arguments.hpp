// Are the arguments of a call like those that were recorded, and which part of its Buffer does each
// need: `windows` of tutor/programs/call.py.
#pragma once

#include <Python.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tutor {

// What an argument was when the call was recorded. References are borrowed.
struct Argument {
    PyObject *shape, *strides, *dtype;
    Py_ssize_t offset;         // from the beginning of its window
    Py_ssize_t size;           // of the window
    Py_ssize_t elements;       // of the argument itself
    int contiguous, written;   // written: by the Program, so that its Buffer changes
    Py_ssize_t first, itself;  // the first argument over this Buffer; the first that is this Tensor
    Py_ssize_t place;          // of its window in the list of Buffers; -1: it is not needed
    PyObject* device;          // its name, or None: memory of the host
};

// The most Tensors that a call made without Python can take.
constexpr Py_ssize_t MOST_ARGUMENTS = 64;

// A stretch of a Buffer: `size` numbers from `start` on, of `whole` in all.
struct Window {
    PyObject* buf;
    int64_t start, size, whole;

    bool is_part() const { return size < whole; }

    // A Buffer of these numbers alone, which shares the memory. A new reference; nullptr, with a
    // Python error set, if memory runs out.
    PyObject* buffer() const;
};

// The windows of all arguments. Their Buffers are kept alive: while a Program runs, another thread
// may give an argument another one.
class Windows {
  public:
    Windows() = default;
    ~Windows() {
        for (Py_ssize_t i = 0; i < count_; ++i) Py_DECREF(all_[i].buf);
    }
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;
    const Window& operator[](Py_ssize_t i) const { return all_[i]; }

    // Whether the arguments are as recorded, and none of their Buffers is one of the function's
    // `states`. If so, these are their windows. Arguments on the host run no Python code.
    bool fit(const std::vector<Argument>& recorded, const std::unordered_set<PyObject*>& states,
             PyObject* const* args);

  private:
    Window all_[MOST_ARGUMENTS];
    Py_ssize_t count_ = 0;
};

}  // namespace tutor
