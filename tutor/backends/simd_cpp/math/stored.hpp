// The type that kernels read and write for a dtype, if it is not the C++ type itself: bools.
#pragma once

#include <type_traits>

#include "kernel.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// A bool as stored in memory. Memory from elsewhere may hold bytes other than 0 and 1: any of them
// is true, and what a kernel writes is 0 or 1 again, even if it only moves it. (Such a byte must
// never be read as a C++ bool: one that is neither 0 nor 1 may be taken for both.)
struct bool_t {
    uint8_t byte;
    bool_t() = default;
    bool_t(bool x) : byte(x) {}
    bool_t(const bool_t& x) : byte(x.byte != 0) {}
    bool_t& operator=(const bool_t& x) {
        byte = x.byte != 0;
        return *this;
    }
    operator bool() const { return byte != 0; }
};
static_assert(sizeof(bool_t) == 1);

template <class T>
using Stored = std::conditional_t<std::is_same<T, bool>::value, bool_t, T>;

// Signedness makes no difference to integers that only wrap: both kinds share their code.
template <class T, bool IS_INTEGER = std::is_integral_v<T> && !std::is_same_v<T, bool>>
struct SignTaken {
    using type = T;
};
template <class T>
struct SignTaken<T, true> {
    using type = std::make_unsigned_t<T>;
};
template <class T>
using WithoutSign = typename SignTaken<T>::type;

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
