// Evenly spaced numbers: arange. Each is computed from its own position, so errors do not add up,
// and threads can begin anywhere.
#include "arange.rows.hpp"
#include "math/computed.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 1 << 14;  // elements in about 10 us of work, the cost of waking a thread

// z_i = start + step * (i / parts) in double, rounded once
template <class T>
struct Even {
    double start, step, parts;
    explicit Even(const Params& params)
        : start(params.number[0]), step(params.number[1]), parts(params.number[2]) {}
    T operator()(int64_t i) const {
        return convert<T>(start + step * (static_cast<double>(i) / parts));
    }
};

// z_i = start + step * i, modulo 2**bits
template <class T>
struct Counted {
    using U = Unsigned<T>;
    U start, step;
    explicit Counted(const Params& params)
        : start(static_cast<U>(params.integer[0])), step(static_cast<U>(params.integer[1])) {}
    T operator()(int64_t i) const { return static_cast<T>(start + step * static_cast<U>(i)); }
};

template <class T>
Status arange(const Operand& out, const Operand*, int, const Params& params) {
    const std::conditional_t<std::is_integral<T>::value, Counted<T>, Even<T>> number(params);
    Nest nest;
    for (int d = 0; d < out.ndim; d++) nest.add(out.shape[d], {out.strides[d]});
    const int64_t count = nest.count(), step = nest.depth > 0 ? nest.stride[nest.depth - 1][0] : 1;
    parallel_each(ceil_div(count, GRAIN), GRAIN, GRAIN, [&](int64_t chunk) {
        const int64_t end = smaller(count, (chunk + 1) * GRAIN);
        for (int64_t at = chunk * GRAIN, run; at < end; at += run) {
            int64_t offset[MAX_OPERANDS];
            run = smaller(nest.locate(at, offset), end - at);
            T* z = reinterpret_cast<T*>(out.data) + offset[0];
            for (int64_t i = 0; i < run; i++) z[i * step] = number(at + i);
        }
    });
    return {Status::Ok, 0, 0};
}

}  // namespace

TABLE(arange, KERNEL(arange, arange<WithoutSign<T>>))

}  // namespace TUTOR_LEVEL
}  // namespace tutor
