// The Python type `Holder`, which has memory and on which Buffer is built; Buffers made natively.
#include "memory/memory.hpp"
// After Python.h:
#include <structmember.h>

#include <array>
#include <vector>

#include "border/errors.hpp"

namespace tutor {

PyTypeObject* holder_type = nullptr;

namespace {

enum { MEMORY, KEEP, COUNT, DEVICE, WRITE, NAMES };
const char* const texts[NAMES] = {"memory", "keep", "count", "device", "write"};
PyObject* names[NAMES];

PyObject*& at(PyObject* object, Py_ssize_t place) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + place);
}

// ---- From a promise to bytes --------------------------------------------------------------------

std::string of_type(const char* what, PyObject* object) {
    return std::string(what) + " is of type " + Py_TYPE(object)->tp_name;
}

// Whether `buf` still has this promise or Memory: while a promise is being kept, another thread may
// put something else there.
bool is_at(PyObject* buf, PyObject* memory) {
    return !PyObject_TypeCheck(buf, holder_type) ||
           reinterpret_cast<Holder*>(buf)->memory == memory;
}

// The error for bytes wanted here whose memory is on another device. Returns nullptr.
PyObject* not_here(PyObject* memory) {
    PyObject* device = PyObject_GetAttr(memory, names[DEVICE]);
    const char* name = device && PyUnicode_Check(device) ? PyUnicode_AsUTF8(device) : nullptr;
    if (name) {
        raise("DeviceError", "the bytes of a Buffer",
              std::string("they are on the device '") + name +
                  "', and these bytes are wanted on 'cpu'",
              "move the Tensor there first: x.to(\"cpu\")");
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "the device of a Buffer's memory is no str");
    }
    Py_XDECREF(device);
    return nullptr;
}

// Keeps `promise`: returns the memory that replaces it. It has a method keep(), or is no promise.
PyObject* kept(PyObject* buf, PyObject* promise, std::string* found) {
    PyObject* keep = PyObject_GetAttr(promise, names[KEEP]);
    if (!keep) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
        PyErr_Clear();
        *found = of_type("buf.memory", promise);
        return nullptr;
    }
    PyObject* memory = PyObject_CallNoArgs(keep);
    Py_DECREF(keep);
    if (memory && is_elsewhere(memory)) {
        not_here(memory);
        Py_CLEAR(memory);
    } else if (memory && !is_memory(memory)) {
        *found = of_type("what buf.memory keeps", memory);
        Py_CLEAR(memory);
    }
    if (memory && is_at(buf, promise) && PyObject_SetAttr(buf, names[MEMORY], memory) != 0)
        Py_CLEAR(memory);
    return memory;
}

// ---- The type -----------------------------------------------------------------------------------

const char* const LEAVE = "leave the attributes buf and memory as they were made";

// memory_of for Python: raises a DTypeError that says what was found.
Memory* lender_of(PyObject* holder) {
    std::string found;
    Memory* memory = memory_of(holder, &found);
    if (!memory && !PyErr_Occurred()) {
        raise("DTypeError", "the memory of a Buffer", found, LEAVE);
    }
    return memory;
}

PyObject* before_bytes = nullptr;  // called before Python is given the bytes of a Holder

// The same for handing the bytes to Python, which is refused while a call is recorded.
Memory* asked_lender_of(PyObject* holder) {
    static PyObject* asked = PyUnicode_InternFromString("the bytes of a Buffer");
    PyObject* done = before_bytes ? PyObject_CallOneArg(before_bytes, asked) : Py_NewRef(Py_None);
    Py_XDECREF(done);
    return done ? lender_of(holder) : nullptr;
}

int holder_getbuffer(PyObject* object, Py_buffer* view, int flags) {
    view->obj = nullptr;
    Memory* memory = asked_lender_of(object);
    if (!memory) return -1;
    const int failed = PyObject_GetBuffer(&memory->head, view, flags);  // keeps it alive
    Py_DECREF(memory);
    return failed;
}

PyObject* holder_raw(PyObject* object, void*) {
    Memory* memory = asked_lender_of(object);
    if (!memory) return nullptr;
    PyObject* raw = raw_of(memory);
    Py_DECREF(memory);
    return raw;
}

