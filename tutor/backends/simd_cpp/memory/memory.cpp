#include "memory/memory.hpp"

#include <algorithm>
#include <cstring>

namespace tutor {

PyTypeObject* memory_type = nullptr;

namespace {

PyObject* cpu = nullptr;  // the name of the only device

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

// ---- Construction -------------------------------------------------------------------------------

// The part of ALIGNMENT that PyObject_Malloc gives: 16, but 8 where addresses have 32 bits.
constexpr size_t GIVEN = 2 * sizeof(void*);

// A Memory without bytes yet, followed by `room` bytes; nullptr if memory runs out.
Memory* bare(Py_ssize_t count, DType dtype, size_t room) {
    void* object = PyObject_Malloc(sizeof(Memory) + room);
    if (!object) return nullptr;
    Memory* self = static_cast<Memory*>(std::memset(object, 0, sizeof(Memory)));
    PyObject_Init(&self->head, memory_type);
    self->count = count;
    self->dtype = dtype;
    return self;
}

char* aligned(char* from) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(from);
    return from + (ALIGNMENT - place % ALIGNMENT) % ALIGNMENT;
}

// A Memory with its bytes inside. Most results of a few bytes are single numbers, and long chains
// of them are recorded, so these bytes go into the object itself. That relies on where Python's
// allocator puts objects of 64 bytes: 48 bytes after multiples of 64. Anywhere else the bytes go
// behind the object, as larger ones do.
Memory* with_bytes_inside(Py_ssize_t count, DType dtype, size_t nbytes) {
    Memory* self = nullptr;
    if (nbytes <= sizeof(Memory::few)) {
        if (!(self = bare(count, dtype, 0))) return nullptr;
        if (aligned(self->few) == self->few) return self->data = self->few, self;
        Py_DECREF(self);
    }
    if (!(self = bare(count, dtype, ALIGNMENT - GIVEN + nbytes))) return nullptr;
    self->data = aligned(reinterpret_cast<char*>(self + 1));
    return self;
}

// The memory that Python asks for.
struct Wanted {
    Py_ssize_t count;
    DType dtype;

