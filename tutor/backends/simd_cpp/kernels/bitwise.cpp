// Bitwise operations, and shifts.
#include "bitwise.rows.hpp"
#include "kernels/elementwise.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

FORMULA2(BitwiseAnd, Wrapping, x& y)
FORMULA2(BitwiseOr, Wrapping, x | y)
FORMULA2(BitwiseXor, Wrapping, x ^ y)

struct BitwiseNot : Wrapping {
    template <class V>
    V operator()(V x) const {
        return ~x;
    }
    bool operator()(bool x) const { return !x; }
};

// C++ does not define a shift by all the bits: here it gives 0, or the sign in every bit.
struct LeftShift : Wrapping {
    static constexpr Status::Kind refuses = Status::NegativeShift;
    template <class V>
    V operator()(V x, V y) const {
        return y < V(8 * sizeof(V)) ? x << y : V(0);
    }
};

struct RightShift : Arithmetic {
    static constexpr Status::Kind refuses = Status::NegativeShift;
    template <class V>
    V operator()(V x, V y) const {
        const V rest = x < V(0) ? V(-1) : V(0);
        return static_cast<V>(y < V(8 * sizeof(V)) ? x >> y : rest);
    }
};

}  // namespace

// clang-format off
TABLE(bitwise,
      KERNEL(bitwise_not, run<BitwiseNot, T>),
      KERNEL(bitwise_and, run<BitwiseAnd, T>),
      KERNEL(bitwise_or, run<BitwiseOr, T>),
      KERNEL(bitwise_xor, run<BitwiseXor, T>),
      KERNEL(bitwise_left_shift, run<LeftShift, T>),
      KERNEL(bitwise_right_shift, run<RightShift, T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
