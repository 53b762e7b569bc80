// The module `_simd`: kernels as Python callables. No arithmetic happens here: a call is read,
// checked, and handed to the kernel.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cmath>
#include <cstring>
#include <string>

#include "checks.hpp"
#include "errors.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "operand.hpp"

namespace py = pybind11;

namespace tutor {
namespace {

// ---- A kernel as a Python object -----------------------------------------------------------------

struct Kernel {
    PyObject_HEAD
    vectorcallfunc call;
    const Row* row;
    const char* level;
    PyObject* names;  // tuple: the keyword parameters
    int inputs;       // how many; at least this many if types ends in '+'
    bool more;        // whether it does
};

PyTypeObject* kernel_type = nullptr;

// ---- Keyword parameters --------------------------------------------------------------------------

// A float as a 64-bit integer: towards 0, cut at the ends of the range; 0 for nan and inf.
uint64_t integer_of(double number) {
    if (!std::isfinite(number)) return 0;
    if (number >= 0x1p64) return UINT64_MAX;
    if (number >= 0x1p63) return static_cast<uint64_t>(number);
    if (number < -0x1p63) return static_cast<uint64_t>(INT64_MIN);
    return static_cast<uint64_t>(static_cast<int64_t>(number));
}

bool read_number(const Kernel* self, PyObject* name, PyObject* value, int i, Params* params) {
    if (PyFloat_Check(value)) {
        params->number[i] = PyFloat_AS_DOUBLE(value);
        params->integer[i] = integer_of(params->number[i]);
        return true;
    }
    if (PyLong_Check(value)) {
        params->number[i] = PyLong_AsDouble(value);
        params->integer[i] = PyLong_AsUnsignedLongLongMask(value);
        return !PyErr_Occurred();
    }
    PyErr_Format(PyExc_TypeError, "kernel %s: %U must be an int, a float or a bool, not %s",
                 self->row->name, name, Py_TYPE(value)->tp_name);
    return false;
}

// An int or a tuple of ints into params->axis.
bool read_integers(const Kernel* self, PyObject* name, PyObject* value, Params* params) {
    bool many = PyTuple_Check(value);
    Py_ssize_t count = many ? PyTuple_GET_SIZE(value) : 1;
    if (count > MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "kernel %s: %U has %zd items, more than the %d axes an"
                     " operand can have", self->row->name, name, count, MAX_DIMS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = many ? PyTuple_GET_ITEM(value, i) : value;
        if (!PyLong_Check(item)) {
            PyErr_Format(PyExc_TypeError, "kernel %s: %U must be an int or a tuple of ints, not %R",
                         self->row->name, name, value);
            return false;
        }
        params->axis[i] = PyLong_AsLongLong(item);
        if (params->axis[i] == -1 && PyErr_Occurred()) return false;
    }
    params->axis_count = static_cast<int>(count);
    return true;
}

// Negative axes counted from the end; each one there, and named once.
bool check_axes(const Kernel* self, int ndim, Params* params) {
    bool named[MAX_DIMS] = {};
    for (int i = 0; i < params->axis_count; ++i) {
        int64_t axis = params->axis[i] < 0 ? params->axis[i] + ndim : params->axis[i];
        if (axis < 0 || axis >= ndim || named[axis]) {
            bool twice = axis >= 0 && axis < ndim;
            raise("AxisError", std::string("kernel ") + self->row->name + ", axis " +
                                   std::to_string(params->axis[i]),
                  twice ? "the axis is named twice"
                        : "the input has " + std::to_string(ndim) + " axes",
                  "name each axis once, from -ndim to ndim - 1");
            return false;
        }
        named[axis] = true;
        params->axis[i] = axis;
    }
    return true;
}

bool is_name(PyObject* name, const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

bool read_params(const Kernel* self, PyObject* const* values, PyObject* given,
                 const Operands& operands, Params* params) {
    params->axis_count = 0;
    params->axis[0] = 0;
    Py_ssize_t wanted = PyTuple_GET_SIZE(self->names);
    Py_ssize_t count = given ? PyTuple_GET_SIZE(given) : 0;
    Py_ssize_t found = 0;
    int numbers = 0;
    for (Py_ssize_t w = 0; w < wanted; ++w) {
        PyObject* name = PyTuple_GET_ITEM(self->names, w);
        PyObject* value = nullptr;
        for (Py_ssize_t g = 0; g < count && !value; ++g) {
            PyObject* other = PyTuple_GET_ITEM(given, g);
            if (other == name || PyUnicode_Compare(other, name) == 0) value = values[g];
        }
        if (!value) {
            PyErr_Format(PyExc_TypeError, "kernel %s: missing keyword argument %R", self->row->name,
                         name);
            return false;
        }
        ++found;
        if (is_name(name, "axis")) {
            if (!read_integers(self, name, value, params)) return false;
            if (!check_axes(self, operands[operands.count() > 1].ndim, params)) return false;
        } else if (is_name(name, "before")) {
            if (!read_integers(self, name, value, params)) return false;
        } else if (!read_number(self, name, value, numbers++, params)) {
            return false;
        }
    }
    for (Py_ssize_t g = 0; g < count && found < count; ++g) {
        PyObject* name = PyTuple_GET_ITEM(given, g);
        int known = PySequence_Contains(self->names, name);
        if (known < 0) return false;
        if (!known) {
            PyErr_Format(PyExc_TypeError, "kernel %s: unexpected keyword argument %R, it takes %R",
                         self->row->name, name, self->names);
            return false;
        }
    }
    return true;
}

// ---- A call --------------------------------------------------------------------------------------

// Other Python threads may run meanwhile only where that is worth the 0.1 us it costs.
bool is_long(const Row& row, const Operands& operands) {
    constexpr double LONG = 1 << 14;
    double work = 0;
    if (row.form == Form::MatMul) {
        work = static_cast<double>(numel(operands[0])) * operands[1].shape[operands[1].ndim - 1] / 16;
    } else {
        for (int i = 0; i < operands.count(); ++i) work += static_cast<double>(numel(operands[i]));
    }
    return work > LONG;
}

PyObject* result_of(const Row& row, const Status& status) {
    std::string asked = std::string("kernel ") + row.name;
    switch (status.kind) {
        case Status::Ok:
            Py_RETURN_NONE;
        case Status::IndexOutOfRange:
            return raise("OutOfRangeError", asked,
                         "index " + std::to_string(status.found) + " into " +
                             std::to_string(status.size) + " elements",
                         "keep indices from 0 to size - 1");
        case Status::NegativeExponent:
            PyErr_Format(PyExc_ValueError, "kernel %s: integers to a negative power are no integers;"
                         " cast to a float dtype first", row.name);
            return nullptr;
        case Status::OutOfMemory:
            PyErr_Format(PyExc_MemoryError, "kernel %s: no room for scratch memory", row.name);
            return nullptr;
    }
    return nullptr;
}

PyObject* call(const Kernel* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    const Row& row = *self->row;
    if (count - 1 != self->inputs && !(self->more && count - 1 > self->inputs)) {
        PyErr_Format(PyExc_TypeError, "kernel %s: takes out and %s%d inputs, not %zd operands",
                     row.name, self->more ? "at least " : "", self->inputs, count);
        return nullptr;
    }
    Operands operands(static_cast<int>(count));
    for (int i = 0; i < count; ++i) {
        if (!operands.read(i, args[i], row.name)) return nullptr;
    }
    Params params;
    if (!operands.check_writable(0, row.name) || !check_dtypes(row, operands) ||
        !read_params(self, args + count, names, operands, &params) ||
        !check_shapes(row, operands, params)) {
        return nullptr;
    }
    const Operand* all = &operands[0];
    Status status;
    if (is_long(row, operands)) {
        Py_BEGIN_ALLOW_THREADS;
        status = row.run(all[0], all + 1, static_cast<int>(count - 1), params);
        Py_END_ALLOW_THREADS;
    } else {
        status = row.run(all[0], all + 1, static_cast<int>(count - 1), params);
    }
    if (status.kind == Status::Ok) Py_RETURN_NONE;
    return result_of(row, status);
}

PyObject* kernel_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    try {
        return call(reinterpret_cast<Kernel*>(self), args, PyVectorcall_NARGS(nargsf), names);
    } catch (const std::exception& error) {  // no C++ exception may cross into the interpreter
        PyErr_SetString(dynamic_cast<const std::bad_alloc*>(&error) ? PyExc_MemoryError
                                                                     : PyExc_RuntimeError,
                        error.what());
        return nullptr;
    }
}

PyObject* make_kernel(const Row* row, const char* level) {
    Kernel* self = PyObject_New(Kernel, kernel_type);
    if (!self) return nullptr;
    self->call = kernel_call;
    self->row = row;
    self->level = level;
    size_t letters = std::strlen(row->types);
    self->more = row->types[letters - 1] == '+';
    self->inputs = static_cast<int>(letters) - 1 - self->more;
    PyObject* text = PyUnicode_FromString(row->params ? row->params : "");
    PyObject* list = text ? PyUnicode_Split(text, nullptr, -1) : nullptr;
    self->names = list ? PyList_AsTuple(list) : nullptr;
    Py_XDECREF(list);
    Py_XDECREF(text);
    if (!self->names) return Py_DECREF(self), nullptr;
    return reinterpret_cast<PyObject*>(self);
}

void kernel_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Py_XDECREF(reinterpret_cast<Kernel*>(object)->names);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyObject* kernel_repr(PyObject* object) {
    const Kernel* self = reinterpret_cast<Kernel*>(object);
    return PyUnicode_FromFormat("<kernel %s for %s, level %s>", self->row->name,
                                name_of(self->row->dtype).c_str(), self->level);
}

PyObject* kernel_name(PyObject* self, void*) {
    return PyUnicode_FromString(reinterpret_cast<Kernel*>(self)->row->name);
}

PyObject* kernel_dtype(PyObject* self, void*) {
    return PyUnicode_FromString(name_of(reinterpret_cast<Kernel*>(self)->row->dtype).c_str());
}

PyObject* kernel_level(PyObject* self, void*) {
    return PyUnicode_FromString(reinterpret_cast<Kernel*>(self)->level);
}

PyGetSetDef kernel_attributes[] = {
    {"name", kernel_name, nullptr, "The kernel's name in signatures.py.", nullptr},
    {"dtype", kernel_dtype, nullptr, "Name of the dtype it is for.", nullptr},
    {"level", kernel_level, nullptr, "Name of the instruction-set level.", nullptr},
    {},
};

PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY, nullptr},
    {},
};

