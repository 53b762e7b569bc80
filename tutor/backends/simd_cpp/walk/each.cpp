// The walk behind all elementwise kernels: see each.hpp.
#include "walk/each.hpp"

#include <cstring>

#include "math/transpose.hpp"
#include "walk/items.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t TILE = 1024;  // elements; four tiles of floats take 16 KiB of the L1 cache
constexpr int64_t SIDE = 32;    // of a square one

// ---- gather and scatter -------------------------------------------------------------------------

// to[j * z_step + i] = from[i * x_step + j] for i < rows and j < columns, by whole squares of
// registers. (Steps are in bytes. Items of other sizes, and the scalar level, have no shuffles.)
template <class Bits>
inline void turn(int64_t rows, int64_t columns, char* to, int64_t z_step, const char* from,
                 int64_t x_step) {
    int64_t whole_rows = 0, whole_columns = 0;
#ifndef TUTOR_SCALAR
    using F = std::conditional_t<sizeof(Bits) == 8, double, float>;
    constexpr int L = lanes<F>;
    if constexpr (sizeof(Bits) == sizeof(F)) {
        whole_rows = rows / L * L, whole_columns = columns / L * L;
        for (int64_t i = 0; i < whole_rows; i += L)
            for (int64_t j = 0; j < whole_columns; j += L) {
                vec<F> square[L];
#pragma GCC unroll 16
                for (int k = 0; k < L; k++)
                    square[k] = load(reinterpret_cast<const F*>(from + (i + k) * x_step) + j);
                transpose<F>(square);
#pragma GCC unroll 16
                for (int k = 0; k < L; k++)
                    store(reinterpret_cast<F*>(to + (j + k) * z_step) + i, square[k]);
            }
    }
#endif
    for (int64_t i = 0; i < rows; i++) {
        const auto* row = reinterpret_cast<const Item<Bits>*>(from + i * x_step);
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            reinterpret_cast<Item<Bits>*>(to + j * z_step)[i] = row[j];
    }
}

// Copies rows x columns items. The inner loop goes along the smaller steps of `from`, so that a
// transposed rectangle is read by whole cache lines, each once.
template <class Bits>
inline void move(int64_t rows, int64_t columns, char* to, Steps z, const char* from, Steps x) {
    using T = Item<Bits>;
    const bool along_columns = rows > 1 && x.row * x.row < x.column * x.column;
    const int64_t outer = along_columns ? columns : rows, inner = along_columns ? rows : columns;
    const Steps step_to = along_columns ? Steps{z.column, z.row} : z;
    const Steps step_from = along_columns ? Steps{x.column, x.row} : x;
    if (step_from.column == sizeof(T) && step_to.row == sizeof(T) && step_to.column != sizeof(T))
        return turn<Bits>(outer, inner, to, step_to.column, from, step_from.row);
    for (int64_t i = 0; i < outer; i++, to += step_to.row, from += step_from.row) {
        if (step_from.column == sizeof(T) && step_to.column == sizeof(T)) {
            std::memmove(to, from, inner * sizeof(T));
        } else if (step_from.column == 0 && step_to.column == sizeof(T)) {
            const T repeated = *reinterpret_cast<const T*>(from);
            for (int64_t j = 0; j < inner; j++) reinterpret_cast<T*>(to)[j] = repeated;
        } else if (step_from.column == 2 * sizeof(T) && step_to.column == sizeof(T)) {
            for (int64_t j = 0; j < inner; j++)
                reinterpret_cast<T*>(to)[j] = reinterpret_cast<const T*>(from)[2 * j];
        } else {
            for (int64_t j = 0; j < inner; j++)
                *reinterpret_cast<T*>(to + j * step_to.column) =
                    *reinterpret_cast<const T*>(from + j * step_from.column);
        }
    }
}

}  // namespace

void move_rectangle(int itemsize, int64_t rows, int64_t columns, char* to, Steps z,
                    const char* from, Steps x) {
    if (itemsize == 1) move<uint8_t>(rows, columns, to, z, from, x);
    if (itemsize == 2) move<uint16_t>(rows, columns, to, z, from, x);
    if (itemsize == 4) move<uint32_t>(rows, columns, to, z, from, x);
    if (itemsize == 8) move<uint64_t>(rows, columns, to, z, from, x);
}

