// Which levels this CPU can run.
#include "levels.hpp"

namespace tutor {

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
