// The border between the bindings and the kernels.
//
// The bindings (bindings.cpp, border/, memory/, engine/) are compiled once, for any CPU. Each
// kernels/*.cpp is compiled once per instruction-set level, into a namespace of its own. What
// crosses the border is plain structs and function pointers: a kernel file that used a std
// container could hand the linker a copy of its inline functions built for AVX-512, and every older
// CPU would then run it.
#pragma once

#include <cstdint>

namespace tutor {

// One list for every dtype: enum name, C++ type, and the `struct` format character that
// tutor/dtype.py uses. half_t and bfloat_t are storage only: 16 bits that are widened to float
// before any arithmetic (math/half.hpp).
struct half_t {
    uint16_t bits;
};
struct bfloat_t {
    uint16_t bits;
};

#define TUTOR_FOR_EACH_DTYPE(ROW) \
    ROW(Bool, bool, '?')          \
    ROW(Int8, int8_t, 'b')        \
    ROW(Int16, int16_t, 'h')      \
    ROW(Int32, int32_t, 'i')      \
    ROW(Int64, int64_t, 'q')      \
    ROW(UInt8, uint8_t, 'B')      \
    ROW(UInt16, uint16_t, 'H')    \
    ROW(UInt32, uint32_t, 'I')    \
    ROW(UInt64, uint64_t, 'Q')    \
    ROW(Float16, half_t, 'e')     \
    ROW(BFloat16, bfloat_t, 'E')  \
    ROW(Float32, float, 'f')      \
    ROW(Float64, double, 'd')

enum DType : uint8_t {
#define ROW(name, type, format) name,
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
        DTYPES
};

constexpr int itemsize_of[DTYPES] = {
#define ROW(name, type, format) sizeof(type),
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
};

constexpr int MAX_DIMS = 16;   // axes of one operand
constexpr int MAX_PARAMS = 8;  // numbers among one kernel's keyword parameters

// Memory and how to walk it. The bindings have checked that it cannot reach outside the Buffer.
struct Operand {
    char* data;  // the element [0, 0, ...]
    DType dtype;
    int ndim;
    int64_t shape[MAX_DIMS];
    int64_t strides[MAX_DIMS];  // in elements; 0 repeats, negative walks backwards
};

// What a fused kernel does to each tile of its operands: the text that bytecode.py describes, as
// read by code.cpp. Places are numbered: operands from 0 to MAX_FUSED - 1, in the order of the
// call, then registers. These are few, because each takes a tile of the L1 cache.
constexpr int MAX_CODE = 64;  // instructions
constexpr int MAX_FUSED = 32;

struct Instruction {
    const struct Row* row;
    const struct Work* work;  // nullptr: it reduces
    uint8_t to, args, from[3];
    uint8_t widens;  // bits 0, 1, 2: which arguments `work` has converted; bit 3: its result
};

struct Code {
    int count, results, registers;
    int product;  // how many operands the product has that it begins with; 0: there is none
    Instruction of[MAX_CODE];
    // Of each operand, which instruction writes it, and which is the last to read it; -1: none.
    int8_t written[MAX_FUSED], read[MAX_FUSED];
};

// What follows some rows of a product, as soon as they are complete and while they are in the
// cache: n numbers from `first` on.
struct Then {
    void (*run)(const Then& then, char* first, int64_t n);
};

// The keyword parameters of one call. `axis=` and `before=` are lists of integers; every other
// parameter is a number, kept both as a double and as a 64-bit integer (a fill value or a seed must
// not lose bits), in the row's order.
struct Params {
    int axis_count;
    int64_t axis[MAX_DIMS];  // axes are non-negative: the bindings have added ndim to negative ones
    double number[MAX_PARAMS];
    uint64_t integer[MAX_PARAMS];
    Code code;                   // of a fused kernel
    const Then* then = nullptr;  // of the product that it begins with
};

// Where a kernel of Form::Draw finds its numbers among params.integer.
struct Draw {
    enum { BLOCKS, SEED, COUNTER };
};

// What a kernel reports about values it meets, to be raised as a Python exception by the bindings.
struct Status {
    enum Kind {
        Ok,
        IndexOutOfRange,
        NegativeExponent,
        DivisionByZero,
        NegativeShift,
        CountDiffers,
        OutOfMemory
    } kind;
    // For IndexOutOfRange: the index, and the size of the axis. For CountDiffers: how many there
    // are, and how many out has room for. For a fused kernel, found is the instruction.
    int64_t found, size;
};

using KernelFunction = Status (*)(const Operand& out, const Operand* ins, int count,
                                  const Params& params);

// How the shapes of a kernel's operands must fit: checked once, at the border (border/checks.cpp),
// before the kernel runs.
enum class Form {
    Elementwise,       // every operand has out's shape
    Update,            // the same for those of letter T, all written except the first
                       // input; the others are cells, of one number
    Scan,              // the same, along axis[0]
    Fill,              // no inputs
    Draw,              // seed and counter, cells of one number; the counter is written; perhaps x
    Reduce,            // out = x without the axes in `axis`
    MatMul,            // (..., m, k), (..., k, n) -> (..., m, n)
    Linear,            // x (..., k), w (n, k), b (n) -> (..., n)
    Conv,              // x (n, c, h, w), w (o, c / groups, k, l) -> (n, o, p, q)
    ConvWeight,        // x (n, c, h, w), g (n, o, p, q) -> (o, c / groups, k, l)
    Pool,              // x (n, c, h, w) -> (n, c, p, q)
    PoolGrad,          // out as x (n, c, h, w); m and g (n, c, p, q)
    Nonzero,           // out (n), x of any shape
    Pad,               // x at `before` inside out
    Cat,               // the inputs side by side along axis[0]
    Gather,            // index and out alike; x alike except along axis[0]
    Scatter,           // x as out; index as src; src no larger than out except along axis[0]
    IndexSelect,       // out = x with axis[0] replaced by the length of the 1-D index
    CrossEntropy,      // x (..., classes), t (...); out (...) or 0-d
    CrossEntropyGrad,  // out as x (..., classes), t (...), g (...)
    Attention,      // q (..., l, e), k (..., s, e), v (..., s, n), mask (..., l, s) -> (..., l, n);
                    // logs (..., l) is written
    AttentionGrad,  // g as z, q, k, v, mask, z (..., l, n), logs -> as q; dk and dv are written
    Norm,           // x (..., n), and others (n) -> as x
    NormGrad,       // g and x (..., n), w (n) -> as x; the others, (n), are written
    ChannelNorm,    // x (k, n, m), w and b (n) -> as x; the others, (n), are written
    ChannelNormGrad,  // g, x (k, n, m), w, mean, var (n) -> as x; the others, (n), are written
    Rnn,              // wx (l, n, h), u (h, h), start (n, h) -> (l, n, h)
    RnnGrad,          // g, u, z as out, dstart (n, h) -> as wx; dstart is written
    Lstm,             // wx (l, n, 4, h), u (4, h, h), start (2, n, h), gates (k, n, 4, h) ->
                      // (2, l, n, h); gates are written
    LstmGrad,         // g, u, start, z as out, gates, dstart -> as wx; dstart is written
    Gru,              // wx (l, n, 3, h), u (3, h, h), bias (3, h), start (n, h),
                      // gates (k, n, 4, h) -> (l, n, h); gates are written
    GruGrad,          // g, u, start, z as out, gates, da, dstart -> as wx; the last two are written
    Fused,            // the inputs are alike, out is that without the axes in `axis`; where
                      // it begins with a product, the others are as that is, and out, too
};

struct Work;  // what an elementwise kernel and a reduction are made of: parts.hpp
struct Reducer;

// One row of a kernel table.
struct Row {
    const char* name;
    DType dtype;
    Form form;
    const char* types;   // as in signatures.py: out, then the inputs
    const char* params;  // names, separated by one space, as in signatures.py
    KernelFunction run;
    const Work* work;        // of an elementwise kernel; of a cast, one per dtype of out
    const Reducer* reducer;  // of a reduction
};

struct Rows {
    const Row* begin;
    int64_t count;
};

// ---- what a compiler is told
// ---------------------------------------------------------------------

// Before a loop: no turn reads what an earlier one writes, so the loop can be vectorized even if
// pointers might overlap for all the compiler knows.
#ifdef __clang__
#define TUTOR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TUTOR_INDEPENDENT _Pragma("GCC ivdep")
#endif

// ---- threads.cpp: one pool of threads for the process -------------------------------------------

// Calls task(context, i) for each i in [0, chunks), on the caller and on whichever workers are
// awake; returns when all are done. The caller takes every chunk that no worker has begun, so a
// busy machine costs time but never a wait for a worker that has not been scheduled. Any thread may
// run a chunk, so chunks must not depend on each other, and their number must follow from the sizes
// alone: then the thread count cannot change a result.
void parallel_for(int64_t chunks, void (*task)(void* context, int64_t chunk), void* context);

int thread_count();
void set_thread_count(int count);

// The same for a lambda: parallel(chunks, [&](int64_t i) { ... }). Anonymous: each level keeps its
// own copy.
namespace {
template <class Task>
inline void parallel(int64_t chunks, Task&& task) {
    if (chunks == 1) {
        task(0);
        return;
    }
    parallel_for(
        chunks,
        [](void* context, int64_t chunk) { (*static_cast<decltype(&task)>(context))(chunk); },
        const_cast<void*>(static_cast<const void*>(&task)));
}
}  // namespace

// Scratch memory, 64-byte aligned, kept per thread between calls. Slots 0..7 are independent; a
// call for a slot invalidates what that slot held. nullptr if memory runs out: return
// Status{Status::OutOfMemory} then.
void* scratch(int slot, int64_t nbytes);

}  // namespace tutor
