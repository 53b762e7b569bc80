// A chain of elementwise kernels as one: no number between two of them ever reaches memory.
//
// The iteration space is cut into tiles of some thousand elements. For each tile one instruction
// after another is run by the inner loop of its own kernel (parts.hpp): on registers, which are
// pieces of the L1 cache, and on the operands, in place where their elements lie side by side.
// What is computed is what those kernels compute one by one, so it has the same bits; but each
// operand is read from memory, and each result written, once. A reduction at the end follows the
// one tree (walk/tree.hpp) that it follows over an operand in memory.
#include "fused.rows.hpp"
#include "walk/each.hpp"
#include "walk/tree.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t TILE = 4 * BLOCK;  // elements

// ---- one operand --------------------------------------------------------------------------------

// Elements, numbered in the order in which the iteration space is walked. (Each operand has axes of
// its own: what follows the axis outside it is one with that, whatever the other operands do.)
struct Path {
    char* data;
    int itemsize, depth = 0;
    int64_t size[MAX_DIMS], stride[MAX_DIMS];  // in bytes

    void add(int64_t length, int64_t step) {
        if (length == 1) return;
        if (depth > 0 && stride[depth - 1] == step * length) {
            size[depth - 1] *= length;
            stride[depth - 1] = step;
        } else {
            size[depth] = length, stride[depth++] = step;
        }
    }

    bool gapless() const { return depth == 0 || (depth == 1 && stride[0] == itemsize); }

    // After how many elements it begins anew; 0: never.
    int64_t period() const {
        if (depth > 0 && stride[0] != 0) return 0;
        int64_t elements = 1;
        for (int d = 1; d < depth; d++) elements *= size[d];
        return elements;
    }

    // Where element number `at` is, and how many lie behind one another from there on.
    char* find(int64_t at, int64_t* run) const {
        char* found = data;
        *run = 1;
        for (int d = depth - 1; d >= 0; d--) {
            const int64_t outer = d > 0 ? at / size[d] : 0, here = at - outer * size[d];
            if (d == depth - 1) *run = size[d] - here;
            found += here * stride[d];
            at = outer;
        }
        return found;
    }

    // Calls visit(place, rows, columns, steps, first) for the rectangles that make up the elements
    // [begin, begin + n).
    template <class Visit>
    void rectangles(int64_t begin, int64_t n, const Visit& visit) const {
        const int64_t step = depth > 0 ? stride[depth - 1] : 0;
        for (int64_t at = 0; at < n;) {
            int64_t columns;
            char* place = find(begin + at, &columns);
            int64_t rows = 1, next = 0;
            if (columns >= n - at) {
                columns = n - at;
            } else if (depth > 1 && columns == size[depth - 1]) {
                const int64_t row = (begin + at) / columns % size[depth - 2];
                rows = smaller((n - at) / columns, size[depth - 2] - row);
                next = stride[depth - 2];
            }
            visit(place, rows, columns, Steps{next, step}, at * itemsize);
            at += rows * columns;
        }
    }
};

// ---- the call -----------------------------------------------------------------------------------

struct Call {
    const Code& code;
    int operands, reads;  // how many, and how many of them are read: places 1 to `reads`
    Path path[MAX_FUSED];
    bool late[MAX_FUSED];  // results that must wait for who reads an input at the same place
    bool refuses = false;  // some instruction may
    int64_t count = 1, terms = 1, outputs = 1, grain;
    const Instruction* reduction = nullptr;

    Call(const Operand& out, const Operand* ins, int inputs, const Params& params)
        : code(params.code), operands(inputs + 1), reads(inputs + 1 - code.results) {
        double tens = 0;  // of microseconds, for one element
        for (int i = 0; i < code.count; i++) {
            const Instruction& step = code.of[i];
            if (step.work == nullptr) reduction = &step;
            refuses |= step.work && step.work->refused;
            tens += 1.0 / static_cast<double>(step.work ? step.work->grain : 65536);
        }
        grain = static_cast<int64_t>(2 / tens);  // in the L1 cache all goes faster
        for (int k = 0; k < operands; k++) {
            const Operand& operand = k == 0 ? out : ins[k - 1];
            path[k].data = operand.data;
            path[k].itemsize = itemsize_of[operand.dtype];
            late[k] = false;
            if (code.written[k] < 0) continue;
            for (int j = 1; j <= reads; j++)
                late[k] |= ins[j - 1].data == operand.data && code.read[j] > code.written[k];
        }
        add_axes(out, ins, params);
    }

