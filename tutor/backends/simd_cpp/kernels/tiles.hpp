// The data of a fused kernel: its operands in tiles, and its instructions run on one of them.
#pragma once

#include "walk/each.hpp"
#include "walk/tree.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t TILE = 4 * BLOCK;  // elements: 8 KiB of float32, of which some fit into L1

// ---- one operand --------------------------------------------------------------------------------

// Elements, numbered in the order in which the iteration space is walked. (Each operand has its own
// axes: one that continues the axis outside it is merged with that, whatever the others do.)
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

    // The number of elements after which it repeats; 0: never.
    int64_t period() const {
        if (depth > 0 && stride[0] != 0) return 0;
        int64_t elements = 1;
        for (int d = 1; d < depth; d++) elements *= size[d];
        return elements;
    }

    // Finds element number `at`; *run: how many lie one after another from there on.
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
    static constexpr int64_t FEW = 8;

    const Code& code;
    int operands, reads;  // how many, and how many of them are read: places 1 to `reads`
    Path path[MAX_FUSED];
    bool late[MAX_FUSED];  // results that wait until an input at the same place is read
    bool refuses = false;  // some instruction may
    int64_t count = 1, terms = 1, outputs = 1, grain;
    int64_t columns = 1;  // how many results lie nearer to each other than the terms of one
    const Instruction* reduction = nullptr;

    Call(const Operand& out, const Operand* ins, int inputs, const Params& params)
        : code(params.code), operands(inputs + 1), reads(inputs + 1 - code.results) {
        double tens = 0;  // of microseconds, per element
        for (int i = code.product ? 1 : 0; i < code.count; i++) {
            const Instruction& step = code.of[i];
            if (step.work == nullptr) reduction = &step;
            refuses |= step.work && step.work->refused;
            tens += 1.0 / static_cast<double>(step.work ? step.work->grain : 65536);
        }
        grain = static_cast<int64_t>(2 / tens);  // everything is faster in the L1 cache
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

    // The order in which the axes are walked: one that suits the memory of `out`, largest steps
    // outside. With a reduction: the kept axes, then the reduced ones, in their own order; then
    // those kept axes along which the largest input takes the smallest steps.
    int order(const Operand& out, const Operand* ins, const Params& params, bool* goes, int* axes) {
        const Operand& leads = reduction ? largest(ins) : out;
        const int ndim = ins[0].ndim;
        int64_t least = INT64_MAX;
        for (int a = 0; a < params.axis_count; a++) {
            const int64_t d = params.axis[a], step = magnitude(leads.strides[d]);
            goes[d] = true;
            terms *= leads.shape[d];
            if (leads.shape[d] > 1 && step > 0) least = smaller(least, step);
        }
        int kept[MAX_DIMS], count = 0, all = 0;
        for (int d = 0; d < ndim; d++)
            if (!goes[d]) kept[count++] = d;
        sort_axes(kept, count, leads.strides);
        int outer = count;
        while (reduction && outer > 0 && magnitude(leads.strides[kept[outer - 1]]) < least)
            columns *= leads.shape[kept[--outer]];
        if (columns < FEW || terms < 2) outer = count, columns = 1;
        for (int i = 0; i < outer; i++) axes[all++] = kept[i];
        for (int d = 0; d < ndim; d++)
            if (goes[d]) axes[all++] = d;
        for (int i = outer; i < count; i++) axes[all++] = kept[i];
        return ndim;
    }

    // The input with the most elements in memory.
    const Operand& largest(const Operand* ins) const {
        int64_t most = -1;
        const Operand* found = ins;
        for (int k = 0; k < reads; k++) {
            int64_t elements = 1;
            for (int d = 0; d < ins[k].ndim; d++)
                if (ins[k].strides[d] != 0) elements *= ins[k].shape[d];
            if (elements > most) most = elements, found = &ins[k];
        }
        return *found;
    }

    void add_axes(const Operand& out, const Operand* ins, const Params& params) {
        bool goes[MAX_DIMS] = {};
        int axes[MAX_DIMS], at[MAX_DIMS], kept = 0;  // at: which axis of out it is
        const int ndim = order(out, ins, params, goes, axes);
        for (int d = 0; d < ndim; d++) at[d] = goes[d] ? -1 : kept++;
        for (int i = 0; i < ndim; i++) {
            const int d = axes[i];
            const int64_t length = ins[0].shape[d];
            count *= length;
            outputs *= goes[d] ? 1 : length;
            if (length == 0) continue;
            const bool backwards = !reduction && out.strides[d] < 0;
            for (int k = goes[d] ? 1 : 0; k < operands; k++) {
                const Operand& operand = k == 0 ? out : ins[k - 1];
                int64_t step = operand.strides[k == 0 ? at[d] : d] * path[k].itemsize;
                if (backwards) path[k].data += (length - 1) * step, step = -step;
                path[k].add(length, step);
            }
        }
    }

    bool writes(int k) const { return k == 0 ? !reduction : k > reads; }
};

