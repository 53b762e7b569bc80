// What does unrolling a loop gain, and what does it cost? `python -m tutor lab unroll` compiles
// this file with -DK=1, 2, 4 ... 256: as many copies of the body stand in each loop.
#define COPIES1(body) body
#define COPIES2(body) COPIES1(body) COPIES1(body)
#define COPIES4(body) COPIES2(body) COPIES2(body)
#define COPIES8(body) COPIES4(body) COPIES4(body)
#define COPIES16(body) COPIES8(body) COPIES8(body)
#define COPIES32(body) COPIES16(body) COPIES16(body)
#define COPIES64(body) COPIES32(body) COPIES32(body)
#define COPIES128(body) COPIES64(body) COPIES64(body)
#define COPIES256(body) COPIES128(body) COPIES128(body)
#define JOIN(a, b) a##b
#define COPIES(k) JOIN(COPIES, k)

// A short body: three instructions, and as many again for the loop if there is one copy of them.
// n is a multiple of 256.
void shorter(const int* x, int* y, long n) {
    for (const int* end = x + n; x != end;) {
        COPIES(K)(*y++ = *x++ + 1;)
    }
}

// A long body, 48 instructions of six bytes: 256 copies of it are 72 KiB, and the cache of the
// first level has 32 KiB for instructions in most processors. Six chains do not wait for each
// other.
#define LINK(a, p, q) a = (a ^ (0x9E3779B9u + p)) + (0x7F4A7C15u + q);
#define CHAINS(p, q) \
    LINK(a, p, q) LINK(b, p, q) LINK(c, p, q) LINK(d, p, q) LINK(e, p, q) LINK(f, p, q)
unsigned longer(long n) {
    unsigned a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    for (long i = 0; i < n; i += K) {
        COPIES(K)(CHAINS(1, 2) CHAINS(3, 4) CHAINS(5, 6) CHAINS(7, 8))
    }
    return a ^ b ^ c ^ d ^ e ^ f;
}
