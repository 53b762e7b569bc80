// Attention and its gradient. float16 and bfloat16 are computed in float and rounded once.
#include "kernels/attention.hpp"

#include "attention.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- forward ------------------------------------------------------------------------------------

// The answers to some queries of one matrix, from `first` on.
template <class T, class F = Computed<T>>
struct Answers {
    Matrix<const T> q, k, v;  // q: these queries alone
    Matrix<T> out;
    Matrix<F> logs;
    Scores<T> scores;
    int64_t first;
    int64_t wide = whole_vectors<F>(v.cols);
    F *most = nullptr, *total = nullptr, *sums = nullptr, *weights = nullptr, *added = nullptr;
    F *keys = nullptr, *some_k = nullptr, *some_v = nullptr, *some_q = nullptr;

    int64_t lay_out(F* memory) {
        Room<F> room{memory};
        most = room.take(QUERIES), total = room.take(QUERIES);
        weights = room.take(ROWS * KEYS), added = room.take(KEYS);
        sums = room.take(QUERIES * wide), keys = room.take(q.cols * KEYS);
        some_k = room.take(KEYS * whole_vectors<F>(q.cols)), some_v = room.take(KEYS * wide);
        some_q = room.take(QUERIES * whole_vectors<F>(q.cols));
        return room.count;
    }

    void compute() {
        const Matrix<const F> queries = whole_rows<T>(q, some_q);
        for (int64_t i = 0; i < q.rows; ++i)
            most[i] = -std::numeric_limits<F>::infinity(), total[i] = 0;
        std::memset(sums, 0, q.rows * wide * sizeof(F));
        const int64_t panels = ceil_div(q.rows, ROWS), height = ceil_div(q.rows, panels);
        for (int64_t key = 0; key < scores.seen(first + q.rows - 1, 0, k.rows); key += KEYS) {
            const int64_t count = smaller(KEYS, k.rows - key);
            turn(whole_rows<T>(k.block(key, 0, count, k.cols), some_k), keys);
            const Matrix<const F> values = whole_rows<T>(v.block(key, 0, count, v.cols), some_v);
            for (int64_t i = 0; i < q.rows; i += height) {
                const int64_t rows = smaller(height, q.rows - i);
                const int64_t seen = scores.seen(first + i + rows - 1, key, count);
                if (seen == 0) continue;
                multiply(rows, seen, q.cols, &queries(i, 0), queries.row, 1, keys, KEYS, weights,
                         KEYS, false);
                for (int64_t r = 0; r < rows; ++r) weigh(i + r, key, seen, weights + r * KEYS);
                multiply(rows, v.cols, seen, weights, KEYS, 1, values.data, values.row,
                         sums + i * wide, wide, true);
            }
        }
        for (int64_t i = 0; i < q.rows; ++i) finish(i);
    }

    // Turns a row of products into weights, and rescales the earlier sums to match.
    void weigh(int64_t i, int64_t key, int64_t count, F* row) {
        constexpr int L = lanes<F>;
        const int64_t seen = scores.seen(first + i, key, count), width = whole_vectors<F>(count);
        const F* add = scores.added(first + i, key, seen, added);
        vec<F> largest(-std::numeric_limits<F>::infinity());
        for (int64_t c = 0; c < width; c += L) {
            const vec<F> s = scores.at(row, add, c, seen);
            largest = xsimd::max(largest, s);
            store(row + c, s);
        }
        const F here = across(largest, [](F a, F b) { return a > b ? a : b; });
        const F now = here > most[i] ? here : most[i];
        // If all are -inf: e**(-inf - 0) is 0.
        const vec<F> shift(now == -std::numeric_limits<F>::infinity() ? F(0) : now);
        vec<F> sum(F(0));
        for (int64_t c = 0; c < width; c += L) {
            const vec<F> e = math::exp(load(row + c) - shift);
            sum += e;
            store(row + c, e);
        }
        const F added_up = across(sum, [](F a, F b) { return a + b; });
        if (now != most[i] && key > 0) {
            const vec<F> factor = math::exp(vec<F>(most[i]) - shift);
            total[i] *= factor.get(0);
            F* o = sums + i * wide;
            for (int64_t c = 0; c < wide; c += L) store(o + c, load(o + c) * factor);
        }
        total[i] += added_up;
        most[i] = now;
    }

    void finish(int64_t i) {
        constexpr int L = lanes<F>;
        F* o = sums + i * wide;
        const vec<F> inverse(total[i] == 0 ? F(0) : F(1) / total[i]);
        for (int64_t c = 0; c < wide; c += L) store(o + c, load(o + c) * inverse);
        move_row(o, 1, &out(i, 0), out.col, out.cols);
        logs(i, 0) = most[i] + math::log(vec<F>(total[i])).get(0);
    }
};

