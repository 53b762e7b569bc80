// Reading the operands of a kernel call, and the border check: nothing that Python hands over can
// make a kernel read or write outside a Buffer.
#pragma once

#include <Python.h>

#include <string>

#include "kernel.hpp"
#include "memory/memory.hpp"

namespace tutor {

// The operands of one call: [0] is out, the inputs follow. A few fit on the stack. Holds a
// reference to every Memory, because another thread may drop its own while the kernel runs.
class Operands {
  public:
    explicit Operands(int count);
    ~Operands();
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;

    // Reads the Python object `from` into operand i. It may be anything with `buf`, `shape`,
    // `strides` and `offset`. false, with a Python error set, when it is not an operand or reaches
    // outside its Buffer. `kernel` is for the error.
    bool read(int i, PyObject* from, const char* kernel);

    // The same for an operand that is no object: its shape, strides and offset, over memory of
    // `count` elements of `dtype`. *start is where in it the first element stands; its address is
    // left to whoever knows where that memory is.
    bool lay(int i, PyObject* shape, PyObject* strides, PyObject* offset, int64_t count,
             DType dtype, const char* kernel, int64_t* start);

    // Whether operand i can be written: it does not borrow read-only bytes, and no two of its
    // indices stand for one element by a stride of 0. Else a Python error is set.
    bool check_writable(int i, const char* kernel) const;

    // Replaces operand i, of 64-bit integers, by a copy of its own. Kernels check indices before
    // they use them; in shared memory another thread, or out, could change one in between, and an
    // index that points anywhere would follow. false, with a MemoryError set, if there is no room.
    bool copy(int i);

    // Operand i, to be made one that needs no check, as there is no Python object behind it; or to
    // be walked in another way that stays within the same elements.
    Operand& at(int i) { return operands_[i]; }

    // Leaves the last ones out, which have not been read.
    void shrink(int count) { count_ = count; }

    int count() const { return count_; }
    const Operand& operator[](int i) const { return operands_[i]; }

  private:
    static constexpr int ON_STACK = 6;
    int count_;
    Operand* operands_;
    Memory** memories_;
    int64_t* copy_ = nullptr;
    Operand operands_on_stack_[ON_STACK];
    Memory* memories_on_stack_[ON_STACK];
};

// Number of elements. The border check has made sure that it does not overflow.
inline int64_t numel(const Operand& operand) {
    int64_t count = 1;
    for (int d = 0; d < operand.ndim; ++d) count *= operand.shape[d];
    return count;
}

// Of a copy of `x` that stands alone: its strides (an axis of stride 0 stays one), and its number
// of elements.
int64_t lay_out_copy(const Operand& x, int64_t* strides);

// Fills such a copy, of 64-bit integers.
void copy_elements(const Operand& x, const int64_t* strides, int64_t total, int64_t* to);

// The error for operand i, to be written to, whose memory is borrowed from bytes that are
// read-only. Returns false.
bool read_only(const char* kernel, int i);

// How errors call operand i: out, input 1, input 2.
std::string operand_name(int i);

// A Python int, cut to the nearest 64-bit integer: what is so far out fails every check anyhow.
int64_t nearest_int64(PyObject* integer);

// Interns the attribute names. false, with a Python error set, when that fails.
bool make_operand_names();

}  // namespace tutor
