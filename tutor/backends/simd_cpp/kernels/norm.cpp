// Layer norm and RMS norm, with h = (x - mean) / sqrt(variance + eps), or x / sqrt(mean of x^2 +
// eps), row by row. float16 and bfloat16 are computed in float and rounded once.
//
// The gradient recomputes h, which is faster than reading it. The gradients of weight and bias are
// sums over the rows: partial sums of TOGETHER rows each, added one after another, so that no bit
// depends on the number of threads.
#include "kernels/norm.hpp"

#include "norm.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t TOGETHER = 64;  // rows

// Sums over a row of n, for the gradient: (x - mean)^2, a, and a (x - mean), where a = g w.
template <class F>
struct Sums {
    F squares, a, turned;
};

template <class F>
inline F mean_of(const F* x, int64_t n) {
    return sum_of<F>(n, [&](int64_t i, const auto& at) { return at.read(x + i); }) / F(n);
}

// Calls row(offsets) for the rows from `first` to `end`.
template <class Row>
inline void each_row(const Nest& rows, int64_t first, int64_t end, const Row& row) {
    for (int64_t r = first, run; r < end; r += run) {
        int64_t at[MAX_OPERANDS];
        run = smaller(rows.locate(r, at), end - r);
        for (int64_t j = 0; j < run; ++j) {
            row(at);
            for (int k = 0; rows.depth > 0 && k < MAX_OPERANDS; ++k)
                at[k] += rows.stride[rows.depth - 1][k];
        }
    }
}

// What all rows share, contiguous: weight, then bias.
template <class T, class F = Computed<T>>
F* affine_of(const Operand* given, int count, int64_t n) {
    F* memory = static_cast<F*>(scratch(1, larger(1, count * n) * sizeof(F)));
    for (int i = 0; memory && i < count; ++i)
        move_row(reinterpret_cast<const T*>(given[i].data), given[i].strides[0], memory + i * n, 1,
                 n);
    return memory;
}

// ---- forward ------------------------------------------------------------------------------------

// z = h * w + b; without a bias if the mean is not subtracted.
template <bool CENTRED, class F>
inline void norm_row(const F* x, const F* w, int64_t n, F eps, F* z) {
    const F mean = CENTRED ? mean_of(x, n) : F(0);
    const vec<F> middle(mean);
    const F squares = sum_of<F>(n, [&](int64_t i, const auto& at) {
        const vec<F> away = at.only(at.read(x + i) - middle);
        return away * away;
    });
    const vec<F> by(F(1) / std::sqrt(squares / F(n) + eps));
    each_vector<F>(n, [&](int64_t i, const auto& at) {
        const vec<F> scaled = (at.read(x + i) - middle) * by * at.read(w + i);
        at.write(z + i, CENTRED ? scaled + at.read(w + n + i) : scaled);
    });
}

