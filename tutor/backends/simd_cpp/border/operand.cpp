#include "border/operand.hpp"

#include <structmember.h>

#include <algorithm>
#include <string>

#include "border/errors.hpp"

namespace tutor {

namespace {

// ---- The four attributes ------------------------------------------------------------------------

enum Attribute { BUF, SHAPE, STRIDES, OFFSET, ATTRIBUTES };
PyObject* names[ATTRIBUTES];

// Where instances of a type store the four attributes, if the type declares them in __slots__. Such
// an attribute is a pointer at a fixed offset in the object, so reading it needs no search.
struct Layout {
    PyTypeObject* type;  // kept alive, so that no other type can appear at its address
    bool slotted;
    Py_ssize_t place[ATTRIBUTES];
};

Layout layouts[8];  // the types seen last
unsigned next_layout = 0;

// Finds where `type` keeps its attributes. false, with a Python error set, on failure.
bool learn(PyTypeObject* type, Layout* layout) {
    layout->slotted = type->tp_getattro == PyObject_GenericGetAttr;
    for (int a = 0; a < ATTRIBUTES && layout->slotted; ++a) {
        PyObject* found = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), names[a]);
        if (!found) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
            PyErr_Clear();
        }
        layout->slotted = false;
        if (found && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
            auto* member = reinterpret_cast<PyMemberDescrObject*>(found);
            layout->slotted = member->d_member->type == T_OBJECT_EX &&
                              PyType_IsSubtype(type, member->d_common.d_type);
            layout->place[a] = member->d_member->offset;
        }
        Py_XDECREF(found);
    }
    return true;
}

// The layout of `type`, a copy: asking for an attribute can run Python code that calls kernels. On
// failure its type is nullptr, and a Python error is set.
Layout layout_of(PyTypeObject* type) {
    for (const Layout& layout : layouts) {
        if (layout.type == type) return layout;
    }
    Layout learned{};
    if (!learn(type, &learned)) return {};
    learned.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    Layout& place = layouts[next_layout++ % std::size(layouts)];
    PyTypeObject* before = place.type;
    place = learned;
    Py_XDECREF(before);
    return learned;
}

// The attributes of one object, as owned references.
struct Attributes {
    PyObject* value[ATTRIBUTES] = {};

    ~Attributes() {
        for (PyObject* v : value) Py_XDECREF(v);
    }

    // false, with a Python error set, if one is missing.
    bool read(PyObject* from) {
        Layout layout = layout_of(Py_TYPE(from));
        if (!layout.type) return false;
        for (int a = 0; a < ATTRIBUTES; ++a) {
            if (layout.slotted) {
                char* place = reinterpret_cast<char*>(from) + layout.place[a];
                value[a] = Py_XNewRef(*reinterpret_cast<PyObject**>(place));
            }
            if (!value[a]) value[a] = PyObject_GetAttr(from, names[a]);  // slow, or an empty slot
            if (!value[a]) return false;
        }
        return true;
    }
};

// ---- The border check ---------------------------------------------------------------------------

std::string asked(const char* kernel, int i) {
    return std::string("kernel ") + kernel + ", " + operand_name(i);
}

bool not_an_operand(const char* kernel, int i, const std::string& found) {
    raise("DTypeError", asked(kernel, i), found,
          "pass a Tensor, or any object with buf (whose memory is a Memory), shape and strides "
          "(tuples"
          " of int) and offset (int)");
    return false;
}

// The integers of a tuple. false if it holds anything else.
bool read_integers(PyObject* tuple, int64_t* values) {
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(tuple); ++d) {
        PyObject* item = PyTuple_GET_ITEM(tuple, d);
        if (!PyLong_Check(item)) return false;
        values[d] = nearest_int64(item);
    }
    return true;
}

