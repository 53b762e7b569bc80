#include "engine/views.hpp"

#include <algorithm>

#include "engine/classes.hpp"

namespace tutor {

namespace {

void set_axis(Walk* z, int64_t size, int64_t stride) {
    z->shape[z->ndim] = size;
    z->strides[z->ndim++] = stride;
}

// Whether kernels can count the elements of such a shape, as `checked_shape` of
// tutor/_storage/layout.py decides.
bool is_shape(const int64_t* shape, int ndim) {
    int64_t product = 8;  // bytes of the widest dtype; sizes of 0 do not count
    bool beyond = false;
    for (int d = 0; d < ndim; ++d) {
        if (shape[d] < 0) return false;
        beyond |= __builtin_mul_overflow(product, shape[d] ? shape[d] : 1, &product);
    }
    return !beyond;
}

// A run of elements at one stride, though along several axes: their number, and the stride of the
// innermost axis.
struct Run {
    int64_t size, stride;
};

int runs_of(const Walk& x, Run* runs) {
    int count = 0;
    for (int d = 0; d < x.ndim; ++d) {
        int64_t whole;
        if (x.shape[d] == 1) continue;
        const bool on = count && !__builtin_mul_overflow(x.strides[d], x.shape[d], &whole) &&
                        runs[count - 1].stride == whole;
        if (on)
            runs[count - 1] = {runs[count - 1].size * x.shape[d], x.strides[d]};
        else
            runs[count++] = {x.shape[d], x.strides[d]};
    }
    return count;
}

}  // namespace

bool read_whole(PyObject* object, int64_t* number) {
    Ref index(PyLong_CheckExact(object) ? Py_NewRef(object) : PyNumber_Index(object));
    if (!index) return PyErr_Clear(), false;
    int overflow;
    *number = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    return !overflow;
}

bool read_sizes(PyObject* object, Sizes* sizes) {
    if (!PyTuple_Check(object) && !PyList_Check(object))
        return sizes->count = 1, read_whole(object, &sizes->size[0]);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (count > MAX_DIMS) return false;
    for (Py_ssize_t i = 0; i < count && i < PySequence_Fast_GET_SIZE(object); ++i) {
        Ref item = Ref::to(PySequence_Fast_GET_ITEM(object, i));
        if (!read_whole(item.get(), &sizes->size[i])) return false;
    }
    sizes->count = static_cast<int>(count);
    return count == PySequence_Fast_GET_SIZE(object);
}

bool read_axis(PyObject* object, int ndim, int64_t* axis) {
    if (!read_whole(object, axis) || *axis < -ndim || *axis >= ndim) return false;
    *axis += *axis < 0 ? ndim : 0;
    return true;
}

bool read_axes(PyObject* given, int ndim, Sizes* axes) {
    if (given == Py_None) {
        for (axes->count = 0; axes->count < ndim; ++axes->count)
            axes->size[axes->count] = axes->count;
        return true;
    }
    if (!read_sizes(given, axes)) return false;
    const int64_t among = std::max(ndim, 1);  // a scalar accepts axes 0 and -1
    for (int a = 0; a < axes->count; ++a) {
        int64_t& axis = axes->size[a];
        if (axis < -among || axis >= among) return false;
        axis += axis < 0 ? among : 0;
    }
    std::sort(axes->size, axes->size + axes->count);
    if (std::adjacent_find(axes->size, axes->size + axes->count) != axes->size + axes->count)
        return false;
    axes->count = ndim ? axes->count : 0;
    return true;
}

bool read_walk(PyObject* shape, PyObject* strides, PyObject* offset, Walk* walk) {
    if (!shape || !strides || !offset || !PyTuple_Check(shape) || !PyTuple_Check(strides))
        return false;
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim > MAX_DIMS || ndim != PyTuple_GET_SIZE(strides)) return false;
    for (Py_ssize_t d = 0; d < ndim; ++d) {
        if (!read_whole(PyTuple_GET_ITEM(shape, d), &walk->shape[d]) ||
            !read_whole(PyTuple_GET_ITEM(strides, d), &walk->strides[d]))
            return false;
    }
    walk->ndim = static_cast<int>(ndim);
    return is_shape(walk->shape, walk->ndim) && read_whole(offset, &walk->offset);
}

int64_t count_of(const Walk& x) {
    int64_t count = 1;
    for (int d = 0; d < x.ndim; ++d) count *= x.shape[d];
    return count;
}

int64_t count_of(const Sizes& sizes) {
    if (!is_shape(sizes.size, sizes.count)) return -1;
    int64_t count = 1;
    for (int i = 0; i < sizes.count; ++i) count *= sizes.size[i];
    return count;
}

bool fill_in(int64_t count, Sizes* to) {
    int64_t known = 1, *open = nullptr;
    for (int i = 0; i < to->count; ++i) {
        int64_t& size = to->size[i];
        if (size == -1) {
            if (open) return false;
            open = &size;
        } else if (size < 0 || __builtin_mul_overflow(known, size, &known)) {
            return false;
        }
    }
    if (open) {
        if (known == 0 || count % known) return false;
        *open = count / known;
        known = count;
    }
    return known == count && is_shape(to->size, to->count);
}

