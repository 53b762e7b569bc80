// Reductions: sum prod mean max min argmax argmin over any set of axes.
//
// Ops (what is computed) -> Reducer (an op as functions on bytes) -> reduce_axes() (which memory is
// walked in which order; compiled once for all ops).
#include <limits>
#include <type_traits>

#include "rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- ops ----------------------------------------------------------------------------------------
// Element is what is read; of(x) makes it a Term. A Partial is what is known of some terms:
// none(position) of none of those from that position on; add(partial, term, position) includes one
// more; both(a, b) joins two stretches, b after a; result(partial, count) is the answer. LANES says
// over how many partial results a block is spread, see rows.hpp: 32 for sums and products of
// floats, and 1 where order changes nothing. SAME_BITS: an element as large as a Term already is
// that term.

// A sum or a product.
template <class T, class Combine>
struct Fold {
    static constexpr bool exact = std::numeric_limits<T>::is_integer;
    using Wide = std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>;
    using Element = T;
    using Partial = std::conditional_t<exact, uint64_t, Computed<T>>;  // unsigned: wraps
    using Term = Partial;
    using Result = std::conditional_t<exact, Wide, T>;
    using How = Combine;
    static constexpr int LANES = exact ? 1 : SUM_LANES;
    static constexpr bool SAME_BITS = true;
    static Partial none(int64_t) { return Combine::neutral; }
    static Term of(T x) { return convert<Term>(x); }
    static void add(Partial& all, Term x, int64_t) { all = both(all, x); }
    static Partial both(Partial a, Partial b) { return Combine()(a, b); }
    static Result result(Partial all, int64_t) { return convert<Result>(all); }
};

template <class Combine>
struct Fold<bool, Combine> : Fold<uint8_t, Combine> {
    using Result = int64_t;
    static uint64_t of(uint8_t x) { return x != 0; }
    static Result result(uint64_t all, int64_t) { return Result(all); }
};

template <class T>
using Sum = Fold<T, Plus>;
template <class T>
using Prod = Fold<T, Times>;

template <class T>
struct Mean : Sum<T> {
    using F = Computed<T>;
    static T result(F sum, int64_t count) { return convert<T>(sum / F(count)); }
};

// The smallest is the largest in the order turned round: ~key.
template <class T, bool TURNED>
struct Extreme {
    using Order = Ordered<T>;
    using Element = T;
    using Partial = typename Order::Key;
    using Term = Partial;
    using Result = T;
    static constexpr int LANES = 1;
    static constexpr bool SAME_BITS = std::numeric_limits<T>::is_integer && !TURNED;
    static Partial none(int64_t) { return std::numeric_limits<Partial>::min(); }
    static Term of(T x) {
        const Term key = TURNED ? Term(~Order::key(x)) : Order::key(x);
        return Order::is_nan(x) ? std::numeric_limits<Term>::max() : key;
    }
    static void add(Partial& largest, Term key, int64_t) { largest = both(largest, key); }
    static Partial both(Partial a, Partial b) { return a < b ? b : a; }
    static T result(Partial key, int64_t) { return Order::value(TURNED ? Partial(~key) : key); }
};
template <class T>
using Max = Extreme<T, false>;
template <class T>
using Min = Extreme<T, true>;

template <class T, bool TURNED>
struct ArgExtreme {
    using Keys = Extreme<T, TURNED>;
    using Element = T;
    using Term = typename Keys::Term;
    struct Partial {
        Term key;
        int64_t position;
    };
    using Result = int64_t;
    static constexpr int LANES = 1;
    static constexpr bool SAME_BITS = Keys::SAME_BITS;
    static Partial none(int64_t position) { return {Keys::none(0), position}; }
    static Term of(T x) { return Ordered<T>::zeros_alike(Keys::of(x)); }
    static void add(Partial& best, Term key, int64_t position) {
        if (best.key < key) best = {key, position};
    }
    static Partial both(Partial a, Partial b) { return a.key < b.key ? b : a; }
    static Result result(Partial best, int64_t) { return best.position; }
};
template <class T>
using ArgMax = ArgExtreme<T, false>;
template <class T>
using ArgMin = ArgExtreme<T, true>;

// ---- an op as functions on bytes ----------------------------------------------------------------

// Some rows of a matrix; the elements of one column are reduced together.
struct Columns {
    const char* data;
    int64_t rows, row_stride, columns, column_stride;
};

