// Reductions: sum prod mean max min argmax argmin over any set of axes.
//
// Ops (what is computed: reductions.hpp)
// -> Reducer (an op as functions on bytes: reducer.hpp)
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

// Copies `count` strided elements side by side.
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

// Work for a thread: 32 K elements. They are a power of two of blocks, so that long sums cut here
// are whole subtrees of the one tree.
constexpr int64_t MOST_BLOCKS = 64;
constexpr int64_t GRAIN = MOST_BLOCKS * BLOCK;

// Bytes of partial results side by side where each column of memory is summed: 1,024 floats. The 16
// rows of a lane are read at once; a loop like this over 1000 x 1000 floats took 49, 47 and 41 us
// in stretches of 256, 512 and 1,024.
constexpr int64_t WIDE = 4096;
constexpr int64_t PITCH = WIDE + 64;  // rows one page apart would share their places in the caches
constexpr int WAITING = 6 + 5;        // rows: levels of the tree over 64 blocks, and over 32 lanes
constexpr int64_t ROOM = (1 + WAITING) * PITCH;  // per thread: a result, and those that wait for it

// Partial results beside each other along one kept axis: `outputs` of them, whose elements are
// `stride` apart. `terms` are the reduced axes.
struct Tile {
    const Reducer& op;
    const Nest& terms;
    int64_t term_count;
    bool by_columns;
    const char* x;
    int64_t outputs, stride;

    // ---- by rows: the terms of one output after another -----------------------------------------

    // Gathers the terms [begin, end) side by side.
    const char* gathered(const char* from, int64_t begin, int64_t end, char* to) const {
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 1;
        int64_t offset[MAX_OPERANDS];
        for (int64_t p = begin, run; p < end; p += run) {
            run = smaller(terms.locate(p, offset), end - p);
            copy_elements(op.element_size, from + offset[0] * op.element_size, step, run,
                          to + (p - begin) * op.element_size);
        }
        return to;
    }

    void add_rows(int64_t start, int64_t stop, char* partials) const {
        alignas(64) char side_by_side[BLOCK * 8], blocks[MOST_BLOCKS * 8];
        const bool in_tree = op.lanes > 1;
        int64_t offset[MAX_OPERANDS];
        const bool contiguous = terms.locate(start, offset) >= stop - start &&
                                (terms.depth == 0 || terms.stride[terms.depth - 1][0] == 1);
        // argmax reads its elements twice, so its pieces stay in L1.
        const int64_t piece = !contiguous ? BLOCK : in_tree ? GRAIN : 8 * BLOCK;
        for (int64_t c = 0; c < outputs; c++, partials += op.partial_size) {
            const char* from = x + c * stride * op.element_size;
            const char* row = from + offset[0] * op.element_size;
            for (int64_t begin = start, end; begin < stop; begin = end) {
                end = smaller(begin + piece, stop);
                op.add_row(contiguous ? row + (begin - start) * op.element_size
                                      : gathered(from, begin, end, side_by_side),
                           end - begin, begin,
                           in_tree ? blocks + (begin - start) / BLOCK * op.partial_size : partials);
            }
            if (!in_tree) continue;
            op.tree(blocks, ceil_div(stop - start, BLOCK));
            std::memcpy(partials, blocks, op.partial_size);
        }
    }

    // ---- by columns: all outputs at once, one term after another --------------------------------

    void add_columns(int64_t begin, int64_t end, char* partials) const {
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
        int64_t offset[MAX_OPERANDS];
        for (int64_t p = begin, run; p < end; p += run) {
            run = smaller(terms.locate(p, offset), end - p);
            op.add_columns({x + offset[0] * op.element_size, run, step, outputs, stride}, p,
                           partials);
        }
    }

    // The same for a sum, whose tree is walked from left to right. The results that `left` lists
    // wait for those of this branch, and so need not go through memory; `spare` is room for more
    // that wait.
    void sum_blocks(int64_t first, int64_t count, const Waiting* left, char* spare,
                    char* to) const {
        const int64_t half = left_half(count), begin = first * BLOCK;
        if (count == 1)
            return sum_lanes(begin, smaller(begin + BLOCK, term_count), 0, 1, left, spare, to);
        sum_blocks(first, half, nullptr, spare + PITCH, spare);
        const Waiting more{spare, left};
        sum_blocks(first + half, count - half, &more, spare + PITCH, to);
    }

    // Lanes lane, lane + step, ... of the block [begin, end): the tree adds every second one to the
    // one before it.
    void sum_lanes(int64_t begin, int64_t end, int lane, int step, const Waiting* left, char* spare,
                   char* to) const {
        if (step == SUM_LANES) return add_lane(begin + lane, end, left, to);
        if (begin + lane + step >= end)  // the others have no terms
            return sum_lanes(begin, end, lane, 2 * step, left, spare, to);
        sum_lanes(begin, end, lane, 2 * step, nullptr, spare + PITCH, spare);
        const Waiting more{spare, left};
        sum_lanes(begin, end, lane + step, 2 * step, &more, spare + PITCH, to);
    }

