#include "memory/blocks.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tutor {

#ifdef __SANITIZE_ADDRESS__  // lets the sanitizer see every use after release
Policy policy = Plain;
#else
Policy policy = Pool;
#endif

Counts counts;

struct Chunk {  // lies at the start of its own bytes
    size_t size;
    size_t filled;  // bytes handed out so far, from the start
    size_t blocks;  // how many are in use
};

namespace {

const char* const policies[POLICIES] = {"plain", "pool", "arena"};

size_t limit = size_t(1) << 29;  // bytes that may wait unused; any more are freed at once

size_t give_back(size_t most);

// `size` bytes, a multiple of ALIGNMENT, from the system; nullptr if it has no more.
char* from_system(size_t size) {
    void* block = std::aligned_alloc(ALIGNMENT, size);
    if (!block && give_back(0)) block = std::aligned_alloc(ALIGNMENT, size);
    counts.misses += block != nullptr;
    return static_cast<char*>(block);
}

// Rounds up to a multiple of ALIGNMENT, never 0: every block has its own address.
size_t aligned(size_t nbytes) {
    return (nbytes + (nbytes == 0) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// ---- The pool -----------------------------------------------------------------------------------

// An unused block of some size class. Asking the system for fresh pages costs more than most
// kernels do with them (the first touch of 4 KiB takes about 0.25 us), and training asks for the
// same sizes over and over. So a released block waits here for the next request of its class.
struct Unused {
    Unused* next;
};

// Sizes are rounded up to one of 4 per doubling, so that at most a fifth of a block is wasted.
constexpr int CLASSES = 4 * 48;

Unused* unused[CLASSES];

// The class of `nbytes`, more than SMALL; its block size goes into `rounded`.
int class_of(size_t nbytes, size_t* rounded) {
    const int doubling =
        63 - __builtin_clzll(nbytes - 1);  // 2^doubling < nbytes <= 2^(doubling + 1)
    const size_t quarter = size_t(1) << (doubling - 2);
    const size_t quarters = (nbytes + quarter - 1) / quarter;  // 5 to 8
    *rounded = quarters * quarter;
    return 4 * (doubling - 8) + static_cast<int>(quarters) - 5;
}

// The inverse: the block size of class k.
size_t size_of(int k) { return static_cast<size_t>(k % 4 + 5) << (k / 4 + 6); }

char* from_pool(size_t nbytes) {
    size_t size;
    const int k = class_of(nbytes, &size);
    if (k >= CLASSES) return nullptr;
    Unused* block = unused[k];
    if (!block) return from_system(size);
    unused[k] = block->next;
    counts.held -= size;
    return reinterpret_cast<char*>(block);
}

void to_pool(char* data, size_t nbytes) {
    size_t size;
    const int k = class_of(nbytes, &size);
    if (policy != Pool || counts.held + size > limit) return std::free(data);
    unused[k] = new (data) Unused{unused[k]};
    counts.held += size;
}

// ---- The arena ----------------------------------------------------------------------------------

constexpr size_t CHUNK = size_t(1) << 24;
constexpr size_t HEADER = ALIGNMENT;
static_assert(sizeof(Chunk) <= HEADER, "blocks begin behind it");

Chunk* chunk = nullptr;  // the one being filled; the others wait for their last block

void drop_empty_chunk() {
    counts.held -= chunk->size;
    std::free(chunk);
    chunk = nullptr;
}

char* from_arena(size_t nbytes, Chunk** from) {
    const size_t size = aligned(nbytes);
    if (!chunk || size > chunk->size - chunk->filled) {
        if (chunk && chunk->blocks == 0) drop_empty_chunk();
        const size_t whole = size > CHUNK - HEADER ? size + HEADER : CHUNK;
        char* fresh = from_system(whole);
        if (!fresh) return nullptr;
        chunk = new (fresh) Chunk{whole, HEADER, 0};
        counts.held += whole;
    }
    if (chunk->blocks++ == 0) counts.held -= chunk->size;
    char* data = reinterpret_cast<char*>(chunk) + chunk->filled;
    chunk->filled += size;
    *from = chunk;
    return data;
}

void to_arena(Chunk* from) {
    if (--from->blocks) return;
    if (from != chunk) return std::free(from);
    chunk->filled = HEADER;
    counts.held += chunk->size;
    if (policy != Arena || counts.held > limit) drop_empty_chunk();
}

}  // namespace

// ---- All three ----------------------------------------------------------------------------------

bool allocate(size_t nbytes, Block* block) {
    block->policy = policy;
    block->data = policy == Pool    ? from_pool(nbytes)
                  : policy == Arena ? from_arena(nbytes, &block->chunk)
                                    : from_system(aligned(nbytes));
    return block->data != nullptr;
}

void release(const Block& block, size_t nbytes) {
    if (block.policy == Pool) return to_pool(block.data, nbytes);
    if (block.policy == Arena) return to_arena(block.chunk);
    std::free(block.data);
}

namespace {

// Frees unused blocks, largest first, until at most `most` bytes wait. Returns the bytes freed.
size_t give_back(size_t most) {
    const size_t before = counts.held;
    if (counts.held > most && chunk && chunk->blocks == 0) drop_empty_chunk();
    for (int k = CLASSES - 1; k >= 0; --k) {
        while (counts.held > most && unused[k]) {
            Unused* block = unused[k];
            unused[k] = block->next;
            counts.held -= size_of(k);
            std::free(block);
        }
    }
    return before - counts.held;
}

}  // namespace

// ---- What Python sees of it: tutor/memory.py ----------------------------------------------------

PyObject* memory_counts(PyObject*, PyObject*) {
    return Py_BuildValue("LLnnn", counts.allocations, counts.misses, counts.in_use, counts.held,
                         counts.peak);
}

PyObject* memory_reset_peak(PyObject*, PyObject*) {
    counts.peak = counts.in_use;
    Py_RETURN_NONE;
}

PyObject* memory_trim(PyObject*, PyObject*) {
    const size_t given_back = give_back(0);
#ifdef __GLIBC__
    malloc_trim(0);  // free() gave them to the C library; this gives them to the system
#endif
    return PyLong_FromSize_t(given_back);
}

PyObject* memory_config(PyObject*, PyObject*) {
    return Py_BuildValue("sn", policies[policy], limit);
}

// Memory.configure(policy, limit)
PyObject* memory_configure(PyObject*, PyObject* args) {
    const char* name;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "sn:configure", &name, &most)) return nullptr;
    int chosen = 0;
    while (chosen < POLICIES && std::strcmp(policies[chosen], name) != 0) ++chosen;
    if (chosen == POLICIES || most < 0) {
        return PyErr_Format(PyExc_ValueError, "Memory.configure: policy '%s', limit %zd", name,
                            most);
    }
    if (policy != chosen) give_back(0);  // another policy cannot reuse these
    policy = Policy(chosen);
    limit = most;
    give_back(limit);
    Py_RETURN_NONE;
}

}  // namespace tutor
