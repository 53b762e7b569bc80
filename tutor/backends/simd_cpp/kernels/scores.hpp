// Rows of scores, as a softmax and its loss see them: in groups that fill vectors.
#pragma once

#include "math/math.hpp"
#include "walk/tree.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 8192;  // elements in about 10 us of work, an exponential for each

// ---- a group of rows ----------------------------------------------------------------------------

// The rows of a softmax are the slices of x along one axis. Long rows are handled one by one, with
// vectors along the row. Rows of up to 32 scores would leave most of a vector empty, and rows
// beside each other in memory would have to be transposed: of these, as many as a vector has lanes
// are interleaved, and each lane works on its own row. Both look alike to a formula: ROWS rows, 1
// or as many as lanes; score j of row r is x[j * ROWS + r].
constexpr int64_t SHORT = 32;

template <class F, int ROWS>
struct Group {
    static constexpr int WIDTH = lanes<F>;
    const F* x;
    F* y;           // the output, laid out as x; may be x
    F* rest;        // numbers of the last vector, of x and then of y, where a row does not fill it
    int64_t whole;  // numbers at x and y themselves, all vectors full
    int64_t size;   // with those at `rest`
    int rows;       // real rows, of ROWS

    vec<F> read(const F* from, int64_t i) const { return load(i < whole ? from + i : rest); }
    void write(int64_t i, vec<F> values) const { store(i < whole ? y + i : rest, values); }

    // One number per row, as a vector to compute with.
    vec<F> by_row(const F* numbers) const { return ROWS == 1 ? vec<F>(*numbers) : load(numbers); }

    // Reduced over each row: its result in all lanes for one row, else each lane's own. (Like the
    // following, compiled once for all dtypes computed in F.)
    [[gnu::noinline]] vec<F> max() const {
        vec<F> all = read(x, 0);
        for (int64_t i = WIDTH; i < size; i += WIDTH) all = xsimd::max(all, read(x, i));
        if (ROWS > 1) return all;
        return vec<F>(across(all, [](F a, F b) { return a > b ? a : b; }));
    }
    template <class Term>
    vec<F> sum(const Term& term) const {
        if (ROWS == 1) return vec<F>(sum_tree<F>(0, size, term));
        if (size > SHORT * ROWS)
            return sums_tree<F>(0, size / ROWS, [&](int64_t j) { return term(j * ROWS); });
        vec<F> all = term(0);
        for (int64_t i = WIDTH; i < size; i += WIDTH) all += term(i);
        return all;
    }

    // The number at each row's target, from x or y, whichever is `from`.
    vec<F> pick(const F* from, const int64_t* targets) const {
        F picked[WIDTH] = {};
        for (int r = 0; r < rows; r++) {
            const int64_t i = targets[r] * ROWS + r;
            picked[r] = i < whole ? from[i] : rest[i - whole];
        }
        return by_row(picked);
    }
    void put(vec<F> values, const int64_t* targets) const {
        F value[WIDTH];
        store(value, values);
        for (int r = 0; r < rows; r++) {
            const int64_t i = targets[r] * ROWS + r;
            (i < whole ? y[i] : rest[i - whole]) = value[r];
        }
    }
};

// Writes e^(x - max) to y and returns the sum. A nan or +inf among the scores makes the sum nan,
// and so does a row of -inf alone.
template <class G>
[[gnu::noinline]] auto exponentials(const G& group) {
    const auto max = group.max();
    return group.sum([&](int64_t i) {
        const auto e = math::exp(group.read(group.x, i) - max);
        group.write(i, e);
        return e;
    });
}

// ln of the sum of e^(x - max). Adding max gives the logarithm of the sum of e^x.
template <class G>
[[gnu::noinline]] auto log_sum(const G& group, decltype(group.max()) max) {
    const auto term = [&](int64_t i) { return math::exp(group.read(group.x, i) - max); };
    return math::log(group.sum(term));
}

// ---- all groups ---------------------------------------------------------------------------------

// Where the scores are: `rows` walks x and three more operands over all axes except the one that
// the scores of a row lie along.
template <class T>
struct Scores {
    Nest rows;
    int64_t classes;
    const T* x;
    int64_t x_stride;
    T* y = nullptr;  // none: nothing is written in the shape of x
    int64_t y_stride = 0;
};

using Places = const int64_t (*)[MAX_OPERANDS];  // offsets in each operand, row after row

constexpr int64_t TOGETHER = 64;      // rows to gather before they are computed ...
constexpr int64_t ENTRIES = 1 << 16;  // ... if they fit, with the L2 cache in mind
constexpr int64_t TURN = 16;          // strided scores of a row to take before the next row's turn

// Whether the rows of operand k lie beside each other, each running across the memory of them all.
template <class T>
bool side_by_side(const Scores<T>& scores, int k, int64_t stride) {
    const Nest& rows = scores.rows;
    return rows.depth > 0 && rows.stride[rows.depth - 1][k] == 1 && stride != 1;
}

// Uses a row in place, at `at`: only its last numbers, which do not fill a vector, are copied, and
// copied back if they were written.
template <class T, class Work>
void in_place(const Scores<T>& scores, int64_t row, Places at, const Work& work) {
    constexpr int WIDTH = lanes<T>;
    alignas(64) T rest[WIDTH];
    const int64_t left = scores.classes % WIDTH, whole = scores.classes - left;
    const T* x = scores.x + at[0][0];
    T* y = scores.y + at[0][1];
    if (left > 0) store(rest, load_part(x + whole, left, -std::numeric_limits<T>::infinity()));
    work(Group<T, 1>{x, y, rest, whole, ceil_div(scores.classes, WIDTH) * WIDTH, 1}, row, at);
    if (scores.y) std::memcpy(y + whole, rest, left * sizeof(T));
}

