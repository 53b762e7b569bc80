"""Random numbers: Philox4x32-10, the same numbers as on all backends.

One work-item computes one block of four words from (seed, counter + its number), and all elements
that use these words. The counter is a cell: on the host it is advanced at once; on the device by
another kernel, queued after the one that reads it.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tutor._util.atomic import advance
from tutor.backends.opencl.capture import live
from tutor.backends.opencl.handwritten import Body, Kernel, filled, is_on_device
from tutor.backends.opencl.launch import number
from tutor.dtype import DType, bfloat16, float16, float32, float64

PHILOX = """
/* Ten rounds of multiplying, swapping and mixing. */
static inline void philox(uint64_t seed, uint64_t first, uint64_t more, uint32_t *w) {
    const uint64_t counter = first + more;  /* of 128 bits: c is what it carries */
    uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32), c = counter < more, d = 0;
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t x = (uint64_t)0xD2511F53u * a, y = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(y >> 32) ^ b ^ key0;
        b = (uint32_t)y;
        c = (uint32_t)(x >> 32) ^ d ^ key1;
        d = (uint32_t)x;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    w[0] = a;
    w[1] = b;
    w[2] = c;
    w[3] = d;
}

static inline uint64_t top(uint32_t high, uint32_t low) {
    return ((uint64_t)high << 32 | low) >> 11;
}
"""

HEAD = "{}(X *z, {}, {}, const X *x, double scale, threshold, whole)"
BLOCK = """
    uint32_t w[4];
    philox({}, {}, (uint64_t)at, w);
    X_m v[EACH];
    MAKE
    for (int64_t k = 0; k < EACH; k++)
        if (at * EACH + k < whole) z[at * EACH + k] = v[k];
"""

ADVANCE = Body("advance(uint64_t *counter, uint64_t by)", "counter[0] += by;")

BITS = {float16: (21, 11), bfloat16: (24, 8), float32: (8, 24)}  # bits dropped, and kept
NORMAL = """const double u = (double)(top(w[0], w[1]) + 1) * 0x1p-53;
        const double angle = 6.283185307179586477 * ((double)top(w[2], w[3]) * 0x1p-53);
        const double radius = sqrt(-2 * log(u));
        v[0] = STORE_X(ROUND(radius * cos(angle)));
        v[1] = STORE_X(ROUND(radius * sin(angle)));"""
DROPOUT = """for (int k = 0; k < 4; k++) {
            const int64_t i = at * 4 + k < whole ? at * 4 + k : 0;
            v[k] = w[k] >= threshold ? STORE_X(SCALED(LOAD_X(x[i]))) : 0;
        }"""


def made(kernel: str, dtype: DType) -> tuple[int, str, str]:
    """How many elements a block gives, the statements that compute them, and definitions."""
    halves = dtype.itemsize == 2
    odd = f"#define ROUND(x) {'round_to_odd(x)' if halves else '(X_t)(x)'}\n"
    if kernel == "random_bits":
        return 4, "for (int k = 0; k < 4; k++) v[k] = w[k];", odd
    if kernel == "normal":
        return 2, NORMAL, odd
    if kernel == "dropout":
        odd += "#define SCALED(x) ROUND(scale * (double)(x))\n"
        return 4, DROPOUT, odd
    if dtype is float64:
        unit = "v[{0}] = (double)top(w[{1}], w[{2}]) * 0x1p-53;"
        return 2, unit.format(0, 0, 1) + "\n        " + unit.format(1, 2, 3), odd
    goes, stays = BITS[dtype]
    return 4, f"for (int k = 0; k < 4; k++) v[k] = STORE_X((w[k] >> {goes}) * 0x1p-{stays}f);", odd


@functools.cache
def text(kernel: str, dtype: DType, seed: bool, counter: bool) -> tuple[Body, int, str]:
    """The text, the elements of a block, and definitions. Is each cell on the device?"""
    each, make, more = made(kernel, dtype)
    cells = [
        ("const uint64_t *{}", "{}[0]") if there else ("uint64_t {}", "{}")
        for there in (seed, counter)
    ]
    named = [[part.format(name) for part in cell] for name, cell in zip(CELLS, cells, strict=True)]
    (first, x), (second, y) = named
    body = BLOCK.format(x, y).replace("MAKE", make).replace("EACH", str(each))
    return Body(HEAD.format(kernel, first, second), body, PHILOX), each, more


CELLS = ("seed", "counter")


class Draw(Kernel):
    """`kernel(out, seed, counter, [x,] blocks=, ...)`"""

    def __call__(
        self, out: Any, seed: Any, counter: Any, *more: Any, blocks: int, scale: float = 1.0,
        threshold: int = 0,
    ) -> None:  # fmt: skip
        whole = math.prod(out.shape)
        keyed, on_device = is_on_device(seed), is_on_device(counter)
        key = seed if keyed else number(seed.buf, seed.offset)
        begin = counter if on_device else self.moved(counter, blocks)
        found, each, words = text(self.name, self.dtype, keyed, on_device)

        def fill(z: Any) -> None:
            (x,) = self.dense(more[0]) if more else (z,)
            how = (float(scale), threshold, whole)
            self.run(found, -(-whole // each), z, key, begin, x, *how, more=words)

        if whole:
            filled(self.pool, out, fill)
        if on_device:
            self.run(ADVANCE, 1, counter, blocks % 2**64)

    def moved(self, counter: Any, blocks: int) -> Any:
        """The counter's value; a counter on the host is then advanced."""

        def move(buf: Any) -> int:
            return advance(memoryview(buf.raw).cast("B").cast("Q"), counter.offset, blocks)

        return live(counter.buf, move)


KERNELS = dict.fromkeys(("random_bits", "uniform", "normal", "dropout"), Draw)
