#include "replay/arenas.hpp"

#include <algorithm>
#include <cstring>

namespace tutor {

namespace {

size_t size_of(const Memory* arena) { return static_cast<size_t>(arena->count); }

bool is_smaller(const Memory* a, const Memory* b) { return a->count < b->count; }

}  // namespace

void Arenas::leave(size_t bytes) {
    needed_.erase(needed_.find(bytes));
    while (!idle_.empty() && size_of(idle_.back()) > most()) {
        Py_DECREF(idle_.back());
        idle_.pop_back();
    }
}

Memory* Arenas::take(size_t bytes) {
    const auto found = std::find_if(idle_.begin(), idle_.end(),
                                    [=](const Memory* arena) { return size_of(arena) >= bytes; });
    if (found != idle_.end()) {
        Memory* arena = *found;
        idle_.erase(found);
        return arena;
    }
    if (!idle_.empty()) {  // the new arena replaces the largest idle one
        Py_DECREF(idle_.back());
        idle_.pop_back();
    }
    Memory* arena = new_memory(static_cast<int64_t>(std::max(bytes, ALIGNMENT)), UInt8);
    if (arena) std::memset(arena->data, 0, bytes);  // touches the pages now, not in the first run
    return arena;
}

void Arenas::give(Memory* arena) {
    if (size_of(arena) > std::max(most(), ALIGNMENT)) {
        Py_DECREF(arena);
    } else {
        idle_.insert(std::upper_bound(idle_.begin(), idle_.end(), arena, is_smaller), arena);
    }
}

// Never destroyed: Python is gone when a process destroys its static objects.
Arenas& all_arenas() {
    static Arenas* const all = new Arenas;
    return *all;
}

}  // namespace tutor
