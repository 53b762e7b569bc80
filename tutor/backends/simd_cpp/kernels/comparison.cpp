// Comparisons, and the choice by a condition.
#include "comparison.rows.hpp"
#include "kernels/elementwise.hpp"
#include "walk/items.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

#define COMPARISON(Name, operation)       \
    struct Name : Comparison {            \
        template <class V>                \
        bool operator()(V x, V y) const { \
            return x operation y;         \
        }                                 \
    };
COMPARISON(Eq, ==)
COMPARISON(Ne, !=)
COMPARISON(Lt, <)
COMPARISON(Le, <=)
COMPARISON(Gt, >)
COMPARISON(Ge, >=)
#undef COMPARISON

// ---- where --------------------------------------------------------------------------------------

template <class Bits>
void choose(int64_t n, void* out, const void* const* ins) {
    Item<Bits>* z = static_cast<Item<Bits>*>(out);
    const bool_t* condition = static_cast<const bool_t*>(ins[0]);
    const Item<Bits>*x = static_cast<const Item<Bits>*>(ins[1]),
          *y = static_cast<const Item<Bits>*>(ins[2]);
    TUTOR_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        const Bits yes = x[i].bits, no = y[i].bits;  // both read: no branch, so it vectorises
        z[i].bits = condition[i] ? yes : no;
    }
}

template <class T>
constexpr Work choice = plain(choose<Moved<T>>);

template <class T>
Status run_where(const Operand& out, const Operand* ins, int count, const Params&) {
    return each(out, ins, count, choice<T>);
}

}  // namespace

// clang-format off
TABLE(comparison,
      KERNEL(eq, run<Eq, T>),
      KERNEL(ne, run<Ne, T>),
      KERNEL(lt, run<Lt, T>),
      KERNEL(le, run<Le, T>),
      KERNEL(gt, run<Gt, T>),
      KERNEL(ge, run<Ge, T>),
      KERNEL(where, run_where<T>, &choice<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
