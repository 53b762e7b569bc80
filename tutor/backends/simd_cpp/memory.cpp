#include "memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tutor {

PyTypeObject* memory_type = nullptr;

namespace {

constexpr size_t ALIGNMENT = 64;  // a cache line, and the widest SIMD register

// ---- Where bytes come from and go to ------------------------------------------------------------
//
// All of this happens with the GIL held: by one thread at a time, and by none at the moment when
// the process forks. So there is no lock, and a count costs one addition.

// How blocks are had. Another way may be chosen at any time; each block goes back the way it came.
//   plain  from the system, and back to it at once
//   pool   one of its size that was given back before, if there is one
//   arena  one after another from a large chunk, which is free again when all of them are
const char* const policies[] = {"plain", "pool", "arena"};

#ifdef __SANITIZE_ADDRESS__  // the sanitizer is to see every use of what was given back
Policy policy = Plain;
#else
Policy policy = Pool;
#endif

size_t limit = size_t(1) << 29;  // bytes that may wait unused; what is beyond goes back at once

struct {
    int64_t allocations;  // blocks handed out so far
    int64_t misses;       // for how many of them the system was asked
    size_t in_use;        // bytes that Memory has room for now
    size_t held;          // bytes that wait unused
    size_t peak;          // the most that were in use
} counts;

size_t give_back(size_t most);

// `size` bytes, a multiple of ALIGNMENT, from the system; nullptr if it has no more.
char* from_system(size_t size) {
    void* block = std::aligned_alloc(ALIGNMENT, size);
    if (!block && give_back(0)) block = std::aligned_alloc(ALIGNMENT, size);
    counts.misses += block != nullptr;
    return static_cast<char*>(block);
}

// The next multiple of ALIGNMENT, which is not 0: every block has an address of its own.
size_t aligned(size_t nbytes) {
    return (nbytes + (nbytes == 0) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// ---- The pool

// A block of some size class that nobody uses. Asking the system for fresh pages costs more than
// most kernels do with them (the first touch of 4 KiB about 0.25 us), and training asks for the
// same sizes over and over: so a block that is given back waits here for the next who wants one
// like it.
struct Unused {
    Unused* next;
};

// Sizes are rounded up to one of 4 per doubling, so that at most a fifth of a block is wasted.
constexpr int CLASSES = 4 * 48;
constexpr size_t SMALLEST = 4 * ALIGNMENT;

Unused* unused[CLASSES];

// The class for `nbytes`, and its size into `rounded`.
int class_of(size_t nbytes, size_t* rounded) {
    if (nbytes <= SMALLEST) return *rounded = SMALLEST, 0;
    const int doubling =
        63 - __builtin_clzll(nbytes - 1);  // 2^doubling < nbytes <= 2^(doubling + 1)
    const size_t quarter = size_t(1) << (doubling - 2);
    const size_t quarters = (nbytes + quarter - 1) / quarter;  // 5 to 8
    *rounded = quarters * quarter;
    return 4 * (doubling - 8) + static_cast<int>(quarters) - 4;
}

// The inverse: how large the blocks of class k are.
size_t size_of(int k) {
    return k == 0 ? SMALLEST : static_cast<size_t>((k - 1) % 4 + 5) << ((k - 1) / 4 + 6);
}

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

// ---- The arena

constexpr size_t CHUNK = size_t(1) << 24;

}  // namespace

struct Chunk {  // stands at its own beginning
    size_t size;
    size_t filled;  // bytes from the beginning that have been handed out
    size_t blocks;  // of them in use
};

namespace {

constexpr size_t HEADER = ALIGNMENT;
static_assert(sizeof(Chunk) <= HEADER, "blocks begin behind it");

Chunk* chunk = nullptr;  // the one that is being filled; the others wait for their last block

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

// ---- All three

// Frees what waits unused, the largest first, until at most `most` bytes are left; how many it was.
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

// Gives `self` room for `nbytes` bytes at a multiple of ALIGNMENT, contents undefined.
bool allocate(Memory* self, size_t nbytes) {
    self->policy = policy;
    self->data = policy == Pool    ? from_pool(nbytes)
                 : policy == Arena ? from_arena(nbytes, &self->chunk)
                                   : from_system(aligned(nbytes));
    if (!self->data) return false;
    ++counts.allocations;
    counts.in_use += nbytes;
    if (counts.in_use > counts.peak) counts.peak = counts.in_use;
    return true;
}

void release(Memory* self, size_t nbytes) {
    counts.in_use -= nbytes;
    if (self->policy == Pool) return to_pool(self->data, nbytes);
    if (self->policy == Arena) return to_arena(self->chunk);
    std::free(self->data);
}

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
    malloc_trim(0);  // to this process; and from it to the machine
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
    if (policy != chosen) give_back(0);  // another policy has no use for it
    policy = Policy(chosen);
    limit = most;
    give_back(limit);
    Py_RETURN_NONE;
}

// ---- Dtypes as the buffer protocol spells them --------------------------------------------------

const char formats[DTYPES][2] = {
#define ROW(name, type, format) {format, 0},
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
};

Py_ssize_t itemsizes[DTYPES] = {
#define ROW(name, type, format) sizeof(type),
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
};

// The dtype of `format`, DTYPES if there is none.
DType dtype_of(PyObject* format) {
    if (PyUnicode_Check(format) && PyUnicode_GET_LENGTH(format) == 1) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(format, 0);
        for (int dtype = 0; dtype < DTYPES; ++dtype) {
            if (static_cast<Py_UCS4>(formats[dtype][0]) == letter) return DType(dtype);
        }
    }
    return DTYPES;
}

// ---- Construction -------------------------------------------------------------------------------

// A Memory of type `cls` without bytes yet.
Memory* bare(PyTypeObject* cls, Py_ssize_t count, DType dtype) {
    Memory* self = reinterpret_cast<Memory*>(cls->tp_alloc(cls, 0));  // all zero but the header
    if (self) {
        self->count = count;
        self->dtype = dtype;
    }
    return self;
}

// The same of what Python gave. nullptr, with an error set, for bad arguments.
Memory* bare(PyTypeObject* cls, PyObject* count, PyObject* itemsize, PyObject* format) {
    DType dtype = dtype_of(format);
    if (dtype == DTYPES) {
        PyErr_Format(PyExc_ValueError, "Memory: format %R names no dtype", format);
        return nullptr;
    }
    Py_ssize_t size = itemsizes[dtype];
    int overflow;
    if (!PyLong_Check(itemsize) || PyLong_AsLongAndOverflow(itemsize, &overflow) != size) {
        PyErr_Format(PyExc_ValueError, "Memory: an item of format %R has %zd bytes, not %R", format,
                     size, itemsize);
        return nullptr;
    }
    if (!PyLong_Check(count)) {
        PyErr_Format(PyExc_TypeError, "Memory: count must be an int, not %s",
                     Py_TYPE(count)->tp_name);
        return nullptr;
    }
    long long items = PyLong_AsLongLongAndOverflow(count, &overflow);
    if (overflow < 0 || (overflow == 0 && items < 0)) {
        PyErr_Format(PyExc_ValueError, "Memory: count must not be negative, as %R is", count);
        return nullptr;
    }
    if (overflow || items > (PY_SSIZE_T_MAX - static_cast<Py_ssize_t>(ALIGNMENT)) / size) {
        PyErr_Format(PyExc_MemoryError,
                     "Memory: %R items of %zd bytes are more than can be"
                     " addressed",
                     count, size);
        return nullptr;
    }
    return bare(cls, items, dtype);
}

// Memory(count, itemsize, format)
PyObject* memory_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
    PyObject *count, *itemsize, *format;
    if (kwargs == nullptr && PyTuple_GET_SIZE(args) == 3) {  // the short way, for every Buffer
        count = PyTuple_GET_ITEM(args, 0);
        itemsize = PyTuple_GET_ITEM(args, 1);
        format = PyTuple_GET_ITEM(args, 2);
    } else {
        static const char* names[] = {"count", "itemsize", "format", nullptr};
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:Memory", const_cast<char**>(names),
                                         &count, &itemsize, &format)) {
            return nullptr;
        }
    }
    Memory* self = bare(cls, count, itemsize, format);
    if (!self) return nullptr;
    if (!allocate(self, self->count * itemsizes[self->dtype])) {
        PyErr_Format(PyExc_MemoryError, "Memory: no room for %zd items of %zd bytes", self->count,
                     itemsizes[self->dtype]);
        Py_DECREF(self);
        return nullptr;
    }
    return reinterpret_cast<PyObject*>(self);
}

