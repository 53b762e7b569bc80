// What do the smallest numbers cost? Below 1.2e-38 a float has fewer digits than others: it is
// called denormal, or subnormal. Many processors leave such a product to a slow way, a microcode
// assist.
#ifdef __SSE__
#include <xmmintrin.h>
#endif

// y = factor * x, times over. `flush` makes the processor take denormal numbers for 0, while this
// runs: it is a setting of the thread, and what everybody else computes would change with it.
// The result is whether that can be had here.
int multiply(const float* x, float* y, long n, float factor, int times, int flush) {
#ifdef __SSE__
    const unsigned before = _mm_getcsr();
    if (flush) _mm_setcsr(before | 0x8040);  // results that are denormal, and operands
#endif
    for (int t = 0; t < times; t++) {
        for (long i = 0; i < n; i++) y[i] = factor * x[i];
        __asm__ volatile("" ::: "memory");
    }
#ifdef __SSE__
    _mm_setcsr(before);
    return 1;
#else
    return !flush;
#endif
}

void add(const float* x, float* y, long n, float term, int times) {
    for (int t = 0; t < times; t++) {
        for (long i = 0; i < n; i++) y[i] = term + x[i];
        __asm__ volatile("" ::: "memory");
    }
}
