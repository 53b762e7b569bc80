// argsort: the positions along one axis, in the order of the elements there.
//
// An element becomes an Entry, one unsigned integer: its key above, its position below. Then no two
// are equal, equal keys stay in the order of their positions, and any way to sort integers will do.
// Few entries are merged; many are radix sorted by the digits of their keys, without a comparison.
#include "math/order.hpp"
#include "sort.rows.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int64_t GRAIN = 1 << 10;  // elements in about 10 us of work, the cost of waking a thread

// ---- few: merge sort ----------------------------------------------------------------------------

template <class Entry>
void insertion_sort(Entry* entries, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const Entry moved = entries[i];
        int64_t to = i;
        for (; to > 0 && moved < entries[to - 1]; to--) entries[to] = entries[to - 1];
        entries[to] = moved;
    }
}

// Merges the sorted stretches [0, middle) and [middle, n). Which of two is smaller is
// unpredictable, so arithmetic chooses instead of a branch.
template <class Entry>
void merge(const Entry* from, int64_t middle, int64_t n, Entry* to) {
    int64_t left = 0, right = middle;
    while (left < middle && right < n) {
        const Entry a = from[left], b = from[right];
        const bool second = b < a;
        *to++ = second ? b : a;
        right += second, left += !second;
    }
    while (left < middle) *to++ = from[left++];
    while (right < n) *to++ = from[right++];
}

constexpr int64_t SHORT = 12;  // up to this many entries, insertion sort is faster

// Merge sort, bottom up: stretches of 12, 24, 48, ... are merged in pairs, back and forth between
// two arrays. Returns the array with the sorted entries.
template <class Entry>
const Entry* merge_sort(Entry* entries, Entry* other, int64_t n) {
    for (int64_t i = 0; i < n; i += SHORT) insertion_sort(entries + i, smaller(SHORT, n - i));
    for (int64_t length = SHORT; length < n; length *= 2) {
        for (int64_t i = 0; i < n; i += 2 * length)
            merge(entries + i, smaller(length, n - i), smaller(2 * length, n - i), other + i);
        Entry* sorted = other;
        other = entries, entries = sorted;
    }
    return entries;
}

// ---- many: radix sort ---------------------------------------------------------------------------

constexpr int64_t MANY = 64;  // entries per digit from which its 256 counters pay off

// Radix sort: by the lowest of the key's `DIGITS` bytes, then by the next, each time keeping the
// order of entries equal in it; after the highest, all are sorted (D. Knuth, The Art of Computer
// Programming 3, 5.2.5). There is room for DIGITS * 256 numbers after `other`. Returns the array
// with the sorted entries.
template <int DIGITS, class Entry>
const Entry* radix_sort(Entry* entries, Entry* other, int64_t n) {
    constexpr int KEY = 4 * sizeof(Entry);  // the lowest bit of the key
    const auto digit = [](Entry entry, int d) { return uint8_t(entry >> (KEY + 8 * d)); };
    auto* counts = reinterpret_cast<int64_t (*)[256]>(other + n);
    std::memset(counts, 0, DIGITS * sizeof(*counts));
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 8
        for (int d = 0; d < DIGITS; d++) counts[d][digit(entries[i], d)]++;
    for (int d = 0; d < DIGITS; d++) {
        int64_t* next = counts[d];  // how many, then: where the next one with this digit goes
        if (next[digit(entries[0], d)] == n) continue;
        for (int64_t value = 0, before = 0; value < 256; value++) {
            const int64_t count = next[value];
            next[value] = before, before += count;
        }
        for (int64_t i = 0; i < n; i++) other[next[digit(entries[i], d)]++] = entries[i];
        Entry* sorted = other;
        other = entries, entries = sorted;
    }
    return entries;
}

// ---- argsort ------------------------------------------------------------------------------------

// The keys of order.hpp as unsigned integers in the same order. Flipping all bits
// reverses the order.
template <class T>
auto unsigned_key(T x, bool descending) {
    using Key = typename Ordered<T>::Key;
    using Bits = std::make_unsigned_t<Key>;
    const Bits turn = static_cast<Bits>(-int(descending));  // all bits, or none
    constexpr Bits LOWEST = static_cast<Bits>(std::numeric_limits<Key>::min());
    const Bits key = static_cast<Bits>(Ordered<T>::zeros_alike(Ordered<T>::key(x)) - LOWEST);
    return static_cast<Bits>(key ^ turn);
}

// n elements, `step` apart. false: out of memory.
template <class T, class Entry>
bool argsort_line(int64_t n, const T* from, int64_t step, int64_t* to, int64_t to_step,
                  bool descending) {
    constexpr int KEY = 4 * sizeof(Entry);
    constexpr int64_t COUNTS = sizeof(T) * 256 * sizeof(int64_t);
    auto* entries = static_cast<Entry*>(scratch(0, 2 * n * sizeof(Entry) + COUNTS));
    if (entries == nullptr) return false;
    for (int64_t i = 0; i < n; i++)
        entries[i] = Entry(unsigned_key(from[i * step], descending)) << KEY | Entry(i);
    const Entry* sorted = n < MANY * int64_t(sizeof(T))
                              ? merge_sort(entries, entries + n, n)
                              : radix_sort<sizeof(T)>(entries, entries + n, n);
    constexpr Entry POSITION = (Entry(1) << KEY) - 1;
    for (int64_t i = 0; i < n; i++) to[i * to_step] = static_cast<int64_t>(sorted[i] & POSITION);
    return true;
}

template <class T>
Status argsort(const Operand& out, const Operand* ins, int, const Params& params) {
    const Operand& x = ins[0];
    const int axis = static_cast<int>(params.axis[0]);
    const bool descending = params.number[0] != 0;
    const int64_t n = x.shape[axis], x_along = x.strides[axis], out_along = out.strides[axis];
    // Halves of 32 bits are enough for most.
    const bool wide = sizeof(T) == 8 || n > int64_t(1) << 32;
    const auto line = wide ? argsort_line<T, unsigned __int128> : argsort_line<T, uint64_t>;
    Nest slices;
    for (int d = 0; d < x.ndim; d++)
        if (d != axis) slices.add(x.shape[d], {out.strides[d], x.strides[d]});
    bool failed = false;
    parallel_each(n > 0 ? slices.count() : 0, n, GRAIN, [&](int64_t slice) {
        int64_t offset[MAX_OPERANDS];
        slices.locate(slice, offset);
        if (!line(n, reinterpret_cast<const T*>(x.data) + offset[1], x_along,
                  reinterpret_cast<int64_t*>(out.data) + offset[0], out_along, descending))
            __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
    });
    return {failed ? Status::OutOfMemory : Status::Ok, 0, 0};
}

}  // namespace

TABLE(sort, KERNEL(argsort, argsort<Stored<T>>))

}  // namespace TUTOR_LEVEL
}  // namespace tutor
