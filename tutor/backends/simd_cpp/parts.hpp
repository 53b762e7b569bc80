// What elementwise kernels and reductions are made of, as functions on bytes: for the walk over
// their operands, and for a kernel composed of several (kernels/fused.cpp).
#pragma once

#include "kernel.hpp"

namespace tutor {

using Inner = void (*)(int64_t n, void* out, const void* const* ins);

// What to do with n elements. Operands of dtype `stored` reach `inner` as `computed`, the others
// (a comparison's bools) as they are.
struct Work {
    Inner inner;
    DType stored, computed;
    Inner widen, narrow;  // stored to computed and back; unused where the two are the same
    int64_t grain;        // elements that take about 10 us, the cost of waking a thread
    // The report for second operands that are refused, and the test for one. Nothing is written.
    Status::Kind refuses = Status::Ok;
    bool (*refused)(int64_t n, const void* y) = nullptr;

    bool converts() const { return stored != computed; }
};

// Some rows of a matrix; the elements of one column are reduced together.
struct Columns {
    const char* data;
    int64_t rows, row_stride, columns, column_stride;
};

// The terms of one lane of some columns: rows of `columns` elements each, at most 512 / 32 of them.
struct Lane {
    const char* const* rows;
    int64_t count, columns, column_stride;
};

// Partial results waiting for those being computed: these are merged with the first of the list,
// then the outcome with the next, and so on.
struct Waiting {
    const char* partials;
    const Waiting* next;
};

constexpr int TILE_BYTES = 512;  // partial results side by side; 32 lanes of them still fit in L1

// A reduction: a block is spread over `lanes` partial results, see walk/tree.hpp.
struct Reducer {
    int element_size, partial_size, lanes;
    void (*clear)(char* partials, int64_t count, int64_t position);
    // Adds `count` elements, side by side, to one partial result. With 32 lanes: to new ones, one
    // for each 512 of them.
    void (*add_row)(const char* elements, int64_t count, int64_t position, char* partials);
    // Adds each row to the `columns` partial results of its lane; `position` is the first row's.
    // With one lane, at most TILE_BYTES of them.
    void (*add_columns)(const Columns& from, int64_t position, char* partials);
    // With 32 lanes: computes one of them, and merges it with what waits.
    void (*add_lane)(const Lane& lane, const Waiting* left, char* partials);
    void (*merge)(char* partials, const char* later, int64_t count);
    // Reduces `count` partial results, one after another, by the pairwise tree to the first.
    void (*tree)(char* partials, int64_t count);
    void (*finish)(const char* partials, int64_t count, int64_t terms, char* out, int64_t stride);
};

}  // namespace tutor