// ---- tiles --------------------------------------------------------------------------------------

// What one thread works with: where the numbers of every place are for the current tile.
struct Tiles {
    const Call& call;
    bool tries;  // a dry run: only sees whether an instruction refuses
    int64_t pitch;
    char* room;
    char* place[MAX_FUSED + MAX_CODE];
    int64_t period[MAX_FUSED];
    int64_t held[MAX_FUSED], held_count[MAX_FUSED];  // from which element on, and how many

    // `room` has size(call) bytes.
    Tiles(const Call& what, char* memory, bool dry)
        : call(what), tries(dry), pitch(pitch_of(what)), room(memory) {
        char* next = room + (4 + call.operands) * pitch;
        for (int r = 0; r < call.code.registers; r++, next += pitch) place[MAX_FUSED + r] = next;
        for (int k = 1; k <= call.reads; k++) {
            period[k] = call.path[k].period();
            held_count[k] = 0;
        }
    }

    // Tiles that begin at the same place in a page would wait for each other's stores.
    static int64_t pitch_of(const Call& call) {
        return smaller(TILE, larger(call.count, 1)) * 8 / 64 * 64 + 128;
    }
    static int64_t size(const Call& call) {
        return (4 + call.operands + call.code.registers) * pitch_of(call);
    }

    char* behind() const { return room + size(call); }
    char* own(int k) const { return room + (4 + k) * pitch; }

    // Finds the elements [begin, begin + n) of input k. Those that repeat are still in its tile.
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

    // Writes a result from its tile to its place.
    void put(int k, int64_t begin, int64_t n) const {
        const Path& path = call.path[k];
        const int size = path.itemsize;
        path.rectangles(
            begin, n, [&](char* at, int64_t rows, int64_t columns, Steps z, int64_t from) {
                move_rectangle(size, rows, columns, at, z, own(k) + from, {columns * size, size});
            });
    }

    // Runs the chain for the elements [begin, begin + n); `reduce` gets the elements to reduce.
    // Returns the instruction that refuses an element; MAX_CODE: none.
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
        for (int i = code.product ? 1 : 0; i < code.count; i++) {
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

    // Runs one instruction. 16-bit floats are widened before it and rounded after it, as between
    // two kernels.
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
// the thread that runs it and `more` bytes after them. false: there is no room for them.
template <class Task>
bool each_piece(const Call& call, bool tries, int64_t pieces, int64_t cost, int64_t more,
                const Task& task) {
    const int64_t some = larger(1, call.grain / larger(1, cost));
    const int64_t group = thread_count() == 1 ? larger(1, pieces) : some;
    const int64_t groups = ceil_div(pieces, group);
    bool enough = true;
    if (groups == 0) return true;
    parallel(groups, [&](int64_t g) {
        char* room = static_cast<char*>(scratch(1, Tiles::size(call) + more));
        if (room == nullptr) {
            __atomic_store_n(&enough, false, __ATOMIC_RELAXED);
            return;
        }
        Tiles tiles(call, room, tries);
        for (int64_t i = g * group; i < smaller(pieces, (g + 1) * group); i++) task(tiles, i);
    });
    return enough;
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
