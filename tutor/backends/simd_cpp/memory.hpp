// The Python type `Memory`: who owns the bytes of a Buffer. The twin of PythonMemory in
// tutor/backends/memory.py.
#pragma once

#include <Python.h>

#include "kernel.hpp"

namespace tutor {

enum Policy : uint8_t { Plain, Pool, Arena, POLICIES };  // where its bytes come from

struct Chunk;

struct Memory {
    PyObject head;
    char* data;  // at a multiple of ALIGNMENT, unless borrowed
    Py_ssize_t count;
    DType dtype;
    bool readonly;     // borrowed from somebody who must not be written to
    Policy policy;     // the one that data was had under
    Chunk* chunk;      // of an arena: where it was taken from
    Py_buffer* owner;  // whose bytes these are; nullptr: our own
};

extern PyTypeObject* memory_type;

inline bool is_memory(PyObject* object) { return PyObject_TypeCheck(object, memory_type); }

// A Memory of type `cls`, or of a class built on it, for `count` items; *data is where they begin.
// nullptr, with a Python error set, if there is no room.
PyObject* new_memory(PyTypeObject* cls, int64_t count, DType dtype, char** data);

// Creates the type. false, with a Python error set, when that fails.
bool make_memory_type();

}  // namespace tutor