PyObject* holder_address(PyObject* object, void*) {
    Memory* memory = asked_lender_of(object);
    if (!memory) return nullptr;
    PyObject* address = PyLong_FromVoidPtr(memory->data);
    Py_DECREF(memory);
    return address;
}

// The attribute `name` of the memory, or of a promise, which is not kept for it.
PyObject* told(PyObject* object, int name) {
    PyObject* memory = Py_XNewRef(reinterpret_cast<Holder*>(object)->memory);
    if (!is_memory(memory) && !(memory && PyObject_HasAttr(memory, names[KEEP]))) {
        Py_XDECREF(memory);
        memory = reinterpret_cast<PyObject*>(lender_of(object));  // says what it is instead
        if (!memory) return nullptr;
    }
    PyObject* found = PyObject_GetAttr(memory, names[name]);
    Py_DECREF(memory);
    return found;
}

Py_ssize_t holder_length(PyObject* object) {
    PyObject* memory = reinterpret_cast<Holder*>(object)->memory;
    if (is_memory(memory)) return reinterpret_cast<Memory*>(memory)->count;
    PyObject* count = told(object, COUNT);
    if (!count) return -1;
    const Py_ssize_t length = PyLong_Check(count) ? PyLong_AsSsize_t(count) : -1;
    if (length < 0) {
        PyErr_Clear();
        raise("DTypeError", "the length of a Buffer", of_type("the count of its memory", count),
              LEAVE);
    }
    Py_DECREF(count);
    return length;
}

PyObject* holder_device(PyObject* object, void*) { return told(object, DEVICE); }

int holder_traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<Holder*>(object)->memory);
    return 0;
}

int holder_clear(PyObject* object) {
    Py_CLEAR(reinterpret_cast<Holder*>(object)->memory);
    return 0;
}

void holder_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    holder_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyGetSetDef attributes[] = {
    {"raw", holder_raw, nullptr, "Memoryview of the bytes, writable unless they are read-only.",
     nullptr},
    {"address", holder_address, nullptr, "Where the first byte stands.", nullptr},
    {"device", holder_device, nullptr, "Where the memory is: \"cpu\".", nullptr},
    {},
};

