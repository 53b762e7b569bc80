#include "engine/info.hpp"

#include <cstring>
#include <iterator>
#include <string>
#include <unordered_map>

#include "border/call.hpp"
#include "engine/given.hpp"

namespace tutor {

namespace {

std::unordered_map<PyObject*, Info*>& known() {
    static auto* infos = new std::unordered_map<PyObject*, Info*>;
    return *infos;
}

const char* const views[] = {"none",      "own",    "reshape", "unsqueeze", "squeeze", "permute",
                             "transpose", "expand", "index",   "diagonal",  "windows", "place"};
const char* const settles[] = {"never", "always",  "scalar", "vectors",
                               "bools", "indices", "axes",   "key"};

// The index of the plan's value in `names`; -1, with a Python error set, if it is not among them.
template <size_t N>
int choice(PyObject* plan, const char* what, const char* const (&names)[N]) {
    PyObject* found = PyDict_GetItemString(plan, what);
    for (size_t n = 0; found && n < N; ++n) {
        if (PyUnicode_CompareWithASCIIString(found, names[n]) == 0) return static_cast<int>(n);
    }
    PyErr_Format(PyExc_KeyError, "plan: %s is %R", what, found ? found : Py_None);
    return -1;
}

// An entry of the plan, borrowed; nullptr, with a Python error set, if it is missing.
PyObject* planned(PyObject* plan, const char* name) {
    PyObject* found = PyDict_GetItemString(plan, name);
    if (!found) PyErr_Format(PyExc_KeyError, "plan: %s is missing", name);
    return found;
}

bool planned_bool(PyObject* plan, const char* name) { return planned(plan, name) == Py_True; }

bool read_saves(PyObject* saves, PyObject* wants, Info* info) {
    if (!saves || !wants ||
        PyTuple_GET_SIZE(saves) > static_cast<Py_ssize_t>(std::size(info->saved)))
        return false;
    info->saves = static_cast<int>(PyTuple_GET_SIZE(saves));
    for (int i = 0; i < info->saves; ++i)
        info->saved[i] = static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(saves, i)));
    for (int i = 0; i < info->saves; ++i)
        info->wants[i] = i < PyTuple_GET_SIZE(wants)
                             ? static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(wants, i)))
                             : -1;
    return true;
}

bool read_plan(PyObject* plan, Info* info) {
    PyObject *blank = planned(plan, "blank"), *kernel = planned(plan, "kernel"),
             *first = planned(plan, "promotes");
    const int view = choice(plan, "view", views), settle = choice(plan, "settle", settles);
    if (!blank || !kernel || !first || view < 0 || settle < 0) return false;
    info->view = View(view);
    info->settle = Settle(settle);
    info->least = static_cast<int>(PyLong_AsLong(planned(plan, "least")));
    info->most = static_cast<int>(PyLong_AsLong(planned(plan, "most")));
    info->kernel = kernel == Py_None ? nullptr : Py_NewRef(kernel);
    info->first = first == Py_None ? -1 : static_cast<int>(PyLong_AsLong(first));
    PyObject* casts = planned(plan, "casts");
    info->casts = !casts || casts == Py_None ? nullptr : Py_NewRef(casts);
    info->wants_float = planned_bool(plan, "wants_float");
    info->differentiable = planned_bool(plan, "differentiable");
    info->chooses = planned_bool(plan, "chooses");
    info->finishes = planned_bool(plan, "finishes");
    info->keeps_dims = planned_bool(plan, "keeps_dims");
    info->accepts = Py_XNewRef(planned(plan, "accepts"));
    info->accepts_none = info->accepts && PyAnySet_Check(info->accepts) &&
                         PySet_GET_SIZE(info->accepts) == 0 && info->kernel &&
                         info->settle == Settle::Never;
    info->defaults = Py_XNewRef(planned(plan, "defaults"));
    info->required = Py_XNewRef(planned(plan, "required"));
    return read_saves(planned(plan, "saves"), planned(plan, "wants"), info) &&
           info->node.learn(blank, given.node_slots) && !PyErr_Occurred();
}

