// A reduction's op as functions on bytes, so that the walk over operands is compiled once for all.
#pragma once

#include "kernels/reductions.hpp"
#include "parts.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// How many bytes ahead a row is prefetched: a page. (For 1 M floats, distances from 0 to 4096 bytes
// differed by no more than the measurements did.)
constexpr int64_t AHEAD = 4096;

// Functions of partial results alone are compiled once for all ops with the same ones.
template <class Partial>
void clear_partials(Partial none, char* partials, int64_t count) {
    for (int64_t i = 0; i < count; i++) reinterpret_cast<Partial*>(partials)[i] = none;
}

template <class Partial, class Join>
void merge_partials(char* partials, const char* later, int64_t count) {
    Partial* a = reinterpret_cast<Partial*>(partials);
    const Partial* b = reinterpret_cast<const Partial*>(later);
    for (int64_t i = 0; i < count; i++) a[i] = Join::both(a[i], b[i]);
}

// In place, and level by level: left_half() says which two are added.
template <class Partial, class Join>
void tree_of_partials(char* partials, int64_t count) {
    Partial* all = reinterpret_cast<Partial*>(partials);
    for (; count > 1; count = ceil_div(count, 2)) {
        for (int64_t i = 0; i < count / 2; i++) all[i] = Join::both(all[2 * i], all[2 * i + 1]);
        if (count % 2 == 1) all[count / 2] = all[count - 1];
    }
}

template <class Op>
struct OnBytes {
    using Element = typename Op::Element;
    using Term = typename Op::Term;
    using Partial = typename Op::Partial;
    using Result = typename Op::Result;
    static constexpr bool IN_TREE = Op::LANES > 1;  // floats, added or multiplied

    static void clear(char* partials, int64_t count, int64_t position) {
        clear_partials<Partial>(Op::none(position), partials, count);
    }

    // One block of n <= 512 terms, converted and combined in one pass.
    static Partial add_block(int64_t n, const Element* x) {
        using How = typename Op::How;
        constexpr Term none(How::neutral);
        const auto term = [&](int64_t i) {
            __builtin_prefetch(reinterpret_cast<const char*>(x + i) + AHEAD);
            return load_wide(x + i);
        };
        if (n == BLOCK)  // a constant, so the compiler plans for no rest
            return combine_block<Term, How>(BLOCK, term, vec<Term>(none));
        const int64_t left = n % lanes<Term>;
        alignas(64) Term rest[lanes<Term>];
        store(rest, vec<Term>(none));
        convert_row(left, rest, x + n - left);
        return combine_block<Term, How>(n, term, load(rest));
    }

    // Adds n > 0 elements, side by side.
    static void add_row(const char* elements, int64_t n, int64_t position, char* partial) {
        const Element* x = reinterpret_cast<const Element*>(elements);
        Partial& to = *reinterpret_cast<Partial*>(partial);
        if constexpr (IN_TREE) {
            for (int64_t at = 0; at < n; at += BLOCK)
                (&to)[at / BLOCK] = add_block(smaller(BLOCK, n - at), x + at);
        } else if constexpr (std::is_same<Term, Partial>::value) {
            to = Op::both(to, Op::of_all(n, x));
        } else {  // argmax, argmin: the position matters only if the largest is new
            const Element most = Op::most(n, x);
            const Term key = Op::of(most);
            if (to.key < key) to = {key, position + Op::first(n, x, most)};
        }
    }

