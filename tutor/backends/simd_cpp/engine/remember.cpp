// Remember: records an Op as a node of the graph. Also: the methods that it has in Python.
#include <utility>

#include "engine/edges.hpp"
#include "engine/run.hpp"

namespace tutor {

int is_recording() {
    PyObject* mode = nullptr;
    if (PyContextVar_Get(given.recording, nullptr, &mode) < 0 || !mode) return -1;
    Ref known(mode);
    if (mode == Py_True || mode == Py_False) return mode == Py_True;
    Ref answer(PyObject_CallNoArgs(given.is_recording));  // a block, perhaps no longer in force
    return answer ? PyObject_IsTrue(answer.get()) : -1;
}

// ---- The Op as a Python object ------------------------------------------------------------------

// A graph consists of Tensors, so each number among the operands becomes one.
bool Run::make_tensors() {
    for (int i = 0; i < count_; ++i) {
        if (is_tensor(ins_[i]) || info_->first < 0) continue;
        PyObject* args[] = {ins_[i], given.dtypes[operands_[1 + i].dtype]};
        PyObject* made = PyObject_Vectorcall(given.constant, args, 2, nullptr);
        if (!made) return false;
        Py_DECREF(std::exchange(ins_[i], made));
    }
    return true;
}

PyObject* Run::new_inputs() const {
    PyObject* inputs = PyTuple_New(count_);
    for (int i = 0; inputs && i < count_; ++i) PyTuple_SET_ITEM(inputs, i, Py_NewRef(ins_[i]));
    if (inputs && count_) PyObject_GC_UnTrack(inputs);  // its Op shows what is in it
    return inputs;
}

PyObject* Run::new_params() const {
    PyObject* params = PyDict_New();
    for (int p = 0; params && p < params_count_; ++p) {
        if (PyDict_SetItem(params, names_[p], values_[p]) < 0) Py_CLEAR(params);
    }
    return params;
}

PyObject* Run::node() {
    if (!node_ && !(node_ = info_->node.fresh())) return nullptr;
    if (!make_tensors()) return nullptr;
    PyObject* inputs = new_inputs();
    if (inputs) info_->node.put(node_, N_EDGES, inputs);
    return inputs && put_params() ? node_ : nullptr;
}

bool Run::put_params() {
    const bool none = params_count_ == 0 && info_->accepts_none;
    PyObject* params = none ? Py_NewRef(given.no_params) : new_params();
    if (params) info_->node.put(node_, N_PARAMS, params);
    return params != nullptr;
}

// Reads the operands and parameters back after a method has run.
bool Run::take_back() {
    Ref inputs = Ref::to(info_->node.at(node_, N_EDGES));
    Ref params = Ref::to(info_->node.at(node_, N_PARAMS));
    if (!inputs || !PyTuple_Check(inputs.get()) || !params || !PyDict_Check(params.get()))
        return false;
    const Py_ssize_t count = PyTuple_GET_SIZE(inputs.get());
    if (count > count_) return for_python_ = true, false;
    while (count_ > count) Py_DECREF(ins_[--count_]);
    operands_.shrink(count_ + 1);
    for (int i = 0; i < count_; ++i)
        Py_DECREF(std::exchange(ins_[i], Py_NewRef(PyTuple_GET_ITEM(inputs.get(), i))));
    for (; params_count_; --params_count_) {
        Py_DECREF(names_[params_count_ - 1]);
        Py_DECREF(values_[params_count_ - 1]);
    }
    return add_all(params.get());
}

// ---- settle -------------------------------------------------------------------------------------

// Whether the method `settle` has nothing to do here.
bool Run::is_settled() const {
    auto ndim = [this](int i) {
        PyObject* shape = is_tensor(ins_[i]) ? part(ins_[i], T_SHAPE) : nullptr;
        return shape && PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : 0;
    };
    bool settled = true;
    switch (info_->settle) {
        case Settle::Never:
            return true;
        case Settle::Always:
            return false;
        case Settle::Scalar:
            return count_ && ndim(0);
        case Settle::Vectors:
            for (int i = 0; i < count_; ++i) settled &= ndim(i) > 1;
            return settled && dtype_ != Bool;
        case Settle::Bools:
            return dtype_ != Bool;
        case Settle::Indices:
            for (int i = 0; i < count_; ++i) settled &= is_tensor(ins_[i]);
            return settled && count_ > 1 && ndim(0) && ndim(1) && dtype_of(ins_[1]) == Int64 &&
                   !is_empty(ins_[1]);
        case Settle::Axes:
            for (int i = 1; i < count_; ++i) settled &= ndim(i) == ndim(0);
            return settled;
        case Settle::Key: {
            Walk x, z;
            return count_ == 1 && is_tensor(ins_[0]) && walk_of(ins_[0], &x) &&
                   walk(info_->view, x, &z);
        }
    }
    return false;
}

// x[key] for a row of positions, the usual lookup of rows in a table. nullptr, perhaps without a
// Python error, if the key is anything else.
PyObject* Run::choose_rows() {
    PyObject* key = param("key");
    Walk x, at;
    if (count_ != 1 || !key || !is_tensor(key) || dtype_of(key) != Int64 || !walk_of(key, &at) ||
        at.ndim != 1 || !is_tensor(ins_[0]) || !walk_of(ins_[0], &x) || x.ndim == 0)
        return nullptr;
    Ref name(PyUnicode_InternFromString("index_select")), names(Py_BuildValue("(s)", "axis"));
    Ref axis(PyLong_FromLong(0));
    Info* info = name && names && axis ? info_named(name.get()) : nullptr;
    PyObject *both[] = {ins_[0], key}, *values[] = {axis.get()};
    if (!info) return nullptr;
    Run run(info, both, 2);
    return run.take(names.get(), values) ? run.result() : nullptr;
}

// Calls the method. *done: the result, if other ops have computed it already.
bool Run::settle(Ref* done) {
    if (info_->settle == Settle::Key) {
        *done = Ref(choose_rows());
        if (*done || PyErr_Occurred()) return bool(*done);
    }
    PyObject* op = node();
    Ref found(op ? PyObject_CallMethodNoArgs(op, given.settle) : nullptr);
    if (!found) return false;
    if (found.get() != Py_None) return *done = std::move(found), true;
    if (!take_back()) return false;
    if (info_->first < 0) return bring_together();
    dtype_ = count_ > info_->first && is_tensor(ins_[info_->first]) ? dtype_of(ins_[info_->first])
                                                                    : DTYPES;
    return true;
}

// ---- remember -----------------------------------------------------------------------------------

namespace {

// Which operands want a gradient, as a tuple of bools. Few operands have few such tuples: nodes
// share them.
PyObject* needs_of(PyObject* const* ins, int count) {
    constexpr int FEW = 3;
    static PyObject* known[FEW + 1][1 << FEW];
    size_t needed = 0;
    for (int i = 0; i < count; ++i) {
        const bool wanted = is_tensor(ins[i]) && requires_grad(ins[i]);
        if (i < FEW) needed |= size_t(wanted) << i;
    }
    if (count <= FEW && known[count][needed]) return Py_NewRef(known[count][needed]);
    PyObject* needs = PyTuple_New(count);
    for (int i = 0; needs && i < count; ++i) {
        const bool wanted = is_tensor(ins[i]) && requires_grad(ins[i]);
        PyTuple_SET_ITEM(needs, i, Py_NewRef(wanted ? Py_True : Py_False));
    }
    if (needs && count <= FEW) known[count][needed] = Py_NewRef(needs);
    return needs;
}

}  // namespace

// Records the Op as the graph's node behind `out`, if a graph is wanted.
bool Run::remember(PyObject* out) {
    bool wanted = false;
    for (int i = 0; i < count_; ++i) wanted |= is_tensor(ins_[i]) && requires_grad(ins_[i]);
    if (!wanted) return true;
    const DType dtype = dtype_of(out);
    const bool possible = info_->differentiable && dtype >= Float16 && dtype != DTYPES;
    const int recording = possible ? is_recording() : 0;
    if (recording <= 0) {
        given.tensor.put(out, T_REQUIRES_GRAD, Py_NewRef(Py_False));
        return recording == 0;
    }
    Ref needs(needs_of(ins_, count_));
    return needs && record(out, needs.get());
}

namespace {

// Whether an Op that is recorded here and now keeps all its operands; -1 on failure.
int is_keeping() {
    PyObject* found = nullptr;
    if (PyContextVar_Get(given.keeping, nullptr, &found) < 0 || !found) return -1;
    Ref known(found);
    if (found == Py_True || found == Py_False) return found == Py_True;
    Ref answer(PyObject_CallNoArgs(given.is_keeping));
    return answer ? PyObject_IsTrue(answer.get()) : -1;
}

// The name of the device of a Tensor.
PyObject* device_of(PyObject* tensor) {
    return is_on_device(tensor) ? PyObject_GetAttrString(part(tensor, T_BUF), "device")
                                : Py_NewRef(given.host);
}

// Whether there is one number in its memory.
bool is_one_number(PyObject* tensor) {
    PyObject* memory = reinterpret_cast<Holder*>(part(tensor, T_BUF))->memory;
    if (is_memory(memory)) return reinterpret_cast<Memory*>(memory)->count == 1;
    const Py_ssize_t count = PyObject_Size(part(tensor, T_BUF));
    return count < 0 ? PyErr_Clear(), false : count == 1;
}

// The edge to an operand: what made it. The twin of edge_to in tutor/core/op/edges.py.
PyObject* edge_to(PyObject* x) {
    if (PyObject* op = part(x, T_OP); op && given.node.has(op)) return Py_NewRef(op);
    if (!is_whole(x)) return nullptr;
    if (requires_grad(x) || is_one_number(x)) return Py_NewRef(x);
    const Class& made = given.constant_edge;
    Ref edge(made.fresh()), device(device_of(x)), result(weakly(x));
    if (!edge || !device || !result) return nullptr;
    PyObject_GC_UnTrack(edge.get());  // what it refers to forms no cycle
    made.put(edge.get(), C_SHAPE, Py_NewRef(part(x, T_SHAPE)));
    made.put(edge.get(), C_DTYPE, Py_NewRef(given.buffer.at(part(x, T_BUF), B_DTYPE)));
    made.put(edge.get(), C_DEVICE, device.release());
    made.put(edge.get(), C_RESULT, result.release());
    return edge.release();
}

}  // namespace

// Edges in the place of the operands, which are kept only if that is wanted.
bool Run::put_edges(PyObject* op) {
    const int keeping = is_keeping();
    Ref held(keeping > 0 ? new_inputs() : PyTuple_New(0)), edges(PyTuple_New(count_));
    if (keeping < 0 || !held || !edges) return false;
    for (int i = 0; i < count_; ++i) {
        PyObject* edge = edge_to(ins_[i]);
        if (!edge) return false;
        PyTuple_SET_ITEM(edges.get(), i, edge);
    }
    if (keeping && count_) PyObject_GC_Track(held.get());
    if (count_) PyObject_GC_UnTrack(edges.get());  // its Op shows what is in it
    info_->node.put(op, N_EDGES, edges.release());
    info_->node.put(op, N_HELD, held.release());
    return true;
}

bool Run::record(PyObject* out, PyObject* needs) {
    const Class& made = info_->node;
    if (info_->view == View::Index) {
        Ref plain(plain_key(param("key")));
        if (!plain || !set("key", plain.get())) return false;
    }
    if (!node_ && !(node_ = made.fresh())) return false;
    PyObject* op = node_;
    PyObject* serial = make_tensors() && put_params() ? PyIter_Next(given.serials) : nullptr;
    if (!serial) return false;
    made.put(op, N_NEEDS, Py_NewRef(needs));
    made.put(op, N_SERIAL, serial);
    made.put(op, N_KEPT, Py_NewRef(Py_None));
    made.put(op, N_HOOKS, Py_NewRef(Py_None));
    if (!is_whole(out) || !save(out, op, needs) || !put_edges(op)) return false;
    PyObject *buf = part(out, T_BUF), *device = device_of(out),
             *result = device ? weakly(out) : nullptr;
    if (!result) return Py_XDECREF(device), false;
    made.put(op, N_SHAPE, Py_NewRef(part(out, T_SHAPE)));
    made.put(op, N_DTYPE, Py_NewRef(given.buffer.at(buf, B_DTYPE)));
    made.put(op, N_DEVICE, device);
    made.put(op, N_RESULT, result);
    given.tensor.put(out, T_OP, Py_NewRef(op));
    given.tensor.put(out, T_REQUIRES_GRAD, Py_NewRef(Py_True));
    for (int i = 0; i < count_; ++i) hide(ins_[i]);
    return true;
}

namespace {

// The state of a saved value: its memory, how often that had been changed, and its walk.
PyObject* state_of(PyObject* tensor) {
    PyObject* buf = part(tensor, T_BUF);
    return PyTuple_Pack(5, buf, given.buffer.at(buf, B_VERSION), part(tensor, T_SHAPE),
                        part(tensor, T_STRIDES), part(tensor, T_OFFSET));
}

// The same elements, outside any graph. The output is saved this way because `out -> op -> out`
// would be a cycle, and a graph must be freed as soon as the last reference to it goes.
PyObject* alias_of(PyObject* tensor) {
    PyObject* alias = given.tensor.fresh();
    for (TensorSlot slot : {T_BUF, T_SHAPE, T_STRIDES, T_OFFSET}) {
        if (alias) given.tensor.put(alias, slot, Py_NewRef(part(tensor, slot)));
    }
    return alias;
}

}  // namespace

// Saves what backward needs, and its state.
bool Run::save(PyObject* out, PyObject* op, PyObject* needs) {
    Ref saved(PyTuple_New(info_->saves)), states(PyTuple_New(info_->saves));
    if (!saved || !states) return false;
    for (int s = 0; s < info_->saves; ++s) {
        const int position = info_->saved[s], for_whom = info_->wants[s];
        if (position >= count_ || for_whom >= count_) return false;
        const bool wanted = for_whom < 0 || PyTuple_GET_ITEM(needs, for_whom) == Py_True;
        PyObject* value = !wanted        ? Py_NewRef(given.nothing)
                          : position < 0 ? alias_of(out)
                                         : Py_NewRef(ins_[position]);
        if (!value) return false;
        PyTuple_SET_ITEM(saved.get(), s, value);
        PyObject* state = is_whole(value) ? state_of(value) : nullptr;
        if (!state) return false;
        PyTuple_SET_ITEM(states.get(), s, state);
    }
    info_->node.put(op, N_SAVED, saved.release());
    info_->node.put(op, N_STATES, states.release());
    return true;
}

}  // namespace tutor
