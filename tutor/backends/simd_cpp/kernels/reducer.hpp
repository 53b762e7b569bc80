// A reduction's op as functions on bytes: so the walk over its operands is compiled once for all.
#pragma once

#include "kernels/reductions.hpp"
#include "parts.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// What only partial results take part in is compiled once for all ops that have the same ones.
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

    // Adds n > 0 elements, side by side: at most 512 if in a tree. Converted and combined in one
    // pass.
    static void add_row(const char* elements, int64_t n, int64_t position, char* partial) {
        const Element* x = reinterpret_cast<const Element*>(elements);
        Partial& to = *reinterpret_cast<Partial*>(partial);
        if constexpr (IN_TREE) {
            using How = typename Op::How;
            const int64_t left = n % lanes<Term>;
            Term last[lanes<Term>];
            convert_row(left, last, x + n - left);
            to = combine_block<Term, How>(
                n, [&](int64_t i) { return load_wide(x + i); },
                load_part(last, left, Term(How::neutral)));
        } else if constexpr (std::is_same<Term, Partial>::value) {
            to = Op::both(to, Op::of_all(n, x));
        } else {  // argmax, argmin: where the largest stands matters only if it is a new one
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
#pragma GCC ivdep
                    for (int64_t c = 0; c < from.columns; c++)
                        Op::add(lane[c], Op::of(row[c]), position + r);
                } else {
                    for (int64_t c = 0; c < from.columns; c++)
                        Op::add(lane[c], Op::of(row[c * from.column_stride]), position + r);
                }
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
                                        merge_partials<Partial, typename Op::Join>,
                                        finish};
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
