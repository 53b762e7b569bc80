// The functions of the module that stand for those of the Engine in Python.
#include "entry.hpp"

#include "../call.hpp"
#include "run.hpp"

namespace tutor {

namespace {

// How many calls were refused here though the Engine in Python has a result for them.
long long handed_over_count = 0;

// The result of the Engine in Python, asked for the same. It defines what happens: mostly, it says
// what is wrong with the call.
PyObject* hand_over(PyObject* result, bool expected) {
    if (result && !expected) ++handed_over_count;
    return result;
}

// apply(name, *inputs, **params)
PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    bool expected = !given.ready;
    if (given.ready && count > 0 && PyUnicode_Check(args[0])) {
        try {
            Info* info = info_named(args[0]);
            expected = !info;
            if (info) {
                Run run(info, args + 1, static_cast<int>(count - 1));
                PyObject* out = run.take(names, args + count) ? run.result() : nullptr;
                if (out || PyErr_Occurred()) return out;
                expected = run.is_for_python();
            }
        } catch (const std::exception& exception) {
            return raise(exception);
        }
        if (PyErr_Occurred()) return nullptr;
    }
    return hand_over(PyObject_Vectorcall(given.apply, args, count, names), expected);
}

// run(op)
PyObject* run(PyObject*, PyObject* op) {
    bool expected = !given.ready;
    if (given.ready) {
        try {
            Info* info = info_of(reinterpret_cast<PyObject*>(Py_TYPE(op)));
            expected = !info;
            if (info) {
                Ref inputs = Ref::to(info->node.at(op, N_INPUTS));
                if (inputs && PyTuple_Check(inputs.get())) {
                    Run run(info, &PyTuple_GET_ITEM(inputs.get(), 0),
                            static_cast<int>(PyTuple_GET_SIZE(inputs.get())));
                    PyObject* out = run.take(op) ? run.result() : nullptr;
                    if (out || PyErr_Occurred()) return out;
                    expected = run.is_for_python();
                }
            }
        } catch (const std::exception& exception) {
            return raise(exception);
        }
        if (PyErr_Occurred()) return nullptr;
    }
    return hand_over(PyObject_CallOneArg(given.run, op), expected);
}

PyObject* stand_for(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "stand_for(apply, run)");
    given.apply = Py_NewRef(args[0]);
    given.run = Py_NewRef(args[1]);
    Py_RETURN_NONE;
}

PyObject* take_over_things(PyObject*, PyObject* things) {
    if (!PyDict_Check(things)) return PyErr_Format(PyExc_TypeError, "take_over: give a dict");
    if (!take_over(things)) return nullptr;
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
    {"stand_for", function(stand_for), METH_FASTCALL,
     "stand_for(apply, run)\n--\n\nBe the twins of these two, and ask them where in doubt."},
    {"take_over", take_over_things, METH_O,
     "take_over(things)\n--\n\nWork with these: tutor/core/engine/twin.py names them."},
    {"handed_over", handed_over, METH_NOARGS,
     "handed_over()\n--\n\nHow many calls only the Engine in Python had a result for."},
    {},
};

}  // namespace

bool add_engine(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace tutor
