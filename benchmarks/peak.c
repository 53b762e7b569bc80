/* What this machine can do at most, found by doing nothing else. Compiled at run time by machine.py
   for this very CPU, and called from as many threads as are measured. GCC's and Clang's vector
   types: one line of source is one instruction per vector. */

#if defined(BYTES) /* by whoever compiles it */
#elif defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
typedef float Vector __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / 4, CHAINS = 12 };

long vector_bytes(void) { return BYTES; }
long flops_per_round(void) { return 2 * CHAINS * LANES; }

/* Arithmetic: x = x m + a in 12 chains that do not wait for each other. A multiply-add takes about
   4 cycles and two can begin in each, so 8 chains would do; 12 and both constants fit into 16
   registers. With |m| < 1 the numbers stay near a / (1 - m). */
float multiply_add(long rounds, float m, float a) {
    Vector x[CHAINS], sum = {0};
    for (int i = 0; i < CHAINS; ++i) x[i] = sum + (float)i;
    for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; ++i) x[i] = x[i] * m + a;
    }
    for (int i = 0; i < CHAINS; ++i) sum += x[i];
    return sum[0];
}

/* Reading: 8 sums at once, for the same reason. n counts vectors, a multiple of 8. */
float read_all(long rounds, long n, const Vector* x) {
    Vector sum[8] = {{0}};
    for (long r = 0; r < rounds; ++r) {
        __asm__ volatile("" ::: "memory"); /* read it again */
        for (long i = 0; i < n; i += 8) {
#pragma GCC unroll 8
            for (int k = 0; k < 8; ++k) sum[k] += x[i + k];
        }
    }
    for (int k = 1; k < 8; ++k) sum[0] += sum[k];
    return sum[0][0];
}

/* Two streams in, one out: the traffic of `z = x + y` into memory that is there already. */
void add_all(long rounds, long n, const Vector* x, const Vector* y, Vector* z) {
    for (long r = 0; r < rounds; ++r) {
        __asm__ volatile("" ::: "memory");
        for (long i = 0; i < n; i += 4) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) z[i + k] = x[i + k] + y[i + k];
        }
    }
}
