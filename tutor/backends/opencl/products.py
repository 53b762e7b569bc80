"""Products: (..., m, k) @ (..., k, n), with any strides, and linear layers.

Three texts. `TILES` suits devices with local memory: a group of 16 x 16 work-items loads tiles of x
and y, 64 x 16 and 16 x 64 numbers, into local memory, from which each work-item reads the inputs of
its 4 x 4 results: each number is read from global memory once per 64 results. `VECTORS` is for
devices that report being a CPU, whose local memory is ordinary memory: a work-item keeps ROWS rows
of two vectors of results in registers and iterates over k once, with one multiply-add per vector.
It needs y's rows contiguous; otherwise y is copied first, at the cost of y's size. `DOTS` is for
operands that are both contiguous along k, as in x @ w.T: SIDE x SIDE results, each as a vector of
sums.

The C of a Program (programs/source/products.py) cuts the same product into tiles of its own: it
knows all sizes, and leaves vectors to its compiler. Only the type of the sums is common.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from tutor.backends.opencl.handwritten import Body, Kernel, dense, filled, hand, permuted
from tutor.backends.opencl.launch import rounded_up
from tutor.backends.opencl.memory import Pool
from tutor.backends.registry import Operand
from tutor.dtype import DType, float32, float64

HEAD = "{}(X *z, const X *x, xb, xr, xc, const X *y, yb, yr, yc, const X *bias, b1, m, k, n)"
END = """
#define RESULT(a, j) (A_t)((a) + BIAS(j))
#define CUT(v) (RELU && (v) <= 0 ? 0 : (v))
"""

TILES = Body(HEAD.format("matmul_tiles"), """
    local A_t xs[16][65];
    local A_t ys[16][65];
    const int64_t lx = get_local_id(0), ly = get_local_id(1), lane = ly * 16 + lx;
    const int64_t first_j = get_group_id(0) * 64, first_i = get_group_id(1) * 64;
    const int64_t batch = get_group_id(2);
    A_t a[4][4];
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) a[r][c] = 0;
    for (int64_t from = 0; from < k; from += 16) {
        for (int64_t e = lane; e < 1024; e += 256) {
            const int64_t kk = e % 16, i = first_i + e / 16, c = e % 64, j = first_j + c;
            const int64_t kx = from + kk, ky = from + e / 64;
            xs[kk][e / 16] =
                i < m && kx < k ? (A_t)LOAD_X(x[batch * xb + i * xr + kx * xc]) : 0;
            ys[e / 64][c] =
                j < n && ky < k ? (A_t)LOAD_X(y[batch * yb + ky * yr + j * yc]) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int kk = 0; kk < 16; kk++)
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 4; c++)
                    a[r][c] += xs[kk][ly + 16 * r] * ys[kk][lx + 16 * c];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) {
            const int64_t i = first_i + ly + 16 * r, j = first_j + lx + 16 * c;
            if (i < m && j < n) {
                const A_t v = RESULT(a[r][c], j);
                z[(batch * m + i) * n + j] = STORE_X((X_t)CUT(v));
            }
        }