template <class T>
Status attention(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const int64_t matrices = matrices_of(out), rows = out.shape[out.ndim - 2];
    const int64_t chunks = ceil_div(rows, QUERIES);
    const int last = out.ndim - 1;
    const int64_t keys = ins[1].shape[last - 1];
    const int64_t cost = smaller(rows, QUERIES) * keys * (ins[0].shape[last] + out.shape[last]);
    bool failed = false;
    parallel_each(matrices * chunks, larger(1, cost), GRAIN, [&](int64_t task) {
        const int64_t index = task / chunks, first = task % chunks * QUERIES;
        const int64_t count = smaller(QUERIES, rows - first);
        const auto q = matrix_of<const T>(ins[0], index);
        const auto to = matrix_of<T>(out, index);
        const auto logs = column_of<F>(ins[4], index);
        Answers<T> answers{
            q.block(first, 0, count, q.cols),
            matrix_of<const T>(ins[1], index),
            matrix_of<const T>(ins[2], index),
            to.block(first, 0, count, to.cols),
            logs.block(first, 0, count, 1),
            {matrix_of<const T>(ins[3], index), F(params.number[0]), params.integer[1] != 0},
            first};
        const int64_t size = answers.lay_out(nullptr);
        F* memory = static_cast<F*>(scratch(0, size * sizeof(F)));
        if (memory == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        answers.lay_out(memory);
        answers.compute();
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// ---- gradient -----------------------------------------------------------------------------------

// With the weights p_ij = e**(s_ij - logs_i), recomputed from the products:
//   dv_j = sum_i p_ij g_i,   ds_ij = p_ij (g_i v_j - g_i z_i) scale,
//   dq_i = sum_j ds_ij k_j,  dk_j = sum_i ds_ij q_i
template <class T, class F = Computed<T>>
struct Gradients {
    Matrix<const T> g, q, k, v, z;
    Matrix<const F> logs;
    Matrix<T> dq, dk, dv;
    Scores<T> scores;
    int64_t narrow = whole_vectors<F>(q.cols), wide = whole_vectors<F>(v.cols);
    F *weights = nullptr, *slopes = nullptr, *added = nullptr, *mean = nullptr;
    F *keys = nullptr, *values = nullptr, *sum_q = nullptr, *sum_k = nullptr, *sum_v = nullptr;
    F *some_g = nullptr, *some_q = nullptr, *some_k = nullptr, *some_v = nullptr;

    int64_t lay_out(F* memory) {
        Room<F> room{memory};
        weights = room.take(BESIDE * KEYS), slopes = room.take(BESIDE * KEYS);
        added = room.take(KEYS), mean = room.take(q.rows);
        keys = room.take(q.cols * KEYS), values = room.take(v.cols * KEYS);
        sum_q = room.take(q.rows * narrow);
        sum_k = room.take(KEYS * narrow), sum_v = room.take(KEYS * wide);
        some_g = room.take(q.rows * wide), some_q = room.take(q.rows * narrow);
        some_k = room.take(KEYS * narrow), some_v = room.take(KEYS * wide);
        return room.count;
    }

    void compute() {
        const Matrix<const F> gs = whole_rows<T>(g, some_g), qs = whole_rows<T>(q, some_q);
        for (int64_t i = 0; i < q.rows; ++i) mean[i] = dot(gs, i);
        std::memset(sum_q, 0, q.rows * narrow * sizeof(F));
        for (int64_t key = 0; key < k.rows; key += KEYS) {
            const int64_t count = smaller(KEYS, k.rows - key);
            const Matrix<const F> ks = whole_rows<T>(k.block(key, 0, count, k.cols), some_k);
            turn(ks, keys);
            turn(whole_rows<T>(v.block(key, 0, count, v.cols), some_v), values);
            std::memset(sum_k, 0, count * narrow * sizeof(F));
            std::memset(sum_v, 0, count * wide * sizeof(F));
            for (int64_t i = scores.causal ? key : 0; i < q.rows; i += BESIDE)
                meet(i, smaller(BESIDE, q.rows - i), key, count, gs, qs, ks);
            write_rows(dk.block(key, 0, count, dk.cols), sum_k, narrow);
            write_rows(dv.block(key, 0, count, dv.cols), sum_v, wide);
        }
        write_rows(dq, sum_q, narrow);
    }

    F dot(Matrix<const F> gs, int64_t i) const {
        constexpr int L = lanes<F>;
        vec<F> sum(F(0));
        alignas(64) F line[L];
        for (int64_t c = 0; c < v.cols; c += L) {
            const int64_t count = smaller(L, v.cols - c);
            for (int64_t l = 0; l < L; ++l) line[l] = l < count ? convert<F>(z(i, c + l)) : F(0);
            sum = xsimd::fma(load(&gs(i, c)), load(line), sum);
        }
        return across(sum, [](F a, F b) { return a + b; });
    }

    // Handles some queries and one block of keys.
    void meet(int64_t first, int64_t queries, int64_t key, int64_t count, Matrix<const F> gs,
              Matrix<const F> qs, Matrix<const F> ks) {
        const int64_t height = ceil_div(queries, ceil_div(queries, ROWS));
        for (int64_t i = 0; i < queries; i += height) {
            const int64_t rows = smaller(height, queries - i), at = first + i;
            const int64_t seen = scores.seen(at + rows - 1, key, count);
            F *w = weights + i * KEYS, *s = slopes + i * KEYS;
            multiply(rows, seen, q.cols, &qs(at, 0), qs.row, 1, keys, KEYS, w, KEYS, false);
            multiply(rows, seen, v.cols, &gs(at, 0), gs.row, 1, values, KEYS, s, KEYS, false);
            for (int64_t r = 0; r < rows; ++r)
                weigh(at + r, key, count, w + r * KEYS, s + r * KEYS);
            multiply(rows, k.cols, seen, s, KEYS, 1, ks.data, ks.row, sum_q + at * narrow, narrow,
                     true);
        }
        // A key is seen only from query `from` on: the queries before have no weight for it.
        const int64_t step = scores.causal ? ROWS : count;
        for (int64_t j = 0; j < count; j += step) {
            const int64_t rows = smaller(step, count - j);
            const int64_t from = scores.causal ? larger(0, key + j - first) : 0;
            if (from >= queries) break;
            multiply(rows, v.cols, queries - from, weights + from * KEYS + j, 1, KEYS,
                     &gs(first + from, 0), gs.row, sum_v + j * wide, wide, true);
            multiply(rows, q.cols, queries - from, slopes + from * KEYS + j, 1, KEYS,
                     &qs(first + from, 0), qs.row, sum_k + j * narrow, narrow, true);
        }
    }

    // Turns a row of products into weights, and one of g v into their slopes.
    void weigh(int64_t i, int64_t key, int64_t count, F* weight, F* slope) const {
        constexpr int L = lanes<F>;
        const int64_t seen = scores.seen(i, key, count), width = whole_vectors<F>(count);
        const F* add = scores.added(i, key, seen, added);
        const F log = logs(i, 0), none = -std::numeric_limits<F>::infinity();
        const vec<F> shift(log == none ? -none : log), by(mean[i]), scale(scores.scale);
        int64_t c = 0;
        for (; c < seen; c += L) {
            const vec<F> p = math::exp(scores.at(weight, add, c, seen) - shift);
            store(weight + c, p);
            store(slope + c, p * (load(slope + c) - by) * scale);
        }
        for (; c < width; c += L) store(weight + c, vec<F>(F(0))), store(slope + c, vec<F>(F(0)));
        for (c = seen; c < width && c % L; ++c) slope[c] = 0;  // beyond the row, 0 * nan is nan
    }
};

template <class T>
Status attention_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const int last = out.ndim - 1;
    const int64_t rows = out.shape[last - 1], keys = ins[2].shape[last - 1];
    const int64_t cost = rows * keys * 2 * (out.shape[last] + ins[3].shape[last]);
    bool failed = false;
    parallel_each(matrices_of(out), larger(1, cost), GRAIN, [&](int64_t i) {
        Gradients<T> gradients{
            matrix_of<const T>(ins[0], i),
            matrix_of<const T>(ins[1], i),
            matrix_of<const T>(ins[2], i),
            matrix_of<const T>(ins[3], i),
            matrix_of<const T>(ins[5], i),
            column_of<const F>(ins[6], i),
            matrix_of<T>(out, i),
            matrix_of<T>(ins[7], i),
            matrix_of<T>(ins[8], i),
            {matrix_of<const T>(ins[4], i), F(params.number[0]), params.integer[1] != 0}};
        const int64_t size = gradients.lay_out(nullptr);
        F* memory = static_cast<F*>(scratch(0, size * sizeof(F)));
        if (memory == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        gradients.lay_out(memory);
        gradients.compute();
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(attention,
      KERNEL(attention, attention<T>),
      KERNEL(attention_grad, attention_grad<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
