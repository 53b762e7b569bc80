// The backward walk: the twin of tutor/core/engine/backward.py. The Ops' formulas are in Python;
// this file decides the order in which they are called, and adds up their gradients.
#include "engine/walk.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/edges.hpp"
#include "engine/run.hpp"

namespace tutor {

namespace {

PyObject* slot(PyObject* op, NodeSlot which) { return given.node.at(op, which); }

bool is_op(PyObject* object) { return object && given.node.has(object); }

bool is_edge(PyObject* object) {
    return is_op(object) || is_tensor(object) || given.constant_edge.has(object);
}

// Whether two versions, shapes or the like are equal.
bool same(PyObject* a, PyObject* b) { return a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1; }

// Whether a saved value is unchanged: the same memory, version and walk.
bool is_fresh(PyObject* value, PyObject* state) {
    if (!is_tensor(value) || !is_whole(value) || !PyTuple_Check(state) ||
        PyTuple_GET_SIZE(state) != 5)
        return false;
    PyObject* buf = part(value, T_BUF);
    return PyTuple_GET_ITEM(state, 0) == buf &&
           same(PyTuple_GET_ITEM(state, 1), given.buffer.at(buf, B_VERSION)) &&
           same(PyTuple_GET_ITEM(state, 2), part(value, T_SHAPE)) &&
           same(PyTuple_GET_ITEM(state, 3), part(value, T_STRIDES)) &&
           same(PyTuple_GET_ITEM(state, 4), part(value, T_OFFSET));
}

// Whether this Op's graph is still there, and everything it saved is fresh.
bool can_be_walked(PyObject* op) {
    PyObject *saved = slot(op, N_SAVED), *states = slot(op, N_STATES), *edges = slot(op, N_EDGES);
    if (!saved || !states || !edges || !PyTuple_Check(saved) || !PyTuple_Check(states) ||
        !PyTuple_Check(edges) || PyTuple_GET_SIZE(states) != PyTuple_GET_SIZE(saved))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(states); ++i) {
        if (!is_fresh(PyTuple_GET_ITEM(saved, i), PyTuple_GET_ITEM(states, i))) return false;
    }
    return true;
}

struct Found {
    long long serial;
    PyObject* op;  // borrowed; the returned list owns it
};

}  // namespace

// `root` and the recorded ops behind it, newest first.
PyObject* order(PyObject* root) {
    std::vector<Found> found;
    if (root != Py_None) {
        std::unordered_set<PyObject*> seen{root};
        std::vector<PyObject*> unseen{root};
        while (!unseen.empty()) {
            PyObject* op = unseen.back();
            unseen.pop_back();
            if (!is_op(op) || !can_be_walked(op)) return nullptr;
            PyObject* serial = slot(op, N_SERIAL);
            if (!serial || !PyLong_Check(serial)) return nullptr;
            found.push_back({PyLong_AsLongLong(serial), op});
            PyObject* edges = slot(op, N_EDGES);
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); ++i) {
                PyObject* edge = PyTuple_GET_ITEM(edges, i);
                if (!is_edge(edge)) return nullptr;
                if (is_op(edge) && seen.insert(edge).second) unseen.push_back(edge);
            }
        }
        std::sort(found.begin(), found.end(),
                  [](const Found& a, const Found& b) { return a.serial > b.serial; });
    }
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(found.size()));
    for (size_t i = 0; list && i < found.size(); ++i)
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), Py_NewRef(shown(found[i].op)));
    return list;
}

namespace {

// ---- One walk -----------------------------------------------------------------------------------

// The gradients that have come in so far for the Ops and leaves not yet visited, in the order of
// their first arrival.
class Pending {
  public:
    ~Pending() {
        for (Entry& entry : entries_) Py_XDECREF(entry.node), Py_XDECREF(entry.gradient);
    }

    // Adds a gradient. Returns false, with a Python error set, if the two cannot be added.
    bool add(PyObject* node, PyObject* gradient) {
        auto [place, is_new] = places_.try_emplace(node, entries_.size());
        if (is_new) {
            entries_.push_back({Py_NewRef(node), Py_NewRef(gradient)});
            return true;
        }
        Ref before = Ref::to(entries_[place->second].gradient);
        PyObject* sum = PyNumber_Add(before.get(), gradient);
        if (!sum) return false;
        Py_SETREF(entries_[place->second].gradient, sum);
        return true;
    }

    // Takes out a node's gradient; empty if none has come in.
    Ref take(PyObject* node) {
        auto place = places_.find(node);
        if (place == places_.end()) return Ref();
        Entry& entry = entries_[place->second];
        places_.erase(place);
        Py_CLEAR(entry.node);
        return Ref(std::exchange(entry.gradient, nullptr));
    }

    struct Entry {
        PyObject *node, *gradient;  // owned; nullptr once taken out
    };
    std::vector<Entry>& entries() { return entries_; }

