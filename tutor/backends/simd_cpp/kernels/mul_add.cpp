// x * y + w, in one pass over memory. Each product is rounded before its sum, as by `mul` followed
// by `add`.
//
// Usually y and w are numbers of a channel, constant along rows of x. Such rows need neither a copy
// of y and w in a tile nor a call for each row; everything else goes through `each`.
#include "kernels/elementwise.hpp"
#include "mul_add.rows.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t AHEAD = 2048;  // bytes prefetched; past a row's end, of the next row

// z = x * y + w for a row of n. Its first and its last vector overlap those between, which begin at
// a cache line; they are computed first, since z may be one of the operands.
template <class F, class Y, class W>
inline void fill_row(int64_t n, F* z, const F* x, const Y& y, const W& w) {
    constexpr int L = lanes<F>;
    const auto at = [&](int64_t i) { return load(x + i) * y(i) + w(i); };
    const vec<F> first = at(0), last = at(n - L);
    const int64_t beyond = reinterpret_cast<uintptr_t>(z) / sizeof(F) % L;
    for (int64_t i = beyond == 0 ? 0 : L - beyond; i + L <= n; i += L) {
        __builtin_prefetch(reinterpret_cast<const char*>(x + i) + AHEAD);
        __builtin_prefetch(reinterpret_cast<const char*>(z + i) + AHEAD, 1);
        store(z + i, at(i));
    }
    store(z, first);
    store(z + n - L, last);
}

// n elements side by side; fewer than a vector go through a padded register and the same formula.
template <class F>
void add_products(int64_t n, void* out, const void* const* ins) {
    constexpr int L = lanes<F>;
    if (n >= L) {
        const auto at = [&](int k) { return static_cast<const F*>(ins[k]); };
        const F *y = at(1), *w = at(2);
        const auto factor = [=](int64_t i) { return load(y + i); };
        return fill_row(n, static_cast<F*>(out), at(0), factor,
                        [=](int64_t i) { return load(w + i); });
    }
    F padded[3][L] = {}, z[L];
    for (int k = 0; k < 3; k++) std::memcpy(padded[k], ins[k], n * sizeof(F));
    const void* const whole[] = {padded[0], padded[1], padded[2]};
    add_products<F>(L, z, whole);
    std::memcpy(out, z, n * sizeof(F));
}

template <class T>
constexpr Work sum_of_products() {
    using C = Tiled<Arithmetic, T>;
    Work made{add_products<C>, dtype_of<T>, dtype_of<C>, nullptr, nullptr, Arithmetic::grain};
    if constexpr (!std::is_same_v<C, T>)
        made.widen = widen_items<C, T>, made.narrow = narrow_items<C, T>;
    return made;
}
template <class T>
constexpr Work mul_add_work = sum_of_products<T>();

// Rows of x and z along which y and w are constant; `nest` counts what is around them, in bytes.
struct Still {
    Nest nest;
    int64_t columns = 0;

    Still(const Operand& out, const Operand* ins, int64_t itemsize) {
        int axes[MAX_DIMS];
        for (int d = 0; d < out.ndim; d++) axes[d] = d;
        sort_axes(axes, out.ndim, out.strides);
        for (int i = 0; i < out.ndim; i++) {
            int64_t steps[MAX_OPERANDS];
            for (int k = 0; k < MAX_OPERANDS; k++)
                steps[k] = (k == 0 ? out : ins[k - 1]).strides[axes[i]] * itemsize;
            nest.add(out.shape[axes[i]], steps);
        }
        if (nest.depth == 0) return;
        const Nest inner = nest.split_inner();
        const int64_t* step = inner.stride[0];
        if (step[0] == itemsize && step[1] == itemsize && step[2] == 0 && step[3] == 0)
            columns = inner.size[0];
    }
};

template <class F>
void fill_rows(const Still& rows, const Operand& out, const Operand* ins) {
    const int64_t count = rows.nest.count(), group = larger(1, Arithmetic::grain / rows.columns);
    parallel(ceil_div(count, group), [&](int64_t g) {
        const int64_t last = smaller(count, (g + 1) * group);
        Cursor at(rows.nest, g * group);
        for (int64_t row = g * group; row < last; row++, at.next()) {
            const auto number = [&](int k) {
                return vec<F>(*reinterpret_cast<const F*>(ins[k - 1].data + at.offset[k]));
            };
            const vec<F> y = number(2), w = number(3);
            F* z = reinterpret_cast<F*>(out.data + at.offset[0]);
            const F* x = reinterpret_cast<const F*>(ins[0].data + at.offset[1]);
            fill_row(rows.columns, z, x, [=](int64_t) { return y; }, [=](int64_t) { return w; });
        }
    });
}

template <class T>
Status run_mul_add(const Operand& out, const Operand* ins, int count, const Params&) {
    if constexpr (std::is_floating_point_v<T>) {
        const Still rows(out, ins, sizeof(T));
        // A row is for one thread; where there are no elements, `each` finds nothing to do.
        if (rows.columns >= lanes<T> && rows.columns <= Arithmetic::grain && !empty(out)) {
            fill_rows<T>(rows, out, ins);
            return {Status::Ok, 0, 0};
        }
    }
    return each(out, ins, count, mul_add_work<T>);
}

}  // namespace

TABLE(mul_add, KERNEL(mul_add, run_mul_add<T>, &mul_add_work<T>))

}  // namespace TUTOR_LEVEL
}  // namespace tutor
