// What an Op was made of, and what of that Python's collector of cycles need not walk.
#pragma once

#include <Python.h>

namespace tutor {

struct Edges {
    PyObject head;
    PyObject* inputs;  // the operands: a tuple
    int hidden;        // how many Ops are hidden behind this one
};

extern PyTypeObject* edges_type;

// Hides from the collector what the Op that made `tensor` was made of, as far as that Op owns it
// alone.
void hide(PyObject* tensor);

// An Op that is handed to Python: the collector sees it from here on. Borrowed.
PyObject* shown(PyObject* op);

bool make_edges_type();

}  // namespace tutor