bool reshape(const Walk& x, const Sizes& to, Walk* z) {
    Run runs[MAX_DIMS];
    int left = runs_of(x, runs);
    int64_t room = 1, step = 1;  // of the innermost run: what is left, and its next axis's stride
    const bool empty = std::count(x.shape, x.shape + x.ndim, 0) > 0;
    z->ndim = to.count;
    z->offset = x.offset;
    for (int d = to.count - 1; d >= 0; --d) {
        const int64_t size = to.size[d];
        z->shape[d] = size;
        if (empty) {  // nothing is walked: row-major
            z->strides[d] = step;
            step *= size ? size : 1;
            continue;
        }
        if (size != 1 && room == 1) room = runs[--left].size, step = runs[left].stride;
        if (room % size) return false;
        z->strides[d] = step;
        room /= size;
        if (__builtin_mul_overflow(step, size, &step)) return false;
    }
    return true;
}

bool permute(const Walk& x, const Sizes& axes, Walk* z) {
    if (axes.count != x.ndim) return false;
    bool named[MAX_DIMS] = {};
    z->ndim = 0;
    z->offset = x.offset;
    for (int d = 0; d < axes.count; ++d) {
        int64_t axis = axes.size[d];
        axis += axis < 0 ? x.ndim : 0;
        if (axis < 0 || axis >= x.ndim || named[axis]) return false;
        named[axis] = true;
        set_axis(z, x.shape[axis], x.strides[axis]);
    }
    return true;
}

void reverse(const Walk& x, Walk* z) {
    z->ndim = 0;
    z->offset = x.offset;
    for (int d = x.ndim - 1; d >= 0; --d) set_axis(z, x.shape[d], x.strides[d]);
}

bool transpose(const Walk& x, PyObject* a, PyObject* b, Walk* z) {
    const int64_t among = std::max(x.ndim, 1);
    int64_t one = -2, other = -1;
    if ((a && !read_whole(a, &one)) || (b && !read_whole(b, &other))) return false;
    if (one < -among || one >= among || other < -among || other >= among) return false;
    one += one < 0 ? among : 0;
    other += other < 0 ? among : 0;
    *z = x;
    if (x.ndim) {
        std::swap(z->shape[one], z->shape[other]);
        std::swap(z->strides[one], z->strides[other]);
    }
    return true;
}

bool unsqueeze(const Walk& x, PyObject* axis, Walk* z) {
    int64_t at, step = 1;
    if (x.ndim == MAX_DIMS || !read_axis(axis, x.ndim + 1, &at)) return false;
    if (at < x.ndim && __builtin_mul_overflow(x.shape[at], x.strides[at], &step)) return false;
    z->ndim = 0;
    z->offset = x.offset;
    for (int d = 0; d <= x.ndim; ++d) {
        if (d == at) set_axis(z, 1, step);
        if (d < x.ndim) set_axis(z, x.shape[d], x.strides[d]);
    }
    return true;
}

bool squeeze(const Walk& x, PyObject* axis, Walk* z) {
    Sizes axes;
    if (!read_axes(axis, x.ndim, &axes)) return false;
    z->ndim = 0;
    z->offset = x.offset;
    for (int d = 0; d < x.ndim; ++d) {
        const bool named = std::count(axes.size, axes.size + axes.count, d) > 0;
        if (named && axis != Py_None && x.shape[d] != 1) return false;
        if (!named || x.shape[d] != 1) set_axis(z, x.shape[d], x.strides[d]);
    }
    return true;
}

bool expand(const Walk& x, const Sizes& to, Walk* z) {
    const int extra = to.count - x.ndim;
    if (extra < 0) return false;
    z->ndim = 0;
    z->offset = x.offset;
    for (int d = 0; d < to.count; ++d) {
        const int64_t old = d < extra ? -1 : x.shape[d - extra];
        const int64_t size = to.size[d] == -1 ? old : to.size[d];
        if (d >= extra && old != size && old != 1) return false;
        set_axis(z, size, d < extra || old != size ? 0 : x.strides[d - extra]);
    }
    return is_shape(z->shape, z->ndim);
}

bool diagonal(const Walk& x, int64_t k, int64_t a, int64_t b, Walk* z) {
    if (k < -(int64_t(1) << 60) || k > int64_t(1) << 60 || a == b) return false;
    const int64_t down = std::max<int64_t>(-k, 0), right = std::max<int64_t>(k, 0);
    const int64_t length = std::max<int64_t>(std::min(x.shape[a] - down, x.shape[b] - right), 0);
    int64_t stride, lower, aside;
    if (__builtin_add_overflow(x.strides[a], x.strides[b], &stride) ||
        __builtin_mul_overflow(length ? down : 0, x.strides[a], &lower) ||
        __builtin_mul_overflow(length ? right : 0, x.strides[b], &aside) ||
        __builtin_add_overflow(x.offset, lower, &z->offset) ||
        __builtin_add_overflow(z->offset, aside, &z->offset))
        return false;
    z->ndim = 0;
    for (int d = 0; d < x.ndim; ++d) {
        if (d != a && d != b) set_axis(z, x.shape[d], x.strides[d]);
    }
    return set_axis(z, length, stride), true;
}

bool windows(const Walk& x, int64_t axis, int64_t size, int64_t step, int64_t dilation, Walk* z) {
    int64_t span = 0, along, apart;
    if (x.ndim == MAX_DIMS || size < 0 || step < 1 || dilation < 1 ||
        (size && (__builtin_mul_overflow(size - 1, dilation, &span) ||
                  __builtin_add_overflow(span, 1, &span))) ||
        span > x.shape[axis] || __builtin_mul_overflow(x.strides[axis], step, &along) ||
        __builtin_mul_overflow(x.strides[axis], dilation, &apart))
        return false;
    *z = x;
    z->shape[axis] = (x.shape[axis] - span) / step + 1;
    z->strides[axis] = along;
    return set_axis(z, size, apart), true;
}

}  // namespace tutor
