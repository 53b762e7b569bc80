// A chain of elementwise kernels as one: no number between two of them ever reaches memory.
//
// The iteration space is cut into tiles of some thousand elements. For each tile one instruction
// after another is run by the inner loop of its own kernel (parts.hpp): on registers, which are
// pieces of the L1 cache, and on the operands, in place where their elements lie side by side.
// What is computed is what those kernels compute one by one, so it has the same bits; but each
// operand is read from memory, and each result written, once. A reduction at the end follows the
// one tree (walk/tree.hpp) that it follows over an operand in memory. A product at the beginning is
// computed by its own kernel; whenever some rows of it are complete, the rest of the chain is run
// on them, while they are in the cache.
#include <new>

#include "fused.rows.hpp"
#include "kernels/fused_reduction.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// How many elements a tile has: whole periods of each operand that repeats within it.
int64_t tile_of(const Call& call) {
    int64_t tile = TILE;
    for (int k = 1; k <= call.reads; k++) {
        const int64_t period = call.path[k].period();
        if (period > 1 && period < tile) tile = tile / period * period;
    }
    return tile;
}

// Runs the whole chain in tiles, without a reduction. *refused: the instruction that refuses.
bool run_tiles(const Call& call, bool tries, int* refused) {
    const int64_t tile = tile_of(call);
    *refused = MAX_CODE;
    const int64_t pieces = ceil_div(call.count, tile);
    return each_piece(call, tries, pieces, tile, 0, [&](Tiles& tiles, int64_t i) {
        const int64_t begin = i * tile, n = smaller(tile, call.count - begin);
        const int found = tiles.run(begin, n, [](const char*) {});
        int before = __atomic_load_n(refused, __ATOMIC_RELAXED);
        while (found < before && !__atomic_compare_exchange_n(refused, &before, found, true,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    });
}

constexpr Status OK = {Status::Ok, 0, 0}, OUT_OF_MEMORY = {Status::OutOfMemory, 0, 0};

// The call, in scratch memory: it is larger than a page, and a thread's stack may be small.
// nullptr: out of memory.
const Call* call_of(const Operand& out, const Operand* ins, int count, const Params& params) {
    void* room = scratch(6, sizeof(Call));
    return room ? new (room) Call(out, ins, count, params) : nullptr;
}

// ---- behind a product ---------------------------------------------------------------------------

// The chain, run on rows of the product at place 1.
struct Following : Then {
    const Call& call;
    bool begun = false;  // has the product called it?
    bool enough = true;  // room for tiles

    explicit Following(const Call& what) : Then{run_rows}, call(what) {}

    static void run_rows(const Then& then, char* first, int64_t n) {
        auto& self = const_cast<Following&>(static_cast<const Following&>(then));
        const Call& call = self.call;
        __atomic_store_n(&self.begun, true, __ATOMIC_RELAXED);
        const int64_t itemsize = call.path[1].itemsize, tile = tile_of(call);
        char* room = static_cast<char*>(scratch(4, Tiles::size(call)));
        if (room == nullptr) {
            __atomic_store_n(&self.enough, false, __ATOMIC_RELAXED);
            return;
        }
        Tiles tiles(call, room, false);
        const int64_t begin = (first - call.path[1].data) / itemsize;
        for (int64_t at = 0; at < n; at += tile)
            tiles.run(begin + at, smaller(tile, n - at), [](const char*) {});
    }
};

// Whether elements follow one another in memory, in the order of their indices.
bool gapless(const Operand& x) {
    int64_t step = 1;
    for (int d = x.ndim - 1; d >= 0; step *= x.shape[d--])
        if (x.shape[d] != 1 && x.strides[d] != step) return false;
    return true;
}

// Where the product can be: where out will be, if nobody needs what is there. Then the chain may
// follow row by row, if they lie as the chain goes, and are no shorter than a vector: the product
// computes columns first else. (Nor does it go on by rows where it cuts them: see `multiply`.)
struct Place {
    static constexpr int64_t LEAST = 16;  // columns
    bool in_out, by_rows;

    Place(const Operand& out, const Operand* ins, int count, const Code& code) {
        in_out = out.dtype == code.of[0].row->dtype;
        by_rows = out.ndim > 0 && out.shape[out.ndim - 1] >= LEAST && gapless(out);
        const int inputs = count + 1 - code.results;
        for (int k = code.product; k < inputs; k++) in_out &= ins[k].data != out.data;
        for (int k = 0; k < code.product; k++) {
            in_out &= ins[k].data != out.data;
            for (int z = inputs; z < count; z++) by_rows &= ins[k].data != ins[z].data;
        }
        by_rows &= in_out;
    }
};

Status run_product(const Operand& out, const Operand* ins, int count, const Params& params) {
    const Code& code = params.code;
    const Row& row = *code.of[0].row;
    const Place place(out, ins, count, code);
    auto* given = static_cast<Operand*>(scratch(7, MAX_FUSED * sizeof(Operand)));
    if (given == nullptr) return OUT_OF_MEMORY;
    Operand& made = given[0];
    made = out;
    if (!place.in_out) {
        int64_t elements = 1;
        for (int d = out.ndim - 1; d >= 0; elements *= out.shape[d--]) made.strides[d] = elements;
        made.dtype = row.dtype;
        made.data = static_cast<char*>(scratch(5, elements * itemsize_of[row.dtype]));
        if (made.data == nullptr) return OUT_OF_MEMORY;
    }
    for (int k = 1; k < count; k++) given[k] = k < code.product ? made : ins[k];
    const Call* call = call_of(out, given, count, params);
    if (call == nullptr) return OUT_OF_MEMORY;
    Following then(*call);
    Params own;
    own.number[0] = 0;  // no relu
    own.then = place.by_rows ? &then : nullptr;
    const Status status = row.run(made, ins, code.product, own);
    if (status.kind != Status::Ok) return status;
    int refused;
    if (!then.begun) then.enough = run_tiles(*call, false, &refused);
    return then.enough ? OK : OUT_OF_MEMORY;
}

// ---- the kernel ---------------------------------------------------------------------------------

Status fused(const Operand& out, const Operand* ins, int count, const Params& params) {
    if (params.code.product > 0) return run_product(out, ins, count, params);
    const Call* made = call_of(out, ins, count, params);
    if (made == nullptr) return OUT_OF_MEMORY;
    const Call& call = *made;
    int refused;
    if (call.refuses) {  // then nothing may be written: a dry run comes first
        if (!run_tiles(call, true, &refused)) return OUT_OF_MEMORY;
        if (refused < MAX_CODE) return {params.code.of[refused].work->refuses, refused, 0};
    }
    if (call.reduction) return Reduction(call).run() ? OK : OUT_OF_MEMORY;
    return run_tiles(call, false, &refused) ? OK : OUT_OF_MEMORY;
}

}  // namespace

TABLE(fused, KERNEL(fused, fused))

}  // namespace TUTOR_LEVEL
}  // namespace tutor