    // Returns false, with an error set, for bad arguments.
    bool read(PyObject* items, PyObject* itemsize, PyObject* format);
};

bool Wanted::read(PyObject* items, PyObject* itemsize, PyObject* format) {
    dtype = dtype_of_format(format);
    if (dtype == DTYPES) {
        PyErr_Format(PyExc_ValueError, "Memory: format %R names no dtype", format);
        return false;
    }
    Py_ssize_t size = itemsizes[dtype];
    int overflow;
    if (!PyLong_Check(itemsize) || PyLong_AsLongAndOverflow(itemsize, &overflow) != size) {
        PyErr_Format(PyExc_ValueError, "Memory: an item of format %R has %zd bytes, not %R", format,
                     size, itemsize);
        return false;
    }
    if (!PyLong_Check(items)) {
        PyErr_Format(PyExc_TypeError, "Memory: count must be an int, not %s",
                     Py_TYPE(items)->tp_name);
        return false;
    }
    long long number = PyLong_AsLongLongAndOverflow(items, &overflow);
    if (overflow < 0 || (overflow == 0 && number < 0)) {
        PyErr_Format(PyExc_ValueError, "Memory: count must not be negative, as %R is", items);
        return false;
    }
    if (overflow || number > (PY_SSIZE_T_MAX - static_cast<Py_ssize_t>(ALIGNMENT)) / size) {
        PyErr_Format(PyExc_MemoryError,
                     "Memory: %R items of %zd bytes are more than can be addressed", items, size);
        return false;
    }
    count = number;
    return true;
}

// Memory(count, itemsize, format)
PyObject* memory_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    PyObject *count, *itemsize, *format;
    if (kwargs == nullptr && PyTuple_GET_SIZE(args) == 3) {  // the fast path, for every Buffer
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
    Wanted wanted;
    if (!wanted.read(count, itemsize, format)) return nullptr;
    Memory* self = new_memory(wanted.count, wanted.dtype);
    if (!self) {
        return PyErr_Format(PyExc_MemoryError, "Memory: no room for %zd items of %zd bytes",
                            wanted.count, itemsizes[wanted.dtype]);
    }
    return &self->head;
}

// Puts the bytes of `owner`, writable if it allows that, into self->owner.
bool hold(Memory* self, PyObject* owner) {
    Py_buffer* view = static_cast<Py_buffer*>(PyMem_Calloc(1, sizeof(Py_buffer)));
    if (!view) return PyErr_NoMemory(), false;
    if (PyObject_GetBuffer(owner, view, PyBUF_WRITABLE) != 0) {
        PyErr_Clear();  // the second attempt sets the error, if it fails as well
        if (PyObject_GetBuffer(owner, view, PyBUF_SIMPLE) != 0) return PyMem_Free(view), false;
        self->readonly = true;
    }
    self->place = Memory::Borrowed;
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
PyObject* memory_borrow(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *owner, *count, *itemsize, *format;
    static const char* names[] = {"owner", "count", "itemsize", "format", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:borrow", const_cast<char**>(names), &owner,
                                     &count, &itemsize, &format)) {
        return nullptr;
    }
    Wanted wanted;
    if (!wanted.read(count, itemsize, format)) return nullptr;
    return reinterpret_cast<PyObject*>(borrow(owner, wanted.count, wanted.dtype));
}

void memory_dealloc(PyObject* object) {
    Memory* self = reinterpret_cast<Memory*>(object);
    PyTypeObject* type = Py_TYPE(object);
    if (self->place == Memory::Borrowed) {
        PyBuffer_Release(self->owner);
        PyMem_Free(self->owner);
    } else if (self->data) {
        counts.give(self->nbytes());
        if (self->place == Memory::Outside)
            release({self->data, self->chunk, self->policy}, self->nbytes());
    }
    PyObject_Free(object);
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

PyObject* memory_raw(PyObject* self, void*) { return raw_of(reinterpret_cast<Memory*>(self)); }

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

PyObject* memory_owner(PyObject* self, void*) {
    const Memory* memory = reinterpret_cast<Memory*>(self);
    return Py_NewRef(memory->place == Memory::Borrowed ? memory->owner->obj : Py_None);
}

PyObject* memory_device(PyObject*, void*) { return Py_NewRef(cpu); }

PyObject* memory_keep(PyObject* self, PyObject*) { return Py_NewRef(self); }

// sys.getsizeof: the object, and its bytes unless they are borrowed.
PyObject* memory_sizeof(PyObject* object, PyObject*) {
    const Memory* self = reinterpret_cast<Memory*>(object);
    const size_t end = self->data + self->nbytes() - reinterpret_cast<const char*>(self);
    return PyLong_FromSize_t(self->place == Memory::Inside    ? std::max(end, sizeof(Memory))
                             : self->place == Memory::Outside ? sizeof(Memory) + self->nbytes()
                                                              : sizeof(Memory));
}

PyGetSetDef attributes[] = {
    {"raw", memory_raw, nullptr, "Memoryview of the bytes, writable unless readonly.", nullptr},
    {"address", memory_address, nullptr, "Where the first byte stands.", nullptr},
    {"count", memory_count, nullptr, "How many items there are.", nullptr},
    {"format", memory_format, nullptr, "The struct format character of an item.", nullptr},
    {"device", memory_device, nullptr, "Where the bytes are: the CPU's memory.", nullptr},
    {"readonly", memory_readonly, nullptr, "Whether the bytes may not be written.", nullptr},
    {"owner", memory_owner, nullptr, "Whose bytes they are, if they are borrowed; else None.",
     nullptr},
    {},
};

PyMethodDef methods[] = {
    {"borrow", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(memory_borrow)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     "borrow(owner, count, itemsize, format)\n--\n\n"
     "Memory over the bytes of `owner`, any object with a contiguous buffer."},
    {"keep", memory_keep, METH_NOARGS,
     "The Memory itself: bytes that are there. (A promise returns the Memory that it comes to.)"},
    {"__sizeof__", memory_sizeof, METH_NOARGS, "Bytes of the object and of what it owns."},
    {"counts", memory_counts, METH_STATIC | METH_NOARGS,
     "(allocations, misses, bytes in use, bytes held, peak) of all Memory: tutor.memory.stats."},
    {"reset_peak", memory_reset_peak, METH_STATIC | METH_NOARGS, "See tutor.memory."},
    {"trim", memory_trim, METH_STATIC | METH_NOARGS, "See tutor.memory."},
    {"config", memory_config, METH_STATIC | METH_NOARGS, "(policy, limit): see tutor.memory."},
    {"configure", memory_configure, METH_STATIC | METH_VARARGS,
     "configure(policy, limit)\n--\n\nSee tutor.memory."},
    {"mark", memory_mark, METH_STATIC | METH_NOARGS, "See tutor.memory."},
    {"reset", memory_reset, METH_STATIC | METH_O, "reset(mark)\n--\n\nSee tutor.memory."},
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
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

DType dtype_of_format(PyObject* format) {
    if (PyUnicode_Check(format) && PyUnicode_GET_LENGTH(format) == 1) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(format, 0);
        for (int dtype = 0; dtype < DTYPES; ++dtype) {
            if (static_cast<Py_UCS4>(formats[dtype][0]) == letter) return DType(dtype);
        }
    }
    return DTYPES;
}

Memory* new_memory(int64_t count, DType dtype) {
    const size_t nbytes = count * itemsize_of[dtype];
    Memory* self;
    if (policy == Pool && nbytes <= SMALL) {
        self = with_bytes_inside(count, dtype, nbytes);
        if (!self) return nullptr;
    } else {
        Block block{};
        if (!(self = bare(count, dtype, 0))) return nullptr;
        self->place = Memory::Outside;
        if (!allocate(nbytes, &block)) return Py_DECREF(self), nullptr;
        self->data = block.data;
        self->chunk = block.chunk;
        self->policy = block.policy;
    }
    counts.take(nbytes);
    return self;
}

Memory* borrow(PyObject* owner, int64_t count, DType dtype) {
    Memory* self = bare(count, dtype, 0);
    if (!self) return PyErr_NoMemory(), nullptr;
    if (!hold(self, owner)) Py_CLEAR(self);
    return self;
}

// A view of a Memory of bytes that borrows from this one and so keeps it alive. (A memoryview
// cannot be cast from format 'e' to bytes.)
PyObject* raw_of(Memory* memory) {
    Memory* bytes = borrow(&memory->head, static_cast<int64_t>(memory->nbytes()), UInt8);
    PyObject* view = bytes ? PyMemoryView_FromObject(&bytes->head) : nullptr;
    Py_XDECREF(bytes);
    return view;
}

bool make_memory_type() {
    memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    cpu = PyUnicode_InternFromString("cpu");
    return memory_type && cpu;
}

}  // namespace tutor
