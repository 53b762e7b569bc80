"""Random numbers: Philox4x32-10, the same numbers as on all backends.

One work-item computes one block of four words from (seed, counter + its number), and all elements
that use these words. The counter is a cell: on the host it is advanced at once; on the device by
another kernel, queued after the one that reads it.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._util.atomic import advance
from tutor.backends.opencl.capture import live
from tutor.backends.opencl.handwritten import at, dense, filled, hand, longs, run
from tutor.backends.opencl.launch import LONG, number, scalar
from tutor.backends.opencl.memory import DeviceMemory, Pool, Rows, held
from tutor.backends.signatures import FLOATS
from tutor.dtype import DType, bfloat16, float16, float32, float64, uint32, uint64

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

CELLS = """
kernel void NAME(
    global Z_m *z, const int64_t z0, SEED, COUNTER, global const X_m *x, const int64_t x0,
    const double scale, const int64_t threshold, const int64_t whole, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        uint32_t w[4];
        philox(SEED_HERE, COUNTER_HERE, (uint64_t)at, w);
        Z_m v[EACH];
        MAKE
        for (int64_t k = 0; k < EACH; k++)
            if (at * EACH + k < whole) z[z0 + at * EACH + k] = v[k];
    }
}
"""

ADVANCE = """
kernel void NAME(
    global uint64_t *counter, const int64_t c0, const uint64_t by, const int64_t count) {
    if (get_global_id(0) == 0) counter[c0] += by;
}
"""

BITS = {float16: (21, 11), bfloat16: (24, 8), float32: (8, 24)}  # bits dropped, and kept
NORMAL = """const double u = (double)(top(w[0], w[1]) + 1) * 0x1p-53;
        const double angle = 6.283185307179586477 * ((double)top(w[2], w[3]) * 0x1p-53);
        const double radius = sqrt(-2 * log(u));
        v[0] = STORE_Z(ROUND(radius * cos(angle)));
        v[1] = STORE_Z(ROUND(radius * sin(angle)));"""
DROPOUT = """for (int k = 0; k < 4; k++) {
            const int64_t i = at * 4 + k < whole ? at * 4 + k : 0;
            v[k] = w[k] >= threshold ? STORE_Z(SCALED(LOAD_X(x[x0 + i]))) : 0;
        }"""


def made(kernel: str, dtype: DType) -> tuple[int, str, str]:
    """How many elements a block gives, the statements that compute them, and definitions."""
    halves = dtype.itemsize == 2
    odd = f"#define ROUND(x) {'round_to_odd(x)' if halves else '(Z_t)(x)'}\n"
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
    return 4, f"for (int k = 0; k < 4; k++) v[k] = STORE_Z((w[k] >> {goes}) * 0x1p-{stays}f);", odd


class Draw:
    """`kernel(out, seed, counter, [x,] blocks=, ...)`"""

    def __init__(self, pool: Pool, kernel: str, dtype: DType) -> None:
        self.pool, self.kernel, self.dtype = pool, kernel, dtype
        self.each, self.make, self.more = made(kernel, dtype)

    def __call__(
        self, out: Any, seed: Any, counter: Any, *more: Any, blocks: int, scale: float = 1.0,
        threshold: int = 0,
    ) -> None:  # fmt: skip
        pool, whole = self.pool, math.prod(out.shape)
        on_device = isinstance(held(counter.buf), DeviceMemory)
        begin = at(counter) if on_device else (self.moved(counter, blocks),)
        key = at(seed) if isinstance(held(seed.buf), DeviceMemory) else (
            number(seed.buf, seed.offset),
        )  # fmt: skip
        kernel = self.compiled(len(key) == 2, on_device)

        def fill(z: Any) -> None:
            x = dense(pool, more[0]) if more else z
            how = (*at(x), float(scale), threshold, whole)
            run(kernel, -(-whole // self.each), *at(z), *key, *begin, *how)

        if whole:
            filled(pool, out, fill)
        if on_device:
            types = [None, LONG, scalar(uint64), LONG]
            run(hand(pool, "advance", ADVANCE, {}, types), 1, *begin, blocks % 2**64)

    def moved(self, counter: Any, blocks: int) -> Any:
        """The counter's value; a counter on the host is then advanced."""

        def move(buf: Any) -> int:
            return advance(memoryview(buf.raw).cast("B").cast("Q"), counter.offset, blocks)

        return live(counter.buf, move)

    def compiled(self, key: bool, counter: bool) -> Any:
        def cell(name: str, there: bool) -> str:
            whole = f"#define {name.upper()} "
            if there:
                whole += f"global const uint64_t *{name}, const int64_t {name}0\n"
                return whole + f"#define {name.upper()}_HERE {name}[{name}0]\n"
            return whole + f"const uint64_t {name}\n#define {name.upper()}_HERE {name}\n"

        types: list[Any] = [None, LONG]
        for there in (key, counter):
            types += [None, LONG] if there else [scalar(uint64)]
        types += [None, LONG, scalar(float64), *longs(3)]
        kinds = {"Z": self.dtype, "X": self.dtype}
        more = self.more + cell("seed", key) + cell("counter", counter)
        text = PHILOX + CELLS.replace("MAKE", self.make).replace("EACH", str(self.each))
        return hand(self.pool, self.kernel, text, kinds, types, more)


def kernels(pool: Pool) -> Rows:
    rows: Rows = {("random_bits", uint32): Draw(pool, "random_bits", uint32)}
    for name in ("uniform", "normal", "dropout"):
        rows |= {(name, dtype): Draw(pool, name, dtype) for dtype in FLOATS}
    return rows
