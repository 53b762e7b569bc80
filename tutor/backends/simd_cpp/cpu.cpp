// Which levels this CPU can run.
#include "levels.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace tutor {

#ifdef __x86_64__
// Whether the CPU converts 16-bit floats. The system saves the registers this takes if it has
// "avx", which every level that asks for this one asks for as well.
static inline bool has_f16c() {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

#define TABLE(file) file,
#define ROW(level, supported)                                                                     \
    namespace level {                                                                             \
    static const Level row() { return {#level, supported, {TUTOR_FOR_EACH_KERNEL_FILE(TABLE)}}; } \
    }
TUTOR_FOR_EACH_LEVEL(ROW)
#undef ROW
#undef TABLE

const Level* levels() {
#define ROW(level, supported) level::row(),
    static const Level rows[LEVELS] = {TUTOR_FOR_EACH_LEVEL(ROW)};
#undef ROW
    return rows;
}

}  // namespace tutor
