// The reduction that a fused kernel may end in: the same blocks of terms and the same trees over
// them as in kernels/reduce.cpp, so that it gives the same bits.
#pragma once

#include "kernels/tiles.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// Pieces of work: either some results whose terms lie one after another in one tile, or one chunk
// of the terms of a group of results. A group is one result if its terms lie one after another,
// otherwise a strip of results side by side.
struct Reduction {
    static constexpr int64_t CHUNK = 64 * BLOCK;  // terms of a result that one thread adds up
    static constexpr int64_t LEVELS = 8;          // of the tree over its blocks
    static constexpr int64_t SIDE = 128;          // short results in a tile
    static constexpr int64_t WIDE = 512;          // results of a strip
    static constexpr int64_t MOST = 16;           // bytes of a partial result

    const Call& call;
    const Reducer& op;
    const int64_t terms, outputs, columns, chunks, strips, width, rows;
    char* partials = nullptr;  // of each chunk of all groups

    explicit Reduction(const Call& what)
        : call(what),
          op(*what.reduction->row->reducer),
          terms(what.terms),
          outputs(what.outputs),
          columns(what.columns),
          chunks(larger(1, ceil_div(terms, CHUNK))),
          strips(ceil_div(columns, WIDE)),
          width(ceil_div(columns, larger(1, strips))),
          rows(larger(1, TILE / larger(1, columns))) {}

    bool is_short() const { return columns == 1 && terms <= TILE; }
    int64_t size() const { return width * op.partial_size; }

    // ---- trees ----------------------------------------------------------------------------------

    // The tree over `count` groups of w partial results each, into the first one.
    void tree(char* from, int64_t count, int64_t w) const {
        if (count < 2) return;
        const int64_t half = left_half(count);
        char* right = from + half * size();
        tree(from, half, w);
        tree(right, count - half, w);
        op.merge(from, right, w);
    }

    // The tree over the lanes of a block that had `used` of them, w partial results each.
    void fold(char* lane, int64_t used, int64_t w) const {
        for (int64_t half = op.lanes / 2; half > 0; half /= 2)
            if (used > half) {
                op.merge(lane, lane + half * w * op.partial_size, (used - half) * w);
                used = half;
            }
    }

    // ---- by rows: the terms of a result lie one after another -----------------------------------

    // Adds n <= TILE terms from number `first` on: to one partial result for each block of them, or
    // to a single one where order changes nothing.
    void add(const char* x, int64_t first, int64_t n, char* to) const {
        op.add_row(x, n, first, to);
    }

    void run_chunk(Tiles& tiles, int64_t piece, char* partial) const {
        alignas(64) char blocks[CHUNK / BLOCK * MOST];
        const int64_t output = piece / chunks, start = piece % chunks * CHUNK;
        const int64_t stop = smaller(terms, start + CHUNK);
        op.clear(blocks, 1, start);
        for (int64_t at = start; at < stop; at += TILE) {
            char* to = blocks + (op.lanes > 1 ? (at - start) / BLOCK * op.partial_size : 0);
            const int64_t n = smaller(TILE, stop - at);
            tiles.run(output * terms + at, n, [&](const char* x) { add(x, at, n, to); });
        }
        if (op.lanes > 1) op.tree(blocks, ceil_div(stop - start, BLOCK));
        std::memcpy(partial, blocks, op.partial_size);
    }

    // ---- short rows -----------------------------------------------------------------------------

    void run_short(Tiles& tiles, int64_t first, int64_t count) const {
        alignas(64) char here[SIDE * MOST];
        char* result = here;
        op.clear(here, count, 0);
        const auto reduce = [&](const char* x) {
            if (terms <= SUM_LANES) {  // too few to fill registers, but there are many results
                result = op.lanes > 1 ? tiles.behind() : here;
                op.clear(result, smaller(op.lanes, terms) * count, 0);
                add_columns({x, terms, 1, count, terms}, 0, result);
                fold(result, smaller(op.lanes, terms), count);
                return;
            }
            alignas(64) char blocks[TILE / BLOCK * MOST];
            for (int64_t j = 0; j < count; j++, x += terms * op.element_size) {
                char* to = here + j * op.partial_size;
                if (op.lanes == 1 || terms <= BLOCK) {
                    add(x, 0, terms, to);
                } else {
                    add(x, 0, terms, blocks);
                    op.tree(blocks, ceil_div(terms, BLOCK));
                    std::memcpy(to, blocks, op.partial_size);
                }
            }
        };
        if (terms > 0) tiles.run(first * terms, count * terms, reduce);
        finish(result, first, count);
    }

