// What does a wrong guess cost? The processor goes on before it knows which way a branch goes. Here
// it is asked of each number whether it is at least 128.

// With a branch. The empty instruction inside keeps the compiler from doing without one.
long with_branch(const unsigned char* x, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++)
        if (x[i] >= 128) {
            __asm__ volatile("");
            sum += x[i];
        }
    return sum;
}

// Without one: the comparison is 0 or 1, and so a mask of no bits, or of all.
long without_branch(const unsigned char* x, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += x[i] & -(x[i] >= 128);
    return sum;
}
