// Edges of the graph: what an Op was made of. The Python type `Edges`, on which Op is built.
//
// Python's cycle collector walks all objects that could be part of a cycle, over and over as their
// number grows: that took five times as long as building a long graph itself. Most of a graph need
// not be walked object by object. An Op that only the tuple `edges` of one other Op refers to is
// reached through that one alone. Such objects are hidden from the collector, and their owner shows
// it what they refer to, so a cycle through them is still found. Python reaches them by the
// attribute `edges` only, which brings them back.
#include "engine/edges.hpp"
// After Python.h:
#include <structmember.h>

#include "engine/tensors.hpp"

namespace tutor {

PyTypeObject* edges_type = nullptr;

namespace {

constexpr int MOST = 32;  // Ops hidden behind one: each walk of that one walks them all

Edges* edges_of(PyObject* op) { return reinterpret_cast<Edges*>(op); }

bool is_op(PyObject* object) { return object && given.ready && given.node.has(object); }

// Whether it has a single reference and the collector does not see it.
bool is_hidden(PyObject* object) {
    return Py_REFCNT(object) == 1 && !PyObject_GC_IsTracked(object);
}

bool is_hidden_tuple(PyObject* object) {
    return object && PyTuple_CheckExact(object) && is_hidden(object);
}

// ---- What the collector asks --------------------------------------------------------------------

int edges_traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    PyObject* edges = edges_of(object)->edges;
    if (!is_hidden_tuple(edges)) {
        Py_VISIT(edges);
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); ++i) {
        PyObject* edge = PyTuple_GET_ITEM(edges, i);
        if (!is_op(edge) || !is_hidden(edge)) {
            Py_VISIT(edge);
            continue;
        }
        if (const int found = Py_TYPE(edge)->tp_traverse(edge, visit, arg)) return found;
    }
    return 0;
}

int edges_clear(PyObject* object) {
    Py_CLEAR(edges_of(object)->edges);
    return 0;
}

void edges_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    edges_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

// ---- Hiding, and bringing back ------------------------------------------------------------------

// Whether it has weak references, or a finalizer to be called.
bool is_watched(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    return type->tp_finalize || type->tp_del ||
           (type->tp_weaklistoffset && *PyObject_GET_WEAKREFS_LISTPTR(object));
}

bool can_be_hidden(PyObject* object) {
    return Py_REFCNT(object) == 1 && PyObject_GC_IsTracked(object) && !is_watched(object);
}

void track(PyObject* object) {
    if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
}

void show(PyObject* op) {
    PyObject* edges = edges_of(op)->edges;
    if (!edges || !PyTuple_CheckExact(edges) || PyObject_GC_IsTracked(edges)) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); ++i) {
        if (PyObject* edge = PyTuple_GET_ITEM(edges, i); is_op(edge)) track(edge);
    }
    if (PyTuple_GET_SIZE(edges)) PyObject_GC_Track(edges);
    edges_of(op)->hidden = 0;
}

// Hides the Ops to which the edges of `op` lead, as far as it is their only owner.
void hide_behind(PyObject* op) {
    PyObject* edges = edges_of(op)->edges;
    if (!is_hidden_tuple(edges)) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); ++i) {
        PyObject* behind = PyTuple_GET_ITEM(edges, i);
        if (!is_op(behind) || !can_be_hidden(behind)) continue;
        const int more = edges_of(behind)->hidden + 1;
        if (edges_of(op)->hidden + more > MOST) continue;
        PyObject_GC_UnTrack(behind);
        edges_of(op)->hidden += more;
    }
}

// ---- The type -----------------------------------------------------------------------------------

PyObject* get_edges(PyObject* object, void*) {
    PyObject* edges = edges_of(object)->edges;
    if (!edges) return PyErr_SetString(PyExc_AttributeError, "edges"), nullptr;
    if (given.ready) show(object);
    return Py_NewRef(edges);
}

int set_edges(PyObject* object, PyObject* value, void*) {
    if (!value && !edges_of(object)->edges)
        return PyErr_SetString(PyExc_AttributeError, "edges"), -1;
    edges_of(object)->hidden = 0;
    Py_XSETREF(edges_of(object)->edges, Py_XNewRef(value));
    return 0;
}

PyGetSetDef attributes[] = {
    {"edges", get_edges, set_edges, "What made the operands: edges of the graph.", nullptr},
    {},
};

PyMemberDef members[] = {
    {"_edges", T_OBJECT_EX, offsetof(Edges, edges), READONLY, "The same, for C++."},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("What an Op was made of: see tutor/core/op/edges.py.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(edges_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(edges_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(edges_clear)},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "tutor.backends.simd_cpp._simd.Edges", sizeof(Edges), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    slots};

}  // namespace

void hide(PyObject* tensor) {
    if (!given.tensor.is_exactly(tensor)) return;
    if (PyObject* op = part(tensor, T_OP); is_op(op)) hide_behind(op);
}

PyObject* shown(PyObject* op) {
    track(op);
    return op;
}

bool make_edges_type() {
    edges_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return edges_type != nullptr;
}

}  // namespace tutor
