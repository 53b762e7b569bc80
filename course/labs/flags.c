// What do flags of the compiler change? `python -m tutor lab flags` compiles this file with -O0,
// -O1, -O2, -O3 and -Ofast, and calls `sum` of each. `sum_many` is compiled with -O3 alone.

// The sum of n floats, in the order in which they are written. Each addition waits for the one
// before it. Only a compiler that may change the order, as -Ofast allows, can add in lanes.
static float sum_once(const float* x, long n) {
    float sum = 0;
    for (long i = 0; i < n; i++) sum += x[i];
    return sum;
}

// The order is changed by hand: 32 sums, each of every 32nd number, and their sum at the end. That
// is what the source says now, so every compiler may use lanes, and all of IEEE 754 holds.
static float sum_once_many(const float* x, long n) {
    float sums[32] = {0}, sum = 0;
    for (long i = 0; i + 32 <= n; i += 32)
        for (int k = 0; k < 32; k++) sums[k] += x[i + k];
    for (int k = 0; k < 32; k++) sum += sums[k];
    return sum;
}

// Several times, so that one call takes long enough to be timed. The empty instruction may have
// changed all memory, for all the compiler knows: it has to read the numbers again.
#define AGAIN(name, once)                           \
    float name(const float* x, long n, int times) { \
        float sum = 0;                              \
        for (int t = 0; t < times; t++) {           \
            sum = once(x, n);                       \
            __asm__ volatile("" ::: "memory");      \
        }                                           \
        return sum;                                 \
    }
AGAIN(sum, sum_once)
AGAIN(sum_many, sum_once_many)

// What IEEE 754 promises, a bit for each promise that is kept. `given` comes from outside, or the
// compiler would compute all of it itself: nan, infinity, 1e20, 1, -0, 3.
int promises(const float* given) {
    const float nan = given[0], infinity = given[1], large = given[2], one = given[3];
    const float minus_zero = given[4], three = given[5];
    int kept = 0;
    kept |= (nan != nan) << 0;                       // nan is not equal to itself
    kept |= __builtin_isinf(infinity) ? 1 << 1 : 0;  // infinity can be recognized
    kept |= ((one + large) - large == 0) << 2;       // sums are computed as written
    kept |= (1 / (minus_zero + 0.0f) > 0) << 3;      // -0 + 0 is +0
    volatile float by = three;
    int equal = 1;
    for (int i = 1; i < 100; i++) equal &= i * one / 3.0f == i * one / by;
    kept |= equal << 4;  // a division is rounded once
    return kept;
}
