#include "engine/tensors.hpp"

#include "memory/memory.hpp"

namespace tutor {

namespace {

// Whether the tuple holds these numbers.
bool holds(PyObject* tuple, const int64_t* numbers, int count) {
    if (!tuple || !PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != count) return false;
    for (int i = 0; i < count; ++i) {
        PyObject* item = PyTuple_GET_ITEM(tuple, i);
        int overflow;
        if (!PyLong_CheckExact(item) || PyLong_AsLongLongAndOverflow(item, &overflow) != numbers[i])
            return false;
    }
    return true;
}

PyObject* shared_tuple(PyObject* like, TensorSlot slot, const int64_t* numbers, int count) {
    PyObject* theirs = like ? part(like, slot) : nullptr;
    return holds(theirs, numbers, count) ? Py_NewRef(theirs) : tuple_of(numbers, count);
}

}  // namespace

DType dtype_of(PyObject* tensor) {
    PyObject* buf = part(tensor, T_BUF);
    if (!buf || !given.buffer.has(buf)) return DTYPES;
    PyObject *memory = reinterpret_cast<Holder*>(buf)->memory,
             *claim = given.buffer.at(buf, B_DTYPE);
    if (!is_memory(memory)) return dtype_of_object(claim);  // a promise: a kernel will ask for it
    const DType dtype = reinterpret_cast<Memory*>(memory)->dtype;
    return claim == given.dtypes[dtype] ? dtype : DTYPES;
}

bool is_kept(PyObject* tensor) {
    PyObject* buf = part(tensor, T_BUF);
    return buf && given.buffer.has(buf) && is_memory(reinterpret_cast<Holder*>(buf)->memory);
}

bool is_whole(PyObject* tensor) {
    for (TensorSlot slot : {T_BUF, T_SHAPE, T_STRIDES, T_OFFSET}) {
        if (!part(tensor, slot)) return false;
    }
    PyObject* buf = part(tensor, T_BUF);
    return given.buffer.has(buf) && given.buffer.at(buf, B_VERSION);
}

bool is_empty(PyObject* tensor) {
    Walk walk;
    return !walk_of(tensor, &walk) || count_of(walk) == 0;
}

bool walk_of(PyObject* tensor, Walk* walk) {
    return read_walk(part(tensor, T_SHAPE), part(tensor, T_STRIDES), part(tensor, T_OFFSET), walk);
}

PyObject* weakly(PyObject* tensor) {
    PyObject* reference = PyWeakref_NewRef(tensor, nullptr);
    if (reference) PyObject_GC_UnTrack(reference);
    return reference;
}

PyObject* tensor_over(PyObject* buf, int ndim, const int64_t* shape, const int64_t* strides,
                      int64_t offset, PyObject* like) {
    const Class& made = given.tensor;
    Ref tensor(made.fresh());
    if (!tensor) return nullptr;
    made.put(tensor.get(), T_BUF, Py_NewRef(buf));
    made.put(tensor.get(), T_SHAPE, shared_tuple(like, T_SHAPE, shape, ndim));
    made.put(tensor.get(), T_STRIDES, shared_tuple(like, T_STRIDES, strides, ndim));
    made.put(tensor.get(), T_OFFSET, PyLong_FromLongLong(offset));
    for (TensorSlot slot : {T_SHAPE, T_STRIDES, T_OFFSET}) {
        if (!part(tensor.get(), slot)) return nullptr;
    }
    return tensor.release();
}

PyObject* tuple_of(const int64_t* numbers, int count) {
    PyObject* tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; ++i) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (!number) return Py_DECREF(tuple), nullptr;
        PyTuple_SET_ITEM(tuple, i, number);
    }
    if (tuple && count) PyObject_GC_UnTrack(tuple);  // numbers form no cycle
    return tuple;
}

}  // namespace tutor
