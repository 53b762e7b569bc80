// What an Op was made of, and which parts of that Python's cycle collector need not walk.
#pragma once

#include <Python.h>

namespace tutor {

struct Edges {
    PyObject head;
    PyObject* inputs;  // the operands: a tuple
    int hidden;        // how many Ops are hidden behind this one
};

extern PyTypeObject* edges_type;

// Hides from the collector what the Op behind `tensor` was made of, as far as that Op
// is the only owner.
void hide(PyObject* tensor);

// Makes an Op that is handed to Python visible to the collector. Borrowed.
PyObject* shown(PyObject* op);

bool make_edges_type();

}  // namespace tutor