""", free=True)  # fmt: skip

# Vectors in clang's syntax, which all drivers for CPUs use: as an operand, and as memory holds it,
# at the address of any number. OpenCL's vector functions are avoided: if PoCL 3.0 does not know a
# processor with AVX-512, it compiles them for AVX-512 but the kernel for an older processor, and
# each call breaks. With contraction allowed, a += x * y is one fma.
SIMD = """
typedef X_m A_v __attribute__((ext_vector_type(LANES)));
typedef X_m A_u __attribute__((ext_vector_type(LANES), aligned(sizeof(X_m))));
#define GET(p) (*(global const A_u *)(p))
#define PUT(p, v) (*(global A_u *)(p) = (v))
"""

VECTORS = Body(HEAD.format("matmul_vectors"), """
    #pragma OPENCL FP_CONTRACT ON
    const int64_t wide = n < 2 * LANES ? n : 2 * LANES, columns = (n + wide - 1) / wide;
    const int64_t tile = get_global_id(0), batch = get_global_id(1), i = tile / columns * ROWS;
    if (i >= m) return;
    /* the last tile ends where its row does: some columns of it are another one's, too */
    const int64_t end = (tile % columns + 1) * wide, j = (end < n ? end : n) - wide;
    global const X_m *right = y + batch * yb + j;
    global const X_m *left = x + batch * xb + i * xr;
    global X_m *to = z + (batch * m + i) * n + j;
    const int64_t rows = m - i < ROWS ? m - i : ROWS;
    int64_t row[ROWS]; /* beyond the end the last one is taken again, and not written */
    for (int r = 0; r < ROWS; r++) row[r] = (r < rows ? r : rows - 1) * xr;
    if (wide == 2 * LANES) {
        A_v a[ROWS][2];
        for (int r = 0; r < ROWS; r++) a[r][0] = a[r][1] = 0;
        for (int64_t kk = 0; kk < k; kk++) {
            const A_v first = GET(right + kk * yr), second = GET(right + kk * yr + LANES);
            #pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const A_v one = left[row[r] + kk * xc];
                a[r][0] += one * first;
                a[r][1] += one * second;
            }
        }
        #pragma unroll
        for (int r = 0; r < ROWS; r++)
            #pragma unroll
            for (int side = 0; side < 2; side++) {
                A_v v = a[r][side];
                if (BIASED) v += GET(bias + j + side * LANES);
                if (RELU) v = v <= 0 ? (A_v)0 : v;
                if (r < rows) PUT(to + r * n + side * LANES, v);
            }
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < wide; c++) {
            A_t sum = 0;
            for (int64_t kk = 0; kk < k; kk++) sum += left[row[r] + kk * xc] * right[kk * yr + c];
            const A_t one = RESULT(sum, j + c);
            to[r * n + c] = CUT(one);
        }
""", free=True)  # fmt: skip

DOTS = Body(HEAD.format("matmul_dots"), """
    #pragma OPENCL FP_CONTRACT ON
    const int64_t columns = (n + SIDE - 1) / SIDE, tile = get_global_id(0);
    const int64_t batch = get_global_id(1), i = tile / columns * SIDE, j = tile % columns * SIDE;
    if (i >= m) return;
    global const X_m *xs = x + batch * xb + i * xr, *ys = y + batch * yb + j * yc;
    A_v a[SIDE][SIDE];
    int64_t row[SIDE], column[SIDE]; /* beyond the end as above */
    for (int r = 0; r < SIDE; r++) {
        row[r] = (i + r < m ? r : m - i - 1) * xr;
        column[r] = (j + r < n ? r : n - j - 1) * yc;
        for (int c = 0; c < SIDE; c++) a[r][c] = 0;
    }
    int64_t kk = 0;
    for (; kk + LANES <= k; kk += LANES) {
        A_v right[SIDE];
        #pragma unroll
        for (int c = 0; c < SIDE; c++) right[c] = GET(ys + column[c] + kk);
        #pragma unroll
        for (int r = 0; r < SIDE; r++) {
            const A_v left = GET(xs + row[r] + kk);
            #pragma unroll
            for (int c = 0; c < SIDE; c++) a[r][c] += left * right[c];
        }
    }
    #pragma unroll
    for (int r = 0; r < SIDE; r++)
        #pragma unroll
        for (int c = 0; c < SIDE; c++) {
            A_t sum = across(a[r][c]);
            for (int64_t rest = kk; rest < k; rest++)
                sum += xs[row[r] + rest] * ys[column[c] + rest];
            if (i + r < m && j + c < n) {
                const A_t one = RESULT(sum, j + c);
                z[(batch * m + i + r) * n + j + c] = CUT(one);
            }
        }
""", free=True)  # fmt: skip
# By floats per vector: SIDE of `DOTS`, with SIDE * SIDE vectors of results; and ROWS of `VECTORS`,
# with two vectors each. With 8 floats there are 16 registers, with 16 there are 32.
BLOCKS = {8: (3, 6), 16: (4, 8)}


def across(number: str, lanes: int) -> str:
    """The sum of a vector's lanes: add one half to the other until one number is left."""
    lines = ["static inline A_t across(const A_v v) {"]
    now = "v"
    while lanes > 1:
        lanes //= 2
        kind = f"{number}{lanes if lanes > 1 else ''}"
        lines.append(f"    const {kind} h{lanes} = {now}.lo + {now}.hi;")
        now = f"h{lanes}"
    return "\n".join([*lines, f"    return {now};", "}\n"])


