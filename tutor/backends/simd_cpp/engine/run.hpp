// Running an Op: prepare, emit, remember. The twin of tutor/core/engine/forward.py.
#pragma once

#include <Python.h>

#include "border/operand.hpp"
#include "engine/info.hpp"
#include "engine/numbers.hpp"
#include "engine/tensors.hpp"

namespace tutor {

// One run of an Op, from its operands to its result. Each step returns false (nullptr) where it
// refuses. Then either a Python error is set, by a kernel or by a method written in Python; or none
// is: the Engine in Python is asked for the same, and says what is wrong.
class Run {
  public:
    Run(Info* info, PyObject* const* ins, int count);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // The parameters: as a call has them (names may be nullptr), or those of an Op that exists
    // already and will be the node.
    bool take(PyObject* names, PyObject* const* values);
    bool take(PyObject* node);

    // The resulting Tensor, a new reference.
    PyObject* result();

    // Whether the result now stands where the first operand was: `x += y`. inplace.cpp
    bool change(bool* done);

    // After a refusal: because this is not done here at all? An array among the operands, another
    // backend's kernel.
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
    bool save(PyObject* out, PyObject* op);
    PyObject* node();     // the Op, made if there is none; borrowed
    bool take_back();     // what a method in Python may have changed of it
    bool make_tensors();  // of the numbers among the operands
    PyObject* new_inputs() const;
    PyObject* new_params() const;

    Info* info_;
    int count_;
    DType dtype_ = DTYPES;  // the one under which the kernel is looked up
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

// Runs the op of that name on a Tensor, with one parameter (or nullptr): a step that other ops
// need. nullptr, with a Python error set, if it has no result.
PyObject* run_named(const char* op, PyObject* x, const char* param, PyObject* value);

// Puts the value, a Tensor or a number, into the target: None, or nullptr where it refuses.
// inplace.cpp
PyObject* write_over(PyObject* target, PyObject* value);

// Whether each element has a place of its own, as each axis steps beyond all that those of smaller
// steps reach. Where it is false Python looks closer: tutor/_storage/overlap.py.
bool is_one_to_one(const Operand& x);

// Forgets an error that the Engine in Python will find again, and say better. false, and it stays
// set, if it is an interrupt that came while a promise was kept.
bool forget_error();

// Would an op that is run here and now be recorded? -1, with a Python error set, on failure.
int is_recording();

}  // namespace tutor
