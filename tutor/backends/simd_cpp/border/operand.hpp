// Reads the operands of a kernel call and checks them at the border: nothing that Python passes can
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

    // Reads the Python object `from` into operand i: any object with `buf`, `shape`, `strides` and
    // `offset`. Returns false, with a Python error set, if it is not an operand or reaches outside
    // its Buffer. `kernel` is for the error.
    bool read(int i, PyObject* from, const char* kernel);

    // The same for an operand that is no object: its shape, strides and offset, over memory of
    // `count` elements of `dtype`. *start is the place of the first element in that memory; the
    // caller, which knows where the memory is, sets the address.
    bool lay(int i, PyObject* shape, PyObject* strides, PyObject* offset, int64_t count,
             DType dtype, const char* kernel, int64_t* start);

    // Whether operand i can be written: it borrows no read-only bytes, and no stride of 0 maps two
    // of its indices to one element. If not, a Python error is set.
    bool check_writable(int i, const char* kernel) const;

    // Replaces operand i, of 64-bit integers, with its own copy. Kernels check indices before they
    // use them; in shared memory another thread, or out, could change an index in between, and the
    // kernel would follow it anywhere. Returns false, with a MemoryError set, if memory runs out.
    bool copy(int i);

    // Operand i, to be filled in without a check because no Python object is behind it, or to be
    // walked in another way within the same elements.
    Operand& at(int i) { return operands_[i]; }

    // Drops the last operands, which have not been read.
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

// Lays out a separate copy of `x`: sets its strides (a stride of 0 stays 0) and returns its number
// of elements.
int64_t lay_out_copy(const Operand& x, int64_t* strides);

// Fills such a copy of 64-bit integers.
void copy_elements(const Operand& x, const int64_t* strides, int64_t total, int64_t* to);

// Raises the error for writing to operand i, whose memory is borrowed from read-only
// bytes. Returns false.
bool read_only(const char* kernel, int i);

// How errors name operand i: out, input 1, input 2.
std::string operand_name(int i);

// A Python int, clamped to 64 bits: a value so far out fails every check anyway.
int64_t nearest_int64(PyObject* integer);

// Interns the attribute names. false, with a Python error set, when that fails.
bool make_operand_names();

}  // namespace tutor