template <class T, bool CENTRED>
Status norm(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    const Operand& x = ins[0];
    const int last = x.ndim - 1;
    const int64_t n = x.shape[last];
    Nest rows;
    for (int d = 0; d < last; d++) rows.add(x.shape[d], {x.strides[d], out.strides[d]});
    const F eps = static_cast<F>(params.number[0]);
    const F* w = affine_of<T>(ins + 1, CENTRED ? 2 : 1, n);
    bool failed = w == nullptr;
    const int64_t count = failed ? 0 : rows.count();
    parallel_each(ceil_div(count, TOGETHER), TOGETHER * n, GRAIN, [&](int64_t chunk) {
        F* room = static_cast<F*>(scratch(0, larger(1, 2 * n) * sizeof(F)));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        const int64_t end = smaller(count, (chunk + 1) * TOGETHER);
        each_row(rows, chunk * TOGETHER, end, [&](const int64_t* at) {
            const T* from = reinterpret_cast<const T*>(x.data) + at[0];
            T* place = reinterpret_cast<T*>(out.data) + at[1];
            F* to = row_for(place, out.strides[last], room + n);
            norm_row<CENTRED>(row_at(from, x.strides[last], n, room), w, n, eps, to);
            leave(to, place, out.strides[last], n);
        });
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// ---- gradient -----------------------------------------------------------------------------------

// The sums of a row, all in one pass, so that they wait together.
template <class F>
inline Sums<F> sums_of(const F* g, const F* x, const F* w, vec<F> middle, int64_t n) {
    const vec<F> zero(F(0));
    vec<F> squares[2] = {zero, zero}, all[2] = {zero, zero}, turned[2] = {zero, zero};
    each_in_turn<2, F>(n, [&](int64_t i, int k, const auto& at) {
        const vec<F> away = at.only(at.read(x + i) - middle), a = at.read(g + i) * at.read(w + i);
        squares[k] += away * away;
        all[k] += a;
        turned[k] += a * away;
    });
    return {xsimd::reduce_add(squares[0] + squares[1]), xsimd::reduce_add(all[0] + all[1]),
            xsimd::reduce_add(turned[0] + turned[1])};
}

// With a = g w:  dx = (a - mean of a - h * mean of a h) / sqrt(variance + eps),
// without the mean of a if not CENTRED;  dw += g h,  db += g.
template <bool CENTRED, class F>
inline void norm_grad_row(const F* g, const F* x, const F* w, int64_t n, F eps, F* dx, F* dw,
                          F* db) {
    const vec<F> middle(CENTRED ? mean_of(x, n) : F(0));
    const Sums<F> sums = sums_of(g, x, w, middle, n);
    const F inverse = F(1) / std::sqrt(sums.squares / F(n) + eps);
    const vec<F> by(inverse), level(CENTRED ? sums.a / F(n) : F(0));
    const vec<F> tilt(sums.turned * inverse / F(n));
    each_vector<F>(n, [&](int64_t i, const auto& at) {
        const vec<F> gi = at.read(g + i), a = gi * at.read(w + i);
        const vec<F> h = (at.read(x + i) - middle) * by;
        store(dw + i, load(dw + i) + gi * h);
        if (CENTRED) store(db + i, load(db + i) + gi);
        at.write(dx + i, (a - level - h * tilt) * by);
    });
}

// The sums of all chunks, added one after another; they are `width` apart.
template <class T, class F>
void add_up(F* sums, int64_t chunks, int64_t width, int64_t n, const Operand& to) {
    for (int64_t chunk = 1; chunk < chunks; ++chunk)
        each_vector<F>(n, [&](int64_t i, const auto&) {
            store(sums + i, load(sums + i) + load(sums + chunk * width + i));
        });
    if (chunks == 0) std::memset(sums, 0, n * sizeof(F));
    move_row(sums, 1, reinterpret_cast<T*>(to.data), to.strides[0], n);
}

template <class T, bool CENTRED>
Status norm_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    constexpr int SUMS = CENTRED ? 2 : 1;
    const Operand &g = ins[0], &x = ins[1];
    const int last = x.ndim - 1;
    const int64_t n = x.shape[last], width = ceil_div(n, lanes<F>) * lanes<F>;
    Nest rows;
    for (int d = 0; d < last; d++)
        rows.add(x.shape[d], {x.strides[d], out.strides[d], g.strides[d]});
    const F eps = static_cast<F>(params.number[0]);
    const F* w = affine_of<T>(ins + 2, 1, n);
    const int64_t count = rows.count(), chunks = ceil_div(count, TOGETHER);
    F* sums = static_cast<F*>(scratch(2, larger(1, larger(1, chunks) * SUMS * width) * sizeof(F)));
    bool failed = w == nullptr || sums == nullptr;
    parallel_each(failed ? 0 : chunks, TOGETHER * n, GRAIN / 2, [&](int64_t chunk) {
        F* room = static_cast<F*>(scratch(0, larger(1, 3 * n) * sizeof(F)));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        F *dw = sums + chunk * SUMS * width, *db = dw + width;
        std::memset(dw, 0, SUMS * width * sizeof(F));
        const int64_t end = smaller(count, (chunk + 1) * TOGETHER);
        each_row(rows, chunk * TOGETHER, end, [&](const int64_t* at) {
            const T* from = reinterpret_cast<const T*>(x.data) + at[0];
            T* place = reinterpret_cast<T*>(out.data) + at[1];
            const T* slope = reinterpret_cast<const T*>(g.data) + at[2];
            F* to = row_for(place, out.strides[last], room + 2 * n);
            norm_grad_row<CENTRED>(row_at(slope, g.strides[last], n, room + n),
                                   row_at(from, x.strides[last], n, room), w, n, eps, to, dw, db);
            leave(to, place, out.strides[last], n);
        });
    });
    for (int s = 0; s < SUMS && !failed; ++s)
        add_up<T>(sums + s * width, chunks, SUMS * width, n, ins[3 + s]);
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(norm,
      KERNEL(layer_norm, norm<T, true>),
      KERNEL(layer_norm_grad, norm_grad<T, true>),
      KERNEL(rms_norm, norm<T, false>),
      KERNEL(rms_norm_grad, norm_grad<T, false>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
