// Scans along one axis, where each element depends on those before it: scan cummax.
#include "math/computed.hpp"
#include "math/order.hpp"
#include "scan.rows.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 1 << 14;  // elements in about 10 us of work, the cost of waking a thread

// ---- recurrences --------------------------------------------------------------------------------
// A Carry goes from one element to the next: first(y) starts it, next(carry, x, y) continues it,
// result(carry) is what is written.

// z_0 = y_0, z_i = x_i * z_(i-1) + y_i
template <class T>
struct Linear {
    using Carry = Computed<T>;
    static Carry first(T y) { return convert<Carry>(y); }
    static Carry next(Carry z, T x, T y) { return convert<Carry>(x) * z + convert<Carry>(y); }
    static T result(Carry z) { return convert<T>(z); }
};

// z_0 = y_0, z_i = max(z_(i-1), y_i). Keys put nan on top, where it stays, and +0 above -0.
template <class T>
struct Largest {
    using Carry = typename Ordered<T>::Key;
    static Carry first(T y) { return Ordered<T>::key(y); }
    static Carry next(Carry z, T, T y) {
        const Carry key = Ordered<T>::key(y);
        return z < key ? key : z;
    }
    static T result(Carry z) { return Ordered<T>::value(z); }
};

// Elements of the three operands, and the steps to the next ones.
template <class T>
struct Line {
    T* z;
    const T *x, *y;
    int64_t z_step, x_step, y_step;
};

// Runs COUNT slices from beginning to end; `next` says how far apart their first elements are. Each
// step of a slice waits for the one before; meanwhile the others take theirs.
template <class T, class Op, int COUNT>
void scan_slices(const Line<T>& line, const int64_t* next, int64_t n) {
    const auto [z, x, y, z_step, x_step, y_step] = line;
    typename Op::Carry carry[COUNT];
    for (int c = 0; c < COUNT; c++) {
        carry[c] = Op::first(y[c * next[2]]);
        z[c * next[0]] = Op::result(carry[c]);
    }
    for (int64_t i = 1; i < n; i++)
#pragma GCC unroll 8
        for (int c = 0; c < COUNT; c++) {
            carry[c] = Op::next(carry[c], x[i * x_step + c * next[1]], y[i * y_step + c * next[2]]);
            z[i * z_step + c * next[0]] = Op::result(carry[c]);
        }
}

constexpr int64_t WIDTH = 128;  // slices scanned together: their carries stay in the L1 cache
constexpr int64_t FEW = 6;      // the same if each is contiguous: so do their cache lines

// The first element of n <= WIDTH slices, which lie side by side as `line` says.
template <class T, class Op>
void scan_first(const Line<T>& line, int64_t n, typename Op::Carry* carry) {
    for (int64_t c = 0; c < n; c++) {
        carry[c] = Op::first(line.y[c * line.y_step]);
        line.z[c * line.z_step] = Op::result(carry[c]);
    }
}

// A later element. With steps known to be 1, or 0 for a factor that repeats, the
// loop is vectorized.
template <class T, class Op>
void scan_step(const Line<T>& line, int64_t n, typename Op::Carry* carry) {
    T* z = line.z;
    const T *x = line.x, *y = line.y;
    const auto step = [=](int64_t along_z, int64_t along_x, int64_t along_y) {
        TUTOR_INDEPENDENT
        for (int64_t c = 0; c < n; c++) {
            carry[c] = Op::next(carry[c], x[c * along_x], y[c * along_y]);
            z[c * along_z] = Op::result(carry[c]);
        }
    };
    const bool side_by_side = line.z_step == 1 && line.y_step == 1;
    if (side_by_side && line.x_step == 1)
        step(1, 1, 1);
    else if (side_by_side && line.x_step == 0)
        step(1, 0, 1);
    else
        step(line.z_step, line.x_step, line.y_step);
}

// Threads share the slices. Slices that lie closer to each other than the elements of one advance
// together, element by element; others one after another.
template <class T, template <class> class Recurrence>
Status scan(const Operand& out, const Operand* ins, int count, const Params& params) {
    using Op = Recurrence<T>;
    const Operand &x = ins[0], &y = ins[count - 1];  // cummax has one input, which is both
    const int axis = static_cast<int>(params.axis[0]);
    const int64_t length = out.shape[axis];
    const int64_t z_along = out.strides[axis], x_along = x.strides[axis], y_along = y.strides[axis];
    Nest slices;
    int axes[MAX_DIMS], others = 0;
    for (int d = 0; d < out.ndim; d++)
        if (d != axis) axes[others++] = d;
    sort_axes(axes, others, out.strides);
    for (int i = 0; i < others; i++) {
        const int d = axes[i];
        slices.add(out.shape[d], {out.strides[d], x.strides[d], y.strides[d]});
    }
    const Nest side = slices.split_inner();
    if (length == 0 || side.size[0] == 0) return {Status::Ok, 0, 0};
    const auto& across = side.stride[0];
    const bool together = magnitude(across[0]) < magnitude(z_along);
    const int64_t width = smaller(together ? WIDTH : FEW, side.size[0]);
    const int64_t tiles = ceil_div(side.size[0], width);
    parallel_each(slices.count() * tiles, width * length, GRAIN, [&](int64_t index) {
        int64_t offset[MAX_OPERANDS];
        slices.locate(index / tiles, offset);
        const int64_t first = index % tiles * width, n = smaller(width, side.size[0] - first);
        T* z_at = reinterpret_cast<T*>(out.data) + offset[0] + first * across[0];
        const T* x_at = reinterpret_cast<const T*>(x.data) + offset[1] + first * across[1];
        const T* y_at = reinterpret_cast<const T*>(y.data) + offset[2] + first * across[2];
        if (!together) {
            const Line<T> line{z_at, x_at, y_at, z_along, x_along, y_along};
            if (n == FEW) return scan_slices<T, Op, FEW>(line, across, length);
            for (int64_t c = 0; c < n; c++)
                scan_slices<T, Op, 1>({z_at + c * across[0], x_at + c * across[1],
                                       y_at + c * across[2], z_along, x_along, y_along},
                                      across, length);
            return;
        }
        typename Op::Carry carry[WIDTH];
        const auto line = [&](int64_t i) {
            return Line<T>{z_at + i * z_along, x_at + i * x_along, y_at + i * y_along,
                           across[0],          across[1],          across[2]};
        };
        scan_first<T, Op>(line(0), n, carry);
        for (int64_t i = 1; i < length; i++) scan_step<T, Op>(line(i), n, carry);
    });
    return {Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(scan,
      KERNEL(scan, scan<WithoutSign<T>, Linear>),
      KERNEL(cummax, scan<Stored<T>, Largest>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