struct Reducer {
    int element_size, partial_size, lanes;
    void (*clear)(char* partials, int64_t count, int64_t position);
    // Adds `count` <= 512 elements, side by side, to one partial result.
    void (*add_row)(const char* elements, int64_t count, int64_t position, char* partial);
    // Adds each row to the `columns` partial results of its lane; `position` is the first row's.
    void (*add_columns)(const Columns& from, int64_t position, char* partials);
    void (*merge)(char* partials, const char* later, int64_t count);
    void (*finish)(const char* partials, int64_t count, int64_t terms, char* out, int64_t stride);
};

constexpr int TILE_BYTES = 512;  // partial results side by side; 32 lanes of them still fit in L1

template <class Op>
struct OnBytes {
    using Element = typename Op::Element;
    using Term = typename Op::Term;
    using Partial = typename Op::Partial;
    using Result = typename Op::Result;
    static constexpr bool IN_TREE = Op::LANES > 1;  // floats, added or multiplied
    static constexpr bool IN_PLACE = Op::SAME_BITS && sizeof(Element) == sizeof(Term);

    static void clear(char* partials, int64_t count, int64_t position) {
        for (int64_t i = 0; i < count; i++)
            reinterpret_cast<Partial*>(partials)[i] = Op::none(position);
    }

    // Terms side by side: the elements themselves, where they need no change, or made in `room`.
    static const Term* terms(const char* elements, int64_t stride, int64_t n, Term* room) {
        const Element* x = reinterpret_cast<const Element*>(elements);
        if (IN_PLACE && stride == 1) return reinterpret_cast<const Term*>(x);
        if constexpr (is_16_bit_float<Element> && IN_TREE) {
            if (stride == 1) return widen(n, room, x), room;
        }
        if (stride == 1)
            for (int64_t i = 0; i < n; i++) room[i] = Op::of(x[i]);
        else
            for (int64_t i = 0; i < n; i++) room[i] = Op::of(x[i * stride]);
        return room;
    }

    static Partial of_row(const Term* x, int64_t n, int64_t position) {
        if constexpr (IN_TREE) {
            using How = typename Op::How;
            const int64_t left = n % lanes<Term>;
            return combine_block<Term, How>(
                n, [&](int64_t i) { return load(x + i); },
                load_part(x + n - left, left, Term(How::neutral)));
        } else if constexpr (std::is_same<Term, Partial>::value) {
            Partial all = Op::none(position);
            for (int64_t i = 0; i < n; i++) all = Op::both(all, x[i]);
            return all;
        } else {  // argmax, argmin: the largest key first, at full width; then where it stands
            Term largest = Op::none(position).key;
            for (int64_t i = 0; i < n; i++) largest = largest < x[i] ? x[i] : largest;
            auto among = [&](int64_t i) {  // the 16 from i on
                bool found = false;
                for (int64_t l = 0; l < 16; l++) found |= x[i + l] == largest;
                return found;
            };
            int64_t i = 0;
            while (i + 16 <= n && !among(i)) i += 16;
            while (i < n - 1 && x[i] != largest) i++;
            return {largest, position + i};
        }
    }

    static void add_row(const char* elements, int64_t n, int64_t position, char* partial) {
        alignas(64) Term room[BLOCK];
        Partial& to = *reinterpret_cast<Partial*>(partial);
        to = Op::both(to, of_row(terms(elements, 1, n, room), n, position));
    }

    static void add_columns(const Columns& from, int64_t position, char* partials) {
        alignas(64) Term room[TILE_BYTES / sizeof(Partial)];
        const char* x = from.data;
        for (int64_t r = 0; r < from.rows; r++, x += from.row_stride * sizeof(Element)) {
            Partial* to = reinterpret_cast<Partial*>(partials);
            to += (position + r) % Op::LANES * from.columns;
            const Term* row = terms(x, from.column_stride, from.columns, room);
            for (int64_t c = 0; c < from.columns; c++) Op::add(to[c], row[c], position + r);
        }
    }

    static void merge(char* partials, const char* later, int64_t count) {
        Partial* a = reinterpret_cast<Partial*>(partials);
        const Partial* b = reinterpret_cast<const Partial*>(later);
        for (int64_t i = 0; i < count; i++) a[i] = Op::both(a[i], b[i]);
    }

    static void finish(const char* partials, int64_t n, int64_t terms, char* out, int64_t stride) {
        const Partial* from = reinterpret_cast<const Partial*>(partials);
        for (int64_t i = 0; i < n; i++)
            reinterpret_cast<Result*>(out)[i * stride] = Op::result(from[i], terms);
    }

    static constexpr Reducer reducer = {sizeof(Element), sizeof(Partial), Op::LANES, clear,
                                        add_row,         add_columns,     merge,     finish};
};

