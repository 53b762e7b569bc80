// The module `_simd`: kernels as Python callables. No arithmetic happens here: a call is read,
// checked, and handed to the kernel.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstring>
#include <string>

#include "border/call.hpp"
#include "border/checks.hpp"
#include "border/errors.hpp"
#include "border/operand.hpp"
#include "border/params.hpp"
#include "engine/edges.hpp"
#include "engine/entry.hpp"
#include "engine/settings.hpp"
#include "levels.hpp"
#include "memory/memory.hpp"
#include "replay/caller.hpp"
#include "replay/guards.hpp"
#include "replay/plan.hpp"
#include "replay/shortcut.hpp"
#include "sources.hpp"

namespace py = pybind11;

namespace tutor {
namespace {

// ---- A kernel as a Python object ----------------------------------------------------------------

PyTypeObject* kernel_type = nullptr;

// ---- A call -------------------------------------------------------------------------------------

PyObject* call(const Kernel* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    const Row& row = *self->row;
    if (!takes(*self, count)) return nullptr;
    Operands operands(static_cast<int>(count));
    for (int i = 0; i < count; ++i) {
        if (!operands.read(i, args[i], row.name)) return nullptr;
    }
    Params params;
    if (!check_call(*self, operands, names, args + count, &params) ||
        (self->index && !operands.copy(self->index))) {
        return nullptr;
    }
    return run(row, operands, params);
}

PyObject* kernel_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
    try {
        return call(reinterpret_cast<Kernel*>(self), args, PyVectorcall_NARGS(nargsf), names);
    } catch (const std::exception& exception) {
        return raise(exception);
    }
}

PyObject* make_kernel(const Row* row, const char* level) {
    Kernel* self = PyObject_New(Kernel, kernel_type);
    if (!self) return nullptr;
    self->call = kernel_call;
    self->row = row;
    self->level = level;
    self->keywords.names = nullptr;
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

// A new reference, or the Python error that is set as a C++ exception.
py::object owned(PyObject* object) {
    if (!object) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(object);
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
                table[py::make_tuple(row->name, name_of(row->dtype))] =
                    owned(make_kernel(row, level.name));
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

const Kernel* kernel_of(PyObject* object) {
    return Py_IS_TYPE(object, kernel_type) ? reinterpret_cast<Kernel*>(object) : nullptr;
}

const Row* row_of(PyObject* object) {
    const Kernel* kernel = kernel_of(object);
    return kernel ? kernel->row : nullptr;
}

}  // namespace tutor

PYBIND11_MODULE(_simd, module) {
    using namespace tutor;
    module.doc() = "The kernels of the SIMD backend, one table per instruction-set level.";
    module.attr("stub") = STUB;
    module.attr("signatures") = SIGNATURES;
    kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
    if (!kernel_type || !make_memory_type() || !make_holder_type() || !make_edges_type() ||
        !make_operand_names() || !make_caller_type() || !make_guards_type() || !make_plan_type() ||
        !make_shortcut_type())
        throw py::error_already_set();
    if (!add_engine(module.ptr()) || !add_settings(module.ptr())) throw py::error_already_set();
    module.add_object("Memory", reinterpret_cast<PyObject*>(memory_type));
    module.add_object("Holder", reinterpret_cast<PyObject*>(holder_type));
    module.add_object("Edges", reinterpret_cast<PyObject*>(edges_type));
    module.add_object("Caller", reinterpret_cast<PyObject*>(caller_type));
    module.add_object("Shortcut", reinterpret_cast<PyObject*>(shortcut_type));
    module.add_object("Guards", reinterpret_cast<PyObject*>(guards_type));
    module.add_object("Plan", reinterpret_cast<PyObject*>(plan_type));
    module.add_object("Kernel", reinterpret_cast<PyObject*>(kernel_type));
    module.def("levels", supported_levels, "Levels this CPU can run, the best one last.");
    module.def("kernels", kernels, py::arg("level"),
               "{(kernel name, dtype name): Kernel} of a level.");
    module.def(
        "set_buffers",
        [](py::list buffers) {
            if (!set_buffers(buffers.ptr())) throw py::error_already_set();
        },
        py::arg("buffers"), "Buffers made in C++ are to be copies of these: an empty one a dtype.");
    module.def(
        "set_before_bytes", [](py::object callable) { set_before_bytes(callable.ptr()); },
        py::arg("callable"), "Call this each time before a Buffer's bytes are given to Python.");
    module.def("num_threads", thread_count, "How many threads kernels may use.");
    module.def("set_num_threads", set_num_threads, py::arg("count"),
               "Let kernels use `count` threads (at most 1024), the caller included.");
}
