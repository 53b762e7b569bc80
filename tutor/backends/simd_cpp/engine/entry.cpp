// The module's functions that replace those of the Engine in Python.
#include "engine/entry.hpp"

#include "border/call.hpp"
#include "engine/run.hpp"
#include "engine/walk.hpp"

namespace tutor {

namespace {

// The number of calls refused here for which the Engine in Python has a result.
long long handed_over_count = 0;

// Passes a refused call to the Engine in Python. That Engine defines what happens; usually it says
// what is wrong with the call. `expected`: only that Engine can do this.
PyObject* hand_over(Twin twin, PyObject* const* args, size_t count, PyObject* names,
                    bool expected) {
    PyObject* result = PyObject_Vectorcall(given.python[twin], args, count, names);
    if (result && !expected) ++handed_over_count;
    return result;
}

// Runs the twin of a function, and passes on the calls it refuses. `function` sets *expected.
template <class F>
PyObject* attempt(Twin twin, PyObject* const* args, size_t count, PyObject* names, F function) {
    bool expected = true;
    if (given.ready) {
        try {
            PyObject* result = function(&expected);
            if (result || PyErr_Occurred()) return result;
        } catch (const std::exception& exception) {
            return raise(exception);
        }
    }
    return hand_over(twin, args, count, names, expected);
}

// After an error of a kernel or of a method in Python: was an operand tampered with?
void check_operands(PyObject* const* args, Py_ssize_t count) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    Ref inputs(PyTuple_New(count - 1));
    for (Py_ssize_t i = 1; inputs && i < count; ++i)
        PyTuple_SET_ITEM(inputs.get(), i - 1, Py_NewRef(args[i]));
    PyObject* about[] = {inputs.get(), args[0]};
    Ref checked(inputs ? PyObject_Vectorcall(given.check_all, about, 2, nullptr) : nullptr);
    if (checked) return PyErr_Restore(type, error, trace);
    PyObject *new_type, *new_error, *new_trace;
    PyErr_Fetch(&new_type, &new_error, &new_trace);
    PyErr_NormalizeException(&new_type, &new_error, &new_trace);
    if (new_error && error) PyException_SetContext(new_error, Py_NewRef(error));
    Py_XDECREF(type), Py_XDECREF(error), Py_XDECREF(trace);
    PyErr_Restore(new_type, new_error, new_trace);
}

// apply(name, *inputs, **params)
PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return attempt(APPLY, args, count, names, [=](bool* expected) -> PyObject* {
        Info* info = count && PyUnicode_CheckExact(args[0]) ? info_named(args[0]) : nullptr;
        if (!info) return nullptr;
        Run run(info, args + 1, static_cast<int>(count - 1));
        PyObject* out = run.take(names, args + count) ? run.result() : nullptr;
        *expected = run.is_for_python();
        if (!out && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
            check_operands(args, count);
        return out;
    });
}

// change(name, x, y): whether it was done. If not, tutor/methods/inplace.py carries on.
PyObject* change(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "change: give a name, x and y");
    bool done = false;
    try {
        Info* info = given.ready && PyUnicode_CheckExact(args[0]) ? info_named(args[0]) : nullptr;
        if (info) {
            Run run(info, args + 1, 2);
            if (run.take(nullptr, nullptr) && !run.change(&done)) return nullptr;
        }
    } catch (const std::exception& exception) {
        return raise(exception);
    }
    return PyErr_Occurred() ? nullptr : PyBool_FromLong(done);
}

// write(target, value)
PyObject* write(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return attempt(WRITE, args, count, nullptr, [=](bool* expected) -> PyObject* {
        *expected = true;  // much of it is done in Python only
        return count == 2 ? write_over(args[0], args[1]) : nullptr;
    });
}

// check_writable(target)
PyObject* check_writable(PyObject*, PyObject* target) {
    return attempt(CHECK_WRITABLE, &target, 1, nullptr, [=](bool*) -> PyObject* {
        Operands operands(1);
        const bool found = is_tensor(target) && is_kept(target) && dtype_of(target) != DTYPES &&
                           operands.read(0, target, "") && is_one_to_one(operands[0]) &&
                           operands.check_writable(0, "");
        return found ? Py_NewRef(Py_None) : (forget_error(), nullptr);
    });
}