    // In an order that suits the memory of `out`, largest steps outside. Where there is a
    // reduction: the axes that are kept, then those that go, in their own order.
    void add_axes(const Operand& out, const Operand* ins, const Params& params) {
        const Operand& leads = reduction ? ins[0] : out;
        const int ndim = ins[0].ndim;
        bool goes[MAX_DIMS] = {};
        for (int a = 0; a < params.axis_count; a++) goes[params.axis[a]] = true;
        int axes[MAX_DIMS], at[MAX_DIMS], kept = 0;
        for (int d = 0; d < ndim; d++)
            if (!goes[d]) at[d] = kept, axes[kept++] = d, outputs *= ins[0].shape[d];
        sort_axes(axes, kept, leads.strides);
        int all = kept;
        for (int d = 0; d < ndim; d++)
            if (goes[d]) axes[all++] = d, terms *= ins[0].shape[d];
        for (int i = 0; i < ndim; i++) {
            const int d = axes[i];
            const int64_t length = ins[0].shape[d];
            count *= length;
            if (length == 0) continue;
            const bool backwards = !reduction && out.strides[d] < 0;
            for (int k = 0; k < operands; k++) {
                const Operand& operand = k == 0 ? out : ins[k - 1];
                if (k == 0 && goes[d]) continue;
                const int axis = k == 0 && reduction ? at[d] : d;
                int64_t step = operand.strides[axis] * path[k].itemsize;
                if (backwards) path[k].data += (length - 1) * step, step = -step;
                path[k].add(length, step);
            }
        }
    }

    bool writes(int k) const { return k == 0 ? !reduction : k > reads; }
};

// ---- tiles --------------------------------------------------------------------------------------

// What one thread works with: where the numbers of every place are for the tile at hand.
struct Tiles {
    const Call& call;
    bool tries;  // results are not written: to see whether an instruction refuses
    int64_t pitch;
    char* room;
    char* place[MAX_FUSED + MAX_CODE];
    int64_t period[MAX_FUSED];
    int64_t held[MAX_FUSED], held_count[MAX_FUSED];  // from which element on, and how many

    static constexpr int MOST = MAX_FUSED + MAX_CODE + 4;

    // `room` is where size(call) bytes are.
    Tiles(const Call& what, char* memory, bool dry)
        : call(what), tries(dry), pitch(pitch_of(what)), room(memory) {
        char* next = room + (4 + call.operands) * pitch;
        for (int r = 0; r < call.code.registers; r++, next += pitch) place[MAX_FUSED + r] = next;
        for (int k = 1; k <= call.reads; k++) {
            period[k] = call.path[k].period();
            held_count[k] = 0;
        }
    }

    // Tiles that begin at one place of a page each would wait for each other's stores.
    static int64_t pitch_of(const Call& call) {
        return smaller(TILE, larger(call.count, 1)) * 8 / 64 * 64 + 128;
    }
    static int64_t size(const Call& call) {
        return (4 + call.operands + call.code.registers) * pitch_of(call);
    }

    char* own(int k) const { return room + (4 + k) * pitch; }

    // Finds the elements [begin, begin + n) of input k. What repeats is in its tile still.
    char* take(int k, int64_t begin, int64_t n) {
        const Path& path = call.path[k];
        if (path.gapless()) return path.data + begin * path.itemsize;
        int64_t run;
        char* found = path.find(begin, &run);
        if (run >= n && path.stride[path.depth - 1] == path.itemsize) return found;
        char* tile = own(k);
        const int64_t from = period[k] ? begin % period[k] : begin;
        if (held_count[k] >= n && held[k] == from) return tile;
        held[k] = from, held_count[k] = n;
        const int size = path.itemsize;
        path.rectangles(
            begin, n, [&](char* at, int64_t rows, int64_t columns, Steps x, int64_t to) {
                move_rectangle(size, rows, columns, tile + to, {columns * size, size}, at, x);
            });
        return tile;
    }

    // Brings a result from its tile to its place.
    void put(int k, int64_t begin, int64_t n) const {
        const Path& path = call.path[k];
        const int size = path.itemsize;
        path.rectangles(
            begin, n, [&](char* at, int64_t rows, int64_t columns, Steps z, int64_t from) {
                move_rectangle(size, rows, columns, at, z, own(k) + from, {columns * size, size});
            });
    }

