// Elementwise loops: every layout of operands is brought down to one case, n elements side by side.
//
// `each` walks the operands block by block and calls an inner loop that knows nothing of strides.
// What does not lie side by side is gathered into a tile, a piece of stack that stays in the L1
// cache; the 16-bit floats are widened on the way. So a formula needs one loop per dtype, compiled
// once, and cannot give one result here and another there.
#pragma once

#include <cstring>
#include <type_traits>

#include "half.hpp"
#include "stored.hpp"
#include "transpose.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int MAX_INS = 3;
constexpr int64_t TILE = 1024;  // elements; four tiles of floats take 16 KiB of the L1 cache
constexpr int64_t SIDE = 32;    // of a square one

using Inner = void (*)(int64_t n, void* out, const void* const* ins);

// What to do with n elements. Operands of dtype `stored` reach `inner` as `computed`, the others
// (a comparison's bools) as they are.
struct Work {
    Inner inner;
    DType stored, computed;
    Inner widen, narrow;  // stored to computed and back; unused where the two are the same
    int64_t grain;        // elements that take about 10 us, which waking a thread costs
};

// ---- inner loops --------------------------------------------------------------------------------

// f(x) or f(x, y), whichever the formula has. Of a formula with one operand `y` is never read.
template <class Formula, class V>
inline auto apply(V x, [[maybe_unused]] V y) {
    if constexpr (std::is_invocable_v<Formula, V, V>)
        return Formula{}(x, y);
    else
        return Formula{}(x);
}

// Numbers T in memory as a register of C to compute with, and back: floats may become doubles.
template <class C, class T>
inline vec<C> load_as(const T* from) {
    if constexpr (std::is_same_v<C, T>) {
        return load(from);
    } else {
        typedef T Narrow __attribute__((vector_size(lanes<C> * sizeof(T))));
        typedef C Wide __attribute__((vector_size(lanes<C> * sizeof(C))));
        Narrow narrow;
        std::memcpy(&narrow, from, sizeof narrow);
        const Wide wide = __builtin_convertvector(narrow, Wide);
        return load(reinterpret_cast<const C*>(&wide));
    }
}
template <class C, class T>
inline void store_as(T* to, vec<C> values) {
    if constexpr (std::is_same_v<C, T>) {
        store(to, values);
    } else {
        typedef T Narrow __attribute__((vector_size(lanes<C> * sizeof(T))));
        typedef C Wide __attribute__((vector_size(lanes<C> * sizeof(C))));
        Wide wide;
        store(reinterpret_cast<C*>(&wide), values);
        const Narrow narrow = __builtin_convertvector(wide, Narrow);
        std::memcpy(to, &narrow, sizeof narrow);
    }
}

// Floats T, one register at a time, computed as C. What is left at the end goes through a padded
// register and the same formula: an element's result must not depend on its place in the array.
template <class Formula, class C, class T>
void map_vectors(int64_t n, void* out, const void* const* ins) {
    constexpr int L = lanes<C>;
    T* z = static_cast<T*>(out);
    const T *x = static_cast<const T*>(ins[0]), *y = static_cast<const T*>(ins[1]);
    int64_t i = 0;
    for (; i + L <= n; i += L)
        store_as<C>(z + i, apply<Formula>(load_as<C>(x + i), load_as<C>(y + i)));
    if (i == n) return;
    T xs[L] = {}, ys[L] = {}, zs[L];
    for (int k = 0; k < n - i; k++) xs[k] = x[i + k], ys[k] = y[i + k];
    store_as<C>(zs, apply<Formula>(load_as<C>(xs), load_as<C>(ys)));
    for (int k = 0; k < n - i; k++) z[i + k] = zs[k];
}

