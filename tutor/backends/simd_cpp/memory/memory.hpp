// Memory and what has it. Two Python types: `Memory`, bytes on a device, the twin of PythonMemory
// in tutor/_storage/memory.py; and `Holder`, the twin of PythonHolder there, on which Buffer is
// built: it has a Memory, or a promise of one.
#pragma once

#include <Python.h>

#include <string>

#include "kernel.hpp"
#include "memory/blocks.hpp"

namespace tutor {

struct Memory {
    // Where its bytes are.
    enum Place : uint8_t { Inside, Outside, Borrowed };

    PyObject head;
    char few[16];  // bytes inside, if they are no more, and if this is a multiple of ALIGNMENT
    char* data;    // at a multiple of ALIGNMENT, unless borrowed
    Py_ssize_t count;
    DType dtype;
    Place place;
    Policy policy;  // of bytes outside
    bool readonly;  // borrowed from somebody who must not be written to
    union {
        Chunk* chunk;      // of bytes outside, from an arena
        Py_buffer* owner;  // of borrowed bytes
    };
    // More bytes inside follow here, at the next multiple of ALIGNMENT.

    size_t nbytes() const { return count * itemsize_of[dtype]; }
};

struct Holder {
    PyObject head;
    PyObject* memory;  // a Memory, or what has a method `keep` that returns one: a promise
};

extern PyTypeObject *memory_type, *holder_type;

// No class can be built on it, so that no Python code stands between an address and who uses it.
inline bool is_memory(PyObject* object) { return object && Py_IS_TYPE(object, memory_type); }

// A Memory for `count` items, contents undefined. nullptr, with no Python error set, if there is no
// room.
Memory* new_memory(int64_t count, DType dtype);

// A Memory over the bytes of `owner`. nullptr, with a Python error set, if they are too few.
Memory* borrow(PyObject* owner, int64_t count, DType dtype);

// The dtype that the `struct` format character stands for, DTYPES if there is none.
DType dtype_of_format(PyObject* format);

// The memoryview `raw` of a Memory: its bytes. nullptr, with a Python error set, on failure.
PyObject* raw_of(Memory* memory);

// Whether it is memory on another device than the host, of which no byte can be had here.
bool is_elsewhere(PyObject* memory);

// Whether what is no Memory, perhaps a promise, says that it is on another device than the host.
bool says_elsewhere(PyObject* memory);

// Whether two memories, or promises of some, are on one device.
bool are_on_one_device(PyObject* one, PyObject* other);

// The one way to the bytes of `buf`: its Memory, as a new reference. If it has a promise, that is
// kept now, and the Memory takes its place. (A kernel holds this reference while it runs, so
// somebody may put other memory into buf meanwhile.) nullptr: a Python error is set, or *found says
// what buf has instead.
Memory* memory_of(PyObject* buf, std::string* found);

// A Buffer with room for `count` items, which begin at *data. It is a copy of the Buffer that
// Python gave for `dtype` (set_buffers), slot by slot, so that this needs to know none of them.
// nullptr, with a Python error set, if there is no room or no such Buffer.
PyObject* new_buffer(int64_t count, DType dtype, char** data);

// A Buffer that has this Memory, whose reference it takes over. nullptr, with a Python error set,
// without room for it.
PyObject* buffer_of(Memory* memory);

// Whether `buf` is exactly a Buffer, has a Memory (not a promise), and both are of one dtype.
bool is_intact(PyObject* buf);

// Takes a list with an empty Buffer of every dtype, for new_buffer to copy. false, with a Python
// error set, if it is not that.
bool set_buffers(PyObject* buffers);

// What is called with a text each time before Python is given the bytes, or the address, of a
// Holder; what it raises comes out there.
void set_before_bytes(PyObject* callable);

// Create the types. false, with a Python error set, when that fails.
bool make_memory_type();
bool make_holder_type();

}  // namespace tutor
