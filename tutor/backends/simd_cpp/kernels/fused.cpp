// A chain of elementwise kernels as one: no number between two of them ever reaches memory.
//
// The iteration space is cut into tiles of some thousand elements. For each tile one instruction
// after another is run by the inner loop of its own kernel (parts.hpp): on registers, which are
// pieces of the L1 cache, and on the operands, in place where their elements lie side by side.
// What is computed is what those kernels compute one by one, so it has the same bits; but each
// operand is read from memory, and each result written, once. A reduction at the end follows the
// one tree (walk/tree.hpp) that it follows over an operand in memory.
#include "fused.rows.hpp"
#include "kernels/fused_reduction.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

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

// ---- the kernel ---------------------------------------------------------------------------------

constexpr Status OK = {Status::Ok, 0, 0}, OUT_OF_MEMORY = {Status::OutOfMemory, 0, 0};

Status fused(const Operand& out, const Operand* ins, int count, const Params& params) {
    const Call call(out, ins, count, params);
    int refused;
    if (call.refuses) {  // then nothing may be written: first the same, only to see
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
