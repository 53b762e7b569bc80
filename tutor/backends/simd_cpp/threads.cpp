// The thread pool of the process, and scratch memory per thread.
//
// One job at a time is divided into chunks, which the caller and the workers take until none is
// left. The caller then waits for the chunks that workers have begun, never for the workers: one
// that wakes late must find nothing. Both follow from the ticket, one atomic word that holds the
// number of the job and how many of its chunks are left. Taking a chunk lowers that word by one,
// which fails if anything has changed since the thread read what to do; and once it has succeeded,
// the job cannot end before that chunk is done.
#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel.hpp"

namespace tutor {

namespace {

using Task = void (*)(void* context, int64_t chunk);

// ---- How many threads ---------------------------------------------------------------------------

constexpr int MAX_THREADS = 1024;

// The positive number that an environment variable begins with, else 0.
long number_in(const char* variable) {
    const char* text = std::getenv(variable);
    long number = text ? std::strtol(text, nullptr, 10) : 0;
    return number > 0 ? number : 0;
}

// How many CPUs this process may run on.
int cpus() {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
    return static_cast<int>(std::thread::hardware_concurrency());
}

int clamp(long count) {
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : static_cast<int>(count);
}

int default_count() {
    long count = number_in("TUTOR_NUM_THREADS");
    if (!count) count = number_in("OMP_NUM_THREADS");
    return clamp(count ? count : cpus());
}

std::atomic<int> count_in_use{default_count()};

// ---- The pool -----------------------------------------------------------------------------------

// True in a worker, and in a caller during its job: parallel work inside parallel work runs inline.
thread_local bool inside = false;

class Pool {
  public:
    static constexpr int64_t MAX_CHUNKS = UINT32_MAX;

    // false if another thread's job is running.
    bool run(int64_t chunks, Task task, void* context) {
        std::unique_lock<std::mutex> mine(busy_, std::try_to_lock);
        if (!mine) return false;
        start_workers();
        task_.store(task, std::memory_order_relaxed);
        context_.store(context, std::memory_order_relaxed);
        unfinished_.store(chunks, std::memory_order_relaxed);
        uint64_t job = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
        ticket_.store(job << 32 | static_cast<uint64_t>(chunks), std::memory_order_release);
        wake(chunks - 1);
        inside = true;
        work();
        inside = false;
        wait_until_done();
        return true;
    }

    // Ends the workers beyond the thread count.
    void end_workers() {
        std::lock_guard<std::mutex> mine(busy_);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            needed_ = thread_count() - 1;
        }
        work_.notify_all();
        while (static_cast<int>(workers_.size()) > needed_) {
            workers_.back().join();
            workers_.pop_back();
        }
    }

  private:
    static uint64_t chunks_left(uint64_t ticket) { return ticket & UINT32_MAX; }

