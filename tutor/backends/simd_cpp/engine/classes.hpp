// The Python classes whose instances the twin reads and makes, as handed over by Python.
#pragma once

#include <Python.h>

#include <vector>

#include "kernel.hpp"

namespace tutor {

// An owned reference, released at the end of its scope.
class Ref {
  public:
    Ref() = default;
    explicit Ref(PyObject* owned) : object_(owned) {}
    Ref(Ref&& other) noexcept : object_(other.release()) {}
    Ref& operator=(Ref&& other) noexcept {
        PyObject* before = object_;
        object_ = other.release();
        Py_XDECREF(before);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }

    static Ref to(PyObject* borrowed) { return Ref(Py_XNewRef(borrowed)); }
    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* object = object_;
        object_ = nullptr;
        return object;
    }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

// A class with __slots__. A new instance is a copy of a blank one made by Python, so it has every
// slot of the class with its initial value, including slots unknown here.
class Class {
  public:
    // Finds the slots called `names` (a tuple of str) in the class of `blank`, and all others that
    // `blank` fills. Returns false, with a Python error set, if a name is no slot.
    bool learn(PyObject* blank, PyObject* names);

    // A copy of the blank instance; nullptr, with a Python error set, if memory runs out.
    PyObject* fresh() const;

    // The same for an object made elsewhere that is still empty.
    bool fill(PyObject* object) const;

    PyTypeObject* type() const { return type_; }
    bool has(PyObject* object) const { return PyObject_TypeCheck(object, type_); }
    bool is_exactly(PyObject* object) const { return Py_IS_TYPE(object, type_); }

    // The slot at that position in `names`.
    PyObject*& at(PyObject* object, int which) const {
        return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + places_[which]);
    }

    // Stores `owned` in a slot, replacing what is there.
    void put(PyObject* object, int which, PyObject* owned) const {
        PyObject*& slot = at(object, which);
        PyObject* before = slot;
        slot = owned;
        Py_XDECREF(before);
    }

  private:
    struct Value {
        Py_ssize_t place;
        PyObject* value;
    };

    PyTypeObject* type_ = nullptr;
    std::vector<Py_ssize_t> places_;
    std::vector<Value> values_;   // what fresh instances begin with
    PyObject* others_ = nullptr;  // and, for a class with a __dict__, its contents
};

// The slots, in the order in which tutor/ops/native.py names them.
enum TensorSlot {
    T_BUF,
    T_SHAPE,
    T_STRIDES,
    T_OFFSET,
    T_GRAD,
    T_OP,
    T_REQUIRES_GRAD,
    T_HOOKS,
    T_BASE
};
enum BufferSlot { B_DTYPE, B_VERSION, B_REWRITTEN };
enum ConstantSlot { C_SHAPE, C_DTYPE, C_DEVICE, C_RESULT };
enum NodeSlot {
    N_EDGES,
    N_PARAMS,
    N_SAVED,
    N_STATES,
    N_SERIAL,
    N_NEEDS,
    N_SHAPE,
    N_DTYPE,
    N_DEVICE,
    N_RESULT,
    N_HELD,
    N_KEPT,
    N_HOOKS
};

}  // namespace tutor
