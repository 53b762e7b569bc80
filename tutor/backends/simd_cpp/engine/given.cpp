#include "engine/given.hpp"

#include "engine/numbers.hpp"

namespace tutor {

Given given;

namespace {

// The thing of that name, kept alive from here on; nullptr, with a Python error set, if missing.
PyObject* take(PyObject* things, const char* name) {
    PyObject* found = PyDict_GetItemString(things, name);
    if (!found) PyErr_Format(PyExc_KeyError, "take_over: %s is missing", name);
    return Py_XNewRef(found);
}

bool take_dtypes(PyObject* table) {
    for (int d = 0; d < DTYPES; ++d) {
        PyObject* found = PyTuple_GetItem(table, d);
        if (!found) return false;
        given.dtypes[d] = Py_NewRef(found);
    }
    return true;
}

bool take_class(PyObject* things, const char* blank, const char* slots, Class* to) {
    PyObject *instance = take(things, blank), *names = take(things, slots);
    return instance && names && to->learn(instance, names);
}

}  // namespace

bool take_over(PyObject* things) {
    given.ready = given.complete = false;
    const struct {
        const char* name;
        PyObject** to;
    } plain[] = {
        {"node_slots", &given.node_slots},
        {"catalogue", &given.catalogue},
        {"plan", &given.plan},
        {"serials", &given.serials},
        {"recording", &given.recording},
        {"is_recording", &given.is_recording},
        {"keeping", &given.keeping},
        {"is_keeping", &given.is_keeping},
        {"nothing", &given.nothing},
        {"host", &given.host},
        {"backend", &given.backend},
        {"kernels_of", &given.kernels_of},
        {"lookup", &given.lookup},
        {"watches", &given.watches},
        {"mode", &given.mode},
        {"casting", &given.casting},
        {"cast_operands", &given.cast_operands},
        {"emit", &given.emit},
        {"step", &given.step},
        {"constant", &given.constant},
        {"settle", &given.settle},
        {"forward", &given.forward},
        {"finish", &given.finish},
        {"backward", &given.backward},
        {"touch", &given.touch},
        {"after", &given.after},
        {"linked", &given.linked},
        {"fit", &given.fit},
        {"freed", &given.freed},
        {"changed", &given.changed},
        {"wrong_count", &given.wrong_count},
        {"check_all", &given.check_all},
        {"no_params", &given.no_params},
    };
    for (auto& thing : plain) {
        if (!(*thing.to = take(things, thing.name))) return false;
    }
    PyObject *table = take(things, "dtypes"), *meeting = take(things, "meeting"),
             *beside = take(things, "beside");
    given.complete =
        table && meeting && beside && take_dtypes(table) && set_promotion(meeting, beside) &&
        take_class(things, "tensor", "tensor_slots", &given.tensor) &&
        take_class(things, "buffer", "buffer_slots", &given.buffer) &&
        take_class(things, "node", "node_slots", &given.node) &&
        take_class(things, "in_use", "in_use_slots", &given.in_use) &&
        take_class(things, "constant_edge", "constant_edge_slots", &given.constant_edge);
    return given.ready = given.complete;
}

DType dtype_of_object(PyObject* object) {
    for (int d = 0; d < DTYPES; ++d) {
        if (given.dtypes[d] == object) return DType(d);
    }
    return DTYPES;
}

}  // namespace tutor
