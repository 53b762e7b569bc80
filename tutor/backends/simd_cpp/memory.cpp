#include "memory.hpp"

#include <cstdlib>
#include <new>
#include <string>

namespace tutor {

PyTypeObject* memory_type = nullptr;

namespace {

constexpr size_t ALIGNMENT = 64;  // a cache line, and the widest SIMD register

// ---- Where bytes come from and go to ------------------------------------------------------------

// A block of some size class that nobody uses. Asking the system for fresh pages costs more than
// most kernels do with them (the first touch of 4 KiB about 0.25 us), and training asks for the
// same sizes over and over: so a block that is given back waits here for the next who wants one
// like it. All of this happens with the GIL held.
struct Unused {
    Unused* next;
};

// Sizes are rounded up to one of 4 per doubling, so that at most a fifth of a block is wasted.
constexpr int CLASSES = 4 * 48;
constexpr size_t SMALLEST = 4 * ALIGNMENT;
constexpr size_t MOST_UNUSED = size_t(1) << 29;  // bytes; what is beyond goes back to the system

Unused* unused[CLASSES];
size_t unused_bytes = 0;

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

// At least `nbytes` bytes at a multiple of ALIGNMENT, contents undefined; nullptr if exhausted.
char* allocate(size_t nbytes) {
    size_t size;
    const int k = class_of(nbytes, &size);
    if (k >= CLASSES) return nullptr;
    if (Unused* block = unused[k]) {
        unused[k] = block->next;
        unused_bytes -= size;
        return reinterpret_cast<char*>(block);
    }
    return static_cast<char*>(std::aligned_alloc(ALIGNMENT, size));
}

void release(char* data, size_t nbytes) {
    size_t size;
    const int k = class_of(nbytes, &size);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer is to see every use of what was given back
    if (unused_bytes + size <= MOST_UNUSED) {
        unused[k] = new (data) Unused{unused[k]};
        unused_bytes += size;
        return;
    }
#endif
    std::free(data);
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

// A Memory of type `cls` without bytes yet. nullptr, with an error set, for bad arguments.
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
    Memory* self = reinterpret_cast<Memory*>(cls->tp_alloc(cls, 0));  // all zero but the header
    if (self) {
        self->count = items;
        self->dtype = dtype;
    }
    return self;
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
    self->data = allocate(self->count * itemsizes[self->dtype]);
    if (!self->data) {
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
        release(self->data, self->count * itemsizes[self->dtype]);
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

bool make_memory_type() {
    memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return memory_type != nullptr;
}

}  // namespace tutor