  private:
    std::vector<Entry> entries_;
    std::unordered_map<PyObject*, size_t> places_;
};

struct Walking {
    bool keep, linked;
    PyObject* ask;  // the function that calls hooks, or None
    Pending pending;
    Ref arrived;  // a dict: the gradient of each tensor that gets a `.grad`
    std::unordered_map<PyObject*, PyObject*> last;  // the Op that reads a leaf with hooks last
};

// The hooks of a leaf; nullptr if it has none, or hooks are not to be called.
PyObject* hooks_of(PyObject* leaf, const Walking& walk) {
    PyObject* hooks = is_tensor(leaf) && walk.ask != Py_None ? part(leaf, T_HOOKS) : nullptr;
    return hooks && PyList_Check(hooks) && PyList_GET_SIZE(hooks) ? hooks : nullptr;
}

// Finds the Op that reads each leaf with hooks last, among those from `at` on.
void find_last(PyObject* ops, Py_ssize_t at, Walking& walk) {
    for (; at < PyList_GET_SIZE(ops); ++at) {
        PyObject* op = PyList_GET_ITEM(ops, at);
        PyObject* edges = slot(op, N_EDGES);
        for (Py_ssize_t i = 0; edges && PyTuple_Check(edges) && i < PyTuple_GET_SIZE(edges); ++i) {
            PyObject* x = PyTuple_GET_ITEM(edges, i);
            if (hooks_of(x, walk)) walk.last[x] = op;
        }
    }
}

// Raises the error that `refusal`, a function of tutor/_util/error_messages.py, makes.
bool refuse(PyObject* refusal, PyObject* op, PyObject* about = nullptr) {
    PyObject* args[] = {op, about};
    Ref error(PyObject_Vectorcall(refusal, args, about ? 2 : 1, nullptr));
    if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    return false;
}

// The tuple in a slot of an Op. The slot may have been assigned to: nullptr, with a Python error
// set, if it holds anything else.
Ref tuple_in(PyObject* op, NodeSlot which) {
    PyObject* found = slot(op, which);
    if (found && PyTuple_Check(found)) return Ref::to(found);
    PyErr_Format(PyExc_TypeError, "%s: its place in the graph was assigned to",
                 Py_TYPE(op)->tp_name);
    return Ref();
}

// The gradient after the hooks have seen it.
Ref after(PyObject* hooks, Ref g, PyObject* ask) {
    if (!hooks || hooks == Py_None || ask == Py_None) return g;
    const int some = PyObject_IsTrue(hooks);
    if (some <= 0) return some < 0 ? Ref() : std::move(g);
    PyObject* args[] = {hooks, g.get(), ask};
    return Ref(PyObject_Vectorcall(given.after, args, 3, nullptr));
}

// Applies the op's own formula to the gradient of its result and what it saved: a tuple.
Ref gradients(PyObject* op, PyObject* g, bool linked) {
    Ref saved = linked ? Ref(PyObject_CallOneArg(given.linked, op)) : tuple_in(op, N_SAVED);
    if (!saved) return saved;
    std::vector<PyObject*> args{op, g};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved.get()); ++i)
        args.push_back(PyTuple_GET_ITEM(saved.get(), i));
    Ref result(PyObject_VectorcallMethod(given.backward, args.data(), args.size(), nullptr));
    return !result || PyTuple_Check(result.get()) ? std::move(result)
                                                  : Ref(PyTuple_Pack(1, result.get()));
}

// What an edge says of an operand.
struct Known {
    PyObject *shape, *dtype, *device;  // borrowed; nullptr if there is none
};

Known known_at(PyObject* edge) {
    if (is_op(edge)) return {slot(edge, N_SHAPE), slot(edge, N_DTYPE), slot(edge, N_DEVICE)};
    if (!is_tensor(edge) || !is_whole(edge) || is_on_device(edge)) return {};
    return {part(edge, T_SHAPE), given.buffer.at(part(edge, T_BUF), B_DTYPE), given.host};
}

// The gradient in the operand's shape: summed over the copies where the operand was stretched.
Ref fitted(PyObject* op, PyObject* edge, PyObject* gx) {
    const Known x = known_at(edge);
    if (is_tensor(gx) && same(part(gx, T_SHAPE), x.shape) && dtype_of(gx) != DTYPES &&
        given.dtypes[dtype_of(gx)] == x.dtype && x.device == given.host && !is_on_device(gx))
        return Ref::to(gx);
    PyObject* args[] = {op, edge, gx};
    return Ref(PyObject_Vectorcall(given.fit, args, 3, nullptr));
}

// How often a gradient's memory has been changed.
Ref version_of(PyObject* g) {
    if (is_tensor(g) && is_whole(g)) return Ref::to(given.buffer.at(part(g, T_BUF), B_VERSION));
    PyErr_SetString(PyExc_TypeError, "a gradient must be a Tensor");
    return Ref();
}