// The bytes of `owner`, writable if it allows that, into self->owner.
bool hold(Memory* self, PyObject* owner) {
    Py_buffer* view = static_cast<Py_buffer*>(PyMem_Calloc(1, sizeof(Py_buffer)));
    if (!view) return PyErr_NoMemory(), false;
    if (PyObject_GetBuffer(owner, view, PyBUF_WRITABLE) != 0) {
        PyErr_Clear();  // the second attempt says what is wrong, if not only this
        if (PyObject_GetBuffer(owner, view, PyBUF_SIMPLE) != 0) return PyMem_Free(view), false;
        self->readonly = true;
    }
    self->owner = view;
    self->data = static_cast<char*>(view->buf);
    Py_ssize_t size = itemsizes[self->dtype];
    if (view->len < self->count * size) {
        PyErr_Format(PyExc_ValueError,
                     "Memory.borrow: %zd items of %zd bytes do not fit into the"
                     " %zd bytes of this %s",
                     self->count, size, view->len, Py_TYPE(owner)->tp_name);
        return false;
    }
    if (reinterpret_cast<uintptr_t>(self->data) % size != 0) {  // compiled code relies on it
        PyErr_Format(PyExc_ValueError,
                     "Memory.borrow: items of %zd bytes must begin at a multiple"
                     " of %zd, and this %s begins elsewhere; copy it",
                     size, size, Py_TYPE(owner)->tp_name);
        return false;
    }
    return true;
}