    // ---- by columns: the results lie side by side -----------------------------------------------

    void add_columns(const Columns& from, int64_t position, char* to) const {
        if (op.lanes > 1) return op.add_columns(from, position, to);
        const int64_t most = TILE_BYTES / op.partial_size;
        for (int64_t c = 0; c < from.columns; c += most) {
            Columns some = from;
            some.data += c * from.column_stride * op.element_size;
            some.columns = smaller(most, from.columns - c);
            op.add_columns(some, position, to + c * op.partial_size);
        }
    }

    int64_t first_of(int64_t group) const {
        return columns == 1 ? group : group / strips * columns + group % strips * width;
    }
    int64_t width_of(int64_t group) const {
        return smaller(width, columns - group % strips * width);
    }

    // Adds the terms [start, stop) of each result of a group to the partial results of their lanes.
    void add_terms(Tiles& tiles, int64_t group, int64_t start, int64_t stop, char* lane) const {
        const int64_t w = width_of(group), step = strips == 1 ? rows : 1;
        const int64_t outer = group / strips, column = group % strips * width;
        for (int64_t r = start; r < stop; r += step) {
            const int64_t n = smaller(step, stop - r);
            tiles.run((outer * terms + r) * columns + column, n * w,
                      [&](const char* x) { add_columns({x, n, w, w, 1}, r, lane); });
        }
    }

    // Runs a chunk of the terms of a strip. The results of its blocks wait, one for each level of
    // the tree, for their neighbours.
    void run_columns(Tiles& tiles, int64_t piece, char* partial) const {
        const int64_t group = piece / chunks, w = width_of(group), bytes = w * op.partial_size;
        const int64_t start = piece % chunks * CHUNK, stop = smaller(terms, start + CHUNK);
        char *lane = tiles.behind(), *waiting = lane + op.lanes * size();
        if (op.lanes == 1) {
            op.clear(partial, w, start);
            return add_terms(tiles, group, start, stop, partial);
        }
        char* top = waiting;
        for (int64_t at = start, block = 1; at < stop; at += BLOCK, block++) {
            const int64_t end = smaller(at + BLOCK, stop), used = smaller(op.lanes, end - at);
            op.clear(lane, used * w, at);
            add_terms(tiles, group, at, end, lane);
            fold(lane, used, w);
            std::memcpy(top, lane, bytes);
            top += bytes;
            for (int64_t n = block; n % 2 == 0; n /= 2, top -= bytes)
                op.merge(top - 2 * bytes, top - bytes, w);
        }
        for (; top > waiting + bytes; top -= bytes) op.merge(top - 2 * bytes, top - bytes, w);
        std::memcpy(partial, waiting, bytes);
    }

    // ---- all of it ------------------------------------------------------------------------------

    void finish(const char* from, int64_t first, int64_t count) const {
        const Path& path = call.path[0];
        path.rectangles(first, count, [&](char* at, int64_t n, int64_t wide, Steps z, int64_t) {
            for (int64_t r = 0; r < n; r++, from += wide * op.partial_size)
                op.finish(from, wide, terms, at + r * z.row, z.column / path.itemsize);
        });
    }

    bool run_rows() const {
        const int64_t some = smaller(SIDE, TILE / larger(1, terms));
        const int64_t more = SUM_LANES * SIDE * op.partial_size;
        return each_piece(call, false, ceil_div(outputs, some), some * terms, more,
                          [&](Tiles& tiles, int64_t i) {
                              run_short(tiles, i * some, smaller(some, outputs - i * some));
                          });
    }

    bool run() {
        if (is_short()) return run_rows();
        const int64_t groups = outputs / columns * strips, pieces = groups * chunks;
        const int64_t more = columns > 1 ? (op.lanes + LEVELS) * size() : 0;
        partials = static_cast<char*>(scratch(2, pieces * size()));
        if (partials == nullptr) return false;
        const auto task = [&](Tiles& tiles, int64_t piece) {
            char* to = partials + piece * size();
            columns > 1 ? run_columns(tiles, piece, to) : run_chunk(tiles, piece, to);
        };
        const int64_t cost = smaller(CHUNK, terms) * width;
        if (!each_piece(call, false, pieces, cost, more, task)) return false;
        for (int64_t group = 0; group < groups; group++) {
            char* all = partials + group * chunks * size();
            const int64_t w = columns > 1 ? width_of(group) : 1;
            tree(all, chunks, w);
            finish(all, first_of(group), w);
        }
        return true;
    }
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
