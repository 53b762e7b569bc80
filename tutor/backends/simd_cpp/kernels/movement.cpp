// Moving whole blocks of elements: pad cat. Inputs must not overlap `out`.
#include "movement.rows.hpp"
#include "walk/moving.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The part of `out` that has the shape of x and begins at index `start`.
Operand window(const Operand& out, const int64_t* start, const Operand& x) {
    Operand part = x;
    part.data = out.data;
    for (int d = 0; d < out.ndim; d++) {
        part.strides[d] = out.strides[d];
        part.data += start[d] * out.strides[d] * itemsize_of[out.dtype];
    }
    return part;
}

template <class T>
Status pad(const Operand& out, const Operand* ins, int, const Params& params) {
    T value;
    if constexpr (is_integer<T>)
        value = static_cast<T>(params.integer[0]);
    else
        value = convert<T>(params.number[0]);
    Operand everywhere = out;
    everywhere.data = reinterpret_cast<char*>(&value);
    for (int d = 0; d < out.ndim; d++) everywhere.strides[d] = 0;
    const Status status = copy_block<Stored<T>>(out, everywhere);
    if (status.kind != Status::Ok) return status;
    return copy_block<Stored<T>>(window(out, params.axis, ins[0]), ins[0]);
}

template <class T>
Status cat(const Operand& out, const Operand* ins, int count, const Params& params) {
    int64_t start[MAX_DIMS] = {};
    for (int i = 0; i < count; i++) {
        const Status status = copy_block<Stored<T>>(window(out, start, ins[i]), ins[i]);
        if (status.kind != Status::Ok) return status;
        start[params.axis[0]] += ins[i].shape[params.axis[0]];
    }
    return OK;
}

}  // namespace

// clang-format off
TABLE(movement,
      KERNEL(pad, pad<T>),
      KERNEL(cat, cat<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
