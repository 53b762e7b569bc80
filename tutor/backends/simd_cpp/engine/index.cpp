// Basic indexing: x[1, ::2, None, ...].
#include <string>

#include "engine/classes.hpp"
#include "engine/views.hpp"

namespace tutor {

namespace {

constexpr Py_ssize_t MOST = 2 * MAX_DIMS;  // parts of a key: every axis, and as many new ones

// Whether a part of the key that is no int is a position after all. An array of NumPy or a Tensor
// with one number is, unless it is a bool; one with more numbers chooses several positions.
bool read_position(PyObject* part, int64_t* position) {
    if (PyLong_CheckExact(part)) return read_whole(part, position);
    if (PyBool_Check(part) || !PyIndex_Check(part)) return false;
    Ref shape(PyObject_GetAttrString(part, "shape"));
    if (!shape) PyErr_Clear();
    if (shape && !(PyTuple_Check(shape.get()) && PyTuple_GET_SIZE(shape.get()) == 0)) return false;
    Ref dtype(PyObject_GetAttrString(part, "dtype"));
    if (!dtype) PyErr_Clear();
    Ref text(dtype ? PyObject_Str(dtype.get()) : nullptr);
    const char* name = text ? PyUnicode_AsUTF8(text.get()) : "";
    if (!name || std::string(name).find("bool") != std::string::npos) return PyErr_Clear(), false;
    Ref number(PyNumber_Index(part));
    if (!number) return PyErr_Clear(), false;
    return read_whole(number.get(), position);
}

// Where a slice starts, how many elements it has, and its step.
bool read_slice(PyObject* part, int64_t size, int64_t* start, int64_t* count, int64_t* step) {
    auto* slice = reinterpret_cast<PySliceObject*>(part);
    for (PyObject* end : {slice->start, slice->stop, slice->step}) {
        if (end != Py_None && !PyLong_CheckExact(end)) return false;
    }
    Py_ssize_t from, to, by;
    if (PySlice_Unpack(part, &from, &to, &by) < 0) return PyErr_Clear(), false;
    *count = PySlice_AdjustIndices(size, &from, &to, by);
    *start = from, *step = by;
    return true;
}

bool choose(PyObject* part, int64_t size, int64_t stride, Walk* z) {
    int64_t start, count = 1, step = 1, moved;
    const bool slice = PySlice_Check(part);
    if (slice) {
        if (!read_slice(part, size, &start, &count, &step)) return false;
    } else {
        if (!read_position(part, &start) || start < -size || start >= size) return false;
        start += start < 0 ? size : 0;
    }
    if (__builtin_mul_overflow(count ? start : 0, stride, &moved) ||
        __builtin_add_overflow(z->offset, moved, &z->offset))
        return false;
    if (!slice) return true;
    z->shape[z->ndim] = count;
    // A step that is never taken may be of any size.
    return !__builtin_mul_overflow(stride, count > 1 ? step : 1, &z->strides[z->ndim++]);
}

}  // namespace

bool index(const Walk& x, PyObject* key, Walk* z) {
    const bool many = PyTuple_Check(key);
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
    if (count > MOST) return false;
    PyObject* const* parts = many ? &PyTuple_GET_ITEM(key, 0) : &key;
    int named = 0, dots = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        dots += parts[i] == Py_Ellipsis;
        named += parts[i] != Py_None && parts[i] != Py_Ellipsis;
    }
    if (named > x.ndim || dots > 1 || count - dots - named + x.ndim > MAX_DIMS) return false;
    int axis = 0, whole = x.ndim - named;
    z->ndim = 0;
    z->offset = x.offset;
    auto keep = [&] {  // all axes that the key does not name
        for (; whole; --whole, ++axis, ++z->ndim) {
            z->shape[z->ndim] = x.shape[axis];
            z->strides[z->ndim] = x.strides[axis];
        }
    };
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (parts[i] == Py_Ellipsis) {
            keep();
        } else if (parts[i] == Py_None) {
            z->shape[z->ndim] = 1;
            z->strides[z->ndim++] = 0;
        } else {
            if (!choose(parts[i], x.shape[axis], x.strides[axis], z)) return false;
            ++axis;
        }
    }
    return keep(), true;
}

PyObject* plain_key(PyObject* key) {
    Ref parts(PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key));
    PyObject* plain = parts ? PyTuple_New(PyTuple_GET_SIZE(parts.get())) : nullptr;
    for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(plain); ++i) {
        PyObject* part = PyTuple_GET_ITEM(parts.get(), i);
        PyObject* item = PyIndex_Check(part) ? PyNumber_Index(part) : Py_NewRef(part);
        if (!item) return Py_DECREF(plain), nullptr;
        PyTuple_SET_ITEM(plain, i, item);
    }
    return plain;
}

}  // namespace tutor