// Everything else, one element at a time, for the compiler to vectorise: it reads In, computes with
// V and writes Out. `out` is the very same memory as an input or apart from it, hence ivdep.
template <class Formula, class Out, class In, class V>
void map_scalars(int64_t n, void* out, const void* const* ins) {
    Out* z = static_cast<Out*>(out);
    const In *x = static_cast<const In*>(ins[0]), *y = static_cast<const In*>(ins[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
        z[i] = static_cast<Out>(apply<Formula>(static_cast<V>(x[i]), static_cast<V>(y[i])));
}

// ---- gather and scatter -------------------------------------------------------------------------

// Any number of this size: bytes to move, whatever dtype they are.
template <class Bits>
struct __attribute__((may_alias)) Item {
    Bits bits;
};

// What is moved in place of a T: any number of its size, but a bool must arrive as 0 or 1.
template <class T>
using Moved = std::conditional_t<
    std::is_same_v<T, bool>, bool_t,
    std::conditional_t<sizeof(T) == 1, uint8_t,
                       std::conditional_t<sizeof(T) == 2, uint16_t,
                                          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>>;

// The inner loop that copies n elements. `out` may be the very same memory.
template <class T>
void copy_items(int64_t n, void* out, const void* const* ins) {
    if constexpr (std::is_trivially_copyable_v<T>) {
        std::memmove(out, ins[0], n * sizeof(T));
    } else {
        T* z = static_cast<T*>(out);
        const T* x = static_cast<const T*>(ins[0]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) z[i] = x[i];
    }
}

// A rectangle of elements in memory, `row` and `column` bytes from one to the next.
struct Steps {
    int64_t row, column;
};

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

inline void move(int itemsize, int64_t rows, int64_t columns, char* to, Steps z, const char* from,
                 Steps x) {
    if (itemsize == 1) move<uint8_t>(rows, columns, to, z, from, x);
    if (itemsize == 2) move<uint16_t>(rows, columns, to, z, from, x);
    if (itemsize == 4) move<uint32_t>(rows, columns, to, z, from, x);
    if (itemsize == 8) move<uint64_t>(rows, columns, to, z, from, x);
}

// ---- the walk -----------------------------------------------------------------------------------

// The axes of out and its inputs in an order that suits the memory of `out` (largest steps
// outside), with axes of size 1 left out, axes that `out` walks backwards turned round, and axes
// that continue each other in all operands merged. A contiguous operation of any shape comes out as
// one long axis.
struct Walk {
    int operands, depth = 0;
    int64_t total = 1, sizes[MAX_DIMS], steps[MAX_DIMS][MAX_INS + 1];  // in bytes
    char* start[MAX_INS + 1];                                          // out first
    int itemsize[MAX_INS + 1];

    Walk(const Operand& out, const Operand* ins, int count) : operands(count + 1) {
        for (int k = 0; k < operands; k++) {
            const Operand& operand = k == 0 ? out : ins[k - 1];
            start[k] = operand.data;
            itemsize[k] = itemsize_of[operand.dtype];
        }
        for (int axis = 0; axis < out.ndim; axis++) {
            total *= out.shape[axis];
            if (out.shape[axis] != 1) insert(axis, out, ins);
        }
        merge();
    }

    void insert(int axis, const Operand& out, const Operand* ins) {
        const bool backwards = out.strides[axis] < 0;
        const int64_t size = out.shape[axis], sign = backwards ? -1 : 1;
        int place = depth++;
        for (; place > 0 && steps[place - 1][0] < sign * out.strides[axis] * itemsize[0]; place--)
            move(place - 1, place);
        sizes[place] = size;
        for (int k = 0; k < operands; k++) {
            const int64_t step = (k == 0 ? out : ins[k - 1]).strides[axis] * itemsize[k];
            if (backwards) start[k] += (size - 1) * step;
            steps[place][k] = sign * step;
        }
    }

    void merge() {
        int last = 0;
        for (int axis = 1; axis < depth; axis++) {
            bool continues = true;
            for (int k = 0; k < operands; k++)
                continues &= steps[last][k] == steps[axis][k] * sizes[axis];
            const int64_t outer = continues ? sizes[last] : 1;
            if (!continues) last++;
            move(axis, last);
            sizes[last] *= outer;
        }
        if (depth > 0) depth = last + 1;
    }

    void move(int from, int to) {
        sizes[to] = sizes[from];
        for (int k = 0; k < operands; k++) steps[to][k] = steps[from][k];
    }

    // Takes the innermost axis away; where there is none, one of size 1.
    int64_t take_axis(int64_t (&along)[MAX_INS + 1]) {
        for (int k = 0; k < operands; k++) along[k] = depth > 0 ? steps[depth - 1][k] : itemsize[k];
        return depth > 0 ? sizes[--depth] : 1;
    }

    void add_axis(int64_t size, int64_t block, const int64_t (&along)[MAX_INS + 1]) {
        sizes[depth] = size;
        for (int k = 0; k < operands; k++) steps[depth][k] = block * along[k];
        depth++;
    }
};

// ---- blocks -------------------------------------------------------------------------------------

// How the blocks of one operand reach the inner loop: in place or through a tile.
struct Path {
    Steps steps;
    int itemsize;
    bool contiguous, converts;
};

// The tiles of one thread.
struct Tiles {
    alignas(64) char of[MAX_INS + 1][TILE * 8];
    alignas(64) char raw[TILE * 8];  // gathered, and still to be converted
    struct Content {
        const char* from = nullptr;
        int64_t rows, columns;
    } content[MAX_INS + 1];
};

// Where the inner loop finds the block of an input that starts at `at`. A block that repeats (of a
// row, a column or a number spread over the others) is still in its tile.
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
        move(path.itemsize, rows, columns, to, {columns * path.itemsize, path.itemsize}, at,
             path.steps);
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
        move(path.itemsize, rows, columns, at, path.steps, from,
             {columns * path.itemsize, path.itemsize});
}

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
// false: it is another case.
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

// Calls work.inner on all elements, in blocks of rows and columns of the two innermost axes, dealt
// out in chunks of about work.grain elements. All of this follows from the layout alone, never from
// the number of threads.
inline void each(const Operand& out, const Operand* ins, int count, const Work& work) {
    if (all_at_once(out, ins, count, work)) return;
    Walk walk(out, ins, count);
    if (walk.total == 0) return;
    int64_t row_steps[MAX_INS + 1], column_steps[MAX_INS + 1];
    const int64_t columns = walk.take_axis(column_steps), rows = walk.take_axis(row_steps);

    Path paths[MAX_INS + 1];
    bool tiled = false, turned = false;
    for (int k = 0; k < walk.operands; k++) {
        Path& path = paths[k];
        const Operand& operand = k == 0 ? out : ins[k - 1];
        path.steps = {row_steps[k], column_steps[k]};
        path.itemsize = walk.itemsize[k];
        path.converts = operand.dtype == work.stored && work.stored != work.computed;
        turned |= row_steps[k] * row_steps[k] < column_steps[k] * column_steps[k] && row_steps[k];
        tiled |= column_steps[k] != path.itemsize || path.converts;
    }

    // Short rows are taken many at once: an inner loop is worth its call from some hundred elements
    // on. Long rows are cut. A transposed input uses one element of a cache line and comes back for
    // its neighbour in the next row; so there the blocks are squares.
    const bool square = turned && columns >= SIDE && rows > 1, many = columns < TILE / 8;
    const int64_t longest = square ? SIDE : tiled ? TILE : work.grain;
    const int64_t width = columns < longest ? columns : longest;
    const int64_t highest = square ? SIDE : many ? TILE / columns : 1;
    const int64_t height = rows < highest ? rows : highest;
    for (int k = 0; k < walk.operands; k++) {
        Path& path = paths[k];
        path.contiguous =
            path.steps.column == path.itemsize &&
            (height == 1 || (width == columns && path.steps.row == columns * path.itemsize));
    }
    walk.add_axis((rows + height - 1) / height, height, row_steps);
    walk.add_axis((columns + width - 1) / width, width, column_steps);
    const int row_axis = walk.depth - 2, column_axis = walk.depth - 1;

    int64_t blocks = 1;
    for (int d = 0; d < walk.depth; d++) blocks *= walk.sizes[d];
    const int64_t per_chunk = height * width < work.grain ? work.grain / (height * width) : 1;
    parallel((blocks + per_chunk - 1) / per_chunk, [&](int64_t chunk) {
        const int64_t first = chunk * per_chunk;
        const int64_t last = first + per_chunk < blocks ? first + per_chunk : blocks;
        Tiles tiles;
        char* at[MAX_INS + 1];
        int64_t index[MAX_DIMS];
        for (int k = 0; k < walk.operands; k++) at[k] = walk.start[k];
        for (int64_t rest = first, d = walk.depth - 1; d >= 0; d--) {
            index[d] = rest % walk.sizes[d];
            rest /= walk.sizes[d];
            for (int k = 0; k < walk.operands; k++) at[k] += index[d] * walk.steps[d][k];
        }
        for (int64_t block = first; block < last; block++) {
            const int64_t rows_left = rows - index[row_axis] * height;
            const int64_t columns_left = columns - index[column_axis] * width;
            const int64_t r = rows_left < height ? rows_left : height;
            const int64_t c = columns_left < width ? columns_left : width;
            const void* from[MAX_INS] = {};
            for (int k = 1; k < walk.operands; k++)
                from[k - 1] = take(paths[k], at[k], r, c, work, tiles, k);
            if (walk.operands == 2) from[1] = from[0];
            const bool in_place = paths[0].contiguous && !paths[0].converts;
            work.inner(r * c, in_place ? at[0] : tiles.of[0], from);
            if (!in_place) put(paths[0], at[0], r, c, work, tiles);

            for (int d = walk.depth - 1; d >= 0; d--) {  // on to the next block
                const bool wraps = ++index[d] == walk.sizes[d];
                const int64_t back = wraps ? walk.sizes[d] : 0;
                for (int k = 0; k < walk.operands; k++) at[k] += (1 - back) * walk.steps[d][k];
                if (!wraps) break;
                index[d] = 0;
            }
        }
    });
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