// ---- the walk -----------------------------------------------------------------------------------

template <int SIZE>
inline void copy_each(const char* from, int64_t stride, int64_t count, char* to) {
    for (int64_t i = 0; i < count; i++) std::memcpy(to + i * SIZE, from + i * stride * SIZE, SIZE);
}

// Puts `count` strided elements side by side.
void copy_elements(int size, const char* from, int64_t stride, int64_t count, char* to) {
    if (stride == 1) {
        std::memcpy(to, from, size * count);
        return;
    }
    switch (size) {
        case 1:
            return copy_each<1>(from, stride, count, to);
        case 2:
            return copy_each<2>(from, stride, count, to);
        case 4:
            return copy_each<4>(from, stride, count, to);
        case 8:
            return copy_each<8>(from, stride, count, to);
    }
}

// Up to TILE_BYTES of partial results, beside each other along one kept axis: `outputs` of them,
// whose elements are `stride` apart. `terms` are the reduced axes.
struct Tile {
    const Reducer& op;
    const Nest& terms;
    int64_t term_count;
    bool by_columns;
    const char* x;
    int64_t outputs, stride;

    // One block by rows: the terms of one output after another.
    void add_rows(int64_t begin, int64_t end, char* partials) const {
        alignas(64) char side_by_side[BLOCK * 8];
        int64_t offset[MAX_OPERANDS];
        const int64_t first_run = terms.locate(begin, offset), first = offset[0];
        const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 1;
        const bool contiguous = first_run >= end - begin && step == 1;
        op.clear(partials, outputs, begin);
        for (int64_t c = 0; c < outputs; c++) {
            const char* from = x + c * stride * op.element_size;
            const char* row = side_by_side;
            if (contiguous)
                row = from + first * op.element_size;
            else
                for (int64_t p = begin, run; p < end; p += run) {
                    run = smaller(terms.locate(p, offset), end - p);
                    copy_elements(op.element_size, from + offset[0] * op.element_size, step, run,
                                  side_by_side + (p - begin) * op.element_size);
                }
            op.add_row(row, end - begin, begin, partials + c * op.partial_size);
        }
    }

    // One block by columns: all outputs at once, one term after another.
    void add_columns(int64_t begin, int64_t end, char* partials) const {
        alignas(64) char lane[SUM_LANES * TILE_BYTES];
        int64_t used = smaller(op.lanes, end - begin), offset[MAX_OPERANDS];
        op.clear(lane, used * outputs, begin);
        for (int64_t p = begin, run; p < end; p += run) {
            run = smaller(terms.locate(p, offset), end - p);
            const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
            op.add_columns({x + offset[0] * op.element_size, run, step, outputs, stride}, p, lane);
        }
        for (int64_t half = op.lanes / 2; half > 0; half /= 2)
            if (used > half) {
                op.merge(lane, lane + half * outputs * op.partial_size, (used - half) * outputs);
                used = half;
            }
        std::memcpy(partials, lane, outputs * op.partial_size);
    }

    // The pairwise tree over `count` leaves from `first` on.
    template <class Leaf>
    void tree(int64_t first, int64_t count, char* partials, const Leaf& leaf) const {
        if (count == 1) return leaf(first, partials);
        alignas(64) char right[TILE_BYTES];
        const int64_t half = left_half(count);
        tree(first, half, partials, leaf);
        tree(first + half, count - half, right, leaf);
        op.merge(partials, right, outputs);
    }

    void add_blocks(int64_t first, int64_t count, char* partials) const {
        tree(first, count, partials, [&](int64_t block, char* to) {
            const int64_t begin = block * BLOCK, end = smaller(begin + BLOCK, term_count);
            if (by_columns && begin < end)
                add_columns(begin, end, to);
            else if (begin < end)
                add_rows(begin, end, to);
            else
                op.clear(to, outputs, 0);
        });
    }
};

// Work for a thread: 32 K elements. A power of two of blocks, so that long sums, when they are cut
// here, are whole subtrees of the one tree.
constexpr int64_t GRAIN = 64 * BLOCK;

