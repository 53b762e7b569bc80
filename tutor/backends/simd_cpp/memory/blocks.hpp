// Where the bytes of a Memory come from and go to: plain, pool or arena (tutor/memory.py).
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace tutor {

constexpr size_t ALIGNMENT = 64;  // a cache line, and the widest SIMD register

// Under the pool's policy, numbers of up to so many bytes stand in the Memory object itself: one
// allocation instead of two, from Python's own pool of small objects, which knows more sizes.
constexpr size_t SMALL = 256;

enum Policy : uint8_t { Plain, Pool, Arena, POLICIES };

struct Chunk;

// Bytes that were handed out, at a multiple of ALIGNMENT.
struct Block {
    char* data;
    Chunk* chunk;   // of an arena: where it was taken from
    Policy policy;  // the one it was taken under, and is given back by
};

// Everything here happens with the GIL held: by one thread at a time, and by none at the moment
// when the process forks. So there is no lock, and a count costs one addition.
struct Counts {
    int64_t allocations;  // Memory objects that were given bytes so far
    int64_t misses;       // for how many of them the system was asked
    size_t in_use;        // bytes that Memory has room for now
    size_t held;          // bytes that wait unused
    size_t peak;          // the most that were in use

    void take(size_t nbytes) {
        ++allocations;
        in_use += nbytes;
        if (in_use > peak) peak = in_use;
    }
    void give(size_t nbytes) { in_use -= nbytes; }
};

extern Counts counts;
extern Policy policy;  // for blocks from here on

// Room for `nbytes` bytes (of the pool: more than SMALL), contents undefined. false if the system
// has no more.
bool allocate(size_t nbytes, Block* block);
void release(const Block& block, size_t nbytes);

// Static methods of the Python type Memory, which tutor/memory.py calls.
PyObject* memory_counts(PyObject*, PyObject*);
PyObject* memory_reset_peak(PyObject*, PyObject*);
PyObject* memory_trim(PyObject*, PyObject*);
PyObject* memory_config(PyObject*, PyObject*);
PyObject* memory_configure(PyObject*, PyObject* args);

}  // namespace tutor