// run(op)
PyObject* run(PyObject*, PyObject* op) {
    return attempt(RUN, &op, 1, nullptr, [=](bool* expected) -> PyObject* {
        Info* info =
            given.node.has(op) ? info_of(reinterpret_cast<PyObject*>(Py_TYPE(op))) : nullptr;
        Ref inputs = info ? Ref::to(info->node.at(op, N_EDGES)) : Ref();
        if (!inputs || !PyTuple_Check(inputs.get())) return nullptr;
        if (info->node.at(op, N_SAVED) != Py_None) return nullptr;  // recorded: these are edges
        Run run(info, &PyTuple_GET_ITEM(inputs.get(), 0),
                static_cast<int>(PyTuple_GET_SIZE(inputs.get())));
        PyObject* out = run.take(op) ? run.result() : nullptr;
        *expected = run.is_for_python();
        return out;
    });
}

// order(root)
PyObject* order_ops(PyObject*, PyObject* root) {
    return attempt(ORDER, &root, 1, nullptr, [=](bool* expected) {
        *expected = false;
        return order(root);
    });
}

// arrivals(root, gradient, keep, linked, ask)
PyObject* find_arrivals(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return attempt(ARRIVALS, args, count, nullptr, [=](bool* expected) -> PyObject* {
        if (count != 5 || !is_tensor(args[0])) return nullptr;
        *expected = false;
        const int keep = PyObject_IsTrue(args[2]), linked = PyObject_IsTrue(args[3]);
        if (keep < 0 || linked < 0) return nullptr;
        return arrivals(args[0], args[1], keep, linked, args[4]);
    });
}

// store(arrived, seed)
PyObject* store_arrived(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return attempt(STORE, args, count, nullptr, [=](bool* expected) -> PyObject* {
        if (count != 2 || !PyDict_Check(args[0]) || !is_tensor(args[1])) return nullptr;
        *expected = false;
        return store(args[0], args[1]) ? Py_NewRef(Py_None) : nullptr;
    });
}

PyObject* stand_for(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != TWINS) return PyErr_Format(PyExc_TypeError, "stand_for: %d functions", TWINS);
    for (int twin = 0; twin < TWINS; ++twin) given.python[twin] = Py_NewRef(args[twin]);
    Py_RETURN_NONE;
}

PyObject* take_over_things(PyObject*, PyObject* things) {
    if (!PyDict_Check(things)) return PyErr_Format(PyExc_TypeError, "take_over: give a dict");
    if (!take_over(things)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* use_twin(PyObject*, PyObject* on) {
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) return nullptr;
    given.ready = wanted && given.complete;
    Py_RETURN_NONE;
}

PyObject* handed_over(PyObject*, PyObject*) { return PyLong_FromLongLong(handed_over_count); }

template <class F>
PyCFunction function(F* f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef functions[] = {
    {"apply", function(apply), METH_FASTCALL | METH_KEYWORDS,
     "apply(name, *inputs, **params)\n--\n\nRun the op of that name: tutor.core.engine.apply."},
    {"run", run, METH_O, "run(op)\n--\n\nExecute an Op: Engine.run."},
    {"change", function(change), METH_FASTCALL,
     "change(name, x, y)\n--\n\nWrite the result over x, if that is simple: `x += y`."},
    {"order", order_ops, METH_O, "order(root)\n--\n\nThe ops behind it: Engine.order."},
    {"arrivals", function(find_arrivals), METH_FASTCALL,
     "arrivals(root, gradient, keep, linked, ask)\n--\n\nWalk backward: Engine.arrivals."},
    {"store", function(store_arrived), METH_FASTCALL,
     "store(arrived, seed)\n--\n\nAdd to each .grad: Engine.store."},
    {"write", function(write), METH_FASTCALL,
     "write(target, value)\n--\n\nPut the value into the target: Engine.write."},
    {"check_writable", check_writable, METH_O,
     "check_writable(target)\n--\n\nRefuse what is no place to write to: Engine.check_writable."},
    {"stand_for", function(stand_for), METH_FASTCALL,
     "stand_for(*functions)\n--\n\nBe the twins of these, and ask them where in doubt."},
    {"take_over", take_over_things, METH_O,
     "take_over(things)\n--\n\nWork with these: tutor/ops/native.py names them."},
    {"use_twin", use_twin, METH_O,
     "use_twin(on)\n--\n\nWith False, leave everything to the Engine in Python; for tests."},
    {"handed_over", handed_over, METH_NOARGS,
     "handed_over()\n--\n\nHow many calls only the Engine in Python had a result for."},
    {},
};

}  // namespace

bool add_engine(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace tutor
