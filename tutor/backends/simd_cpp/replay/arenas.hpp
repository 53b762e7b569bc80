// Memory for the temps of all Plans of the process. A run takes an arena and gives it back, so
// there are as many arenas as simultaneous runs, however many Programs have been recorded, and none
// is larger than the largest Program needs. Changed with the GIL held.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "memory/memory.hpp"

namespace tutor {

class Arenas {
  public:
    // A Plan that needs this many bytes has been made, or is gone.
    void join(size_t bytes) { needed_.insert(bytes); }
    void leave(size_t bytes);

    // An arena of at least this many bytes. nullptr, without a Python error, if memory runs out.
    Memory* take(size_t bytes);
    void give(Memory* arena);

  private:
    size_t most() const { return needed_.empty() ? 0 : *needed_.rbegin(); }

    std::multiset<size_t> needed_;
    std::vector<Memory*> idle_;  // owned, the smallest first
};

Arenas& all_arenas();

}  // namespace tutor
