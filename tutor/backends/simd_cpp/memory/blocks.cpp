#include "memory/blocks.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
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
    size_t last;    // where the Cut of the block cut last lies; 0 if there is none
    int depth;      // how many marks were open when it came into use
    Chunk* next;    // while it is idle
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

// What lies before each block of a chunk, at a multiple of ALIGNMENT.
struct Cut {
    size_t before;  // where the Cut of the block before it lies; 0 for the first
    bool unused;    // released, but a block behind it is in use
};

Cut* cut_at(Chunk* chunk, size_t place) {
    return reinterpret_cast<Cut*>(reinterpret_cast<char*>(chunk) + place);
}

constexpr int MARKS = 64;  // that may be open at a time

int depth = 0;          // how many marks are open
Chunk* filling[MARKS];  // by depth: the chunk that its next block is cut from
int64_t in_use[MARKS];  // by depth: how many of its blocks are in use
Chunk* idle = nullptr;  // empty chunks, whose pages have been touched

void drop(Chunk* empty) {
    counts.held -= empty->size;
    std::free(empty);
}

// An empty chunk, counted as held, waits until one is needed.
void set_aside(Chunk* empty) {
    empty->next = idle;
    idle = empty;
}

// Takes the smallest idle chunk with room for `size` bytes out of the list, of equal ones that with
// the lowest address: so equal steps get equal memory. nullptr if there is none.
Chunk* from_idle(size_t size) {
    Chunk** best = nullptr;
    for (Chunk** place = &idle; *place; place = &(*place)->next) {
        const Chunk* found = *place;
        if (size > found->size - HEADER) continue;
        const bool smaller = best && found->size < (*best)->size;
        const bool lower = best && found->size == (*best)->size && found < *best;
        if (!best || smaller || lower) best = place;
    }
    return best ? std::exchange(*best, (*best)->next) : nullptr;
}

Chunk* new_chunk(size_t size) {
    const size_t whole = size > CHUNK - HEADER ? size + HEADER : CHUNK;
    char* fresh = from_system(whole);
    if (!fresh) return nullptr;
    counts.held += whole;
    return new (fresh) Chunk{whole, HEADER, 0, 0, depth, nullptr};
}

char* from_arena(size_t nbytes, Chunk** from) {
    const size_t size = ALIGNMENT + aligned(nbytes);  // a Cut, and the bytes
    Chunk*& chunk = filling[depth];
    if (!chunk || size > chunk->size - chunk->filled) {
        if (chunk && chunk->blocks == 0) set_aside(chunk);
        chunk = from_idle(size);
        if (!chunk) chunk = new_chunk(size);
        if (!chunk) return nullptr;
        chunk->depth = depth;
    }
    if (chunk->blocks++ == 0) counts.held -= chunk->size;
    Cut* cut = new (cut_at(chunk, chunk->filled)) Cut{chunk->last, false};
    chunk->last = chunk->filled;
    chunk->filled += size;
    ++in_use[depth];
    *from = chunk;
    return reinterpret_cast<char*>(cut) + ALIGNMENT;
}

// The next block is cut behind the last one that is in use: its memory is still in the caches.
void to_arena(Chunk* from, char* data) {
    --in_use[from->depth];
    reinterpret_cast<Cut*>(data - ALIGNMENT)->unused = true;
    while (from->last && cut_at(from, from->last)->unused) {
        from->filled = from->last;
        from->last = cut_at(from, from->last)->before;
    }
    if (--from->blocks) return;
    counts.held += from->size;
    Chunk*& current = filling[from->depth];
    const bool keep = policy == Arena && counts.held <= limit;
    if (from == current && !keep) current = nullptr;
    if (!keep) return drop(from);
    if (from != current) set_aside(from);
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
    if (block.policy == Arena) return to_arena(block.chunk, block.data);
    std::free(block.data);
}

namespace {

// Frees unused blocks, largest first, until at most `most` bytes wait. Returns the bytes freed.
size_t give_back(size_t most) {
    const size_t before = counts.held;
    for (Chunk*& chunk : filling) {
        if (counts.held > most && chunk && chunk->blocks == 0) drop(std::exchange(chunk, nullptr));
    }
    while (counts.held > most && idle) drop(std::exchange(idle, idle->next));
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

// Memory.mark(): opens a mark, and returns how many are open then; 0 if there are as many as can
// be. Blocks are cut from another chunk from here on, which those from before do not keep in use.
PyObject* memory_mark(PyObject*, PyObject*) {
    if (depth == MARKS - 1) return PyLong_FromLong(0);
    return PyLong_FromLong(++depth);
}

// Memory.reset(mark): closes it, and those opened since, if no block made since then is in use.
// Returns how many are; -1 if the mark is not open.
PyObject* memory_reset(PyObject*, PyObject* argument) {
    const long mark = PyLong_AsLong(argument);
    if (mark == -1 && PyErr_Occurred()) return nullptr;
    if (mark < 1 || mark > depth) return PyLong_FromLong(-1);
    int64_t blocks = 0;
    for (int open = static_cast<int>(mark); open <= depth; ++open) blocks += in_use[open];
    if (blocks) return PyLong_FromLongLong(blocks);
    for (; depth >= mark; --depth) {
        if (filling[depth]) set_aside(std::exchange(filling[depth], nullptr));
    }
    return PyLong_FromLong(0);
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