// The number of elements of a shape; -1 if a size is negative, or if the nonzero sizes mean more
// bytes than 63 bits can count (kernels multiply some sizes, whatever the others are).
int64_t checked_numel(const Operand& operand) {
    constexpr int64_t widest = 8;
    int64_t product = widest;
    bool empty = false;
    for (int d = 0; d < operand.ndim; ++d) {
        int64_t size = operand.shape[d];
        empty |= size == 0;
        if (size < 0 || __builtin_mul_overflow(product, size ? size : 1, &product)) return -1;
    }
    return empty ? 0 : product / widest;
}

// Whether every index that the operand reaches from `offset` lies in [0, count).
bool inside(const Operand& operand, int64_t offset, int64_t count) {
    int64_t low = offset, high = offset;
    for (int d = 0; d < operand.ndim; ++d) {
        int64_t reach;
        if (__builtin_mul_overflow(operand.shape[d] - 1, operand.strides[d], &reach)) return false;
        int64_t& end = reach < 0 ? low : high;
        if (__builtin_add_overflow(end, reach, &end)) return false;
    }
    return low >= 0 && high < count;
}

bool outside(const char* kernel, int i, const Operand& operand, int64_t offset, int64_t count) {
    raise(
        "OutOfRangeError", asked(kernel, i),
        "shape " + shape_of(operand) + " with strides " + text_of(operand.strides, operand.ndim) +
            " from offset " + std::to_string(offset) + " reaches outside of a Buffer of " +
            std::to_string(count) + " elements",
        "keep every index inside the Buffer: the lowest is offset plus (size - 1) * stride of each"
        " axis whose stride is negative, the highest offset plus that of the others");
    return false;
}

}  // namespace

bool read_only(const char* kernel, int i) {
    raise("DTypeError", asked(kernel, i), "its Buffer borrows read-only memory",
          "write into a copy");
    return false;
}

std::string operand_name(int i) { return i == 0 ? "out" : "input " + std::to_string(i); }

int64_t nearest_int64(PyObject* integer) {
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
    return overflow == 0 ? value : overflow > 0 ? INT64_MAX : INT64_MIN;
}

bool make_operand_names() {
    const char* const texts[ATTRIBUTES] = {"buf", "shape", "strides", "offset"};
    for (int a = 0; a < ATTRIBUTES; ++a) {
        if (!(names[a] = PyUnicode_InternFromString(texts[a]))) return false;
    }
    return true;
}

Operands::Operands(int count) : count_(count) {
    operands_ = count <= ON_STACK ? operands_on_stack_ : new Operand[count];
    memories_ = count <= ON_STACK ? memories_on_stack_ : new Memory*[count];
    std::fill_n(memories_, count, nullptr);
}

Operands::~Operands() {
    for (int i = 0; i < count_; ++i) Py_XDECREF(memories_[i]);
    PyMem_Free(copy_);
    if (operands_ != operands_on_stack_) delete[] operands_;
    if (memories_ != memories_on_stack_) delete[] memories_;
}

bool Operands::read(int i, PyObject* from, const char* kernel) {
    Attributes attributes;
    if (!attributes.read(from)) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
        PyErr_Clear();
        return not_an_operand(kernel, i,
                              std::string("an object of type ") + Py_TYPE(from)->tp_name);
    }
    auto [buf, shape, strides, offset] = attributes.value;
    std::string found;
    memories_[i] = memory_of(buf, &found);
    if (!memories_[i]) return PyErr_Occurred() ? false : not_an_operand(kernel, i, found);
    const Memory& memory = *memories_[i];
    int64_t start;
    if (!lay(i, shape, strides, offset, memory.count, memory.dtype, kernel, &start)) return false;
    operands_[i].data = memory.data + start * itemsize_of[memory.dtype];
    return true;
}