// Memory.borrow(owner, count, itemsize, format)
PyObject* memory_borrow(PyObject* cls, PyObject* args, PyObject* kwargs) {
    PyObject *owner, *count, *itemsize, *format;
    static const char* names[] = {"owner", "count", "itemsize", "format", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:borrow", const_cast<char**>(names), &owner,
                                     &count, &itemsize, &format)) {
        return nullptr;
    }
    Memory* self = bare(reinterpret_cast<PyTypeObject*>(cls), count, itemsize, format);
    if (self && !hold(self, owner)) Py_CLEAR(self);
    return reinterpret_cast<PyObject*>(self);
}

void memory_dealloc(PyObject* object) {
    Memory* self = reinterpret_cast<Memory*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (self->owner) {
        PyBuffer_Release(self->owner);
        PyMem_Free(self->owner);
    } else if (self->data) {
        release(self, self->count * itemsizes[self->dtype]);
    }
    type->tp_free(object);
    Py_DECREF(type);  // every instance of a heap type keeps it alive
}

// ---- The buffer protocol ------------------------------------------------------------------------

int memory_getbuffer(PyObject* object, Py_buffer* view, int flags) {
    Memory* self = reinterpret_cast<Memory*>(object);
    view->obj = nullptr;
    if ((flags & PyBUF_WRITABLE) && self->readonly) {
        PyErr_SetString(PyExc_BufferError, "Memory: borrowed from a read-only owner");
        return -1;
    }
    Py_ssize_t* itemsize = &itemsizes[self->dtype];
    view->buf = self->data;
    view->len = self->count * *itemsize;
    view->itemsize = *itemsize;
    view->readonly = self->readonly;
    view->ndim = 1;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(formats[self->dtype]) : nullptr;
    view->shape = flags & PyBUF_ND ? &self->count : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? itemsize : nullptr;
    view->suboffsets = nullptr;
    view->internal = nullptr;
    view->obj = Py_NewRef(object);
    return 0;
}