namespace {

// ---- blocks -------------------------------------------------------------------------------------

// How the blocks of one operand reach the inner loop: in place or through a tile.
struct Path {
    Steps steps;
    int itemsize;
    bool contiguous, converts;
};

// The tiles of one thread, in its scratch memory: a thread's stack may be smaller than they are.
struct Tiles {
    alignas(64) char of[MAX_OPERANDS][TILE * 8];
    alignas(64) char raw[TILE * 8];  // gathered, and still to be converted
    struct Content {
        const char* from;
        int64_t rows, columns;
    } content[MAX_OPERANDS];
};

// Where the inner loop finds the block of an input that starts at `at`. A block that repeats (of a
// broadcast row, column or number) is still in its tile.
inline const void* take(const Path& path, const char* at, int64_t rows, int64_t columns,
                        const Work& work, Tiles& tiles, int k) {
    if (path.contiguous && !path.converts) return at;
    char* tile = tiles.of[k];
    Tiles::Content& content = tiles.content[k];
    if (content.from == at && content.rows == rows && content.columns == columns) return tile;
    content.from = at, content.rows = rows, content.columns = columns;
    const void* from = at;
    if (!path.contiguous) {
        char* to = path.converts ? tiles.raw : tile;
        move_rectangle(path.itemsize, rows, columns, to, {columns * path.itemsize, path.itemsize},
                       at, path.steps);
        from = to;
    }
    if (path.converts) work.widen(rows * columns, tile, &from);
    return tile;
}

// Brings a block of results from the tile to its place.
inline void put(const Path& path, char* at, int64_t rows, int64_t columns, const Work& work,
                Tiles& tiles) {
    char* from = tiles.of[0];
    if (path.converts) {
        const void* computed = from;
        from = path.contiguous ? at : tiles.raw;
        work.narrow(rows * columns, from, &computed);
    }
    if (!path.contiguous)
        move_rectangle(path.itemsize, rows, columns, at, path.steps, from,
                       {columns * path.itemsize, path.itemsize});
}

// ---- the plan -----------------------------------------------------------------------------------

// The operands of one call, cut into blocks of rows and columns of the two innermost axes. All of
// it follows from the layout alone, never from the number of threads.
struct Plan {
    const Work& work;
    int operands;
    Nest nest;  // in bytes; its last two axes count blocks
    char* start[MAX_OPERANDS];
    Path paths[MAX_OPERANDS];
    int64_t rows, columns, height, width;  // of everything, and of one block

    Plan(const Operand& out, const Operand* ins, int count, const Work& what)
        : work(what), operands(count + 1) {
        for (int k = 0; k < operands; k++) {
            const Operand& operand = k == 0 ? out : ins[k - 1];
            start[k] = operand.data;
            paths[k].itemsize = itemsize_of[operand.dtype];
            paths[k].converts = operand.dtype == work.stored && work.stored != work.computed;
        }
        add_axes(out, ins);
        if (nest.count() == 0) return;
        const Nest column = take_inner(), row = take_inner();
        columns = column.size[0], rows = row.size[0];
        choose_block(row.stride[0], column.stride[0]);
        push_blocks(ceil_div(rows, height), height, row.stride[0]);
        push_blocks(ceil_div(columns, width), width, column.stride[0]);
    }

    // Adds axes in an order that suits the memory of `out`, largest steps outside; axes that it
    // walks backwards are reversed.
    void add_axes(const Operand& out, const Operand* ins) {
        int axes[MAX_DIMS];
        for (int d = 0; d < out.ndim; d++) axes[d] = d;
        sort_axes(axes, out.ndim, out.strides);
        for (int i = 0; i < out.ndim; i++) {
            const int axis = axes[i];
            const bool backwards = out.strides[axis] < 0;
            int64_t steps[MAX_OPERANDS] = {};
            for (int k = 0; k < operands; k++) {
                const int64_t stride = (k == 0 ? out : ins[k - 1]).strides[axis];
                steps[k] = stride * paths[k].itemsize;
                if (backwards) {
                    start[k] += (out.shape[axis] - 1) * steps[k];
                    steps[k] = -steps[k];
                }
            }
            nest.add(out.shape[axis], steps);
        }
    }

    // The innermost axis, or one of a single element if there is none.
    Nest take_inner() {
        if (nest.depth > 0) return nest.split_inner();
        Nest one = nest.split_inner();
        for (int k = 0; k < operands; k++) one.stride[0][k] = paths[k].itemsize;
        return one;
    }

