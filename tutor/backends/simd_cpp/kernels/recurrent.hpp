// What the layers of recurrent.cpp have in common: operands seen as places, pieces of a place that
// stay in the L1 cache, and the weight U, packed once for all places.
//
// A piece has the rows of a panel of the product (micro_kernel.hpp) and the units of a sliver: as
// many as two vectors hold. Each array of a piece is ROWS rows of SLIVER numbers, whatever part of
// it is in use; numbers beyond the last unit begin as 0 and are never written to an operand.
#pragma once

#include "kernels/gemm.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

template <class F>
constexpr int64_t PIECE = ROWS * SLIVER<F>;

// A place of an operand has parts (gates, or states), rows (sequences) and units.
template <class T>
struct Places {
    T* data;
    int64_t part, place, row, unit;  // strides; 0 where an operand has no such axis

    T* at(int64_t p, int64_t t, int64_t i, int64_t j) const {
        return data + p * part + t * place + i * row + j * unit;
    }
};

// The axes of parts, places and rows; -1: none. Units are the last axis.
template <class T>
Places<T> places(const Operand& x, int part, int place, int row) {
    const auto stride = [&](int axis) { return axis < 0 ? 0 : x.strides[axis]; };
    return {reinterpret_cast<T*>(x.data), stride(part), stride(place), stride(row),
            x.strides[x.ndim - 1]};
}

// Where a piece is in its place.
struct Region {
    int64_t row, unit, rows, units;
};

// Part p of place t, to and from the array of a piece.
template <class T, class F = Computed<T>>
void read(Places<const T> x, int64_t p, int64_t t, const Region& at, F* to) {
    for (int64_t r = 0; r < at.rows; ++r, to += SLIVER<F>) {
        const T* from = x.at(p, t, at.row + r, at.unit);
        if (x.unit == 1)
            copy_few(at.units, to, from);
        else
            move_row(from, x.unit, to, 1, at.units);
        for (int64_t s = at.units; s < SLIVER<F>; ++s) to[s] = 0;
    }
}
template <class T, class F = Computed<T>>
void write(const F* from, Places<T> x, int64_t p, int64_t t, const Region& at) {
    for (int64_t r = 0; r < at.rows; ++r, from += SLIVER<F>) {
        T* to = x.at(p, t, at.row + r, at.unit);
        if (x.unit == 1)
            copy_few(at.units, to, from);
        else
            move_row(from, 1, to, x.unit, at.units);
    }
}

// What the next place reads, in the type of the computation. Rows are a vector longer than they
// need be: if they were a power of two apart, they would share a few places of the L1 cache.
template <class F>
struct Carried {
    F* data;
    int64_t row;

    static int64_t width(int64_t units) { return whole_vectors<F>(units) + lanes<F>; }
    F* at(const Region& r) const { return data + r.row * row + r.unit; }
    void load_piece(const Region& r, F* to) const {
        for (int64_t i = 0; i < r.rows; ++i)
            std::memcpy(to + i * SLIVER<F>, at(r) + i * row, SLIVER<F> * sizeof(F));
    }
    void store_piece(const F* from, const Region& r) const {
        for (int64_t i = 0; i < r.rows; ++i)
            std::memcpy(at(r) + i * row, from + i * SLIVER<F>, SLIVER<F> * sizeof(F));
    }
};

// `gates` matrices (units, units), one for each gate, packed as the micro-kernel reads them: of
// each gate one block of rows after another, each cut into slivers.
template <class T, class F = Computed<T>>
struct Weights {
    int64_t gates, units;
    int64_t blocks = blocks_of(units), depth = ceil_div(units, blocks);
    int64_t across = ceil_div(units, SLIVER<F>) * SLIVER<F>;
    F* packed = static_cast<F*>(
        scratch(1, larger(1, gates * blocks * depth * across) * int64_t(sizeof(F))));

    void fill(Places<const T> u, bool transposed) const {
        for (int64_t g = 0; g < gates; ++g) {
            Matrix<const T> matrix{u.at(g, 0, 0, 0), units, units, u.row, u.unit};
            if (transposed) matrix = matrix.transposed();
            for (int64_t b = 0; b < blocks; ++b) {
                const int64_t p = b * depth, here = smaller(depth, units - p);
                pack(matrix.block(p, 0, here, units), SLIVER<F>, block(g, b));
            }
        }
    }
    F* block(int64_t g, int64_t b) const { return packed + (g * blocks + b) * depth * across; }

    // z += a times the columns of gate g from at.unit on.
    void multiply(int64_t g, const F* a, int64_t a_row, const Region& at, F* z) const {
        const int64_t vectors = ceil_div(at.units, lanes<F>);
        const MicroKernel<F> kernel = micro_kernel_for<F>(at.rows, vectors);
        for (int64_t b = 0; b < blocks; ++b) {
            const int64_t p = b * depth, here = smaller(depth, units - p);
            kernel(here, a + p, a_row, 1, block(g, b) + at.unit * here, vectors * lanes<F>, z,
                   SLIVER<F>, true, {});
        }
    }

    // The same for one row and G gates, z for each of them: their sums do not wait for each other.
    template <int G>
    void multiply_row(const F* a, const Region& at, F* z) const {
        constexpr int L = lanes<F>;
        for (int64_t b = 0; b < blocks; ++b) {
            const int64_t p = b * depth, here = smaller(depth, units - p);
            vec<F> sum[G][VECTORS];
            const F* columns[G];
#pragma GCC unroll 4
            for (int g = 0; g < G; ++g) {
                columns[g] = block(g, b) + at.unit * here;
#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; ++v) sum[g][v] = vec<F>(F(0));
            }
            for (int64_t k = 0; k < here; ++k) {
                const vec<F> a_k(a[p + k]);
#pragma GCC unroll 4
                for (int g = 0; g < G; ++g)
#pragma GCC unroll 2
                    for (int v = 0; v < VECTORS; ++v)
                        sum[g][v] =
                            xsimd::fma(a_k, load(columns[g] + (k * VECTORS + v) * L), sum[g][v]);
            }
#pragma GCC unroll 4
            for (int g = 0; g < G; ++g)
#pragma GCC unroll 2
                for (int v = 0; v < VECTORS; ++v) {
                    F* to = z + g * PIECE<F> + v * L;
                    store(to, load(to) + sum[g][v]);
                }
        }
    }
};

// How a place is cut into pieces. Pieces of the same units follow each other, for they read the
// same columns of the weights.
template <class F>
struct Pieces {
    int64_t rows, units;
    int64_t panels = larger(1, ceil_div(rows, ROWS)), height = ceil_div(rows, panels);

    int64_t count() const { return rows ? panels * ceil_div(units, SLIVER<F>) : 0; }
    Region operator[](int64_t index) const {
        const int64_t i = index % panels * height, j = index / panels * SLIVER<F>;
        return {i, j, smaller(height, rows - i), smaller(SLIVER<F>, units - j)};
    }
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