bool Operands::lay(int i, PyObject* shape, PyObject* strides, PyObject* offset, int64_t count,
                   DType dtype, const char* kernel, int64_t* start) {
    if (!PyTuple_Check(shape) || !PyTuple_Check(strides) || !PyLong_Check(offset)) {
        return not_an_operand(kernel, i,
                              std::string("shape, strides and offset are of types ") +
                                  Py_TYPE(shape)->tp_name + ", " + Py_TYPE(strides)->tp_name +
                                  " and " + Py_TYPE(offset)->tp_name);
    }
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim > MAX_DIMS || ndim != PyTuple_GET_SIZE(strides)) {
        raise("ShapeError", asked(kernel, i),
              std::to_string(ndim) + " sizes and " + std::to_string(PyTuple_GET_SIZE(strides)) +
                  " strides",
              "give one stride per axis, and at most " + std::to_string(MAX_DIMS) + " axes");
        return false;
    }
    Operand& operand = operands_[i];
    operand.dtype = dtype;
    operand.ndim = static_cast<int>(ndim);
    *start = nearest_int64(offset);
    if (!read_integers(shape, operand.shape) || !read_integers(strides, operand.strides)) {
        return not_an_operand(kernel, i, "shape or strides hold something that is no int");
    }
    int64_t elements = checked_numel(operand);
    if (elements < 0) {
        raise("ShapeError", asked(kernel, i),
              "shape " + shape_of(operand) + ", with a negative size or too many elements to count",
              "give sizes of 0 or more, of less than 2**60 elements in all");
        return false;
    }
    if (elements > 0 && !inside(operand, *start, count)) {
        return outside(kernel, i, operand, *start, count);
    }
    // Axes that are never walked may have any stride. One beyond the Buffer means nothing, and
    // kernels could overflow by multiplying it.
    for (int d = 0; d < operand.ndim; ++d) {
        int64_t& stride = operand.strides[d];
        if (stride > count || stride < -count) stride = 0;
    }
    if (elements == 0) *start = 0;
    return true;
}

bool Operands::check_writable(int i, const char* kernel) const {
    const Operand& operand = operands_[i];
    if (memories_[i] && memories_[i]->readonly) return read_only(kernel, i);
    for (int d = 0; d < operand.ndim; ++d) {
        if (operand.shape[d] > 1 && operand.strides[d] == 0 && numel(operand) > 0) {
            raise("ShapeError", asked(kernel, i),
                  "stride 0 along axis " + std::to_string(d) + " of shape " + shape_of(operand) +
                      ": several indices stand for the same element",
                  "write into a contiguous operand");
            return false;
        }
    }
    return true;
}

bool Operands::copy(int i) {
    Operand& x = operands_[i];
    if (numel(x) == 0) return true;
    int64_t strides[MAX_DIMS];
    const int64_t total = lay_out_copy(x, strides);
    if (!(copy_ = PyMem_New(int64_t, total))) return PyErr_NoMemory(), false;
    copy_elements(x, strides, total, copy_);
    x.data = reinterpret_cast<char*>(copy_);
    std::copy_n(strides, x.ndim, x.strides);
    return true;
}

int64_t lay_out_copy(const Operand& x, int64_t* strides) {
    int64_t total = 1;
    for (int d = x.ndim - 1; d >= 0; --d) {
        strides[d] = x.strides[d] == 0 ? 0 : total;
        if (strides[d]) total *= x.shape[d];
    }
    return total;
}

void copy_elements(const Operand& x, const int64_t* strides, int64_t total, int64_t* to) {
    const int64_t* from = reinterpret_cast<const int64_t*>(x.data);
    int64_t index[MAX_DIMS] = {};
    for (int64_t n = 0; n < total; ++n) {
        to[n] = *from;
        for (int d = x.ndim - 1; d >= 0; --d) {  // to the next element, as an odometer counts
            if (!strides[d]) continue;
            from += x.strides[d];
            if (++index[d] < x.shape[d]) break;
            from -= x.shape[d] * x.strides[d];
            index[d] = 0;
        }
    }
}

}  // namespace tutor