    static void add_columns(const Columns& from, int64_t position, char* partials) {
        const Element* row = reinterpret_cast<const Element*>(from.data);
        Partial* to = reinterpret_cast<Partial*>(partials);
        if constexpr (!std::is_same<Term, Partial>::value) {  // argmax, argmin
            constexpr int64_t MOST = 1 << 30;
            static_assert(TILE_BYTES / sizeof(Partial) <= 64);
            for (int64_t r = 0; r < from.rows; r += MOST)
                Op::add_rows(smaller(MOST, from.rows - r), from.columns, row + r * from.row_stride,
                             from.row_stride, from.column_stride, position + r, to);
        } else {
            for (int64_t r = 0; r < from.rows; r++, row += from.row_stride) {
                Partial* lane = to + (position + r) % Op::LANES * from.columns;
                if (from.column_stride == 1) {
                    TUTOR_INDEPENDENT
                    for (int64_t c = 0; c < from.columns; c++)
                        Op::add(lane[c], Op::of(row[c]), position + r);
                } else {
                    for (int64_t c = 0; c < from.columns; c++)
                        Op::add(lane[c], Op::of(row[c * from.column_stride]), position + r);
                }
            }
        }
    }

    // K registers full of columns from number c on: the rows go through them from top to bottom.
    template <int K>
    static void add_vectors(const Lane& lane, const Waiting* left, int64_t c, Partial* to) {
        constexpr int L = lanes<Term>;
        constexpr typename Op::How how;
        vec<Term> all[K];
        for (int k = 0; k < K; k++) all[k] = vec<Term>(Term(Op::How::neutral));
        for (int64_t r = 0; r < lane.count; r++) {
            const Element* row = reinterpret_cast<const Element*>(lane.rows[r]) + c;
#pragma GCC unroll 4
            for (int k = 0; k < K; k++) {
                __builtin_prefetch(row + (K + k) * L);
                all[k] = how(all[k], load_wide(row + k * L));
            }
        }
        for (; left; left = left->next) {
            const Partial* before = reinterpret_cast<const Partial*>(left->partials) + c;
#pragma GCC unroll 4
            for (int k = 0; k < K; k++) all[k] = how(load(before + k * L), all[k]);
        }
#pragma GCC unroll 4
        for (int k = 0; k < K; k++) store(to + c + k * L, all[k]);
    }

    // (`partials` is not one of those that wait, so columns may be computed twice.)
    static void add_lane(const Lane& lane, const Waiting* left, char* partials) {
        if constexpr (IN_TREE) {
            constexpr int L = lanes<Term>, SIDE_BY_SIDE = 4;
            Partial* to = reinterpret_cast<Partial*>(partials);
            const int64_t n = lane.columns;
            int64_t c = 0;
            if (lane.column_stride == 1 && n >= L) {
                for (; c + SIDE_BY_SIDE * L <= n; c += SIDE_BY_SIDE * L)
                    add_vectors<SIDE_BY_SIDE>(lane, left, c, to);
                for (; c < n; c += L) add_vectors<1>(lane, left, smaller(c, n - L), to);
            }
            for (; c < n; c++) {
                Partial all = Op::none(0);
                for (int64_t r = 0; r < lane.count; r++) {
                    const Element* row = reinterpret_cast<const Element*>(lane.rows[r]);
                    all = Op::both(all, Op::of(row[c * lane.column_stride]));
                }
                for (const Waiting* w = left; w; w = w->next)
                    all = Op::both(reinterpret_cast<const Partial*>(w->partials)[c], all);
                to[c] = all;
            }
        }
    }

    static void finish(const char* partials, int64_t n, int64_t terms, char* out, int64_t stride) {
        const Partial* from = reinterpret_cast<const Partial*>(partials);
        for (int64_t i = 0; i < n; i++)
            reinterpret_cast<Result*>(out)[i * stride] = Op::result(from[i], terms);
    }

    using Same = OnBytes<typename Alike<Op>::type>;
    static constexpr Reducer reducer = {sizeof(Element),
                                        sizeof(Partial),
                                        Op::LANES,
                                        Same::clear,
                                        Same::add_row,
                                        Same::add_columns,
                                        Same::add_lane,
                                        merge_partials<Partial, typename Op::Join>,
                                        tree_of_partials<Partial, typename Op::Join>,
                                        finish};
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
