// Walking the axes around an inner loop, in one thread or in several.
#pragma once

#include "kernel.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }
inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- axes ---------------------------------------------------------------------------------------

constexpr int MAX_OPERANDS = 4;

// Some axes of up to four operands, walked together in row-major order: a nest of loops. Axes of
// size 1 are dropped, and an axis that continues the one outside it in every operand is merged with
// it, so that contiguous operands of any shape come out as one long axis. Strides may be counted in
// elements or in bytes, as long as each nest is used with one of the two.
struct Nest {
    int depth = 0;
    int64_t size[MAX_DIMS];
    int64_t stride[MAX_DIMS][MAX_OPERANDS];

    // Adds an axis inside those already there.
    void add(int64_t length, const int64_t (&steps)[MAX_OPERANDS]) {
        if (length == 1) return;
        bool continues = depth > 0;
        for (int k = 0; continues && k < MAX_OPERANDS; k++)
            continues = stride[depth - 1][k] == steps[k] * length;
        const int64_t outside = continues ? size[--depth] : 1;
        push(outside * length, steps);
    }

    // The same, but never dropped or merged.
    void push(int64_t length, const int64_t (&steps)[MAX_OPERANDS]) {
        size[depth] = length;
        for (int k = 0; k < MAX_OPERANDS; k++) stride[depth][k] = steps[k];
        depth++;
    }

    // Takes the innermost axis away and returns it as a nest of its own, of depth 1.
    Nest split_inner() {
        Nest inner;
        inner.depth = 1;
        inner.size[0] = depth > 0 ? size[depth - 1] : 1;
        for (int k = 0; k < MAX_OPERANDS; k++)
            inner.stride[0][k] = depth > 0 ? stride[depth - 1][k] : 0;
        if (depth > 0) depth--;
        return inner;
    }

    int64_t count() const {
        int64_t product = 1;
        for (int d = 0; d < depth; d++) product *= size[d];
        return product;
    }

    // How far element `index` is from the first one in each operand, counted in elements. Returns
    // how many elements, from this one on, lie along the innermost axis.
    int64_t locate(int64_t index, int64_t (&offsets)[MAX_OPERANDS]) const {
        for (int k = 0; k < MAX_OPERANDS; k++) offsets[k] = 0;
        int64_t run = 1;
        for (int d = depth - 1; d >= 0; d--) {
            const int64_t outer = d > 0 ? index / size[d] : 0, here = index - outer * size[d];
            if (d == depth - 1) run = size[d] - here;
            for (int k = 0; k < MAX_OPERANDS; k++) offsets[k] += here * stride[d][k];
            index = outer;
        }
        return run;
    }
};

// Visits one place in a nest after another. index[d] is the position along axis d, and offset[k]
// how far that is from the first element of operand k.
struct Cursor {
    const Nest& nest;
    int64_t index[MAX_DIMS], offset[MAX_OPERANDS] = {};

    // Begins at element number `at`.
    Cursor(const Nest& walked, int64_t at) : nest(walked) {
        for (int d = nest.depth - 1; d >= 0; d--) {
            index[d] = at % nest.size[d];
            at /= nest.size[d];
            for (int k = 0; k < MAX_OPERANDS; k++) offset[k] += index[d] * nest.stride[d][k];
        }
    }

    void next() {
        for (int d = nest.depth - 1; d >= 0; d--) {
            const bool wraps = ++index[d] == nest.size[d];
            const int64_t back = wraps ? nest.size[d] : 0;
            for (int k = 0; k < MAX_OPERANDS; k++) offset[k] += (1 - back) * nest.stride[d][k];
            if (!wraps) return;
            index[d] = 0;
        }
    }
};

// Sorts axis numbers so that the one with the smallest steps in memory comes last.
inline void sort_axes(int* axes, int count, const int64_t* strides) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && magnitude(strides[axes[j - 1]]) < magnitude(strides[axes[j]]);
             j--) {
            const int moved = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = moved;
        }
}

// ---- threads ------------------------------------------------------------------------------------

// Calls task(i) for each i in [0, count), in parallel groups of at least `grain` elements, where
// one call handles `cost` of them. A group should take 10 us, the cost of waking a thread.
template <class Task>
inline void parallel_each(int64_t count, int64_t cost, int64_t grain, const Task& task) {
    const int64_t group = larger(1, grain / larger(1, cost)), groups = ceil_div(count, group);
    if (groups == 0) return;
    parallel(groups, [&](int64_t g) {
        for (int64_t i = g * group; i < smaller(count, (g + 1) * group); i++) task(i);
    });
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