// ---- Attributes ---------------------------------------------------------------------------------

// A memoryview of Memory of bytes that is borrowed from this one and so keeps it alive. (A
// memoryview cannot be cast from format 'e' to bytes.)
PyObject* memory_raw(PyObject* object, void*) {
    Memory* self = reinterpret_cast<Memory*>(object);
    PyObject* bytes =
        PyObject_CallMethod(reinterpret_cast<PyObject*>(memory_type), "borrow", "Onis", object,
                            self->count * itemsizes[self->dtype], 1, "B");
    if (!bytes) return nullptr;
    PyObject* view = PyMemoryView_FromObject(bytes);
    Py_DECREF(bytes);
    return view;
}

PyObject* memory_address(PyObject* self, void*) {
    return PyLong_FromVoidPtr(reinterpret_cast<Memory*>(self)->data);
}

PyObject* memory_count(PyObject* self, void*) {
    return PyLong_FromSsize_t(reinterpret_cast<Memory*>(self)->count);
}

PyObject* memory_format(PyObject* self, void*) {
    return PyUnicode_FromString(formats[reinterpret_cast<Memory*>(self)->dtype]);
}

PyObject* memory_readonly(PyObject* self, void*) {
    return PyBool_FromLong(reinterpret_cast<Memory*>(self)->readonly);
}

PyGetSetDef attributes[] = {
    {"raw", memory_raw, nullptr, "Memoryview of the bytes, writable unless readonly.", nullptr},
    {"address", memory_address, nullptr, "Where the first byte stands.", nullptr},
    {"count", memory_count, nullptr, "How many items there are.", nullptr},
    {"format", memory_format, nullptr, "The struct format character of an item.", nullptr},
    {"readonly", memory_readonly, nullptr, "Whether the bytes may not be written.", nullptr},
    {},
};

PyMethodDef methods[] = {
    {"borrow", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(memory_borrow)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     "borrow(owner, count, itemsize, format)\n--\n\n"
     "Memory over the bytes of `owner`, any object with a contiguous buffer."},
    {"counts", memory_counts, METH_STATIC | METH_NOARGS,
     "(allocations, misses, bytes in use, bytes held, peak) of all Memory: tutor.memory.stats."},
    {"reset_peak", memory_reset_peak, METH_STATIC | METH_NOARGS, "See tutor.memory."},
    {"trim", memory_trim, METH_STATIC | METH_NOARGS, "See tutor.memory."},
    {"config", memory_config, METH_STATIC | METH_NOARGS, "(policy, limit): see tutor.memory."},
    {"configure", memory_configure, METH_STATIC | METH_VARARGS,
     "configure(policy, limit)\n--\n\nSee tutor.memory."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Memory(count, itemsize, format)\n--\n\n"
                                  "Room for `count` items, contents undefined.")},
    {Py_tp_new, reinterpret_cast<void*>(memory_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(memory_dealloc)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(memory_getbuffer)},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"tutor.backends.simd_cpp._simd.Memory", sizeof(Memory), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

PyObject* new_memory(PyTypeObject* cls, int64_t count, DType dtype, char** data) {
    Memory* self = bare(cls, count, dtype);
    if (self && !allocate(self, count * itemsizes[dtype])) {
        Py_CLEAR(self);
        return PyErr_NoMemory();
    }
    if (self) *data = self->data;
    return reinterpret_cast<PyObject*>(self);
}

bool make_memory_type() {
    memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return memory_type != nullptr;
}

}  // namespace tutor
