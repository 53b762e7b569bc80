"""Sizes on both sides of every block boundary of simd_cpp, against the reference.

The boundaries are read from the C++ sources: a constant that changes moves the sizes with it, and a
new one fails until it is said here where it is crossed.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator

import constants
import pytest
from backend_names import LEVELS

from tutor import Buffer, memory, uint8
from tutor._storage.memory import Memory
from tutor.backends import registry
from tutor.dtype import DType, bool_, float16, float32, float64, int8, int64, uint32
from tutor.testing.cases import chains, elementwise, fused, movement, network, reduce, scan, window
from tutor.testing.cases.bounds import UPDATES, bounds
from tutor.testing.cases.draws import Case, Draw
from tutor.testing.cases.operands import execute, images
from tutor.testing.conformance import Bounds, agreement, differences

READ = constants.read()
Row = tuple[str, DType, Case]
Cases = Callable[[int], Iterator[Row]]


def near(n: int) -> tuple[int, int, int]:
    return n - 1, n, n + 1


def plain(d: Draw) -> tuple[str, ...]:
    return ("contiguous",) * (1 + len(d.ins))


def maps(*names: str, dtype: DType = float32, layout: str = "contiguous") -> Cases:
    """Elementwise kernels of about n elements."""

    def cases(n: int) -> Iterator[Row]:
        for name in names:
            d = Draw(name, dtype, n)
            for m in near(n):
                layouts = ("contiguous", *[layout] * len(d.ins))
                yield name, dtype, elementwise.alike(d, (m,), layouts)

    return cases


def sums(*shapes: tuple[str | int, ...], dtypes: tuple[DType, ...] = (float32,)) -> Cases:
    """Sums over an axis of about n elements, which stands as "n" in the shapes."""

    def cases(n: int) -> Iterator[Row]:
        for dtype in dtypes:
            for name in ("sum", "prod", "max", "argmin"):
                d = Draw(name, dtype, n)
                for m in near(n):
                    for shape in shapes:
                        sizes = tuple(m if size == "n" else int(size) for size in shape)
                        yield name, dtype, reduce.reduced(d, sizes, shape.index("n"), plain(d)[:2])

    return cases


def products(*shapes: Callable[[int], tuple[int, int, int]]) -> Cases:
    """Matrix products (m, k) @ (k, n)."""

    def cases(n: int) -> Iterator[Row]:
        d, e = Draw("matmul", float32, n), Draw("linear", float64, n)
        for size in near(n):
            for shape in shapes:
                m, k, columns = shape(size)
                yield "matmul", float32, reduce.product(d, (), m, k, columns, plain(d), "small")
                if m * k * columns < 100_000:
                    yield "linear", float64, reduce.layer(e, (m,), k, columns, plain(e), "small")

    return cases


def few(n: int) -> Iterator[Row]:
    """Layers of so many rows, of one block of k or two, whose columns fill vectors or do not."""
    for m in near(n):
        for dtype in (float32, float64):
            d = Draw("linear", dtype, m)
            for k, columns in ((37, 16), (37, 35), (800, 19)):
                yield "linear", dtype, reduce.layer(d, (m,), k, columns, plain(d), "small")


def scans(shape: Callable[[int], tuple[int, ...]], axis: int) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for m in near(n):
            d, e, f = Draw("scan", float32, m), Draw("cummax", int64, m), Draw("scan", int64, m)
            yield "scan", float32, scan.recurrent(d, shape(m), axis, plain(d))
            yield "scan", int64, scan.recurrent(f, shape(m), axis, plain(f))
            yield "cummax", int64, scan.along(e, shape(m), axis, plain(e))

    return cases


def sorts(shape: Callable[[int], tuple[int, ...]], *dtypes: DType) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for dtype in dtypes:
            d = Draw("argsort", dtype, n)
            for m in near(n):
                sizes = shape(m)
                yield "argsort", dtype, scan.along(d, sizes, len(sizes) - 1, plain(d))

    return cases


def moves(n: int) -> Iterator[Row]:
    """Kernels that move about n bytes."""
    for dtype in (int8, float64, bool_):
        for m in near(n // dtype.itemsize):
            d = Draw("cat", dtype, m)
            yield "cat", dtype, movement.joined(d, (1,), 0, (m - 5, 5), plain(d)[:1] * 3)
            d = Draw("pad", dtype, m)
            yield "pad", dtype, movement.padded(d, (m - 3,), ((1, 2),), plain(d))
            d = Draw("gather", dtype, m)
            yield "gather", dtype, movement.gathered(d, (9,), 0, m, plain(d))
            d = Draw("scatter", dtype, m)
            yield "scatter", dtype, movement.scattered(d, (m // 2, 2), 1, 2, plain(d))
    d = Draw("nonzero", bool_, n)
    for m in near(n):
        yield "nonzero", bool_, movement.true(d, (m,), plain(d), 0.5)


def randoms(n: int) -> Iterator[Row]:
    """About n blocks of random numbers, and n numbers."""
    for name, dtype in (("random_bits", uint32), ("uniform", float64), ("normal", float32)):
        d = Draw(name, dtype, n)
        per_block = 2 if name != "random_bits" else 4
        for m in (*near(n), *near(n * per_block)):
            yield name, dtype, fused.numbered(d, (m,))


def rows_of_scores(shape: Callable[[int], tuple[int, int]], axis: int = -1) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for m in near(n):
            for name in ("softmax", "log_softmax"):
                d = Draw(name, float32, m)
                x = fused.logits(d, shape(m), "contiguous")
                yield name, float32, Case(d.result(shape(m)), (x,), {"axis": axis})
            d = Draw("cross_entropy", float32, m)
            rows, classes = shape(m)
            yield "cross_entropy", float32, fused.entropy(d, (rows,), classes, plain(d))

    return cases


def steps(n: int) -> Iterator[Row]:
    for name in UPDATES:
        for dtype in (float16, float32):
            d = Draw(name, dtype, n)
            for m in near(n):
                yield name, dtype, fused.step(d, (m,), ("contiguous",) * fused.moved(name))


def convolutions(x: Callable[[int], tuple[int, ...]], outputs: Callable[[int], int]) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for m in near(n):
            for name in ("conv2d", "conv2d_weight"):
                d = Draw(name, float32, m)
                yield (
                    name,
                    float32,
                    window.convolution(
                        d, x(m), outputs(m), window.WindowSizes((2, 3)), plain(d), 1, "small"
                    ),
                )

    return cases


def pools(x: Callable[[int], tuple[int, ...]]) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for m in near(n):
            for name in ("max_pool2d", "max_pool2d_grad"):
                d = Draw(name, float32, m)
                yield (
                    name,
                    float32,
                    window.pooling(d, x(m), window.WindowSizes((2, 2), (2, 2)), plain(d)),
                )

    return cases


def evens(n: int) -> Iterator[Row]:
    for m in near(n):
        for dtype in (float32, int64):
            params = {"start": 3, "step": 7, "parts": 1}
            yield (
                "arange",
                dtype,
                elementwise.alike(Draw("arange", dtype, m), (m,), ("contiguous",), **params),
            )


def joins(n: int) -> Iterator[Row]:
    """As many operands as fit on the stack, out among them, and one more or less."""
    for m in near(n):
        d = Draw("cat", float32, m)
        yield "cat", float32, movement.joined(d, (2,), 0, (3,) * (m - 1), ("contiguous",) * m)


def ends(shape: Callable[[int], tuple[int, int]], axis: int) -> Cases:
    """Chains that end in a reduction of a matrix."""

    def cases(n: int) -> Iterator[Row]:
        for dtype in (float32, int64):
            for m in near(n):
                d = Draw("fused", dtype, m)
                yield "fused", dtype, chains.reduced(d, shape(m), (axis,), ("contiguous",) * 2)

    return cases


def heads(shape: Callable[[int], tuple[int, int, int, int, int]], causal: bool = False) -> Cases:
    """Attention and its gradient, of so many matrices, queries, keys, and numbers of each."""

    def cases(n: int) -> Iterator[Row]:
        for name in ("attention", "attention_grad"):
            for m in near(n):
                d, (lead, *sizes) = Draw(name, float32, m), shape(m)
                rows, keys, e, width = sizes
                whole = ((lead,), rows, keys, e, width)
                yield name, float32, network.attended(d, whole, plain(d), causal)

    return cases


def norms(shape: Callable[[int], tuple[int, ...]], *names: str) -> Cases:
    def cases(n: int) -> Iterator[Row]:
        for name in names:
            for m in near(n):
                d = Draw(name, float32, m)
                yield name, float32, network.normed(d, shape(m), plain(d))

    return cases


ROW_NORMS = ("layer_norm", "rms_norm", "layer_norm_grad", "rms_norm_grad")
GROUP_NORMS = ("group_norm", "group_norm_grad")
CHANNEL_NORMS = ("batch_norm", "batch_norm_grad")


def drops(n: int) -> Iterator[Row]:
    d = Draw("dropout", float32, n)
    for m in near(4 * n):
        yield "dropout", float32, network.dropped(d, (m,), ("contiguous", "contiguous"))


def followed(n: int) -> Iterator[Row]:
    """Chains behind a product of so many columns."""
    for dtype in (float32, float16, int64):
        for m in near(n):
            d = Draw("fused", dtype, m)
            yield "fused", dtype, chains.behind(d, (), (40, 5, m), ("contiguous",) * 2)


# Where each constant is crossed. Numbers that are multiplied there are those of other constants.
ROWS = READ["packing.hpp:ROWS"]
CROSSED: dict[str, Cases | tuple[Cases, ...]] = {
    "elementwise.hpp:grain": (
        maps("add", "sqrt", "exp", "pow"), maps("where"), maps("copy", dtype=bool_),
    ),
    "each.cpp:TILE": (maps("add", layout="sliced"), maps("mul", dtype=float16)),
    "each.cpp:SIDE": lambda n: (
        ("copy", t, elementwise.alike(Draw("copy", t, m), (m, n + 1), ("contiguous", "transposed")))
        for m in near(n) for t in (int8, float32, float64)
    ),
    "half.hpp:STRETCH": maps("exp", "pow", dtype=float16),
    "packing.hpp:ROWS": (
        products(lambda n: (n, 3, 5), lambda n: (5, 3, n)),
        convolutions(lambda n: (2, 2, 3, 4), lambda n: 2 * n),
        convolutions(lambda n: (2, n, 4, 5), lambda n: 16),
    ),
    "packing.hpp:PAGES": products(lambda n: (3, n, 40)),
    "micro_kernel.hpp:WIDE": tuple(
        products(lambda n, lanes=lanes: (1, 9, n * lanes)) for lanes in (4, 8, 16)
    ),
    "micro_kernel.hpp:AHEAD": products(lambda n: (1, n, 40), lambda n: (40, n, 1)),
    "gemm.hpp:KC": (
        products(lambda n: (3, n, 5), lambda n: (1, n, 33), lambda n: (7, 2 * n, 9)),
        convolutions(lambda n: (1, n // 6 + n % 2, 3, 4), lambda n: 17),  # terms
        convolutions(lambda n: (n // 3 + n % 2, 1, 2, 5), lambda n: 17),  # places
    ),
    "gemm.hpp:NC": (
        products(lambda n: (3, 4, n)),
        convolutions(lambda n: (n // 4 + n % 2, 1, 3, 4), lambda n: 17),
        convolutions(lambda n: (1, 1, 2, n + 2), lambda n: 130),
        convolutions(lambda n: (1, 1, 2, 2 * n + 2), lambda n: 130),
        convolutions(lambda n: (1, 1, 2, 4), lambda n: n),
    ),
    "gemm.hpp:FEW": few,
    "gemm.hpp:MC": products(lambda n: (n, 2, 3)),
    "gemm.hpp:PANELS": tuple(
        products(lambda n, rows=rows: (n * rows, 3, 4), lambda n, rows=rows: (n * rows + 1, 3, 4))
        for rows in ROWS
    ) + tuple(
        convolutions(lambda n, rows=rows: (2, 3, 4, 4), lambda n, rows=rows: n * rows + n % 2)
        for rows in ROWS
    ),
    "gemm.hpp:GRAIN": products(lambda n: (64, 64, n // 4096), lambda n: (64, 65, n // 4096)),
    "tree.hpp:SUM_LANES": (sums(("n",), ("n", 9), (2, "n")), rows_of_scores(lambda n: (3, n))),
    "tree.hpp:BLOCK": (
        sums(("n",), ("n", 9), (2, "n"), dtypes=(float32, int64)),
        rows_of_scores(lambda n: (2, n)),
    ),
    "parts.hpp:TILE_BYTES": (
        lambda n: sums((3, "n"))(n), lambda n: kept(n // 4, float32), lambda n: kept(n // 8, int64),
        lambda n: kept(n // 16, float64),
    ),
    "fused_reduction.hpp:SIDE": (ends(lambda n: (n, 5), 1), ends(lambda n: (n, 40), 1)),
    "fused_reduction.hpp:WIDE": (ends(lambda n: (7, n), 0), ends(lambda n: (40, n), 0)),
    "fused.cpp:LEAST": followed,
    "tiles.hpp:FEW": (ends(lambda n: (50, n), 0), ends(lambda n: (3, n), 0)),
    "reduce.cpp:GRAIN": sums(("n",), ("n", 2), ("n", 8)),
    "reduce.cpp:WIDE": (lambda n: kept(n // 4, float32), lambda n: kept(n // 8, float64)),
    "arange.cpp:GRAIN": evens,
    "scan.cpp:GRAIN": (scans(lambda n: (n,), 0), scans(lambda n: (2, n // 2), 1)),
    "scan.cpp:WIDTH": scans(lambda n: (3, n), 0),
    "scan.cpp:FEW": scans(lambda n: (n, 9), 1),
    "sort.cpp:GRAIN": sorts(lambda n: (n // 8, 8), float32),
    "sort.cpp:SHORT": sorts(lambda n: (2, n), float32, int8),
    "sort.cpp:MANY": (
        sorts(lambda n: (n,), int8), sorts(lambda n: (2 * n,), float16),
        sorts(lambda n: (4 * n,), float32), sorts(lambda n: (8 * n,), int64),
        sorts(lambda n: (8 * n + 1,), float64),
    ),
    "scores.hpp:GRAIN": rows_of_scores(lambda n: (n // 10 + 1, 10)),
    "scores.hpp:SHORT": rows_of_scores(lambda n: (5, n)),
    "scores.hpp:TOGETHER": rows_of_scores(lambda n: (n, 7), 0),
    "scores.hpp:ENTRIES": rows_of_scores(lambda n: (n // 64, 70), 0),
    "scores.hpp:TURN": rows_of_scores(lambda n: (n, 40), 0),
    "optimizer.cpp:GRAIN": steps,
    "optimizer.cpp:TILE": steps,
    "conv_direct.hpp:HEIGHT": convolutions(lambda n: (2, 2, 4, 9), lambda n: n),
    "conv_direct.hpp:WIDTH": tuple(
        convolutions(lambda n, lanes=lanes: (1, 2, 4, n * lanes + 2), lambda n: 3)
        for lanes in (4, 8, 16)
    ),
    "conv_direct.hpp:POSITIONS": convolutions(lambda n: (2, 1, 9, n // 8 + 2), lambda n: 2),
    "conv_direct.hpp:INPUT": convolutions(lambda n: (1, n // 1024, 3, 130), lambda n: 1),
    "conv_direct.hpp:PARTS": convolutions(lambda n: (n, 1, 34, 34), lambda n: 1),
    "conv_direct.hpp:SUMS": tuple(
        convolutions(lambda n, part=part: (1, n // part, 3, 5), lambda n: 9)
        for part in (1 << 13, 1 << 12, 1 << 11)
    ),
    "conv.cpp:FEW_OUTPUTS": convolutions(lambda n: (2, 3, 5, 7), lambda n: n),
    "window.hpp:CONV_GRAIN": convolutions(lambda n: (4, 3, 34, n // 8192), lambda n: 3),
    "pool.cpp:GRAIN": pools(lambda n: (2, 2, 90, n // 360)),
    "pool.cpp:TOGETHER": pools(lambda n: (1, 1, 66, n // 32)),
    "attention.hpp:KEYS": (
        heads(lambda n: (1, 3, n, 4, 4)), heads(lambda n: (1, n, 9, 2, 3), causal=True),
        heads(lambda n: (1, n + 3, n, 2, 2), causal=True),
    ),
    "attention.hpp:QUERIES": heads(lambda n: (1, n, 3, 2, 2)),
    "attention.hpp:BESIDE": heads(lambda n: (1, n, 5, 3, 4), causal=True),
    "attention.hpp:GRAIN": heads(lambda n: (n // 8192, 16, 16, 16, 16)),
    "norm.hpp:GRAIN": (
        norms(lambda n: (n // 64, 64), *ROW_NORMS),
        norms(lambda n: (3, 3, n // 9), *CHANNEL_NORMS, *GROUP_NORMS),
    ),
    "channels.cpp:BESIDE": tuple(
        norms(lambda n, at=at, lanes=lanes: (9, n * lanes + at, 1), *CHANNEL_NORMS)
        for lanes in (4, 8, 16) for at in (0, 1)
    ),
    "norm.cpp:TOGETHER": norms(lambda n: (n, 5), *ROW_NORMS),
    "random.cpp:BLOCKS": (randoms, drops),
    "random.cpp:BATCH": randoms,
    "random.cpp:BATCHES": lambda n: randoms(n * READ["random.cpp:BLOCKS"][0]),
    "moving.hpp:GRAIN_BYTES": moves,
    "operand.hpp:ON_STACK": joins,
}  # fmt: skip

# What is no size, or is crossed elsewhere.
NO_SIZES = {
    "MAX_DIMS", "MAX_PARAMS", "MAX_INS", "MAX_INPUTS", "MAX_OPERANDS", "MAX_THREADS", "SLOTS",
    "MAX_CODE", "MAX_FUSED", "LEVELS", "OPERANDS", "LANES", "SIDE_BY_SIDE", "WORDS", "per_block",
    "neutral", "NONE", "mantissa", "bias", "widest", "ALIGNMENT", "GIVEN", "HEADER", "VECTORS",
    "GATES", "KEPT", "STATES", "PART", "DIGITS", "MARKS",
}  # fmt: skip
ELSEWHERE = {
    "transpose.hpp:SIDE": "parts of a square whose size is a vector's, whatever the operands' are",
    "matmul_steps.hpp:DEEP": "tests/backends/simd_cpp/test_kernels_matmul_steps.py",
    "matmul_steps.hpp:LONG": "tests/backends/simd_cpp/test_kernels_matmul_steps.py",
    "sum_steps.hpp:BRANCH": "tests/backends/simd_cpp/test_kernels_sum_steps.py",
    "reducer.hpp:MOST": "2**30 rows take gigabytes",
    "mul_add.cpp:AHEAD": "a hint to the CPU, on which no result depends",
    "reducer.hpp:AHEAD": "a hint to the CPU, on which no result depends",
    "reduce.cpp:MOST_BLOCKS": "reduce.cpp:GRAIN is as many terms",
    "reduce.cpp:WAITING": "reduce.cpp:GRAIN: 8 columns of so many terms fill all of these rows",
    "reduce.cpp:PITCH": "how far those rows are apart",
    "reduce.cpp:ROOM": "the bytes of all of them",
    "optimizer.cpp:GATHERED": "optimizer.cpp:TILE, in bytes",
    "fused_reduction.hpp:MOST": "the bytes of a partial result",
    "blocks.cpp:CLASSES": "test_every_class_of_the_pool",
    "blocks.hpp:SMALL": "test_every_class_of_the_pool",
    "blocks.cpp:CHUNK": "test_every_class_of_the_pool",
    "plan.cpp:MOST": "test_forged_plans",
    "run.cpp:AHEAD": "tests/programs/test_replay.py",
    "run.hpp:ON_STACK": "test_any_number_of_operands",
    "remember.cpp:FEW": "test_any_number_of_operands",
    "run.hpp:MOST_PARAMS": "test_any_number_of_parameters",
    "edges.cpp:MOST": "tests/core/test_op_edges.py",
}


def kept(n: int, dtype: DType) -> Iterator[Row]:
    """Sums of columns, about n of them."""
    for name in ("sum", "argmax"):
        d = Draw(name, dtype, n)
        for m in near(n):
            yield name, dtype, reduce.reduced(d, (40, m), 0, ("contiguous", "contiguous"))


def test_every_constant_is_crossed_on_purpose() -> None:
    sizes = {name for name, options in READ.items() if options}
    unknown = {name for name in sizes - set(CROSSED) - set(ELSEWHERE)
               if name.split(":")[1] not in NO_SIZES}  # fmt: skip
    assert not unknown, "say in CROSSED where sizes on both sides of it are drawn"
    gone = (set(CROSSED) | set(ELSEWHERE)) - set(READ)
    assert not gone, "there are no such constants any more"


def test_the_parser_reads_what_is_there() -> None:
    assert READ["gemm.hpp:NC"] == [256, 512]
    assert READ["reduce.cpp:GRAIN"] == [64 * READ["tree.hpp:BLOCK"][0]]
    assert constants.values("1 << 14", {}) == [1 << 14]
    assert constants.values("ROWS > 8 ? 16 : 8", {"ROWS": [6, 14]}) == [8, 16]
    assert len(READ) > 60


@functools.lru_cache(maxsize=1)  # the levels share the reference's work
def prepared(name: str) -> list[tuple[Row, list[bytes], list[bytes], Bounds]]:
    """Each case, its memory before and after the reference's kernel, and how far sums may be."""
    entries, found = CROSSED[name], []
    for cases in entries if isinstance(entries, tuple) else (entries,):
        for value in READ[name]:
            for kernel, dtype, case in cases(value):
                before = images(case)
                reference = registry.table("python_ref")[kernel, dtype]
                expected = execute(reference, case, before)
                limits = functools.cache(functools.partial(bounds, kernel, dtype, case, before))
                found.append(((kernel, dtype, case), before, expected, limits))
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CROSSED)
def test_both_sides_of_a_block_boundary(name: str, level: str) -> None:
    found = prepared(name)
    assert len(found) >= 3
    for (kernel, dtype, case), before, expected, limits in found:
        kind, limit = agreement(kernel, dtype)
        got = execute(registry.table(level)[kernel, dtype], case, before)
        for error, say in differences(kernel, dtype, kind, case, before, expected, got, limits):
            shapes = [spec.shape for spec in (case.out, *case.ins)]
            assert error <= limit, f"{kernel} {dtype.name} {shapes}: {say(error, kind, limit)}"