PyType_Slot kernel_slots[] = {
    {Py_tp_doc, const_cast<char*>("kernel(out, *ins, **params): fills `out`; see signatures.py.")},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(kernel_repr)},
    {Py_tp_getset, kernel_attributes},
    {Py_tp_members, kernel_members},
    {0, nullptr},
};

PyType_Spec kernel_spec = {"tutor.backends.simd_cpp._simd.Kernel", sizeof(Kernel), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                           kernel_slots};

// ---- The module ----------------------------------------------------------------------------------

py::list supported_levels() {
    py::list names;
    for (int i = 0; i < LEVELS; ++i) {
        if (levels()[i].supported) names.append(levels()[i].name);
    }
    return names;
}

py::dict kernels(const std::string& name) {
    for (int i = 0; i < LEVELS; ++i) {
        const Level& level = levels()[i];
        if (level.name != name || !level.supported) continue;
        py::dict table;
        for (Table rows_of : level.tables) {
            Rows rows = rows_of();
            for (int64_t r = 0; r < rows.count; ++r) {
                const Row* row = rows.begin + r;
                py::object kernel = py::reinterpret_steal<py::object>(make_kernel(row, level.name));
                if (!kernel) throw py::error_already_set();
                table[py::make_tuple(row->name, name_of(row->dtype))] = kernel;
            }
        }
        return table;
    }
    throw py::value_error("this CPU has no level '" + name + "'");
}

void set_num_threads(int count) {
    constexpr int MOST = 1024;
    if (count < 1 || count > MOST) {
        throw py::value_error("set_num_threads: " + std::to_string(count) +
                              " is not from 1 to " + std::to_string(MOST));
    }
    set_thread_count(count);
}

}  // namespace
}  // namespace tutor

PYBIND11_MODULE(_simd, module) {
    using namespace tutor;
    module.doc() = "The kernels of the SIMD backend, one table per instruction-set level.";
    kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
    if (!kernel_type || !make_memory_type() || !make_operand_names()) throw py::error_already_set();
    module.add_object("Memory", reinterpret_cast<PyObject*>(memory_type));
    module.add_object("Kernel", reinterpret_cast<PyObject*>(kernel_type));
    module.def("levels", supported_levels, "Levels this CPU can run, the best one last.");
    module.def("kernels", kernels, py::arg("level"),
               "{(kernel name, dtype name): Kernel} of a level.");
    module.def("num_threads", thread_count, "How many threads kernels may use.");
    module.def("set_num_threads", set_num_threads, py::arg("count"),
               "Let kernels use `count` threads, the caller included.");
}
