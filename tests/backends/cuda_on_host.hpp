// A kernel in CUDA C, compiled for the host: what its text asks of CUDA, in plain C++.
//
// This stands before the text. One thread of the host runs the whole grid, block after block. In a
// block, each CUDA thread that meets no barrier runs to its end before the next begins; those that
// do are contexts of their own, which take turns: __syncthreads() hands on to the next, and a round
// is over when all have come to it. A barrier that not all of them meet ends the process.

#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

using std::size_t;

struct Three {
    unsigned x, y, z;
};
static Three threadIdx, blockIdx, blockDim, gridDim;

// ---- threads that take turns --------------------------------------------------------------------

enum { STACK = 1 << 16 };
struct Turn {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(STACK);
    bool done = false;
};
static ucontext_t between;
static Turn* turn;  // whose it is
static void (*work)();

static void __syncthreads() { swapcontext(&turn->context, &between); }

static void one_thread() {
    work();
    turn->done = true;
    swapcontext(&turn->context, &between);
}

static Three thread_number(unsigned n) {
    return {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
}

static void run_in_turns() {
    static std::vector<Turn*> turns;
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    while (turns.size() < count) turns.push_back(new Turn);
    for (unsigned n = 0; n < count; n++) {
        getcontext(&turns[n]->context);
        turns[n]->context.uc_stack.ss_sp = turns[n]->stack.data();
        turns[n]->context.uc_stack.ss_size = STACK;
        turns[n]->done = false;
        makecontext(&turns[n]->context, one_thread, 0);
    }
    for (unsigned ended = 0; ended == 0;) {
        for (unsigned n = 0; n < count; n++) {
            turn = turns[n];
            threadIdx = thread_number(n);
            swapcontext(&between, &turn->context);
            ended += turn->done;
        }
        if (ended != 0 && ended != count) {
            std::fprintf(stderr, "%u of %u threads meet a barrier\n", count - ended, count);
            std::abort();
        }
    }
}

static void run_one_by_one() {
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned n = 0; n < count; n++) {
        threadIdx = thread_number(n);
        work();
    }
}

static void run_grid(const unsigned* grid, const unsigned* block, bool barriers) {
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                if (barriers)
                    run_in_turns();
                else
                    run_one_by_one();
            }
}

// ---- a launch -----------------------------------------------------------------------------------

static void** params;

template <class... A, size_t... K>
static void call(void (*kernel)(A...), std::index_sequence<K...>) {
    kernel(*(A*)params[K]...);
}

template <class... A>
static void call(void (*kernel)(A...)) {
    call(kernel, std::index_sequence_for<A...>());
}

// ---- words of CUDA ------------------------------------------------------------------------------

#define __global__
#define __device__
#define __constant__
#define __shared__ static  // blocks run one after another

static float __int_as_float(int bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
static float __uint_as_float(unsigned bits) { return __int_as_float((int)bits); }
static unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

// The text has types of its own of these names, with int64_t a long long.
#define int8_t cuda_int8_t
#define int16_t cuda_int16_t
#define int32_t cuda_int32_t
#define int64_t cuda_int64_t
#define uint8_t cuda_uint8_t
#define uint16_t cuda_uint16_t
#define uint32_t cuda_uint32_t
#define uint64_t cuda_uint64_t