Status reduce_axes(const Reducer& op, const Operand& out, const Operand& x, const Params& params) {
    bool reduced[MAX_DIMS] = {};
    for (int i = 0; i < params.axis_count; i++) reduced[params.axis[i]] = true;
    Nest kept, terms;
    int axes[MAX_DIMS], out_axis[MAX_DIMS], count = 0;
    for (int d = 0; d < x.ndim; d++) {
        if (reduced[d]) {
            terms.add(x.shape[d], {x.strides[d]});
        } else {
            out_axis[d] = count;
            axes[count++] = d;
        }
    }
    sort_axes(axes, count, x.strides);
    for (int i = 0; i < count; i++)
        kept.add(x.shape[axes[i]], {x.strides[axes[i]], out.strides[out_axis[axes[i]]]});
    const Nest side = kept.split_inner();
    const int64_t outputs = side.size[0], stride = side.stride[0][0],
                  out_stride = side.stride[0][1];
    const int64_t term_count = terms.count();

    // By columns where that walks along memory, and where there are too few terms to fill vectors.
    const int64_t step = terms.depth > 0 ? terms.stride[terms.depth - 1][0] : 0;
    const bool by_columns = outputs > 1 && (term_count <= SUM_LANES ||
                                            (outputs >= 8 && magnitude(stride) < magnitude(step)));

    const int64_t width = TILE_BYTES / op.partial_size, tiles = ceil_div(outputs, width);
    const int64_t chunks = larger(1, ceil_div(term_count, GRAIN));
    const int64_t pieces = kept.count() * tiles * chunks;
    char* partials = nullptr;  // of the chunks, where a sum is cut into several
    if (chunks > 1) {
        partials = static_cast<char*>(scratch(0, pieces * TILE_BYTES));
        if (partials == nullptr) return {Status::OutOfMemory, 0, 0};
    }
    auto tile_at = [&](int64_t index, char*& to) -> Tile {
        int64_t offset[MAX_OPERANDS];
        kept.locate(index / tiles, offset);
        const int64_t first = index % tiles * width;
        to = out.data + (offset[1] + first * out_stride) * itemsize_of[out.dtype];
        return {op,
                terms,
                term_count,
                by_columns,
                x.data + (offset[0] + first * stride) * op.element_size,
                smaller(width, outputs - first),
                stride};
    };
    const int64_t blocks = larger(1, ceil_div(term_count, BLOCK)), per_chunk = GRAIN / BLOCK;
    const int64_t cost = smaller(width, outputs) * smaller(GRAIN, term_count);
    parallel_each(pieces, cost, GRAIN, [&](int64_t piece) {
        alignas(64) char here[TILE_BYTES];
        char* to;
        const Tile tile = tile_at(piece / chunks, to);
        const int64_t first = piece % chunks * per_chunk;
        char* result = chunks > 1 ? partials + piece * TILE_BYTES : here;
        tile.add_blocks(first, smaller(per_chunk, blocks - first), result);
        if (chunks == 1) op.finish(here, tile.outputs, term_count, to, out_stride);
    });
    for (int64_t index = 0; chunks > 1 && index < pieces / chunks; index++) {
        alignas(64) char all[TILE_BYTES];
        char* to;
        const Tile tile = tile_at(index, to);
        tile.tree(index * chunks, chunks, all, [&](int64_t piece, char* into) {
            std::memcpy(into, partials + piece * TILE_BYTES, TILE_BYTES);
        });
        op.finish(all, tile.outputs, term_count, to, out_stride);
    }
    return {Status::Ok, 0, 0};
}

// ---- the table ----------------------------------------------------------------------------------

template <class Op>
Status run(const Operand& out, const Operand* ins, int, const Params& params) {
    return reduce_axes(OnBytes<Op>::reducer, out, ins[0], params);
}

const Row rows[] = {
#define ROW(name, type, format)                                          \
    {"sum", name, Form::Reduce, "ST", "axis", run<Sum<type>>},           \
        {"prod", name, Form::Reduce, "ST", "axis", run<Prod<type>>},     \
        {"max", name, Form::Reduce, "TT", "axis", run<Max<type>>},       \
        {"min", name, Form::Reduce, "TT", "axis", run<Min<type>>},       \
        {"argmax", name, Form::Reduce, "iT", "axis", run<ArgMax<type>>}, \
        {"argmin", name, Form::Reduce, "iT", "axis", run<ArgMin<type>>},
    TUTOR_FOR_EACH_DTYPE(ROW)
#undef ROW
        {"mean", Float16, Form::Reduce, "TT", "axis", run<Mean<half_t>>},
    {"mean", BFloat16, Form::Reduce, "TT", "axis", run<Mean<bfloat_t>>},
    {"mean", Float32, Form::Reduce, "TT", "axis", run<Mean<float>>},
    {"mean", Float64, Form::Reduce, "TT", "axis", run<Mean<double>>},
};

}  // namespace

Rows reduce() { return {rows, sizeof rows / sizeof *rows}; }

}  // namespace TUTOR_LEVEL
}  // namespace tutor
