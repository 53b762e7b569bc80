// The one header through which kernels see xsimd. Included only by sources compiled per level;
// CMake defines TUTOR_LEVEL (scalar, sse4, avx2, avx512, neon), which is also the namespace
// everything lives in.
#pragma once

#include <xsimd/xsimd.hpp>

#include "kernel.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

#ifdef TUTOR_SCALAR
using Arch =
    xsimd::emulated<128>;  // registers of 16 bytes acted out in plain C++, for any CPU at all
#else
using Arch = xsimd::default_arch;  // the widest that this source's compiler flags allow
#endif

template <class T>
using vec = xsimd::batch<T, Arch>;
template <class T>
using mask = xsimd::batch_bool<T, Arch>;
template <class T>
constexpr int lanes = static_cast<int>(vec<T>::size);

template <class T>
inline vec<T> load(const T* from) {
    return vec<T>::load_unaligned(from);
}
template <class T>
inline void store(T* to, vec<T> values) {
    values.store_unaligned(to);
}

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