void forget(Info* info, PyObject* kernels) {
    for (int d = 0; d < DTYPES; ++d) {
        Py_CLEAR(info->callables[d]);
        info->rows[d] = nullptr;
    }
    PyObject* before = info->found_in;
    info->found_in = Py_NewRef(kernels);
    Py_XDECREF(before);
}

// Reads what all rows of this name have in common.
bool read_row(const Row& row, Info* info) {
    const int letters = static_cast<int>(std::strlen(row.types)) - 1;
    const char* index = std::strchr(row.types + 1, 'i');
    info->more = row.types[letters] == '+';
    info->inputs = letters - info->more;
    info->index = index ? static_cast<int>(index - row.types) : 0;
    return make_keywords(row, &info->keywords);
}

// Asks Python for the kernel and caches the answer.
bool look_up(Info* info, DType dtype) {
    PyObject* args[] = {info->kernel, given.dtypes[dtype]};
    Ref found(PyObject_Vectorcall(given.lookup, args, 2, nullptr));
    if (!found) return PyErr_Clear(), false;
    const Row* row = row_of(found.get());
    // A table may have a foreign row under this name.
    if (row && PyUnicode_CompareWithASCIIString(info->kernel, row->name) == 0 &&
        row->dtype == dtype) {
        if (!info->keywords.names && !read_row(*row, info)) return PyErr_Clear(), false;
        info->rows[dtype] = row;
    }
    info->callables[dtype] = found.release();
    return true;
}

}  // namespace

Info* info_of(PyObject* cls) {
    static struct {
        PyObject* cls;
        Info* info;
    } latest[256];  // a direct-mapped cache
    auto& place = latest[reinterpret_cast<uintptr_t>(cls) / 64 % std::size(latest)];
    if (place.cls == cls) return place.info;
    auto found = known().find(cls);
    if (found == known().end()) {
        Ref plan(PyObject_CallOneArg(given.plan, cls));
        if (!plan) return nullptr;
        Info* info = nullptr;
        if (plan.get() != Py_None) {
            info = new Info{};  // never freed: another thread may still be using it
            if (!read_plan(plan.get(), info)) return nullptr;
        }
        Py_INCREF(cls);  // so that no other class can appear at its address
        found = known().emplace(cls, info).first;
    }
    place = {cls, found->second};
    return found->second;
}

Info* info_named(PyObject* name) {
    PyObject* cls = PyDict_GetItemWithError(given.catalogue, name);
    return cls ? info_of(cls) : nullptr;
}

Info* info_of_kernel(const char* name) {
    static std::unordered_map<std::string, Info*> kernels;
    Info*& info = kernels[name];
    if (!info) {
        info = new Info{};
        info->kernel = PyUnicode_InternFromString(name);
    }
    return info;
}

Ref kernels_in_use() {
    PyObject* in_use = nullptr;
    if (PyContextVar_Get(given.backend, nullptr, &in_use) < 0 || !in_use)
        return PyErr_Clear(), Ref();
    Ref kernels(given.in_use.is_exactly(in_use)  // else it is a block, which knows
                    ? Py_XNewRef(given.in_use.at(in_use, 0))
                    : PyObject_GetAttr(in_use, given.kernels_of));
    Py_DECREF(in_use);
    if (!kernels) PyErr_Clear();
    return kernels;
}

bool find_kernel(Info* info, DType dtype, const Row** row) {
    Ref kernels = kernels_in_use();
    if (!kernels) return false;
    if (kernels.get() != info->found_in) forget(info, kernels.get());
    if (!info->callables[dtype] && !look_up(info, dtype)) return false;
    *row = info->rows[dtype];
    return true;
}

}  // namespace tutor