    // Runs the chain for the elements [begin, begin + n); `reduce` gets what is to be reduced.
    // Which instruction refuses an element; MAX_CODE: none.
    template <class Reduce>
    int run(int64_t begin, int64_t n, const Reduce& reduce) {
        const Code& code = call.code;
        for (int k = 1; k <= call.reads; k++)
            if (code.read[k] >= 0) place[k] = take(k, begin, n);
        for (int k = 0; k < call.operands; k++) {
            if (!call.writes(k)) continue;
            const bool straight = !tries && !call.late[k] && call.path[k].gapless();
            place[k] = straight ? call.path[k].data + begin * call.path[k].itemsize : own(k);
        }
        for (int i = 0; i < code.count; i++) {
            const Instruction& step = code.of[i];
            if (step.work == nullptr)
                reduce(place[step.from[0]]);
            else if (!compute(step, n))
                return i;
        }
        for (int k = 0; !tries && k < call.operands; k++)
            if (call.writes(k) && place[k] == own(k)) put(k, begin, n);
        return MAX_CODE;
    }

    // One instruction. 16-bit floats are widened before it and rounded after it, as they are from
    // one kernel to the next.
    bool compute(const Instruction& step, int64_t n) const {
        const Work& work = *step.work;
        const void* from[3];
        for (int a = 0; a < step.args; a++) {
            from[a] = place[step.from[a]];
            if ((step.widens >> a & 1) == 0) continue;
            work.widen(n, room + a * pitch, &from[a]);
            from[a] = room + a * pitch;
        }
        if (step.args == 1) from[1] = from[0];
        if (tries && work.refused && work.refused(n, from[1])) return false;
        char* to = place[step.to];
        if ((step.widens >> 3 & 1) == 0) {
            work.inner(n, to, from);
        } else {
            const void* wide = room + 3 * pitch;
            work.inner(n, room + 3 * pitch, from);
            work.narrow(n, to, &wide);
        }
        return true;
    }
};

// ---- in several threads -------------------------------------------------------------------------

// Calls task(tiles, piece) for each of `pieces`, each of about `cost` elements, with the tiles of
// the thread that runs it. false: there is no room for them.
template <class Task>
bool each_piece(const Call& call, bool tries, int64_t pieces, int64_t cost, const Task& task) {
    const int64_t some = larger(1, call.grain / larger(1, cost));
    const int64_t group = thread_count() == 1 ? pieces : some, groups = ceil_div(pieces, group);
    bool enough = true;
    parallel(groups, [&](int64_t g) {
        char* room = static_cast<char*>(scratch(1, Tiles::size(call)));
        if (room == nullptr) {
            __atomic_store_n(&enough, false, __ATOMIC_RELAXED);
            return;
        }
        Tiles tiles(call, room, tries);
        for (int64_t i = g * group; i < smaller(pieces, (g + 1) * group); i++) task(tiles, i);
    });
    return enough;
}

// How many elements a tile has: where an operand repeats after fewer, a whole number of times.
int64_t tile_of(const Call& call) {
    int64_t tile = TILE;
    for (int k = 1; k <= call.reads; k++) {
        const int64_t period = call.path[k].period();
        if (period > 1 && period < tile) tile = tile / period * period;
    }
    return tile;
}

