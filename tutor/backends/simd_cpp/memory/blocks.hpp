// Where a Memory gets its bytes and returns them: plain, pool or arena (tutor/memory.py).
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace tutor {

constexpr size_t ALIGNMENT = 64;  // a cache line, and the widest SIMD register

// Under the pool policy, up to this many bytes are stored in the Memory object itself: one
// allocation instead of two, from Python's own pool of small objects, which has more sizes.
constexpr size_t SMALL = 256;

enum Policy : uint8_t { Plain, Pool, Arena, POLICIES };

struct Chunk;

// Allocated bytes, at a multiple of ALIGNMENT.
struct Block {
    char* data;
    Chunk* chunk;   // for an arena: where it was taken from
    Policy policy;  // the policy it was allocated under, and is released by
};

// Everything here happens with the GIL held: in one thread at a time, and in none at the moment
// when the process forks. So there is no lock, and a count costs one addition.
struct Counts {
    int64_t allocations;  // Memory objects given bytes so far
    int64_t misses;       // how many of them had to ask the system
    size_t in_use;        // bytes that Memory has room for now
    size_t held;          // bytes that wait unused
    size_t peak;          // the most in use so far

    void take(size_t nbytes) {
        ++allocations;
        in_use += nbytes;
        if (in_use > peak) peak = in_use;
    }
    void give(size_t nbytes) { in_use -= nbytes; }
};

extern Counts counts;
extern Policy policy;  // for new blocks

// Allocates `nbytes` bytes (under the pool: more than SMALL), contents undefined. false if the
// system has no more.
bool allocate(size_t nbytes, Block* block);
void release(const Block& block, size_t nbytes);

// Static methods of the Python type Memory, which tutor/memory.py calls.
PyObject* memory_counts(PyObject*, PyObject*);
PyObject* memory_reset_peak(PyObject*, PyObject*);
PyObject* memory_trim(PyObject*, PyObject*);
PyObject* memory_config(PyObject*, PyObject*);
PyObject* memory_configure(PyObject*, PyObject* args);
PyObject* memory_mark(PyObject*, PyObject*);
PyObject* memory_reset(PyObject*, PyObject* mark);

}  // namespace tutor