PyMemberDef members[] = {
    {"memory", T_OBJECT_EX, offsetof(Holder, memory), 0,
     "The Memory, or a promise of it: what has a method keep() that returns a Memory."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("What has memory: see tutor/_storage/memory.py.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(holder_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(holder_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(holder_clear)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(holder_getbuffer)},
    {Py_sq_length, reinterpret_cast<void*>(holder_length)},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "tutor.backends.simd_cpp._simd.Holder", sizeof(Holder), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    slots};

// ---- Buffers ------------------------------------------------------------------------------------

PyObject* examples[DTYPES] = {};  // an empty Buffer of each dtype
PyTypeObject* buffer_type = nullptr;
Py_ssize_t dtype_place = 0;
std::vector<Py_ssize_t> places;  // where a Buffer keeps its attributes except its memory

// Finds where instances of `type` keep their slots.
bool learn(PyTypeObject* type) {
    std::vector<Py_ssize_t> found;
    dtype_place = 0;
    for (PyTypeObject* base = type; base != holder_type; base = base->tp_base) {
        for (const PyMemberDef* member = base->tp_members; member && member->name; ++member) {
            if (member->type != T_OBJECT_EX) continue;
            if (std::string(member->name) == "dtype") dtype_place = member->offset;
            found.push_back(member->offset);
        }
    }
    places.swap(found);
    return dtype_place != 0;
}

}  // namespace

bool is_elsewhere(PyObject* memory) {
    return memory && !is_memory(memory) && PyObject_HasAttr(memory, names[WRITE]) &&
           PyObject_HasAttr(memory, names[KEEP]);
}

bool are_on_one_device(PyObject* one, PyObject* other) {
    if (is_memory(one) && is_memory(other)) return true;
    PyObject *a = one ? PyObject_GetAttr(one, names[DEVICE]) : nullptr,
             *b = other ? PyObject_GetAttr(other, names[DEVICE]) : nullptr;
    const bool same = a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    Py_XDECREF(a), Py_XDECREF(b);
    PyErr_Clear();
    return same;
}

bool says_elsewhere(PyObject* memory) {
    PyObject* device = memory ? PyObject_GetAttr(memory, names[DEVICE]) : nullptr;
    const bool host =
        !device || !PyUnicode_Check(device) || PyUnicode_CompareWithASCIIString(device, "cpu") == 0;
    Py_XDECREF(device);
    PyErr_Clear();
    return !host;
}

Memory* memory_of(PyObject* buf, std::string* found) {
    PyObject* memory;
    if (Py_IS_TYPE(buf, buffer_type) || PyObject_TypeCheck(buf, holder_type)) {
        memory = Py_XNewRef(reinterpret_cast<Holder*>(buf)->memory);
    } else {
        memory = PyObject_GetAttr(buf, names[MEMORY]);
        if (!memory && !PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
        PyErr_Clear();
    }
    if (is_memory(memory)) return reinterpret_cast<Memory*>(memory);
    if (!memory) {
        *found = of_type("buf", buf) + ", without memory";
        return nullptr;
    }
    PyObject* instead = kept(buf, memory, found);
    const bool overtaken = instead && !is_at(buf, instead) && !is_at(buf, memory);
    Py_DECREF(memory);
    if (!overtaken) return reinterpret_cast<Memory*>(instead);
    Py_DECREF(instead);
    return memory_of(buf, found);  // what is there now
}

PyObject* new_buffer(int64_t count, DType dtype, char** data) {
    if (!examples[dtype])
        return PyErr_Format(PyExc_RuntimeError, "no Buffer has been set for this dtype");
    Memory* memory = new_memory(count, dtype);
    if (!memory) return PyErr_NoMemory();
    *data = memory->data;
    return buffer_of(memory);
}

PyObject* buffer_of(Memory* memory) {
    PyObject* example = examples[memory->dtype];
    PyObject* buffer = buffer_type->tp_alloc(buffer_type, 0);
    if (!buffer) return Py_DECREF(memory), nullptr;
    for (Py_ssize_t place : places) at(buffer, place) = Py_XNewRef(at(example, place));
    reinterpret_cast<Holder*>(buffer)->memory = &memory->head;
    // Its attributes and bytes refer to nothing that could refer back to it, so the cycle collector
    // need not look at it. Looking is most of what building a large graph costs.
    if (PyObject_IS_GC(buffer)) PyObject_GC_UnTrack(buffer);
    return buffer;
}

bool is_intact(PyObject* buf) {
    if (!Py_IS_TYPE(buf, buffer_type)) return false;
    PyObject* memory = reinterpret_cast<Holder*>(buf)->memory;
    return is_memory(memory) &&
           at(buf, dtype_place) ==
               at(examples[reinterpret_cast<Memory*>(memory)->dtype], dtype_place);
}

bool set_buffers(PyObject* buffers) {
    std::array<PyObject*, DTYPES> found{};
    PyTypeObject* type = nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(buffers); ++i) {
        PyObject* buffer = PyList_GET_ITEM(buffers, i);
        if (!type) type = Py_TYPE(buffer);
        if (!Py_IS_TYPE(buffer, type) || !PyObject_TypeCheck(buffer, holder_type)) continue;
        PyObject* memory = reinterpret_cast<Holder*>(buffer)->memory;
        if (is_memory(memory)) found[reinterpret_cast<Memory*>(memory)->dtype] = buffer;
    }
    for (PyObject* buffer : found) {
        if (buffer) continue;
        PyErr_SetString(PyExc_TypeError, "set_buffers: give a list with a Buffer of every dtype");
        return false;
    }
    if (!learn(type)) {
        PyErr_SetString(PyExc_TypeError, "set_buffers: a Buffer has a slot `dtype`");
        return false;
    }
    buffer_type = type;  // kept alive by its examples
    for (int dtype = 0; dtype < DTYPES; ++dtype) {
        PyObject* before = examples[dtype];
        examples[dtype] = Py_NewRef(found[dtype]);
        Py_XDECREF(before);
    }
    return true;
}

void set_before_bytes(PyObject* callable) {
    PyObject* before = before_bytes;
    before_bytes = Py_NewRef(callable);
    Py_XDECREF(before);
}

bool make_holder_type() {
    for (int n = 0; n < NAMES; ++n) {
        if (!(names[n] = PyUnicode_InternFromString(texts[n]))) return false;
    }
    holder_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return holder_type != nullptr;
}

}  // namespace tutor