// Computes the gradients of an Op's inputs and passes them on.
bool visit(PyObject* op, PyObject* g, Walking& walk) {
    if (slot(op, N_SAVED) == Py_None) return refuse(given.freed, op);
    Ref before = version_of(g);
    Ref grads = before ? gradients(op, g, walk.linked) : Ref();
    Ref now = grads ? version_of(g) : Ref();
    if (!now) return false;
    if (!same(before.get(), now.get())) return refuse(given.changed, op);
    Ref edges = tuple_in(op, N_EDGES), needs = edges ? tuple_in(op, N_NEEDS) : Ref();
    if (!needs) return false;
    const Py_ssize_t count = PyTuple_GET_SIZE(grads.get());
    if (count != PyTuple_GET_SIZE(needs.get())) {
        Ref found(PyLong_FromSsize_t(count));
        return found && refuse(given.wrong_count, op, found.get());
    }
    for (Py_ssize_t i = 0; i < count && i < PyTuple_GET_SIZE(edges.get()); ++i) {
        PyObject *edge = PyTuple_GET_ITEM(edges.get(), i), *gx = PyTuple_GET_ITEM(grads.get(), i);
        if (PyTuple_GET_ITEM(needs.get(), i) != Py_True || gx == Py_None) continue;
        if (!is_edge(edge)) return PyErr_SetString(PyExc_TypeError, "an input is no Tensor"), false;
        Ref fit = fitted(op, edge, gx);
        if (!fit || !walk.pending.add(edge, fit.get())) return false;
    }
    return true;
}

// Releases what an Op saved, and the graph behind it.
void release(PyObject* op) {
    Ref nothing(PyTuple_New(0));
    given.node.put(op, N_SAVED, Py_NewRef(Py_None));
    given.node.put(op, N_EDGES, Py_XNewRef(nothing.get()));
    given.node.put(op, N_HELD, Py_XNewRef(nothing.get()));
    given.node.put(op, N_STATES, Py_XNewRef(nothing.get()));
}

// Records the gradient of a tensor inside the graph that retains it.
bool keep_inside(PyObject* op, PyObject* g, const Ref& arrived) {
    PyObject* kept = slot(op, N_KEPT);
    if (!kept || kept == Py_None) return true;
    Ref tensor(PyObject_CallNoArgs(kept));
    return tensor &&
           (tensor.get() == Py_None || PyDict_SetItem(arrived.get(), tensor.get(), g) == 0);
}

// Called when a leaf's gradient is complete.
bool reach(PyObject* leaf, Ref gradient, Walking& walk) {
    Ref g = after(hooks_of(leaf, walk), std::move(gradient), walk.ask);
    return g && PyDict_SetItem(walk.arrived.get(), leaf, g.get()) == 0;
}

// Finishes the leaves with hooks that no Op after this one reads: they need not wait for the end of
// the walk.
bool reach_behind(PyObject* ops, Py_ssize_t at, Walking& walk) {
    Ref edges = tuple_in(PyList_GET_ITEM(ops, at), N_EDGES);
    if (!edges) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges.get()); ++i) {
        PyObject* x = PyTuple_GET_ITEM(edges.get(), i);
        if (!hooks_of(x, walk)) continue;
        if (!walk.last.count(x)) find_last(ops, at, walk);
        if (walk.last[x] != PyList_GET_ITEM(ops, at)) continue;
        Ref g = walk.pending.take(x);
        if (g && !reach(x, std::move(g), walk)) return false;
    }
    return true;
}

bool walk_ops(PyObject* ops, Walking& walk) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ops); ++i) {
        Ref op = Ref::to(PyList_GET_ITEM(ops, i));
        Ref g = walk.pending.take(op.get());
        if (!g) continue;  // its only reader had no gradient for it
        g = after(slot(op.get(), N_HOOKS), std::move(g), walk.ask);
        if (!g || !visit(op.get(), g.get(), walk) ||
            !keep_inside(op.get(), g.get(), walk.arrived) || !reach_behind(ops, i, walk))
            return false;
        if (!walk.keep) release(op.get());
    }
    return true;
}

bool reach_leaves(Walking& walk) {
    for (Pending::Entry& entry : walk.pending.entries()) {
        if (!entry.node) continue;
        Ref leaf = Ref::to(entry.node);
        if (!reach(leaf.get(), Ref::to(entry.gradient), walk)) return false;
    }
    return true;
}

}  // namespace

PyObject* arrivals(PyObject* root, PyObject* gradient, bool keep, bool linked, PyObject* ask) {
    PyObject* op = part(root, T_OP) ? part(root, T_OP) : Py_None;
    Ref ops(order(op));
    if (!ops) return nullptr;
    Walking walk{keep, linked, ask, {}, Ref(PyDict_New()), {}};
    const bool done = walk.arrived && walk.pending.add(op == Py_None ? root : op, gradient) &&
                      walk_ops(ops.get(), walk) && reach_leaves(walk);
    return done ? walk.arrived.release() : nullptr;
}

}  // namespace tutor