@pytest.mark.parametrize("policy", ["plain", "pool", "arena"])
@pytest.mark.skipif(not LEVELS, reason="the extension was not built")
def test_every_class_of_the_pool(policy: str) -> None:
    """Blocks of neighbouring classes hold what was written to them, side by side and again."""
    smallest, chunk = READ["blocks.hpp:SMALL"][0], READ["blocks.cpp:CHUNK"][0]
    sizes = [smallest]
    while sizes[-1] < chunk:  # four classes per doubling
        base = sizes[-1] if len(sizes) % 4 == 1 else base  # noqa: F821 - the first size is one
        sizes.append(sizes[-1] + base // 4)
    assert len(sizes) < READ["blocks.cpp:CLASSES"][0]
    sizes[:0] = range(48, smallest, 16)  # as Python's own pool rounds
    before, rng = memory.config(), random.Random(1)
    try:
        memory.configure(policy=policy)
        for _ in range(2):  # the second time from what was given back
            held: list[tuple[Buffer, bytes]] = []
            for size in sizes:
                for n in near(size):
                    b, mark = Buffer.empty(n, uint8), rng.randbytes(16)
                    b.raw[:16], b.raw[n - 16 :] = mark, mark
                    held.append((b, mark))
            assert all(bytes(b.raw[:16]) == bytes(b.raw[-16:]) == mark for b, mark in held)
            spans = sorted((b.address, b.address + len(b)) for b, _ in held)
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
            assert all(b.address % 64 == 0 for b, _ in held)
    finally:
        memory.configure(policy=before.policy, limit=before.limit)
    assert Memory.config() == tuple(before)
