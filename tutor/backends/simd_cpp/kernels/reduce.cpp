// Reductions: sum prod mean max min argmax argmin over any set of axes.
//
// Ops (what is computed, in reductions.hpp) -> Reducer (an op as functions on bytes, in
// reducer.hpp)
// -> reduce_axes() (which memory is walked in which order; compiled once for all ops).
#include "kernels/reducer.hpp"
#include "reduce.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- the walk -----------------------------------------------------------------------------------

template <int SIZE>
inline void copy_each(const char* from, int64_t stride, int64_t count, char* to) {
    for (int64_t i = 0; i < count; i++) std::memcpy(to + i * SIZE, from + i * stride * SIZE, SIZE);
}

// Puts `count` strided elements side by side.
void copy_elements(int size, const char* from, int64_t stride, int64_t count, char* to) {
    if (stride == 1) {
        std::memcpy(to, from, size * count);
        return;
    }
    switch (size) {
        case 1:
            return copy_each<1>(from, stride, count, to);
        case 2:
            return copy_each<2>(from, stride, count, to);
        case 4:
            return copy_each<4>(from, stride, count, to);
        case 8:
            return copy_each<8>(from, stride, count, to);
    }
}

// Up to TILE_BYTES of partial results, beside each other along one kept axis: `outputs` of them,
// whose elements are `stride` apart. `terms` are the reduced axes.
struct Tile {
    const Reducer& op;
    const Nest& terms;
    int64_t term_count;
    bool by_columns;
    const char* x;
    int64_t outputs, stride;

    // One block by rows: the terms of one output after another.
    void add_rows(int64_t begin, int64_t end, char* partials) const {
        alignas(64) char side_by_side[BLOCK * 8];
        int64_t offset[MAX_OPERANDS];
        const int64_t first_run = terms.locate(begin, offset), first = offset[0];
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 1;
        const bool contiguous = first_run >= end - begin && step == 1;
        for (int64_t c = 0; c < outputs; c++) {
            const char* from = x + c * stride * op.element_size;
            const char* row = side_by_side;
            if (contiguous)
                row = from + first * op.element_size;
            else
                for (int64_t p = begin, run; p < end; p += run) {
                    run = smaller(terms.locate(p, offset), end - p);
                    copy_elements(op.element_size, from + offset[0] * op.element_size, step, run,
                                  side_by_side + (p - begin) * op.element_size);
                }
            op.add_row(row, end - begin, begin, partials + c * op.partial_size);
        }
    }

    // One block by columns: all outputs at once, one term after another, to the partial results of
    // each lane.
    void add_columns(int64_t begin, int64_t end, char* lane) const {
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
        int64_t offset[MAX_OPERANDS];
        for (int64_t p = begin, run; p < end; p += run) {
            run = smaller(terms.locate(p, offset), end - p);
            op.add_columns({x + offset[0] * op.element_size, run, step, outputs, stride}, p, lane);
        }
    }

    // The same for a sum: its 32 lanes first, then these combined.
    void sum_columns(int64_t begin, int64_t end, char* partials) const {
        alignas(64) char lane[SUM_LANES * TILE_BYTES];
        int64_t used = smaller(op.lanes, end - begin);
        op.clear(lane, used * outputs, begin);
        add_columns(begin, end, lane);
        for (int64_t half = op.lanes / 2; half > 0; half /= 2)
            if (used > half) {
                op.merge(lane, lane + half * outputs * op.partial_size, (used - half) * outputs);
                used = half;
            }
        std::memcpy(partials, lane, outputs * op.partial_size);
    }

    // The pairwise tree over `count` leaves from `first` on.
    template <class Leaf>
    void tree(int64_t first, int64_t count, char* partials, const Leaf& leaf) const {
        if (count == 1) return leaf(first, partials);
        alignas(64) char right[TILE_BYTES];
        const int64_t half = left_half(count);
        tree(first, half, partials, leaf);
        tree(first + half, count - half, right, leaf);
        op.merge(partials, right, outputs);
    }

    void add_blocks(int64_t first, int64_t count, char* partials) const {
        const int64_t start = first * BLOCK, stop = smaller(start + count * BLOCK, term_count);
        op.clear(partials, outputs, start);
        if (start >= stop) return;
        if (op.lanes > 1)
            return tree(first, count, partials, [&](int64_t block, char* to) {
                const int64_t begin = block * BLOCK, end = smaller(begin + BLOCK, stop);
                by_columns ? sum_columns(begin, end, to) : add_rows(begin, end, to);
            });
        if (by_columns) return add_columns(start, stop, partials);  // where order changes nothing
        int64_t offset[MAX_OPERANDS];
        const bool side_by_side = terms.locate(start, offset) >= stop - start &&
                                  (terms.depth == 0 || terms.stride[terms.depth - 1][0] == 1);
        for (int64_t c = 0; c < outputs; c++) {  // one whole row of memory after another
            Tile one = *this;
            one.x += c * stride * op.element_size, one.outputs = 1;
            for (int64_t begin = start, end; begin < stop; begin = end) {
                end = smaller(begin + (side_by_side ? 8 * BLOCK : BLOCK), stop);  // stays in L1
                one.add_rows(begin, end, partials + c * op.partial_size);
            }
        }
    }
};