    // Short rows are taken many at once: an inner loop is worth its call from some hundred elements
    // on. Long rows are cut. A transposed input uses one element of a cache line and returns for
    // its neighbour in the next row, so its blocks are squares.
    void choose_block(const int64_t* row_steps, const int64_t* column_steps) {
        bool tiled = false, turned = false;
        for (int k = 0; k < operands; k++) {
            const int64_t row = row_steps[k], column = column_steps[k];
            turned |= row * row < column * column && row != 0;
            tiled |= column != paths[k].itemsize || paths[k].converts;
        }
        const bool square = turned && columns >= SIDE && rows > 1, many = columns < TILE / 8;
        width = smaller(columns, square ? SIDE : tiled ? TILE : work.grain);
        height = smaller(rows, square ? SIDE : many ? TILE / columns : 1);
        for (int k = 0; k < operands; k++) {
            Path& path = paths[k];
            path.steps = {row_steps[k], column_steps[k]};
            path.contiguous =
                path.steps.column == path.itemsize &&
                (height == 1 || (width == columns && path.steps.row == columns * path.itemsize));
        }
    }

    void push_blocks(int64_t count, int64_t length, const int64_t* steps) {
        int64_t apart[MAX_OPERANDS];
        for (int k = 0; k < MAX_OPERANDS; k++) apart[k] = length * steps[k];
        nest.push(count, apart);
    }

    // Blocks first to last - 1, in one thread. false: out of memory.
    bool run(int64_t first, int64_t last) const {
        auto* room = static_cast<Tiles*>(scratch(0, sizeof(Tiles)));
        if (room == nullptr) return false;
        Tiles& tiles = *room;
        for (Tiles::Content& content : tiles.content) content.from = nullptr;
        Cursor cursor(nest, first);
        const int64_t *row = &cursor.index[nest.depth - 2], *column = row + 1;
        for (int64_t block = first; block < last; block++, cursor.next()) {
            const int64_t r = smaller(height, rows - *row * height);
            const int64_t c = smaller(width, columns - *column * width);
            const void* from[MAX_INS] = {};
            for (int k = 1; k < operands; k++)
                from[k - 1] = take(paths[k], start[k] + cursor.offset[k], r, c, work, tiles, k);
            if (operands == 2) from[1] = from[0];
            char* at = start[0] + cursor.offset[0];
            const bool in_place = paths[0].contiguous && !paths[0].converts;
            work.inner(r * c, in_place ? at : tiles.of[0], from);
            if (!in_place) put(paths[0], at, r, c, work, tiles);
        }
        return true;
    }
};

// ---- each ---------------------------------------------------------------------------------------

// Whether `operand` is row-major without gaps.
inline bool gapless(const Operand& operand) {
    int64_t step = 1;
    for (int d = operand.ndim - 1; d >= 0; d--) {
        if (operand.shape[d] != 1 && operand.strides[d] != step) return false;
        step *= operand.shape[d];
    }
    return true;
}

// The most common case without any preparation: few elements, all as the inner loop wants them.
// false if it is another case.
inline bool all_at_once(const Operand& out, const Operand* ins, int count, const Work& work) {
    bool simple = gapless(out);
    const void* from[MAX_INS] = {};
    for (int k = 0; k < count; k++) simple &= gapless(ins[k]), from[k] = ins[k].data;
    if (!simple || work.stored != work.computed) return false;
    int64_t n = 1;
    for (int d = 0; d < out.ndim; d++) n *= out.shape[d];
    if (n > work.grain) return false;
    if (count == 1) from[1] = from[0];
    if (n > 0) work.inner(n, out.data, from);
    return true;
}

}  // namespace

Status each(const Operand& out, const Operand* ins, int count, const Work& work) {
    bool failed = false;
    if (all_at_once(out, ins, count, work)) return {Status::Ok, 0, 0};
    const Plan plan(out, ins, count, work);
    const int64_t blocks = plan.nest.count();
    if (blocks == 0) return {Status::Ok, 0, 0};
    const int64_t per_chunk = larger(1, work.grain / (plan.height * plan.width));
    parallel(ceil_div(blocks, per_chunk), [&](int64_t chunk) {
        if (!plan.run(chunk * per_chunk, smaller(blocks, (chunk + 1) * per_chunk)))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

}  // namespace TUTOR_LEVEL
}  // namespace tutor
