// Elementwise loops: every layout of operands is brought down to one case, n elements side by side.
//
// `each` walks the operands row by row and calls an inner loop that knows nothing of strides. What
// does not lie side by side is gathered into a tile, a piece of stack that stays in the L1 cache; a
// repeated number (stride 0) fills its tile once; float16 is widened on the way. So a formula needs
// one loop per dtype, compiled once, and cannot give one result here and another there.
#pragma once

#include <type_traits>

#include "half.hpp"
#include "simd.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int MAX_INS = 3;
constexpr int64_t TILE_BYTES = 8192;  // four operands take 32 KiB, the smallest L1 cache around
constexpr int64_t GATHER = 256;       // elements of a row to take before the next row's turn

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

// Floats, one register at a time. What is left at the end goes through a padded register and the
// same formula: an element's result must not depend on its place in the array.
template <class Formula, class T>
void map_vectors(int64_t n, void* out, const void* const* ins) {
    constexpr int L = lanes<T>;
    T* z = static_cast<T*>(out);
    const T *x = static_cast<const T*>(ins[0]), *y = static_cast<const T*>(ins[1]);
    int64_t i = 0;
    for (; i + L <= n; i += L) store(z + i, apply<Formula>(load(x + i), load(y + i)));
    if (i == n) return;
    T xs[L] = {}, ys[L] = {}, zs[L];
    for (int k = 0; k < n - i; k++) xs[k] = x[i + k], ys[k] = y[i + k];
    store(zs, apply<Formula>(load(xs), load(ys)));
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

// n elements, `step` bytes apart at `from` or at `to`, side by side on the other end.
template <class Bits>
inline void gather(int64_t n, void* to, const char* from, int64_t step) {
    Item<Bits>* z = static_cast<Item<Bits>*>(to);
    const Item<Bits> first = *reinterpret_cast<const Item<Bits>*>(from);
    if (step == 0)
        for (int64_t i = 0; i < n; i++) z[i] = first;
    else
        for (int64_t i = 0; i < n; i++)
            z[i] = *reinterpret_cast<const Item<Bits>*>(from + i * step);
}

template <class Bits>
inline void scatter(int64_t n, char* to, const void* from, int64_t step) {
    const Item<Bits>* x = static_cast<const Item<Bits>*>(from);
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<Item<Bits>*>(to + i * step) = x[i];
}

inline void gather(int itemsize, int64_t n, void* to, const char* from, int64_t step) {
    if (itemsize == 1) gather<uint8_t>(n, to, from, step);
    if (itemsize == 2) gather<uint16_t>(n, to, from, step);
    if (itemsize == 4) gather<uint32_t>(n, to, from, step);
    if (itemsize == 8) gather<uint64_t>(n, to, from, step);
}

inline void scatter(int itemsize, int64_t n, char* to, const void* from, int64_t step) {
    if (itemsize == 1) scatter<uint8_t>(n, to, from, step);
    if (itemsize == 2) scatter<uint16_t>(n, to, from, step);
    if (itemsize == 4) scatter<uint32_t>(n, to, from, step);
    if (itemsize == 8) scatter<uint64_t>(n, to, from, step);
}

// ---- the walk -----------------------------------------------------------------------------------

// One operand, walked along the axes of a Walk.
struct Path {
    char* start;
    int64_t steps[MAX_DIMS + 1];  // in bytes
    int itemsize;
    int computed_size;  // of an element as the inner loop sees it
    bool converts;

    bool side_by_side(int64_t step) const { return step == itemsize; }
};

// The axes in an order that suits the memory of `out` (largest steps outside), with axes of size 1
// left out, axes that `out` walks backwards turned round, and axes that continue each other in all
// operands merged. A contiguous operation of any shape comes out as one long axis.
struct Walk {
    int operands, depth = 0;
    int64_t sizes[MAX_DIMS + 1], total = 1;
    Path paths[MAX_INS + 1];  // out first

    Walk(const Operand& out, const Operand* ins, int count, const Work& work)
        : operands(count + 1) {
        for (int k = 0; k < operands; k++) {
            const Operand& operand = k == 0 ? out : ins[k - 1];
            Path& path = paths[k];
            path.start = operand.data;
            path.itemsize = itemsize_of[operand.dtype];
            path.converts = operand.dtype == work.stored && work.stored != work.computed;
            path.computed_size = path.converts ? itemsize_of[work.computed] : path.itemsize;
        }
        for (int axis = 0; axis < out.ndim; axis++) {
            total *= out.shape[axis];
            if (out.shape[axis] != 1) insert(axis, out, ins);
        }
        merge();
    }

    void insert(int axis, const Operand& out, const Operand* ins) {
        const int64_t size = out.shape[axis], out_step = out.strides[axis] * paths[0].itemsize;
        const bool backwards = out_step < 0;
        int place = depth++;
        for (; place > 0 && paths[0].steps[place - 1] < (backwards ? -out_step : out_step); place--)
            move(place - 1, place);
        sizes[place] = size;
        for (int k = 0; k < operands; k++) {
            Path& path = paths[k];
            const int64_t step = (k == 0 ? out : ins[k - 1]).strides[axis] * path.itemsize;
            if (backwards) path.start += (size - 1) * step;
            path.steps[place] = backwards ? -step : step;
        }
    }

    void merge() {
        int last = 0;
        for (int axis = 1; axis < depth; axis++) {
            bool continues = true;
            for (int k = 0; k < operands; k++)
                continues &= paths[k].steps[last] == paths[k].steps[axis] * sizes[axis];
            const int64_t outer = sizes[last];
            if (!continues) last++;
            move(axis, last);
            if (continues) sizes[last] *= outer;
        }
        if (depth > 0) depth = last + 1;
    }

    void move(int from, int to) {
        sizes[to] = sizes[from];
        for (int k = 0; k < operands; k++) paths[k].steps[to] = paths[k].steps[from];
    }
};

// ---- pieces -------------------------------------------------------------------------------------

// Tiles of one thread, and what stands in them.
struct Tiles {
    alignas(64) char computed[MAX_INS + 1][TILE_BYTES];
    alignas(64) char raw[TILE_BYTES];        // gathered, not yet converted
    const char* repeated[MAX_INS + 1] = {};  // whose number fills the tile
};

// Where the inner loop finds n elements of an input: in place, or in its tile.
inline const void* take(const Path& path, const char* at, int64_t step, int64_t n, int64_t segment,
                        Inner widen, Tiles& tiles, int k) {
    char* tile = tiles.computed[k];
    const void* from = at;
    if (path.side_by_side(step)) {
        if (!path.converts) return at;
        widen(n, tile, &from);
    } else if (step != 0) {
        gather(path.itemsize, n, path.converts ? tiles.raw : tile, at, step);
        from = tiles.raw;
        if (path.converts) widen(n, tile, &from);
    } else if (tiles.repeated[k] != at) {
        if (path.converts) widen(1, tiles.raw, &from);
        gather(path.computed_size, segment, tile, path.converts ? tiles.raw : at, 0);
        tiles.repeated[k] = at;
    }
    return tile;
}

inline void put(const Path& path, char* at, int64_t step, int64_t n, Inner narrow, Tiles& tiles) {
    const void* from = tiles.computed[0];
    if (path.converts) {
        char* to = path.side_by_side(step) ? at : tiles.raw;
        narrow(n, to, &from);
        from = to;
    }
    if (!path.side_by_side(step)) scatter(path.itemsize, n, at, from, step);
}

// Calls work.inner on all elements. The innermost axis is cut into segments; pieces (one segment
// each) are dealt out in chunks of about work.grain elements. All of this follows from the layout
// alone, never from the number of threads.
inline void each(const Operand& out, const Operand* ins, int count, const Work& work) {
    Walk walk(out, ins, count, work);
    if (walk.total == 0) return;

    // The innermost axis becomes two: segments, and `steps` inside one.
    int axis = walk.depth > 0 ? walk.depth - 1 : 0;  // where the segments are counted
    const int64_t length = walk.depth > 0 ? walk.sizes[axis] : 1;
    int64_t steps[MAX_INS + 1], segment = work.grain;
    bool gathers = false;
    for (int k = 0; k < walk.operands; k++) {
        const Path& path = walk.paths[k];
        steps[k] = length > 1 ? path.steps[axis] : path.itemsize;
        const bool in_place = path.side_by_side(steps[k]);
        gathers |= !in_place && steps[k] != 0;
        if (!in_place || path.converts) {
            const int64_t room = TILE_BYTES / (path.converts ? 8 : path.itemsize);
            segment = room < segment ? room : segment;
        }
    }
    if (gathers) segment = GATHER;
    if (segment > length) segment = length;
    const int64_t segments = (length + segment - 1) / segment;
    walk.depth = axis + 1;
    walk.sizes[axis] = segments;
    for (int k = 0; k < walk.operands; k++) walk.paths[k].steps[axis] = segment * steps[k];
    if (gathers && axis > 0) {
        // A strided operand uses one element of a cache line and comes back for its neighbour in
        // the next row: walk down the rows before moving on along them.
        walk.move(axis, axis + 1);
        walk.move(axis - 1, axis);
        walk.move(axis + 1, axis - 1);
        axis--;
    }

    int64_t pieces = 1;
    for (int d = 0; d < walk.depth; d++) pieces *= walk.sizes[d];
    const int64_t per_chunk = segment < work.grain ? work.grain / segment : 1;
    parallel((pieces + per_chunk - 1) / per_chunk, [&](int64_t chunk) {
        const int64_t first = chunk * per_chunk;
        const int64_t last = first + per_chunk < pieces ? first + per_chunk : pieces;
        Tiles tiles;
        char* at[MAX_INS + 1];
        int64_t index[MAX_DIMS + 1];
        for (int k = 0; k < walk.operands; k++) at[k] = walk.paths[k].start;
        for (int64_t rest = first, d = walk.depth - 1; d >= 0; d--) {
            index[d] = rest % walk.sizes[d];
            rest /= walk.sizes[d];
            for (int k = 0; k < walk.operands; k++) at[k] += index[d] * walk.paths[k].steps[d];
        }
        for (int64_t piece = first; piece < last; piece++) {
            const int64_t n =
                index[axis] < segments - 1 ? segment : length - (segments - 1) * segment;
            const void* from[MAX_INS];
            for (int k = 1; k < walk.operands; k++)
                from[k - 1] =
                    take(walk.paths[k], at[k], steps[k], n, segment, work.widen, tiles, k);
            if (walk.operands == 2) from[1] = from[0];
            const Path& path = walk.paths[0];
            if (path.side_by_side(steps[0]) && !path.converts) {
                work.inner(n, at[0], from);
            } else {
                work.inner(n, tiles.computed[0], from);
                put(path, at[0], steps[0], n, work.narrow, tiles);
            }
            for (int d = walk.depth - 1; d >= 0; d--) {
                const bool wraps = ++index[d] == walk.sizes[d];
                const int64_t back = wraps ? walk.sizes[d] : 0;
                for (int k = 0; k < walk.operands; k++)
                    at[k] += (1 - back) * walk.paths[k].steps[d];
                if (!wraps) break;
                index[d] = 0;
            }
        }
    });
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