// Rows gathered into a tile, ROWS of them interleaved in each group.
template <int ROWS, class T>
struct Gathered {
    using F = Computed<T>;
    static constexpr F NOTHING = ROWS > 1 ? F(0) : -std::numeric_limits<F>::infinity();
    const Scores<T>& scores;
    int64_t first, rows, size, groups = ceil_div(rows, ROWS);  // `size` numbers of each group
    int64_t at[TOGETHER][MAX_OPERANDS], run[TOGETHER];         // from each row on, along one axis
    F* tile = static_cast<F*>(scratch(0, groups * size * sizeof(F)));

    Gathered(const Scores<T>& all, int64_t start, int64_t count, int64_t numbers)
        : scores(all), first(start), rows(count), size(numbers) {
        for (int64_t r = 0; r < rows; r++)
            run[r] = smaller(scores.rows.locate(first + r, at[r]), rows - r);
    }

    // Calls move(place in operand k, step there, place in the tile, step there, how many) until all
    // is moved: one score of neighbouring rows at a time, or a stretch of one row.
    template <class Move>
    void each_piece(int k, int64_t stride, const Move& move) const {
        const bool beside = ROWS > 1 && side_by_side(scores, k, stride);
        const int64_t stretch = beside ? 1 : stride == 1 ? scores.classes : TURN;
        for (int64_t j = 0; j < scores.classes; j += stretch)
            for (int64_t r = 0, n; r < rows; r += n) {
                n = beside ? smaller(run[r], ROWS - r % ROWS) : 1;
                const int64_t from = at[r][k] + j * stride;
                F* to = tile + r / ROWS * size + r % ROWS + j * ROWS;
                if (!beside)
                    move(from, stride, to, ROWS, smaller(stretch, scores.classes - j));
                else if (n == ROWS)
                    move(from, 1, to, 1, ROWS);  // one vector
                else
                    move(from, 1, to, 1, n);
            }
    }

    template <class Work>
    void compute(const Work& work) {
        if (rows % ROWS) std::memset(tile + (groups - 1) * size, 0, size * sizeof(F));
        each_piece(0, scores.x_stride,
                   [&](int64_t from, int64_t step, F* to, int64_t to_step, int64_t n) {
                       move_row(scores.x + from, step, to, to_step, n);
                   });
        for (int64_t g = 0; g < groups; g++) {
            F* x = tile + g * size;
            for (int64_t i = scores.classes * ROWS; i < size; i++) x[i] = NOTHING;
            const int real = static_cast<int>(smaller(ROWS, rows - g * ROWS));
            work(Group<F, ROWS>{x, x, nullptr, size, size, real}, first + g * ROWS, at + g * ROWS);
        }
        if (scores.y == nullptr) return;
        each_piece(1, scores.y_stride,
                   [&](int64_t to, int64_t step, const F* from, int64_t from_step, int64_t n) {
                       move_row(from, from_step, scores.y + to, step, n);
                   });
    }
};

// Calls work(group, number of the first row, places of its rows) for groups of ROWS rows. Long rows
// whose scores lie side by side are used in place. Others are gathered into a tile, many at once,
// because the cache lines of a strided row hold its neighbours as well.
template <int ROWS, class T, class Work>
Status each_group(const Scores<T>& scores, const Work& work) {
    using F = Computed<T>;
    constexpr int WIDTH = lanes<F>;
    constexpr bool may_stay = ROWS == 1 && std::is_same<T, F>::value;
    const int64_t row_count = scores.rows.count(), classes = scores.classes;
    const int64_t size = ROWS > 1 ? classes * ROWS : ceil_div(classes, WIDTH) * WIDTH;
    const bool stays =
        may_stay && scores.x_stride == 1 && (scores.y == nullptr || scores.y_stride == 1);
    if (classes == 0) return {Status::Ok, 0, 0};
    int64_t together = larger(1, smaller(TOGETHER, ENTRIES / classes));
    if (ROWS > 1) together = larger(1, together / ROWS) * ROWS;
    if (stays) together = 1;
    bool failed = false;
    parallel_each(ceil_div(row_count, together), classes * together, GRAIN, [&](int64_t index) {
        const int64_t first = index * together, rows = smaller(together, row_count - first);
        if constexpr (may_stay)
            if (stays) {
                int64_t at[1][MAX_OPERANDS];
                scores.rows.locate(first, at[0]);
                return in_place(scores, first, at, work);
            }
        Gathered<ROWS, T> gathered(scores, first, rows, size);
        if (gathered.tile == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        gathered.compute(work);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

template <class T, class Work>
Status each_group(const Scores<T>& scores, const Work& work) {
    constexpr int WIDTH = lanes<Computed<T>>;
    const bool crosswise = scores.classes <= SHORT ||
                           (side_by_side(scores, 0, scores.x_stride) &&
                            scores.classes * WIDTH <= 4 * ENTRIES);  // else too large for a cache
    return crosswise ? each_group<WIDTH>(scores, work) : each_group<1>(scores, work);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