    void add_lane(int64_t first, int64_t end, const Waiting* left, char* to) const {
        const char* rows[BLOCK / SUM_LANES];
        int64_t offset[MAX_OPERANDS], count = 0;
        for (int64_t p = first; p < end; p += SUM_LANES) {
            if (terms.depth == 1)
                offset[0] = p * terms.stride[0][0];
            else
                terms.locate(p, offset);
            rows[count++] = x + offset[0] * op.element_size;
        }
        op.add_lane({rows, count, outputs, stride}, left, to);
    }

    // ---- both -----------------------------------------------------------------------------------

    // `spare` is room for results that wait.
    void add_blocks(int64_t first, int64_t count, char* partials, char* spare) const {
        const int64_t start = first * BLOCK, stop = smaller(start + count * BLOCK, term_count);
        op.clear(partials, outputs, start);
        if (start >= stop) return;
        if (!by_columns) return add_rows(start, stop, partials);
        if (op.lanes == 1) return add_columns(start, stop, partials);
        sum_blocks(first, count, nullptr, spare, partials);
    }
};

// One call: how its axes are walked, and how the work is cut into pieces, one for each tile of
// outputs and each chunk of their terms.
struct Reduction {
    const Reducer& op;
    const Operand &out, &x;
    Nest kept, terms, side;  // `side`: the kept axis along which the outputs of a tile lie
    int64_t term_count, outputs, width, tiles, per_chunk, chunks, pieces;
    bool by_columns;
    char* partials = nullptr;  // of the chunks, where a sum is cut into several

    Reduction(const Reducer& how, const Operand& to, const Operand& from, const Params& params)
        : op(how), out(to), x(from) {
        add_axes(params);
        side = kept.split_inner();
        outputs = side.size[0];
        term_count = terms.count();
        // By columns where that walks along memory, or where the terms are too few to fill vectors.
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
        by_columns =
            outputs > 1 && (term_count <= SUM_LANES ||
                            (outputs >= 8 && magnitude(side.stride[0][0]) < magnitude(step)));
        const bool wide = by_columns && op.lanes > 1 && side.stride[0][0] == 1;
        width = smaller(outputs, (wide ? WIDE : TILE_BYTES) / op.partial_size);
        tiles = ceil_div(outputs, larger(1, width));
        per_chunk = MOST_BLOCKS;
        while (by_columns && per_chunk > 1 && per_chunk * BLOCK * width > 8 * GRAIN) per_chunk /= 2;
        chunks = larger(1, ceil_div(term_count, per_chunk * BLOCK));
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

    int64_t row_bytes() const { return ceil_div(width * op.partial_size, 64) * 64; }
    char* partials_of(int64_t piece) const { return partials + piece * row_bytes(); }

    // false: out of memory.
    bool run_piece(int64_t piece) const {
        char *to, *here = static_cast<char*>(scratch(1, ROOM));
        if (here == nullptr) return false;
        const Tile tile = tile_at(piece / chunks, to);
        const int64_t blocks = larger(1, ceil_div(term_count, BLOCK));
        const int64_t first = piece % chunks * per_chunk;
        char* result = chunks > 1 ? partials_of(piece) : here;
        tile.add_blocks(first, smaller(per_chunk, blocks - first), result, here + PITCH);
        if (chunks == 1) op.finish(here, tile.outputs, term_count, to, side.stride[0][1]);
        return true;
    }

    // The upper levels of the tree, one after another, each in place.
    void join_chunks(int64_t index) const {
        char* to;
        const Tile tile = tile_at(index, to);
        const int64_t first = index * chunks;
        for (int64_t step = 1; step < chunks; step *= 2)
            for (int64_t i = 0; i + step < chunks; i += 2 * step)
                op.merge(partials_of(first + i), partials_of(first + i + step), tile.outputs);
        op.finish(partials_of(first), tile.outputs, term_count, to, side.stride[0][1]);
    }
};

Status reduce_axes(const Reducer& op, const Operand& out, const Operand& x, const Params& params) {
    Reduction call(op, out, x, params);
    if (call.chunks > 1) {
        call.partials = static_cast<char*>(scratch(0, call.pieces * call.row_bytes()));
        if (call.partials == nullptr) return {Status::OutOfMemory, 0, 0};
    }
    const int64_t cost = call.width * smaller(call.per_chunk * BLOCK, call.term_count);
    bool failed = false;
    parallel_each(call.pieces, cost, GRAIN, [&](int64_t piece) {
        if (!call.run_piece(piece)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    if (failed) return {Status::OutOfMemory, 0, 0};
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
