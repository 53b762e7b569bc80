// The one header through which kernels see xsimd. Included only by sources compiled per level;
// CMake defines TUTOR_LEVEL (scalar, sse4, avx2, avx512, neon), which is also the namespace
// everything lives in.
#pragma once

#include <xsimd/xsimd.hpp>

#include "kernel.hpp"

// On NEON xsimd estimates quotients and square roots of floats by Newton's method, as 32-bit Arms
// must: off by a unit in the last place, and wrong for -0, infinities and subnormals. 64-bit Arms
// have instructions for both, which round as IEEE 754 says.
#if defined(__aarch64__) && !defined(TUTOR_SCALAR)
namespace xsimd {
namespace kernel {
template <>
inline batch<float, neon64> div(const batch<float, neon64>& x, const batch<float, neon64>& y,
                                requires_arch<neon>) noexcept {
    return vdivq_f32(x, y);
}
template <>
inline batch<float, neon64> sqrt(const batch<float, neon64>& x, requires_arch<neon>) noexcept {
    return vsqrtq_f32(x);
}
}  // namespace kernel
}  // namespace xsimd
#endif

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

#ifdef TUTOR_SCALAR
using Arch =
    xsimd::emulated<128>;  // registers of 16 bytes emulated in plain C++, for any CPU at all
#elif defined(__aarch64__)
using Arch = xsimd::neon64;  // whatever else the compiler's flags allow: see above
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
