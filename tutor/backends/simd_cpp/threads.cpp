#include "kernel.hpp"
namespace tutor {
void parallel_for(int64_t chunks, void (*task)(void*, int64_t), void* context) { for (int64_t i = 0; i < chunks; ++i) task(context, i); }
static int threads_ = 1;
int thread_count() { return threads_; }
void set_thread_count(int count) { threads_ = count; }
}
#include <cstdlib>
namespace tutor {
void* scratch(int slot, int64_t nbytes) { static thread_local void* p[4]; free(p[slot]); return p[slot] = aligned_alloc(64, (nbytes + 127) / 64 * 64); }
}
