// The levels as C++ sees them. CMakeLists.txt alone decides which there are: it
// writes level_list.hpp.
#pragma once

#include "kernel.hpp"
#include "level_list.hpp"

namespace tutor {

// What each kernels/*.cpp exports, once per level: tutor::avx2::elementwise() and so on.
#define DECLARE(file) Rows file();
#define ROW(level, supported)           \
    namespace level {                   \
    TUTOR_FOR_EACH_KERNEL_FILE(DECLARE) \
    }
TUTOR_FOR_EACH_LEVEL(ROW)
#undef ROW
#undef DECLARE

using Table = Rows (*)();

#define COUNT(file) +1
constexpr int TABLES = TUTOR_FOR_EACH_KERNEL_FILE(COUNT);
#undef COUNT
#define COUNT(level, supported) +1
constexpr int LEVELS = TUTOR_FOR_EACH_LEVEL(COUNT);
#undef COUNT

struct Level {
    const char* name;
    bool supported;  // by the CPU this process runs on
    Table tables[TABLES];
};

// Every level of this build, in rising order: LEVELS of them.
const Level* levels();

}  // namespace tutor
