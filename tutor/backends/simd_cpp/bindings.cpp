// The module `_simd`: kernels as Python callables. No arithmetic happens here: a call is read,
// checked, and handed to the kernel.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstring>
#include <string>

#include "checks.hpp"
#include "errors.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "operand.hpp"
#include "params.hpp"

namespace py = pybind11;

namespace tutor {
namespace {

// ---- A kernel as a Python object ----------------------------------------------------------------

struct Kernel {
    PyObject head;
    vectorcallfunc call;
    const Row* row;
    const char* level;
    Keywords keywords;
    int inputs;  // how many; at least this many if types ends in '+'
    bool more;   // whether it does
    int index;   // the operand that holds indices (letter 'i'), 0 if none does
};

PyTypeObject* kernel_type = nullptr;

// ---- A call -------------------------------------------------------------------------------------

// Other Python threads may run meanwhile only where that is worth the 0.1 us it costs.
bool is_long(const Row& row, const Operands& operands) {
    constexpr double LONG = 1 << 14;
    double work = 0;  // elements touched; a double, for the sum may not fit into 64 bits
    for (int i = 0; i < operands.count(); ++i) work += numel(operands[i]);
    if (row.form == Form::MatMul) {
        const Operand& x = operands[1];
        work = static_cast<double>(numel(operands[0])) * x.shape[x.ndim - 1] / 16;
    }
    if (row.form == Form::Conv || row.form == Form::ConvWeight) {
        const Operand &x = operands[1], &w = operands[row.form == Form::Conv ? 2 : 0];
        work = static_cast<double>(numel(x)) * numel(w) / 16;
    }
    return work > LONG;
}

PyObject* result_of(const Row& row, const Status& status) {
    switch (status.kind) {
        case Status::Ok:
            break;
        case Status::IndexOutOfRange:
            return raise("OutOfRangeError", std::string("kernel ") + row.name,
                         "index " + std::to_string(status.found) + " into " +
                             std::to_string(status.size) + " elements",
                         "keep indices from 0 to size - 1");
        case Status::NegativeExponent:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "an integer to a negative power is no integer",
                         "cast to a float dtype first");
        case Status::DivisionByZero:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "an integer divided by 0 is no integer",
                         "keep zeros out of the divisor, or cast to a float dtype first");
        case Status::NegativeShift:
            return raise("DomainError", std::string("kernel ") + row.name,
                         "a shift by a negative number of bits",
                         "keep the second operand at 0 or more; shift the other way instead");
        case Status::CountDiffers:
            return raise("ShapeError", std::string("kernel ") + row.name,
                         std::to_string(status.found) + " elements are true, out has room for " +
                             std::to_string(status.size),
                         "give out as many elements as are true, and change nothing meanwhile");
        case Status::OutOfMemory:
            return PyErr_Format(PyExc_MemoryError, "kernel %s: no room for scratch memory",
                                row.name);
    }
    Py_RETURN_NONE;
}

PyObject* call(const Kernel* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    const Row& row = *self->row;
    if (count - 1 != self->inputs && !(self->more && count - 1 > self->inputs)) {
        return PyErr_Format(PyExc_TypeError,
                            "kernel %s: takes out and %s%d inputs, not %zd operands", row.name,
                            self->more ? "at least " : "", self->inputs, count);
    }
    Operands operands(static_cast<int>(count));
    for (int i = 0; i < count; ++i) {
        if (!operands.read(i, args[i], row.name)) return nullptr;
    }
    if (!operands.check_writable(0, row.name)) return nullptr;
    for (int i = 2; row.form == Form::Update && i < count; ++i) {
        if (!operands.check_writable(i, row.name)) return nullptr;
    }
    Params params;
    if (!check_dtypes(row, operands) ||
        !read_params(row, self->keywords, names, args + count, operands, &params) ||
        !check_shapes(row, operands, params) || (self->index && !operands.copy(self->index))) {
        return nullptr;
    }
    PyThreadState* thread = is_long(row, operands) ? PyEval_SaveThread() : nullptr;
    Status status = row.run(operands[0], &operands[0] + 1, operands.count() - 1, params);
    if (thread) PyEval_RestoreThread(thread);
    return result_of(row, status);
}

PyObject* kernel_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    try {
        return call(reinterpret_cast<Kernel*>(self), args, PyVectorcall_NARGS(nargsf), names);
    } catch (const std::exception& error) {  // no C++ exception may cross into the interpreter
        PyErr_SetString(
            dynamic_cast<const std::bad_alloc*>(&error) ? PyExc_MemoryError : PyExc_RuntimeError,
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
    const char* index = std::strchr(row->types + 1, 'i');
    self->index = index ? static_cast<int>(index - row->types) : 0;
    if (!make_keywords(*row, &self->keywords)) return Py_DECREF(self), nullptr;
    return reinterpret_cast<PyObject*>(self);
}

void kernel_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Py_XDECREF(reinterpret_cast<Kernel*>(object)->keywords.names);
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

// ---- The module ---------------------------------------------------------------------------------

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
    if (count < 1) {
        throw py::value_error("set_num_threads: at least 1, not " + std::to_string(count));
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
               "Let kernels use `count` threads (at most 1024), the caller included.");
}
