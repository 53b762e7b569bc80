// Memory and its holders. Two Python types: `Memory`, bytes on a device, the twin of PythonMemory
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
    char few[16];  // the bytes, if they fit and if this is a multiple of ALIGNMENT
    char* data;    // at a multiple of ALIGNMENT, unless borrowed
    Py_ssize_t count;
    DType dtype;
    Place place;
    Policy policy;  // of bytes outside
    bool readonly;  // borrowed from an owner that must not be written to
    union {
        Chunk* chunk;      // of bytes outside, from an arena
        Py_buffer* owner;  // of borrowed bytes
    };
    // More bytes inside follow here, at the next multiple of ALIGNMENT.

    size_t nbytes() const { return count * itemsize_of[dtype]; }
};

struct Holder {
    PyObject head;
    PyObject* memory;  // a Memory, or a promise: an object whose method `keep` returns one
};

extern PyTypeObject *memory_type, *holder_type;

// No class can derive from it, so no Python code comes between an address and its user.
inline bool is_memory(PyObject* object) { return object && Py_IS_TYPE(object, memory_type); }

// A Memory for `count` items, contents undefined. nullptr, with no Python error set,
// if memory runs out.
Memory* new_memory(int64_t count, DType dtype);

// A Memory over the bytes of `owner`. nullptr, with a Python error set, if they are too few.
Memory* borrow(PyObject* owner, int64_t count, DType dtype);

// The dtype of a `struct` format character, DTYPES if there is none.
DType dtype_of_format(PyObject* format);

// The memoryview `raw` of a Memory: its bytes. nullptr, with a Python error set, on failure.
PyObject* raw_of(Memory* memory);

// Whether it is memory on a device other than the host, whose bytes cannot be read here.
bool is_elsewhere(PyObject* memory);

// Whether an object that is no Memory, perhaps a promise, says that it is on another device.
bool says_elsewhere(PyObject* memory);

// Whether two memories, or promises of memory, are on one device.
bool are_on_one_device(PyObject* one, PyObject* other);

// The only way to the bytes of `buf`: its Memory, as a new reference. A promise is kept now, and
// the Memory takes its place. (A kernel holds this reference while it runs, so other memory may be
// put into buf meanwhile.) nullptr: a Python error is set, or *found says what buf has instead.
Memory* memory_of(PyObject* buf, std::string* found);

// A Buffer with room for `count` items, which begin at *data. It is copied slot by slot from the
// Buffer that Python gave for `dtype` (set_buffers), so this code need not know the slots. nullptr,
// with a Python error set, if memory runs out or there is no such Buffer.
PyObject* new_buffer(int64_t count, DType dtype, char** data);

// A Buffer with this Memory, whose reference it takes over. nullptr, with a Python error set, if
// memory runs out.
PyObject* buffer_of(Memory* memory);

// Whether `buf` is exactly a Buffer with a Memory (not a promise), both of one dtype.
bool is_intact(PyObject* buf);

// Takes a list with an empty Buffer of every dtype, for new_buffer to copy. false, with a Python
// error set, if it is anything else.
bool set_buffers(PyObject* buffers);

// Sets the function that is called with a text each time before Python is given the bytes, or the
// address, of a Holder. Errors that it raises are passed on.
void set_before_bytes(PyObject* callable);

// Creates the types. false, with a Python error set, when that fails.
bool make_memory_type();
bool make_holder_type();

}  // namespace tutor
