// Layer norm and RMS norm, with h = (x - mean) / sqrt(variance + eps), or x / sqrt(mean of x^2 +
// eps), row by row. float16 and bfloat16 are computed in float and rounded once.
//
// The gradient computes h again, for that is sooner done than read. What it adds up over the rows,
// the gradients of weight and bias, comes in partial sums of TOGETHER rows each, which are then
// added one after another: so no bit depends on the number of threads.
#include "kernels/norm.hpp"

#include "norm.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t TOGETHER = 64;  // rows

// mean and 1 / sqrt(variance + eps) of a row.
template <bool CENTRED, class F>
inline void moments(const F* x, int64_t n, F eps, F* mean, F* inverse) {
    *mean = CENTRED ? sum_of<F>(n, [&](int64_t i) { return get(x, i, n); }) / F(n) : F(0);
    const vec<F> middle(*mean);
    const F squares = sum_of<F>(n, [&](int64_t i) {
        const vec<F> away = only(get(x, i, n) - middle, i, n);
        return away * away;
    });
    *inverse = F(1) / std::sqrt(squares / F(n) + eps);
}

// What is the same for all rows, contiguous: weight, then bias.
template <class T, class F = Computed<T>>
F* affine_of(const Operand* given, int count, int64_t n) {
    F* memory = static_cast<F*>(scratch(1, larger(1, count * n) * sizeof(F)));
    for (int i = 0; memory && i < count; ++i)
        move_row(reinterpret_cast<const T*>(given[i].data), given[i].strides[0], memory + i * n, 1,
                 n);
    return memory;
}

// ---- forward ------------------------------------------------------------------------------------

// z = h * w + b; without a bias where the mean stays.
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
    const F* b = CENTRED ? w + n : nullptr;
    bool failed = w == nullptr;
    const int64_t count = failed ? 0 : rows.count();
    parallel_each(ceil_div(count, TOGETHER), TOGETHER * n, GRAIN, [&](int64_t chunk) {
        F* room = static_cast<F*>(scratch(0, larger(1, 2 * n) * sizeof(F)));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        for (int64_t r = chunk * TOGETHER; r < smaller(count, (chunk + 1) * TOGETHER); ++r) {
            int64_t at[MAX_OPERANDS];
            rows.locate(r, at);
            const F* from =
                row_at(reinterpret_cast<const T*>(x.data) + at[0], x.strides[last], n, room);
            T* place = reinterpret_cast<T*>(out.data) + at[1];
            F* to = row_for(place, out.strides[last], room + n);
            F mean, inverse;
            moments<CENTRED>(from, n, eps, &mean, &inverse);
            const vec<F> middle(mean), by(inverse);
            for (int64_t i = 0; i < n; i += lanes<F>) {
                const vec<F> h = (get(from, i, n) - middle) * by, z = h * get(w, i, n);
                put(to, i, n, CENTRED ? z + get(b, i, n) : z);
            }
            leave(to, place, out.strides[last], n);
        }
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

// ---- gradient -----------------------------------------------------------------------------------

// With a = g w:  dx = (a - mean of a - h * mean of a h) / sqrt(variance + eps),
// without the mean of a where the mean stays;  dw = sum over the rows of g h,  db = that of g.
template <class T, bool CENTRED>
Status norm_grad(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    constexpr int L = lanes<F>, SUMS = CENTRED ? 2 : 1;
    const Operand &g = ins[0], &x = ins[1];
    const int last = x.ndim - 1;
    const int64_t n = x.shape[last], room_of = ceil_div(n, L) * L;
    Nest rows;
    for (int d = 0; d < last; d++)
        rows.add(x.shape[d], {x.strides[d], out.strides[d], g.strides[d]});
    const F eps = static_cast<F>(params.number[0]);
    const F* w = affine_of<T>(ins + 2, 1, n);
    const int64_t count = rows.count(), chunks = ceil_div(count, TOGETHER);
    F* sums = static_cast<F*>(scratch(2, larger(1, chunks) * SUMS * room_of * sizeof(F)));
    if (w == nullptr || sums == nullptr) return {Status::OutOfMemory, 0, 0};
    bool failed = false;
    parallel_each(chunks, TOGETHER * n, GRAIN / 2, [&](int64_t chunk) {
        F* room = static_cast<F*>(scratch(0, larger(1, 3 * n) * sizeof(F)));
        if (room == nullptr) return __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
        F *dw = sums + chunk * SUMS * room_of, *db = dw + room_of;
        std::memset(dw, 0, SUMS * room_of * sizeof(F));
        for (int64_t r = chunk * TOGETHER; r < smaller(count, (chunk + 1) * TOGETHER); ++r) {
            int64_t at[MAX_OPERANDS];
            rows.locate(r, at);
            const F* from =
                row_at(reinterpret_cast<const T*>(x.data) + at[0], x.strides[last], n, room);
            const F* slope =
                row_at(reinterpret_cast<const T*>(g.data) + at[2], g.strides[last], n, room + n);
            T* place = reinterpret_cast<T*>(out.data) + at[1];
            F* to = row_for(place, out.strides[last], room + 2 * n);
            F mean, inverse;
            moments<CENTRED>(from, n, eps, &mean, &inverse);
            const vec<F> middle(mean), by(inverse);
            vec<F> all(F(0)), turned(F(0));
            for (int64_t i = 0; i < n; i += L) {
                const vec<F> gi = get(slope, i, n);
                const vec<F> h = only((get(from, i, n) - middle) * by, i, n);
                const vec<F> a = gi * get(w, i, n);
                all += a;
                turned += a * h;
                store(dw + i, load(dw + i) + gi * h);
                if (CENTRED) store(db + i, load(db + i) + gi);
            }
            const vec<F> level(CENTRED ? xsimd::reduce_add(all) / F(n) : F(0));
            const vec<F> tilt(xsimd::reduce_add(turned) / F(n));
            for (int64_t i = 0; i < n; i += L) {
                const vec<F> h = (get(from, i, n) - middle) * by;
                const vec<F> a = get(slope, i, n) * get(w, i, n);
                put(to, i, n, (a - level - h * tilt) * by);
            }
            leave(to, place, out.strides[last], n);
        }
    });
    for (int s = 0; s < SUMS && !failed; ++s) {
        F* total = sums + s * room_of;
        for (int64_t chunk = 1; chunk < chunks; ++chunk)
            for (int64_t i = 0; i < n; i += L)
                store(total + i, load(total + i) + load(total + chunk * SUMS * room_of + i));
        if (chunks == 0) std::memset(total, 0, room_of * sizeof(F));
        const Operand& to = ins[3 + s];
        move_row(total, 1, reinterpret_cast<T*>(to.data), to.strides[0], n);
    }
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
