// Fused kernels: softmax and its loss in one or two passes over the scores. float16 and bfloat16
// are computed in float and rounded once.
#include "math.hpp"
#include "rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 8192;  // elements in about 10 us of work, an exponential for each

// ---- rows of scores -----------------------------------------------------------------------------

// The rows of a softmax are the slices of x along one axis. Long rows are handled one by one, with
// vectors along the row. Rows of up to 32 scores would leave most of a vector empty, and rows that
// lie beside each other would have to be turned: of these, as many as a vector has lanes are laid
// crosswise, and each lane works on a row of its own. To a formula the two look alike: ROWS rows, 1
// or as many as lanes; score j of row r at x[j * ROWS + r].
constexpr int64_t SHORT = 32;

template <class F, int ROWS>
struct Group {
    static constexpr int WIDTH = lanes<F>;
    const F* x;
    F* y;           // what is to be written, laid out as x; may be x
    F* rest;        // numbers of the last vector, of x and then of y, where a row does not fill it
    int64_t whole;  // numbers at x and y themselves, all vectors full
    int64_t size;   // with those at `rest`
    int rows;       // rows that are real, of ROWS

    vec<F> read(const F* from, int64_t i) const { return load(i < whole ? from + i : rest); }
    void write(int64_t i, vec<F> values) const { store(i < whole ? y + i : rest, values); }

    // One number per row, as a vector to compute with.
    vec<F> by_row(const F* numbers) const { return ROWS == 1 ? vec<F>(*numbers) : load(numbers); }

    // Combined over each row: in all lanes the one row's result, or in each lane that of its row.
    vec<F> max() const {
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

    // The number of x, or by now of y, that stands at each row's target.
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
// and so does a row of nothing but -inf.
template <class G>
inline auto exponentials(const G& group) {
    const auto max = group.max();
    return group.sum([&](int64_t i) {
        const auto e = math::exp(group.read(group.x, i) - max);
        group.write(i, e);
        return e;
    });
}

struct Softmax {
    template <class G>
    void operator()(const G& group) const {
        const auto sum = exponentials(group), inverse = decltype(sum)(1) / sum;  // sum >= 1
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.y, i) * inverse);
    }
};

// ln of the sum of e^(x - max), which with max makes the logarithm of the sum of e^x.
template <class G>
inline auto log_sum(const G& group, decltype(group.max()) max) {
    const auto term = [&](int64_t i) { return math::exp(group.read(group.x, i) - max); };
    return math::log(group.sum(term));
}

struct LogSoftmax {
    template <class G>
    void operator()(const G& group) const {
        const auto max = group.max(), log = log_sum(group, max);
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.x, i) - max - log);
    }
};

// Where the scores are: `rows` walks x and three more operands over all axes but the one that the
// scores of a row lie along.
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

// Whether the rows of operand k lie beside each other, each walking across the memory of them all.
template <class T>
bool side_by_side(const Scores<T>& scores, int k, int64_t stride) {
    const Nest& rows = scores.rows;
    return rows.depth > 0 && rows.stride[rows.depth - 1][k] == 1 && stride != 1;
}