// Runs the whole chain tile by tile, without a reduction. Which instruction refuses an element.
bool run_tiles(const Call& call, bool tries, int* refused) {
    const int64_t tile = tile_of(call);
    *refused = MAX_CODE;
    return each_piece(call, tries, ceil_div(call.count, tile), tile, [&](Tiles& tiles, int64_t i) {
        const int64_t begin = i * tile, n = smaller(tile, call.count - begin);
        const int found = tiles.run(begin, n, [](const char*) {});
        int before = __atomic_load_n(refused, __ATOMIC_RELAXED);
        while (found < before && !__atomic_compare_exchange_n(refused, &before, found, true,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    });
}

// ---- a reduction at the end ---------------------------------------------------------------------

// The same blocks of terms, and the same trees over them, as in kernels/reduce.cpp.
struct Reduction {
    static constexpr int64_t BLOCKS = 64;  // of one result, in one thread
    static constexpr int64_t SIDE = 64;    // results whose terms are in one tile
    static constexpr int64_t MOST = 16;    // bytes of a partial result

    const Call& call;
    const Reducer& op;
    int64_t terms, outputs, chunks, rows;  // rows: how many results' terms fit into a tile
    char* partials = nullptr;              // of the chunks, where a result has several

    explicit Reduction(const Call& what)
        : call(what), op(*what.reduction->row->reducer), terms(what.terms), outputs(what.outputs) {
        chunks = larger(1, ceil_div(terms, BLOCKS * BLOCK));
        rows = terms > TILE ? 1 : smaller(SIDE, TILE / larger(1, terms));
    }

    void tree(char* from, int64_t count) const {
        if (count < 2) return;
        const int64_t half = left_half(count);
        char* right = from + half * op.partial_size;
        tree(from, half);
        tree(right, count - half);
        op.merge(from, right, 1);
    }

    // Adds up to TILE terms from number `first` on, side by side at x: to one partial result for
    // each block of them, or where order changes nothing, to one.
    void add(const char* x, int64_t first, int64_t n, char* to) const {
        for (int64_t at = 0; at < n; at += BLOCK) {
            op.add_row(x + at * op.element_size, smaller(BLOCK, n - at), first + at, to);
            if (op.lanes > 1) to += op.partial_size;
        }
    }

    // A part of a long one.
    void run_chunk(Tiles& tiles, int64_t piece, char* partial) const {
        alignas(64) char blocks[BLOCKS * MOST];
        const int64_t output = piece / chunks, start = piece % chunks * BLOCKS * BLOCK;
        const int64_t stop = smaller(terms, start + BLOCKS * BLOCK);
        op.clear(blocks, 1, start);
        for (int64_t at = start; at < stop; at += TILE) {
            char* to = blocks + (op.lanes > 1 ? (at - start) / BLOCK * op.partial_size : 0);
            const int64_t n = smaller(TILE, stop - at);
            tiles.run(output * terms + at, n, [&](const char* x) { add(x, at, n, to); });
        }
        if (op.lanes > 1) tree(blocks, ceil_div(stop - start, BLOCK));
        std::memcpy(partial, blocks, op.partial_size);
    }

    // Some short ones, whose terms lie one after another in a tile.
    void run_rows(Tiles& tiles, int64_t first, int64_t count) const {
        alignas(64) char here[SIDE * MOST], blocks[TILE / BLOCK * MOST];
        op.clear(here, count, 0);
        const auto reduce = [&](const char* x) {
            for (int64_t j = 0; j < count; j++, x += terms * op.element_size) {
                char* to = here + j * op.partial_size;
                if (op.lanes == 1 || terms <= BLOCK) {
                    add(x, 0, terms, to);
                } else {
                    add(x, 0, terms, blocks);
                    tree(blocks, ceil_div(terms, BLOCK));
                    std::memcpy(to, blocks, op.partial_size);
                }
            }
        };
        if (terms > 0) tiles.run(first * terms, count * terms, reduce);
        finish(here, first, count);
    }

    void finish(const char* from, int64_t first, int64_t count) const {
        const Path& path = call.path[0];
        path.rectangles(first, count, [&](char* at, int64_t n, int64_t columns, Steps z, int64_t) {
            for (int64_t r = 0; r < n; r++, from += columns * op.partial_size)
                op.finish(from, columns, terms, at + r * z.row, z.column / path.itemsize);
        });
    }

    bool run() {
        if (terms <= TILE)
            return each_piece(call, false, ceil_div(outputs, rows), rows * terms,
                              [&](Tiles& tiles, int64_t i) {
                                  run_rows(tiles, i * rows, smaller(rows, outputs - i * rows));
                              });
        const int64_t pieces = outputs * chunks;
        partials = static_cast<char*>(scratch(2, pieces * op.partial_size));
        if (partials == nullptr) return false;
        const auto task = [&](Tiles& tiles, int64_t piece) {
            run_chunk(tiles, piece, partials + piece * op.partial_size);
        };
        if (!each_piece(call, false, pieces, BLOCKS * BLOCK, task)) return false;
        for (int64_t output = 0; output < outputs; output++) {
            char* all = partials + output * chunks * op.partial_size;
            tree(all, chunks);
            finish(all, output, 1);
        }
        return true;
    }
};

// ---- the kernel ---------------------------------------------------------------------------------

constexpr Status OK = {Status::Ok, 0, 0}, OUT_OF_MEMORY = {Status::OutOfMemory, 0, 0};

Status fused(const Operand& out, const Operand* ins, int count, const Params& params) {
    const Call call(out, ins, count, params);
    int refused;
    if (call.refuses) {  // then nothing may be written: the same again, only to see
        if (call.count > 0 && !run_tiles(call, true, &refused)) return OUT_OF_MEMORY;
        if (call.count > 0 && refused < MAX_CODE)
            return {params.code.of[refused].work->refuses, refused, 0};
    }
    if (call.reduction) return Reduction(call).run() ? OK : OUT_OF_MEMORY;
    return call.count == 0 || run_tiles(call, false, &refused) ? OK : OUT_OF_MEMORY;
}

}  // namespace

TABLE(fused, KERNEL(fused, fused))

}  // namespace TUTOR_LEVEL
}  // namespace tutor
