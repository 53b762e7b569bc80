// What an Op was made of, and which parts of that Python's cycle collector need not walk.
#pragma once

#include <Python.h>

namespace tutor {

struct Edges {
    PyObject head;
    PyObject* edges;  // a tuple: the operands; once recorded, what made them
    int hidden;       // how many Ops are hidden behind this one
};

extern PyTypeObject* edges_type;

// Hides from the collector the Ops from which the Op behind `tensor` was made, as far as that Op is
// their only owner.
void hide(PyObject* tensor);

// Makes an Op that is handed to Python visible to the collector. Borrowed.
PyObject* shown(PyObject* op);

bool make_edges_type();

}  // namespace tutor
