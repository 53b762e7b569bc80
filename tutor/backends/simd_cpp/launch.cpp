// A Launcher does in one call what the Engine does step by step: it looks the kernel up, takes a
// Buffer, lets the kernel fill it, and makes a Tensor of it. It does so only where nothing is to be
// found out first: operands of one shape and dtype, a product of two matrices, or a reduction. For
// everything else it answers None, and the Engine goes its own way, which gives the same.
#include "launch.hpp"

#include <structmember.h>

#include <cmath>
#include <cstring>

#include "call.hpp"
#include "checks.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "operand.hpp"
#include "params.hpp"

namespace tutor {

namespace {

struct Launcher {
    PyObject head;
    vectorcallfunc call;
    const Row* rows[DTYPES];  // nullptr: there is no kernel for this dtype
    const Row* any;           // one of them: they differ in their dtype alone
    Keywords keywords;
    int inputs, dtypes;
};

constexpr int MAX_INPUTS = 3;

PyTypeObject* launcher_type = nullptr;

// ---- The two Python classes ---------------------------------------------------------------------

enum { BUF, SHAPE, STRIDES, OFFSET, GRAD, OP, REQUIRES_GRAD, IN_TENSOR };

const char* const in_tensor[] = {"buf",   "shape", "strides",      "offset",
                                 "_grad", "op",    "requires_grad"};

// A class with __slots__, and where its instances keep them.
struct Class {
    PyTypeObject* type;
    Py_ssize_t place[IN_TENSOR];

    PyObject*& slot(PyObject* object, int which) const {
        return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + place[which]);
    }

    // Fills in the places. false if the class or a base of it has not all of the slots.
    bool learn(PyTypeObject* learned, const char* const* names, int count) {
        for (int i = 0; i < count; ++i) {
            PyObject* name = PyUnicode_InternFromString(names[i]);
            PyObject* found = name ? _PyType_Lookup(learned, name) : nullptr;
            Py_XDECREF(name);
            if (!found || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return false;
            const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
            if (member->type != T_OBJECT_EX) return false;
            place[i] = member->offset;
        }
        type = reinterpret_cast<PyTypeObject*>(Py_NewRef(learned));
        return true;
    }
};

Class tensor{};  // the one whose instances are made, learned from the first operand

bool is_tensor(PyObject* object) {
    if (!tensor.type) {
        Class found{};
        if (!found.learn(Py_TYPE(object), in_tensor, IN_TENSOR)) return false;
        tensor = found;
    }
    if (!Py_IS_TYPE(object, tensor.type)) return false;
    PyObject* buf = tensor.slot(object, BUF);
    // Its dtype may have been assigned to. The Engine will find out that the memory has another.
    return buf && is_intact(buf);
}

// ---- The operands -------------------------------------------------------------------------------

// Room for a number that stands beside tensors: every element of an operand with strides of 0.
union Number {
    float single;
    double wide;
};

// A Python number as an operand beside `x`. false where that takes more than a rounding.
bool read_number(PyObject* object, const Operand& x, Number* room, Operand* operand) {
    double value;
    if (PyFloat_CheckExact(object)) {
        value = PyFloat_AS_DOUBLE(object);
    } else if (PyLong_CheckExact(object)) {
        int overflow;
        const long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow || whole > 1LL << 53 || whole < -(1LL << 53)) return false;
        value = static_cast<double>(whole);
    } else {
        return false;
    }
    if (x.dtype == Float32) {
        room->single = static_cast<float>(value);
        if (std::isinf(room->single) && !std::isinf(value)) return false;
    } else if (x.dtype == Float64) {
        room->wide = value;
    } else {
        return false;
    }
    *operand = x;
    operand->data = reinterpret_cast<char*>(room);
    std::memset(operand->strides, 0, x.ndim * sizeof(int64_t));
    return true;
}

bool same_shape(const Operand& x, const Operand& y) {
    return x.ndim == y.ndim && std::memcmp(x.shape, y.shape, x.ndim * sizeof(int64_t)) == 0;
}

// Row-major strides, as tutor/ground/layout.py has them, and the number of elements; -1: too many.
int64_t lay_out(Operand* out) {
    int64_t step = 1, count = 1;
    for (int d = out->ndim - 1; d >= 0; --d) {
        const int64_t size = out->shape[d];
        out->strides[d] = step;
        if (__builtin_mul_overflow(step, size > 0 ? size : 1, &step)) return -1;
        count *= size;
    }
    return step > PTRDIFF_MAX / 16 ? -1 : count;
}

PyObject* tuple_of(const int64_t* numbers, int count) {
    PyObject* tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; ++i) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (!number) return Py_DECREF(tuple), nullptr;
        PyTuple_SET_ITEM(tuple, i, number);
    }
    return tuple;
}

