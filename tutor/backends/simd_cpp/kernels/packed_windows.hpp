// A product whose factors exist only packed, and the windows of an image, packed as one of them.
#pragma once

#include "kernels/gemm.hpp"
#include "kernels/window.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

// ---- one tile -----------------------------------------------------------------------------------

// Some rows of the left factor in one block of k, as the micro-kernel walks them.
template <class F>
struct Panel {
    const F* data;
    int64_t row, col;
};

// Of C = A B, m x n, blocks of k: right(block) packs B, and returns its slivers and how long they
// are; left(block, i, rows) is a panel of A; put(i, rows, sums, row) gets finished rows of C.
// false: out of memory.
template <class F, class Left, class Right, class Put>
bool multiply_packed(int64_t m, int64_t n, int64_t blocks, const Left& left, const Right& right,
                     const Put& put) {
    constexpr int64_t L = lanes<F>;
    const int64_t panels = ceil_div(m, ROWS), height = ceil_div(m, panels);
    const int64_t row = whole_vectors<F>(n);
    F* sums = static_cast<F*>(scratch(2, (blocks > 1 ? m : height) * row * sizeof(F)));
    if (!sums) return false;
    for (int64_t block = 0; block < blocks; ++block) {
        const auto [b, depth] = right(block);
        if (!b) return false;
        for (int64_t i = 0; i < m; i += height) {
            const int64_t rows = smaller(height, m - i);
            const Panel<F> a = left(block, i, rows);
            if (!a.data) return false;
            F* to = sums + (blocks > 1 ? i * row : 0);
            for (int64_t j = 0; j < n; j += SLIVER<F>) {
                const int64_t vectors = ceil_div(smaller(SLIVER<F>, n - j), L);
                micro_kernel_for<F>(rows, vectors)(depth, a.data, a.row, a.col, b + j * depth,
                                                   vectors * L, to + j, row, block > 0, {});
            }
            if (block == blocks - 1) put(i, rows, to, row);
        }
    }
    return true;
}

// Some outputs of one row, side by side in the copied image and among the columns.
struct Run {
    int64_t from, to, count;
};

// The outputs [begin, end) of a band, as runs. Returns how many.
inline int64_t runs_of(const Band& band, int64_t begin, int64_t end, Run* runs) {
    const int64_t wide = band.window.w.out;
    int64_t count = 0;
    for (int64_t at = begin; at < end;) {
        const int64_t r = at / wide, q = at % wide, here = smaller(wide - q, end - at);
        const int64_t from = band.position(r / band.rows, r % band.rows) + q;
        Run& last = runs[larger(count - 1, 0)];
        if (count > 0 && last.from + last.count == from)
            last.count += here;
        else
            runs[count++] = {from, at - begin, here};
        at += here;
    }
    return count;
}

// Copies runs by whole vectors. What is written beyond the end of one is overwritten by the next;
// the caller has room for a vector after the last.
template <class F>
inline void copy_runs(const Run* runs, int64_t count, const F* from, F* to) {
    constexpr int64_t L = lanes<F>;
    for (int64_t r = 0; r < count; ++r)
        for (int64_t q = 0; q < runs[r].count; q += L)
            store(to + runs[r].to + q, load(from + runs[r].from + q));
}

// Cuts all outputs into bands of at most `most` places: rows of an image, or whole images. (A
// single row may be longer.) All are nearly alike.
struct Cut {
    const Window& window;
    int64_t batch, images, rows, down;

    Cut(const Window& all, int64_t n, int64_t most) : window(all), batch(n) {
        const int64_t high = all.h.out, fit = larger(1, most / all.w.out);
        down = ceil_div(high, fit);
        rows = ceil_div(high, down);
        down = ceil_div(high, rows);
        images = down > 1 ? 1 : smaller(batch, larger(1, fit / high));
        images = ceil_div(batch, ceil_div(batch, images));
    }
    int64_t count() const { return ceil_div(batch, images) * down; }
    int64_t places() const { return images * rows * window.w.out; }
    Band operator[](int64_t b) const {
        const int64_t n = b / down * images, p = b % down * rows;
        return {window, n, smaller(images, batch - n), p, smaller(rows, window.h.out - p)};
    }
};

// A copy of what a band sees of some channels, and where each of their taps begins in it.
template <class F>
struct Seen {
    F* image = nullptr;
    int64_t* at = nullptr;
    int64_t first = 0;  // the channel

    // Of all taps [k, k + count) of the channels from `group` on. Slots 3 and 4 of the scratch.
    template <class T>
    bool copy(const Operand& x, int64_t group, const Band& band, int64_t k, int64_t count) {
        const int64_t taps = band.window.taps();
        first = k / taps;
        const int64_t channels = ceil_div(k + count, taps) - first;
        image = static_cast<F*>(scratch(3, (channels * band.channel + lanes<F>)*sizeof(F)));
        at = static_cast<int64_t*>(scratch(4, channels * taps * sizeof(int64_t)));
        if (!image || !at) return false;
        copy_input<const T>(x, group + first, channels, band, image);
        band.places(channels, at);
        at -= first * taps;
        return true;
    }
    const F* tap(int64_t k) const { return image + at[k]; }
};

}  // namespace
}  // namespace TUTOR_LEVEL
}  // namespace tutor