// Calls work(group, number of the first row, places of its rows) for groups of ROWS rows. Long rows
// whose scores lie side by side are used where they are, others gathered into a tile: many of them,
// for the cache lines of a strided row hold its neighbours, too.
template <int ROWS, class T, class Work>
Status each_group(const Scores<T>& scores, const Work& work) {
    using F = Computed<T>;
    constexpr int WIDTH = lanes<F>;
    constexpr F NOTHING = ROWS > 1 ? F(0) : -std::numeric_limits<F>::infinity();
    const int64_t row_count = scores.rows.count(), classes = scores.classes;
    const int64_t size = ROWS > 1 ? classes * ROWS : ceil_div(classes, WIDTH) * WIDTH;
    const bool in_place = ROWS == 1 && std::is_same<T, F>::value && scores.x_stride == 1 &&
                          (scores.y == nullptr || scores.y_stride == 1);
    if (classes == 0) return {Status::Ok, 0, 0};
    int64_t together = larger(1, smaller(TOGETHER, ENTRIES / classes));
    if (ROWS > 1) together = larger(1, together / ROWS) * ROWS;
    if (in_place) together = 1;
    bool failed = false;
    parallel_each(ceil_div(row_count, together), classes * together, GRAIN, [&](int64_t index) {
        const int64_t first = index * together, rows = smaller(together, row_count - first);
        int64_t at[TOGETHER][MAX_OPERANDS], run[TOGETHER];  // from each row on, along one axis
        for (int64_t r = 0; r < rows; r++)
            run[r] = smaller(scores.rows.locate(first + r, at[r]), rows - r);

        if (in_place) {
            alignas(64) F rest[WIDTH];
            const int64_t left = classes % WIDTH, whole = classes - left;
            const F* x = reinterpret_cast<const F*>(scores.x + at[0][0]);
            F* y = reinterpret_cast<F*>(scores.y + at[0][1]);
            if (left > 0) store(rest, load_part(x + whole, left, NOTHING));
            work(Group<F, ROWS>{x, y, rest, whole, size, 1}, first, at);
            if (scores.y) std::memcpy(y + whole, rest, left * sizeof(F));
            return;
        }
        const int64_t groups = ceil_div(rows, ROWS);
        F* tile = static_cast<F*>(scratch(0, groups * size * sizeof(F)));
        if (tile == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);

        // Calls move(place in operand k, step there, place in the tile, step there, how many) until
        // all is moved: a score of neighbouring rows at a time, or a stretch of one row.
        const auto each_piece = [&](int k, int64_t stride, const auto& move) {
            const bool beside = ROWS > 1 && side_by_side(scores, k, stride);
            const int64_t stretch = beside ? 1 : stride == 1 ? classes : TURN;
            for (int64_t j = 0; j < classes; j += stretch)
                for (int64_t r = 0, n; r < rows; r += n) {
                    n = beside ? smaller(run[r], ROWS - r % ROWS) : 1;
                    const int64_t from = at[r][k] + j * stride;
                    F* to = tile + r / ROWS * size + r % ROWS + j * ROWS;
                    if (!beside)
                        move(from, stride, to, ROWS, smaller(stretch, classes - j));
                    else if (n == ROWS)
                        move(from, 1, to, 1, ROWS);  // one vector
                    else
                        move(from, 1, to, 1, n);
                }
        };
        if (rows % ROWS) std::memset(tile + (groups - 1) * size, 0, size * sizeof(F));
        each_piece(0, scores.x_stride,
                   [&](int64_t from, int64_t step, F* to, int64_t to_step, int64_t n) {
                       move_row(scores.x + from, step, to, to_step, n);
                   });
        for (int64_t g = 0; g < groups; g++) {
            F* x = tile + g * size;
            for (int64_t i = classes * ROWS; i < size; i++) x[i] = NOTHING;
            const int real = static_cast<int>(smaller(ROWS, rows - g * ROWS));
            work(Group<F, ROWS>{x, x, nullptr, size, size, real}, first + g * ROWS, at + g * ROWS);
        }
        if (scores.y == nullptr) return;
        each_piece(1, scores.y_stride,
                   [&](int64_t to, int64_t step, const F* from, int64_t from_step, int64_t n) {
                       move_row(from, from_step, scores.y + to, step, n);
                   });
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

template <class T, class Formula>
Status softmax(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand& x = ins[0];
    const int64_t axis = params.axis_count > 0 ? params.axis[0] : -1;  // none for a single number
    const T* from = reinterpret_cast<const T*>(x.data);
    Scores<T> scores{{}, 1, from, 1, reinterpret_cast<T*>(out.data), 1};
    for (int d = 0; d < x.ndim; d++)
        if (d != axis) scores.rows.add(x.shape[d], {x.strides[d], out.strides[d]});
    if (axis >= 0) {
        scores.classes = x.shape[axis];
        scores.x_stride = x.strides[axis];
        scores.y_stride = out.strides[axis];
    }
    return each_group(scores, [](const auto& group, int64_t, Places) { Formula()(group); });
}

// ---- cross entropy ------------------------------------------------------------------------------

// The targets of a group's rows, operand 2.
template <int ROWS>
struct Targets {
    int64_t of[ROWS] = {};
    Targets(const Operand& t, Places at, int rows) {
        for (int r = 0; r < rows; r++) of[r] = reinterpret_cast<const int64_t*>(t.data)[at[r][2]];
    }
};

// Every target, before anything is written.
Status check_targets(const Nest& rows, const Operand& t, int64_t classes) {
    int64_t at[MAX_OPERANDS];
    for (int64_t row = 0, count = rows.count(); row < count; row++) {
        rows.locate(row, at);
        const int64_t target = reinterpret_cast<const int64_t*>(t.data)[at[2]];
        if (target < 0 || target >= classes) return {Status::IndexOutOfRange, target, classes};
    }
    return {Status::Ok, 0, 0};
}

// l = ln sum_j e**x_j - x_t
template <class T>
Status cross_entropy(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &t = ins[1];
    const int last = x.ndim - 1;
    const bool total = out.ndim < last;
    const T* from = reinterpret_cast<const T*>(x.data);
    Scores<T> scores{{}, x.shape[last], from, x.strides[last]};
    for (int d = 0; d < last; d++)
        scores.rows.add(x.shape[d], {x.strides[d], 0, t.strides[d], total ? 0 : out.strides[d]});
    const Status targets = check_targets(scores.rows, t, scores.classes);
    if (targets.kind != Status::Ok) return targets;

    const F scale = static_cast<F>(params.number[0]);
    const int64_t rows = scores.rows.count(), padded = ceil_div(rows, lanes<F>) * lanes<F>;
    F* losses = nullptr;  // to be added up, where `out` is 0-d
    if (total) {
        losses = static_cast<F*>(scratch(1, padded * sizeof(F)));
        if (losses == nullptr) return {Status::OutOfMemory, 0, 0};
        for (int64_t i = rows; i < padded; i++) losses[i] = 0;
    }
    T* to = reinterpret_cast<T*>(out.data);
    const Status status = each_group(scores, [&](const auto& group, int64_t first, Places at) {
        const Targets<lanes<F>> target(t, at, group.rows);
        const auto max = group.max(), log = log_sum(group, max);
        F loss[lanes<F>];
        store(loss, (max - group.pick(group.x, target.of)) + log);
        for (int r = 0; r < group.rows; r++) {
            if (total)
                losses[first + r] = loss[r];
            else
                to[at[r][3]] = convert<T>(scale * loss[r]);
        }
    });
    if (total && status.kind == Status::Ok)
        *to =
            convert<T>(scale * sum_tree<F>(0, padded, [&](int64_t i) { return load(losses + i); }));
    return status;
}

// z_j = scale * g * (softmax(x)_j - [j = t])
template <class T>
Status cross_entropy_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand &x = ins[0], &t = ins[1], &g = ins[2];
    const int last = x.ndim - 1;
    Scores<T> scores{{},
                     x.shape[last],
                     reinterpret_cast<const T*>(x.data),
                     x.strides[last],
                     reinterpret_cast<T*>(out.data),
                     out.strides[last]};
    for (int d = 0; d < last; d++)
        scores.rows.add(x.shape[d], {x.strides[d], out.strides[d], t.strides[d], g.strides[d]});
    const Status targets = check_targets(scores.rows, t, scores.classes);
    if (targets.kind != Status::Ok) return targets;

    const F scale = static_cast<F>(params.number[0]);
    return each_group(scores, [&](const auto& group, int64_t, Places at) {
        const Targets<lanes<F>> target(t, at, group.rows);
        F factors[lanes<F>] = {};
        for (int r = 0; r < group.rows; r++)
            factors[r] = convert<F>(reinterpret_cast<const T*>(g.data)[at[r][3]]);
        const vec<F> factor = group.by_row(factors) * scale;
        const vec<F> inverse = F(1) / exponentials(group);
        const vec<F> at_target = (group.pick(group.y, target.of) * inverse - F(1)) * factor;
        const vec<F> scaled = inverse * factor;
        for (int64_t i = 0; i < group.size; i += group.WIDTH)
            group.write(i, group.read(group.y, i) * scaled);
        group.put(at_target, target.of);
    });
}

// ---- the table ----------------------------------------------------------------------------------

const Row rows[] = {
#define ROWS(name, type)                                                                   \
    {"softmax", name, Form::Elementwise, "TT", "axis", softmax<type, Softmax>},            \
        {"log_softmax", name, Form::Elementwise, "TT", "axis", softmax<type, LogSoftmax>}, \
        {"cross_entropy", name, Form::CrossEntropy, "TTi", "scale", cross_entropy<type>},  \
        {"cross_entropy_grad",    name, Form::CrossEntropyGrad, "TTiT", "scale",           \
         cross_entropy_grad<type>},
    ROWS(Float16, half_t) ROWS(BFloat16, bfloat_t) ROWS(Float32, float) ROWS(Float64, double)
#undef ROWS
};

}  // namespace

Rows fused() { return {rows, sizeof rows / sizeof *rows}; }

}  // namespace TUTOR_LEVEL
}  // namespace tutor