// ---- The call -----------------------------------------------------------------------------------

// A Tensor over `buf`, which it takes over, walked as `out` says. Where `out` lies as `like` does,
// the two share their tuples.
PyObject* wrap(PyObject* buf, const Operand& out, PyObject* like, const Operand& x, bool wanted) {
    const bool shape = same_shape(out, x);
    const bool strides =
        shape && std::memcmp(out.strides, x.strides, x.ndim * sizeof(int64_t)) == 0;
    PyObject* result = tensor.type->tp_alloc(tensor.type, 0);
    if (!result) return Py_DECREF(buf), nullptr;
    tensor.slot(result, BUF) = buf;
    PyObject* shared[] = {shape ? tensor.slot(like, SHAPE) : nullptr,
                          strides ? tensor.slot(like, STRIDES) : nullptr};
    tensor.slot(result, SHAPE) = shared[0] ? Py_NewRef(shared[0]) : tuple_of(out.shape, out.ndim);
    tensor.slot(result, STRIDES) =
        shared[1] ? Py_NewRef(shared[1]) : tuple_of(out.strides, out.ndim);
    tensor.slot(result, OFFSET) = PyLong_FromLong(0);
    tensor.slot(result, GRAD) = Py_NewRef(Py_None);
    tensor.slot(result, OP) = Py_NewRef(Py_None);
    tensor.slot(result, REQUIRES_GRAD) = Py_NewRef(wanted ? Py_True : Py_False);
    if (!tensor.slot(result, SHAPE) || !tensor.slot(result, STRIDES)) Py_CLEAR(result);
    return result;
}

// What is left of x without the axes in `params`.
void drop_axes(const Operand& x, const Params& params, Operand* out) {
    bool goes[MAX_DIMS] = {};
    for (int a = 0; a < params.axis_count; ++a) goes[params.axis[a]] = true;
    out->ndim = 0;
    for (int d = 0; d < x.ndim; ++d) {
        if (!goes[d]) out->shape[out->ndim++] = x.shape[d];
    }
}

PyObject* launch(const Launcher& self, PyObject* const* args, PyObject* names) {
    const int inputs = self.inputs;
    const char* letters = self.any->types + 1;

    Operands operands(1 + inputs);
    int like = -1;  // the first operand that is no number, and has the kernel's dtype
    bool wanted = false, numbers = false;
    for (int i = 0; i < inputs; ++i) {
        if (!is_tensor(args[i])) {
            numbers = true;  // perhaps: see below
            continue;
        }
        if (!operands.read(1 + i, args[i], self.any->name))
            return PyErr_Clear(), Py_NewRef(Py_None);
        if (like < 0 && letters[i] == 'T') like = i;
        wanted |= tensor.slot(args[i], REQUIRES_GRAD) == Py_True;
    }
    if (like < 0) Py_RETURN_NONE;
    const Operand& x = operands[1 + like];
    const Row* row = self.rows[x.dtype];
    if (!row) Py_RETURN_NONE;

    Number room[MAX_INPUTS];
    for (int i = 0; i < inputs; ++i) {
        const Operand& y = operands[1 + i];
        if (numbers && !is_tensor(args[i])) {
            Operand number;
            if (letters[i] != 'T' || !read_number(args[i], x, &room[i], &number)) Py_RETURN_NONE;
            operands.put(1 + i, number);
        } else if (y.dtype != meaning(letters[i], x.dtype) ||
                   (row->form == Form::Elementwise && !same_shape(x, y))) {
            Py_RETURN_NONE;
        }
    }
    Params params{};
    if (!read_params(*row, self.keywords, names, args + inputs, operands, &params))
        return PyErr_Clear(), Py_NewRef(Py_None);

    Operand out = x;
    out.dtype = meaning(row->types[0], x.dtype);
    wanted &= out.dtype >= Float16;  // the floats stand last
    if (row->form == Form::Reduce) {
        if (numel(x) == 0) Py_RETURN_NONE;  // some have no result
        drop_axes(x, params, &out);
    }
    if (row->form == Form::MatMul) {
        const Operand& y = operands[2];
        if (numbers || x.ndim != 2 || y.ndim != 2 || x.shape[1] != y.shape[0]) Py_RETURN_NONE;
        out.shape[1] = y.shape[1];
    }
    const int64_t count = lay_out(&out);
    PyObject* buf = count < 0 ? nullptr : new_buffer(count, out.dtype, &out.data);
    if (!buf) return PyErr_Clear(), Py_NewRef(Py_None);  // the Engine will say it
    operands.put(0, out);
    // Made beforehand: while the kernel runs, another thread may change what the operands are.
    PyObject* result = wrap(buf, out, args[like], x, wanted);
    PyObject* done = result ? run(*row, operands, params) : nullptr;
    if (!done) Py_CLEAR(result);
    Py_XDECREF(done);
    return result;
}

