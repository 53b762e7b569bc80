// Random numbers: random_bits uniform normal dropout, all from Philox4x32-10 (J. Salmon, M. Moraes,
// R. Dror and D. Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011). Block number b of a
// stream is a hash of (seed, b), so any thread can begin anywhere. A call's cells determine where
// it begins, at the moment when it is made (`run` in border/call.cpp).
#include <cmath>

#include "math/computed.hpp"
#include "math/math.hpp"
#include "random.rows.hpp"
#include "walk/nest.hpp"

namespace tutor {
namespace TUTOR_LEVEL {
namespace {

constexpr int WORDS = 4;  // 32 bits each, in a block
// Blocks made together: several vectors, because each round waits for the one before it.
constexpr int BLOCKS = 64;

struct Words {
    uint32_t word[WORDS][BLOCKS];
};

// The blocks `first` to first + 63 after block `counter`. A block's number has 128 bits. Never
// inlined, because only on their own do these loops become vectors.
[[gnu::noinline]] Words philox(uint64_t seed, uint64_t counter, uint64_t first) {
    Words words;
    auto& [a, b, c, d] = words.word;
    for (int i = 0; i < BLOCKS; i++) {
        const uint64_t block = counter + (first + i);
        a[i] = static_cast<uint32_t>(block);
        b[i] = static_cast<uint32_t>(block >> 32);
        c[i] = block < counter ? 1 : 0;  // the sum went past 64 bits
        d[i] = 0;
    }
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            const uint64_t x = uint64_t{0xD2511F53} * a[i], y = uint64_t{0xCD9E8D57} * c[i];
            a[i] = static_cast<uint32_t>(y >> 32) ^ b[i] ^ key0;
            b[i] = static_cast<uint32_t>(y);
            c[i] = static_cast<uint32_t>(x >> 32) ^ d[i] ^ key1;
            d[i] = static_cast<uint32_t>(x);
        }
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return words;
}

// The top 53 of 64 bits, as an integer.
inline double top_bits(uint32_t high, uint32_t low) {
    return static_cast<double>((uint64_t{high} << 32 | low) >> 11);
}

// ---- what becomes of the words: `per_block` numbers of each block, all of them side by side at z

struct RandomBits {
    using Number = uint32_t;
    static constexpr int per_block = 4;
    static void make(const Words& words, uint32_t* z) {
        for (int i = 0; i < BLOCKS; i++)
            for (int w = 0; w < WORDS; w++) z[i * WORDS + w] = words.word[w][i];
    }
};

template <class T>
struct Uniform {
    using Number = T;
    static constexpr int per_block = 4;
    static T of(uint32_t word) {
        if constexpr (sizeof(T) == 4)
            return static_cast<float>(word >> 8) * 0x1p-24f;
        else if constexpr (std::is_same_v<T, half_t>)
            return to_half(static_cast<float>(word >> 21) * 0x1p-11f);
        else
            return to_bfloat(static_cast<float>(word >> 24) * 0x1p-8f);
    }
    static void make(const Words& words, T* z) {
        for (int i = 0; i < BLOCKS; i++)
            for (int w = 0; w < WORDS; w++) z[i * WORDS + w] = of(words.word[w][i]);
    }
};

template <>
struct Uniform<double> {
    using Number = double;
    static constexpr int per_block = 2;
    static void make(const Words& words, double* z) {
        const auto& [a, b, c, d] = words.word;
        for (int i = 0; i < BLOCKS; i++) {
            z[2 * i] = top_bits(a[i], b[i]) * 0x1p-53;
            z[2 * i + 1] = top_bits(c[i], d[i]) * 0x1p-53;
        }
    }
};

// G. Box and M. Muller, A note on the generation of random normal deviates (1958). Computed in
// double and rounded once; float64, which would show the last bits, uses the C library.
template <class T>
struct Normal {
    using Number = T;
    static constexpr int per_block = 2;
    static void make(const Words& words, T* z) {
        const auto& [a, b, c, d] = words.word;
        alignas(64) double u[BLOCKS], angle[BLOCKS], x[BLOCKS], y[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            u[i] = (top_bits(a[i], b[i]) + 1) * 0x1p-53;  // never 0
            angle[i] = 6.283185307179586 * (top_bits(c[i], d[i]) * 0x1p-53);
        }
        if constexpr (sizeof(T) == 8) {
            for (int i = 0; i < BLOCKS; i++) {
                const double radius = std::sqrt(-2 * std::log(u[i]));
                x[i] = radius * std::cos(angle[i]);
                y[i] = radius * std::sin(angle[i]);
            }
        } else {
            for (int i = 0; i < BLOCKS; i += lanes<double>) {
                const vec<double> radius = xsimd::sqrt(-2.0 * math::log(load(u + i)));
                store(x + i, radius * math::cos<double>(load(angle + i)));
                store(y + i, radius * math::sin<double>(load(angle + i)));
            }
        }
        for (int i = 0; i < BLOCKS; i++) {
            z[2 * i] = convert<T>(x[i]);
            z[2 * i + 1] = convert<T>(y[i]);
        }
    }
};

// ---- the loop -----------------------------------------------------------------------------------

template <class Numbers>
Status fill(const Operand& out, const Operand*, int, const Params& params) {
    using T = typename Numbers::Number;
    constexpr int64_t BATCH = BLOCKS * Numbers::per_block, BATCHES = 32;  // of a chunk: over 10 us
    Nest nest;
    for (int d = 0; d < out.ndim; d++) nest.add(out.shape[d], {out.strides[d]});
    const int64_t count = nest.count(), step = nest.depth > 0 ? nest.stride[nest.depth - 1][0] : 1;
    auto make_batch = [&](int64_t first) {
        T numbers[BATCH];
        const uint64_t seed = params.integer[Draw::SEED], counter = params.integer[Draw::COUNTER];
        Numbers::make(philox(seed, counter, first / Numbers::per_block), numbers);
        const int64_t n = smaller(BATCH, count - first);
        for (int64_t i = 0; i < n;) {
            int64_t offset[MAX_OPERANDS];
            const int64_t run = smaller(nest.locate(first + i, offset), n - i);
            T* z = reinterpret_cast<T*>(out.data) + offset[0];
            for (int64_t j = 0; j < run; j++) z[j * step] = numbers[i + j];
            i += run;
        }
    };
    parallel_each(ceil_div(count, BATCH), 1, BATCHES, [&](int64_t b) { make_batch(b * BATCH); });
    return {Status::Ok, 0, 0};
}

// z = scale * x where the word is `threshold` or more, else 0; that may be 2**32, which no word is.
template <class T>
Status dropout(const Operand& out, const Operand* ins, int, const Params& params) {
    using F = Computed<T>;
    constexpr int64_t BATCH = BLOCKS * RandomBits::per_block, BATCHES = 32;
    const Operand& x = ins[2];
    const F scale = static_cast<F>(params.number[1]);
    const bool any = params.number[2] < 4294967296.0;
    const uint32_t threshold = any ? static_cast<uint32_t>(params.number[2]) : 0;
    Nest nest;
    for (int d = 0; d < out.ndim; d++) nest.add(out.shape[d], {out.strides[d], x.strides[d]});
    const int64_t count = nest.count(), inner = nest.depth - 1;
    const int64_t z_step = nest.depth > 0 ? nest.stride[inner][0] : 1;
    const int64_t x_step = nest.depth > 0 ? nest.stride[inner][1] : 1;
    parallel_each(ceil_div(count, BATCH), 1, BATCHES, [&](int64_t batch) {
        const int64_t first = batch * BATCH, n = smaller(BATCH, count - first);
        uint32_t words[BATCH];
        F numbers[BATCH];
        RandomBits::make(philox(params.integer[Draw::SEED], params.integer[Draw::COUNTER],
                                first / RandomBits::per_block),
                         words);
        for (int64_t i = 0; i < n;) {
            int64_t at[MAX_OPERANDS];
            const int64_t run = smaller(nest.locate(first + i, at), n - i);
            move_row(reinterpret_cast<const T*>(x.data) + at[1], x_step, numbers, 1, run);
            for (int64_t j = 0; j < run; j++)
                numbers[j] = (any & (words[i + j] >= threshold)) ? numbers[j] * scale : F(0);
            move_row(numbers, 1, reinterpret_cast<T*>(out.data) + at[0], z_step, run);
            i += run;
        }
    });
    return {Status::Ok, 0, 0};
}

}  // namespace

// clang-format off
TABLE(random,
      KERNEL(random_bits, fill<RandomBits>),
      KERNEL(uniform, fill<Uniform<T>>),
      KERNEL(normal, fill<Normal<T>>),
      KERNEL(dropout, dropout<T>))
// clang-format on

}  // namespace TUTOR_LEVEL
}  // namespace tutor