// Work for a thread: 32 K elements. A power of two of blocks, so that long sums, when they are cut
// here, are whole subtrees of the one tree.
constexpr int64_t GRAIN = 64 * BLOCK;

// One call: which axes are walked how, and how the work is cut into pieces, one for each tile of
// outputs and each chunk of their terms.
struct Reduction {
    const Reducer& op;
    const Operand &out, &x;
    Nest kept, terms, side;  // `side`: the kept axis along which the outputs of a tile lie
    int64_t term_count, outputs, width, tiles, chunks, pieces;
    bool by_columns;
    char* partials = nullptr;  // of the chunks, where a sum is cut into several

    Reduction(const Reducer& how, const Operand& to, const Operand& from, const Params& params)
        : op(how), out(to), x(from) {
        add_axes(params);
        side = kept.split_inner();
        outputs = side.size[0];
        term_count = terms.count();
        // By columns where that walks along memory, and where there are too few terms to fill
        // vectors.
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
        by_columns =
            outputs > 1 && (term_count <= SUM_LANES ||
                            (outputs >= 8 && magnitude(side.stride[0][0]) < magnitude(step)));
        width = TILE_BYTES / op.partial_size;
        tiles = ceil_div(outputs, width);
        chunks = larger(1, ceil_div(term_count, GRAIN));
        pieces = kept.count() * tiles * chunks;
    }

    void add_axes(const Params& params) {
        bool reduced[MAX_DIMS] = {};
        for (int i = 0; i < params.axis_count; i++) reduced[params.axis[i]] = true;
        int axes[MAX_DIMS], out_axis[MAX_DIMS], count = 0;
        for (int d = 0; d < x.ndim; d++) {
            if (reduced[d]) {
                terms.add(x.shape[d], {x.strides[d]});
            } else {
                out_axis[d] = count;
                axes[count++] = d;
            }
        }
        sort_axes(axes, count, x.strides);
        for (int i = 0; i < count; i++)
            kept.add(x.shape[axes[i]], {x.strides[axes[i]], out.strides[out_axis[axes[i]]]});
    }

    Tile tile_at(int64_t index, char*& to) const {
        int64_t offset[MAX_OPERANDS];
        kept.locate(index / tiles, offset);
        const int64_t first = index % tiles * width;
        to = out.data + (offset[1] + first * side.stride[0][1]) * itemsize_of[out.dtype];
        return {op,
                terms,
                term_count,
                by_columns,
                x.data + (offset[0] + first * side.stride[0][0]) * op.element_size,
                smaller(width, outputs - first),
                side.stride[0][0]};
    }

    void run_piece(int64_t piece) const {
        alignas(64) char here[TILE_BYTES];
        char* to;
        const Tile tile = tile_at(piece / chunks, to);
        const int64_t per_chunk = GRAIN / BLOCK;
        const int64_t blocks = larger(1, ceil_div(term_count, BLOCK));
        const int64_t first = piece % chunks * per_chunk;
        char* result = chunks > 1 ? partials + piece * TILE_BYTES : here;
        tile.add_blocks(first, smaller(per_chunk, blocks - first), result);
        if (chunks == 1) op.finish(here, tile.outputs, term_count, to, side.stride[0][1]);
    }

    void join_chunks(int64_t index) const {
        alignas(64) char all[TILE_BYTES];
        char* to;
        const Tile tile = tile_at(index, to);
        tile.tree(index * chunks, chunks, all, [&](int64_t piece, char* into) {
            std::memcpy(into, partials + piece * TILE_BYTES, TILE_BYTES);
        });
        op.finish(all, tile.outputs, term_count, to, side.stride[0][1]);
    }
};

Status reduce_axes(const Reducer& op, const Operand& out, const Operand& x, const Params& params) {
    Reduction call(op, out, x, params);
    if (call.chunks > 1) {
        call.partials = static_cast<char*>(scratch(0, call.pieces * TILE_BYTES));
        if (call.partials == nullptr) return {Status::OutOfMemory, 0, 0};
    }
    const int64_t cost = smaller(call.width, call.outputs) * smaller(GRAIN, call.term_count);
    parallel_each(call.pieces, cost, GRAIN, [&](int64_t piece) { call.run_piece(piece); });
    for (int64_t index = 0; call.chunks > 1 && index < call.pieces / call.chunks; index++)
        call.join_chunks(index);
    return {Status::Ok, 0, 0};
}

// ---- the table ----------------------------------------------------------------------------------

template <class Op>
Status run(const Operand& out, const Operand* ins, int, const Params& params) {
    return reduce_axes(OnBytes<Op>::reducer, out, ins[0], params);
}

template <class Op>
constexpr Parts reduction = {run<Op>, nullptr, &OnBytes<Op>::reducer};

}  // namespace

// clang-format off
TABLE(reduce,
      KERNEL(sum, reduction<Sum<Wrapped<T>>>),
      KERNEL(prod, reduction<Prod<Wrapped<T>>>),
      KERNEL(mean, reduction<Mean<T>>),
      KERNEL(max, reduction<Max<Stored<T>>>),
      KERNEL(min, reduction<Min<Stored<T>>>),
      KERNEL(argmax, reduction<ArgMax<Stored<T>>>),
      KERNEL(argmin, reduction<ArgMin<Stored<T>>>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