// launcher(*ins, **params)
PyObject* launcher_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    const Launcher& launcher = *reinterpret_cast<Launcher*>(self);
    const bool named = names && PyTuple_GET_SIZE(names) > 0;
    if (named != (launcher.any->params[0] != 0) || PyVectorcall_NARGS(nargsf) != launcher.inputs)
        Py_RETURN_NONE;
    try {
        return launch(launcher, args, names);
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

// ---- The type -----------------------------------------------------------------------------------

void launcher_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Py_XDECREF(reinterpret_cast<Launcher*>(object)->keywords.names);
    PyObject_Free(object);
    Py_DECREF(type);
}

Py_ssize_t launcher_length(PyObject* object) { return reinterpret_cast<Launcher*>(object)->dtypes; }

PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, call), READONLY, nullptr},
    {},
};

PyType_Slot launcher_slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "launcher(*ins, **params): a new Tensor with the kernel's result, for operands of one"
         " dtype (numbers among them) and one shape, two matrices that can be multiplied, or a"
         " reduction; None for any others. It requires a gradient if an operand does, though no"
         " graph knows of it yet. len(launcher) dtypes can be launched.")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(launcher_dealloc)},
    {Py_tp_members, launcher_members},
    {Py_sq_length, reinterpret_cast<void*>(launcher_length)},
    {0, nullptr},
};

PyType_Spec launcher_spec = {"tutor.backends.simd_cpp._simd.Launcher", sizeof(Launcher), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                             launcher_slots};

bool can_be_launched(const Row& row) {
    const char* inputs = row.types + 1;
    const bool plain =
        std::strchr("TbSi", row.types[0]) && std::strspn(inputs, "Tb") == std::strlen(inputs);
    const bool form =
        row.form == Form::Elementwise || row.form == Form::MatMul || row.form == Form::Reduce;
    const bool axis = std::strcmp(row.params, "axis") == 0;
    return plain && form && (axis || !row.params[0]) && std::strlen(inputs) <= MAX_INPUTS;
}

}  // namespace

PyObject* make_launcher(const Row* const* rows) {
    const Row* any = nullptr;
    int dtypes = 0;
    for (int dtype = 0; dtype < DTYPES; ++dtype) {
        if (rows[dtype]) any = rows[dtype], ++dtypes;
    }
    if (!any || !can_be_launched(*any)) Py_RETURN_NONE;
    Launcher* self = PyObject_New(Launcher, launcher_type);
    if (!self) return nullptr;
    self->call = launcher_call;
    std::memcpy(self->rows, rows, sizeof self->rows);
    self->any = any;
    self->inputs = static_cast<int>(std::strlen(any->types)) - 1;
    self->dtypes = dtypes;
    if (!make_keywords(*any, &self->keywords)) Py_CLEAR(self);
    return reinterpret_cast<PyObject*>(self);
}

bool make_launcher_type() {
    launcher_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&launcher_spec));
    return launcher_type != nullptr;
}

}  // namespace tutor