    // Takes chunks until none is left.
    void work() {
        int64_t finished = 0;
        for (;;) {
            uint64_t ticket = ticket_.load(std::memory_order_acquire);
            uint64_t left = chunks_left(ticket);
            if (left == 0) break;
            // Perhaps another job's by now, but then the exchange fails.
            Task task = task_.load(std::memory_order_relaxed);
            void* context = context_.load(std::memory_order_relaxed);
            if (ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_relaxed)) {
                task(context, static_cast<int64_t>(left - 1));
                ++finished;
            }
        }
        if (finished && unfinished_.fetch_sub(finished, std::memory_order_acq_rel) == finished) {
            std::lock_guard<std::mutex> lock(mutex_);  // the caller may be about to sleep
            done_.notify_one();
        }
    }
    // Tells sleeping workers that there are chunks. The lock makes sure that a worker which has
    // just found none is asleep before it is woken.
    void wake(int64_t chunks) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
        }
        if (chunks >= static_cast<int64_t>(workers_.size())) {
            work_.notify_all();
        } else {
            for (int64_t i = 0; i < chunks; ++i) work_.notify_one();
        }
    }

    void wait_until_done() {
        auto done = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
        if (soon(done)) return;
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, done);
    }

    // Whether `condition` holds within a moment: the time that a sleep and the wake-up from
    // it cost. Between two looks the core is offered to other threads, so this does not
    // slow a busy machine.
    template <class Condition>
    static bool soon(Condition condition) {
        auto end = std::chrono::steady_clock::now() + MOMENT;
        do {
            if (condition()) return true;
            std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < end);
        return false;
    }

    void worker(int index) {
        inside = true;
        auto news = [&] {
            return chunks_left(ticket_.load(std::memory_order_relaxed)) || index >= needed_;
        };
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            work_.wait(lock, news);
            if (index >= needed_) return;
            lock.unlock();
            work();
            soon([this] { return chunks_left(ticket_.load(std::memory_order_relaxed)) != 0; });
            lock.lock();
        }
    }

    // Starts as many workers as the thread count asks for, or fewer if the system has no more.
    void start_workers() {
        int wanted = thread_count() - 1;
        if (static_cast<int>(workers_.size()) >= wanted) return;
        std::lock_guard<std::mutex> lock(mutex_);
        needed_ = wanted;
        try {
            while (static_cast<int>(workers_.size()) < wanted) {
                workers_.emplace_back(&Pool::worker, this, static_cast<int>(workers_.size()));
            }
        } catch (const std::exception&) {
        }
    }

    // Waking a thread costs about 10 us, on a virtual machine several times that, and the kernels
    // of a training step follow each other at such intervals.
    static constexpr std::chrono::microseconds MOMENT{100};

    std::mutex busy_;  // held by the thread whose job it is

    // The job. Written while no chunk is left; atomic, because a late worker may read it meanwhile.
    std::atomic<uint64_t> ticket_{0};  // 32 bits: number of the job; 32 bits: chunks left to take
    std::atomic<Task> task_{nullptr};
    std::atomic<void*> context_{nullptr};
    std::atomic<int64_t> unfinished_{0};  // chunks that nobody has reported as done

    std::mutex mutex_;  // for falling asleep
    std::condition_variable work_;
    std::condition_variable done_;
    std::vector<std::thread> workers_;
    int needed_ = 0;  // workers with this index and beyond end
};

// Never destroyed: workers may sleep on it until the process is gone. The child of a fork has none
// of its parent's threads and starts over.
Pool* pool = [] {
    pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
    return new Pool;
}();

}  // namespace

void parallel_for(int64_t chunks, void (*task)(void* context, int64_t chunk), void* context) {
    bool alone = inside || chunks < 2 || chunks > Pool::MAX_CHUNKS || thread_count() == 1;
    if (!alone && pool->run(chunks, task, context)) return;
    for (int64_t i = 0; i < chunks; ++i) task(context, i);
}

int thread_count() { return count_in_use.load(std::memory_order_relaxed); }

void set_thread_count(int count) {
    count_in_use.store(clamp(count), std::memory_order_relaxed);
    pool->end_workers();
}

// ---- Scratch memory -----------------------------------------------------------------------------

namespace {

constexpr size_t ALIGNMENT = 64;
constexpr int SLOTS = 8;

struct Scratch {
    void* block[SLOTS] = {};
    size_t size[SLOTS] = {};

    ~Scratch() {
        for (void* b : block) std::free(b);
    }
};

thread_local Scratch mine;

}  // namespace

void* scratch(int slot, int64_t nbytes) {
    size_t size = (static_cast<size_t>(nbytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > mine.size[slot] || !mine.block[slot]) {
        std::free(mine.block[slot]);
        mine.block[slot] = std::aligned_alloc(ALIGNMENT, size ? size : ALIGNMENT);
        mine.size[slot] = mine.block[slot] ? size : 0;
    }
    return mine.block[slot];
}

}  // namespace tutor