@functools.cache
def definitions(pool: Pool, dtype: DType, biased: bool, relu: bool, vectors: bool) -> str:
    """The words of the texts."""
    c, lanes = pool.place.c, 4 * pool.place.lanes // dtype.itemsize
    side, rows = BLOCKS.get(pool.place.lanes, (0, 0))
    words = {
        "BIAS(j)": "(A_t)LOAD_X(bias[(j) * b1])" if biased else "0",
        "BIASED": int(biased), "RELU": int(relu), "LANES": lanes, "SIDE": side, "ROWS": rows,
    }  # fmt: skip
    text = f"typedef {c.summed(dtype)} A_t;\n"
    text += "".join(f"#define {name} {value}\n" for name, value in words.items())
    return text + (SIMD + across(c.stored[dtype], lanes) if vectors else "") + END


def product(
    pool: Pool, z: Operand, x: Operand, y: Operand, bias: Any = None, relu: bool = False
) -> None:
    """z = x @ y (+ bias, clamped at 0), z contiguous, with the same leading axes."""
    m, k, n = z.shape[-2], x.shape[-1], z.shape[-1]
    dtype, batch = z.buf.dtype, math.prod(z.shape[:-2])
    if not batch * m * n:
        return
    x, xb = batched(pool, x)
    y, yb = batched(pool, y)
    vectors = pool.place.is_cpu and dtype in (float32, float64)
    dots = vectors and y.strides[-1] != 1 and y.strides[-2] == x.strides[-1] == 1
    if vectors and y.strides[-1] != 1 and not dots:
        y = dense(pool, y)
        yb = y.shape[-2] * y.shape[-1] if batch > 1 else 0
    text = definitions(pool, dtype, bias is not None, relu, vectors)
    begin = z if bias is None else dense(pool, bias)
    b1 = 0 if bias is None else begin.strides[0]
    args = (z, x, xb, *x.strides[-2:], y, yb, *y.strides[-2:], begin, b1, m, k, n)
    each = TILES
    local: tuple[int, ...] = (16, 16, 1)
    sizes: tuple[int, ...] = (rounded_up(n, 64) // 4, rounded_up(m, 64) // 4, batch)
    if vectors:
        wide = 4 * pool.place.lanes // dtype.itemsize
        side, high = BLOCKS[pool.place.lanes]
        rows, columns = (side, side) if dots else (high, 2 * wide)
        tiles = -(-m // rows) * -(-n // columns)
        group = 4 if tiles < 64 else 8
        each = DOTS if dots else VECTORS
        sizes, local = (rounded_up(tiles, group), batch), (group, 1)
    hand(pool, each, {"X": dtype}, text)(sizes, local, *each.arguments(args))


def batched(pool: Pool, x: Operand) -> tuple[Operand, int]:
    """x, and the step from one matrix to the next, with the leading axes merged."""
    lead = [(n, s) for n, s in zip(x.shape[:-2], x.strides[:-2], strict=True) if n != 1]
    if lead and any(s != n * t for (_, s), (n, t) in itertools.pairwise(lead)):
        if all(s == 0 for _, s in lead):
            return x, 0
        x = dense(pool, x)
        return x, x.shape[-2] * x.shape[-1]
    return x, lead[-1][1] if lead else 0


class Matmul(Kernel):
    """`kernel(out, x, y)`"""

    def __call__(self, out: Any, x: Any, y: Any) -> None:
        filled(self.pool, out, lambda z: product(self.pool, z, x, y))


class Linear(Kernel):
    """`kernel(out, x, w, b, relu=)`: x @ w.T + b"""

    def __call__(self, out: Any, x: Any, w: Any, b: Any, *, relu: bool = False) -> None:
        turned = permuted(w, (1, 0))
        rows, n = math.prod(x.shape[:-1]), w.shape[0]
        (flat,) = self.dense(x)
        if len(x.shape) != 2:
            flat = Operand(flat.buf, (rows, x.shape[-1]), (x.shape[-1], 1), flat.offset)

        def fill(z: Any) -> None:
            z = Operand(z.buf, (rows, n), (n, 1), z.offset)
            product(self.pool, z, flat, turned, b, relu)

        filled(self.pool, out, fill)


KERNELS = {"matmul": Matmul, "linear": Linear}
