// Running an Op: prepare, emit, remember. The twin of tutor/core/engine/forward.py.
#pragma once

#include <Python.h>

#include "border/operand.hpp"
#include "engine/info.hpp"
#include "engine/numbers.hpp"
#include "engine/tensors.hpp"

namespace tutor {

// One run of an Op, from operands to result. A step that refuses returns false (nullptr). If a
// kernel or a method written in Python has set an error, that is raised; otherwise the Engine in
// Python is asked for the same, and says what is wrong.
class Run {
  public:
    Run(Info* info, PyObject* const* ins, int count);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Takes the parameters of a call (names may be nullptr), or those of an Op that exists already
    // and will be the node.
    bool take(PyObject* names, PyObject* const* values);
    bool take(PyObject* node);

    // The resulting Tensor, a new reference.
    PyObject* result();

    // `x += y`: *done says whether the result now overwrites the first operand. inplace.cpp
    bool change(bool* done);

    // After a refusal: whether only Python does this (an array among the operands, another
    // backend's kernel).
    bool is_for_python() const { return for_python_; }

  private:
    static constexpr int ON_STACK = 4, MOST_PARAMS = 12;

    // ---- prepare.cpp
    bool add(PyObject* name, PyObject* value);
    bool add_all(PyObject* dict);
    bool set(const char* name, PyObject* value);
    bool is_known(PyObject* name) const;
    bool has_required() const;
    PyObject* param(const char* name) const;  // borrowed
    bool autocast();
    bool bring_together();
    bool bring_to(int first, DType dtype);
    bool cast(int i, DType dtype);
    bool read_operands(const char* kernel);
    bool dtypes_fit(const Row& row) const;
    bool prepare(const Row& row);
    bool count_axis(const Row& row);
    bool set_params(const Row& row);
    bool set_open_sizes(const Row& row, Operand* out);
    bool padded_shape(Operand* out);
    bool weight_shape(Operand* out);
    bool has_no_choice() const;

    // ---- run.cpp
    bool run_kernel(Ref* out);
    bool make_result(Ref* out);
    bool emit_here(const Row& row);
    bool emit_step(const Row& row, PyObject* out);
    bool finish(Ref* out);
    bool run_view(Ref* out);
    bool walk(View view, const Walk& x, Walk* z) const;
    bool run_place(Ref* out);
    bool run_forward(Ref* out);

    // ---- inplace.cpp
    bool can_write_over(const Operand& from) const;

    // ---- remember.cpp
    bool is_settled() const;
    bool settle(Ref* done);
    PyObject* choose_rows();
    bool remember(PyObject* out);
    bool record(PyObject* out, PyObject* needs);
    bool save(PyObject* out, PyObject* op, PyObject* needs);
    bool put_edges(PyObject* op);
    bool put_params();
    PyObject* node();     // the Op, made if there is none; borrowed
    bool take_back();     // reads back what a method in Python may have changed
    bool make_tensors();  // from the numbers among the operands
    PyObject* new_inputs() const;
    PyObject* new_params() const;

    Info* info_;
    int count_;
    DType dtype_ = DTYPES;  // the dtype under which the kernel is looked up
    bool for_python_ = false;
    PyObject** ins_;  // owned: Tensors, and Python numbers
    Number* rooms_;   // the bytes of these numbers
    int params_count_ = 0;
    PyObject *names_[MOST_PARAMS], *values_[MOST_PARAMS];  // owned
    PyObject* node_ = nullptr;                             // owned
    Operands operands_;                                    // [0] is the result
    Params kernel_params_;
    PyObject* ins_on_stack_[ON_STACK];
    Number rooms_on_stack_[ON_STACK];
};

// Runs the named op on a Tensor, with one parameter (or nullptr): a step that other ops need.
// nullptr, with a Python error set, if it has no result.
PyObject* run_named(const char* op, PyObject* x, const char* param, PyObject* value);

// Writes the value, a Tensor or a number, into the target. Returns None, or nullptr if it
// refuses. inplace.cpp
PyObject* write_over(PyObject* target, PyObject* value);

// Whether every element has its own place: each axis steps beyond all that axes of smaller steps
// reach. If false, Python looks closer: tutor/_storage/overlap.py.
bool is_one_to_one(const Operand& x);

// Clears an error that the Engine in Python will raise again in better words. Returns false and
// leaves it set if it is an interrupt that came while promised numbers were computed.
bool forget_error();

// Would an op that is run here and now be recorded? -1, with a Python error set, on failure.
int is_recording();

}  // namespace tutor
