"""Cases of the kernel `fused`: chains of other kernels, drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.backends import bytecode
from tutor.backends.bytecode import Instruction
from tutor.backends.shape_rules import without
from tutor.backends.signatures import FLOATS, SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import TABLE, DType, accumulator, bool_
from tutor.testing.cases.draws import LAYOUTS, OUT_LAYOUTS, Case, Draw, Shape
from tutor.testing.cases.elementwise import SECOND

# All kernels of chains; those with the same bits everywhere on any input (no integer division, and
# the sign of nan is not defined); and those that keep small whole numbers small and whole.
ALL = tuple(row.name for row in TABLE_OF_KERNELS if bytecode.fits(row) and row.form != "reduce")
EXACT = tuple(
    row.name
    for row in TABLE_OF_KERNELS
    if row.name in ALL and row.agree == "exact" and row.name not in (*SECOND, "copysign")
)
WHOLE = ("neg", "abs", "copy", "relu", "sign", "maximum", "minimum", "where", "le")


class Chain:
    """A chain under construction, and the dtype of each of its values."""

    def __init__(self, d: Draw, inputs: Sequence[DType], kernels: Sequence[str]) -> None:
        self.rng, self.names = d.rng, kernels
        self.rows: list[Instruction] = []
        self.dtypes = {f"i{n}": dtype for n, dtype in enumerate(inputs)}

    def add(self, dest: str, kernel: str, dtype: DType, *args: str) -> DType:
        row = Instruction(dest, kernel, dtype, args)
        made = bytecode.made(row, [self.dtypes[arg] for arg in args])
        self.rows.append(row)
        self.dtypes[dest] = made
        return made

    def of(self, dtype: DType) -> list[str]:
        """The values of that dtype."""
        return [name for name, found in self.dtypes.items() if found is dtype]

    def any(self, dest: str) -> DType:
        """Add a random instruction that accepts the existing values."""
        while True:
            kernel, first = self.rng.choice(self.names), self.rng.choice(list(self.dtypes))
            dtype = self.dtypes[first]
            if kernel == "cast":
                return self.add(dest, kernel, self.rng.choice(TABLE), first)
            signature, masks = SIGNATURES[kernel], self.of(bool_)
            if dtype not in signature.dtypes or ("b" in signature.types[1:] and not masks):
                continue
            args = [self.rng.choice(masks if t == "b" else self.of(dtype))
                    for t in signature.types[1:]]  # fmt: skip
            return self.add(dest, kernel, dtype, *args)

    def end(self, dtype: DType, reduction: str | None) -> None:
        """Add o0, of that dtype, from an existing value, optionally reduced."""
        alike = self.of(dtype)
        if reduction:
            self.add("r99", "cast", dtype, self.rng.choice(alike or list(self.dtypes)))
            self.add("o0", reduction, dtype, "r99")
        elif alike and self.rng.random() < 0.5:
            self.add("o0", "maximum", dtype, self.rng.choice(alike), self.rng.choice(alike))
        else:
            self.add("o0", "cast", dtype, self.rng.choice(list(self.dtypes)))


def chain(
    d: Draw, shape: Shape, layouts: Sequence[str] = (), kernels: Sequence[str] = EXACT,
    axis: Shape | None = None, reductions: Sequence[str] = (), domain: str = "any",
) -> Case:  # fmt: skip
    """A chain of up to eight of `kernels` over operands of that shape, in these layouts (results,
    inputs) or any. With an `axis`, it ends in one of `reductions`."""
    rng = d.rng
    others = TABLE if domain == "any" else FLOATS
    inputs = [rng.choice((d.dtype, d.dtype, *others)) for _ in range(rng.randrange(1, 4))]
    made = Chain(d, inputs, kernels)
    for n in range(rng.randrange(6)):
        made.any(f"r{n}")
    further = [made.any(f"o{k}") for k in range(1, rng.choice((1, 1, 2, 3)))]
    made.end(d.dtype, None if axis is None else rng.choice(reductions))
    results, given = [layouts[:1], layouts[1:]] if layouts else [OUT_LAYOUTS, LAYOUTS]
    ins = [d.spec(shape, domain, rng.choice(given), dtype) for dtype in inputs]
    ins += [d.result(shape, rng.choice(results), dtype) for dtype in further]
    left = shape if axis is None else without(shape, axis)
    params = {"code": bytecode.text(made.rows), "results": len(further) + 1, "axis": axis or ()}
    return Case(d.result(left, rng.choice(results)), tuple(ins), params, exact=True)


def reduced(d: Draw, shape: Shape, axis: Shape, layouts: Sequence[str] = ()) -> Case:
    """A chain that ends in a reduction whose result is the same in any order."""
    if d.dtype.is_float:  # whose sums are exact here
        return chain(d, shape, layouts, WHOLE, axis, ("max", "min", "sum", "sum"), "whole")
    more = ("sum", "prod") if accumulator(d.dtype) is d.dtype else ()
    return chain(d, shape, layouts, EXACT, axis, ("max", "min", *more))


def behind(
    d: Draw, batch: Shape, sizes: Shape, layouts: Sequence[str] = (),
    kernels: Sequence[str] = WHOLE, domain: str = "whole",
) -> Case:  # fmt: skip
    """A chain of `kernels` after a product of sizes m, k, n: a matmul or, for floats, sometimes a
    linear layer. With whole numbers all sums are exact."""
    rng, (m, k, n) = d.rng, sizes
    layer = d.dtype.is_float and not batch and rng.random() < 0.5
    name, factors = "matmul", [(*batch, m, k), (*batch, k, n)]
    if layer:
        name, factors = "linear", [(m, k), (n, k), (n,)]
    others = [rng.choice((d.dtype, d.dtype, *FLOATS)) for _ in range(rng.randrange(4))]
    made = Chain(d, [*[d.dtype] * len(factors), *others], kernels)
    read = tuple(made.dtypes)[: len(factors)]
    made.add("r0", name, d.dtype, *read)
    for place in read:
        del made.dtypes[place]
    for at in range(rng.randrange(5)):
        made.any(f"r{at}" if rng.random() < 0.2 else f"r{at + 1}")
    further = [made.any(f"o{at}") for at in range(1, rng.choice((1, 1, 2, 3)))]
    made.end(d.dtype, None)
    results, given = [layouts[:1], layouts[1:]] if layouts else [OUT_LAYOUTS, LAYOUTS]
    shape = (*batch, m, n)
    ins = [d.spec(factor, domain, rng.choice(given)) for factor in factors]
    ins += [d.spec(shape, domain, rng.choice(given), dtype) for dtype in others]
    ins += [d.result(shape, rng.choice(results), dtype) for dtype in further]
    params = {"code": bytecode.text(made.rows), "results": len(further) + 1, "axis": ()}
    return Case(d.result(shape, rng.choice(results)), tuple(ins), params, exact=True)


SHAPES: tuple[Shape, ...] = ((5,), (3, 37), (2, 3, 9))
AXES: tuple[Shape, ...] = ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
ODDLY: tuple[tuple[Shape, Shape], ...] = (
    ((), ()), ((4,), ()), ((1031,), (0,)), ((3, 700), (1,)), ((700, 3), (0,)),
)  # fmt: skip
ODD: tuple[Shape, ...] = ((), (1,), (0,), (3, 0, 2), (1, 1, 1), (1031,), (2049,), (3, 700))


def fused(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        yield chain(d, (n,))
        yield reduced(d, (2, n), d.rng.choice(((0,), (1,), (0, 1))))
    for layouts in d.layouts(1):
        for shape in SHAPES:
            yield chain(d, shape, layouts)
        for axis in AXES:
            yield reduced(d, (3, 5, 11), axis, layouts)
    for shape in ODD:
        yield chain(d, shape)
    for shape, axis in ODDLY:
        yield reduced(d, shape, axis)
    if d.dtype is not bool_:
        for sizes in ((1, 1, 1), (5, 3, 4), (3, 0, 20), (7, 9, 16), (16, 5, 33), (30, 70, 17)):
            yield behind(d, (), sizes)
            yield behind(d, (2, 3), sizes)
        for sizes in ((0, 2, 3), (2, 3, 0), (3, 600, 20), (4, 3, 520)):
            yield behind(d, (), sizes, ("contiguous", "contiguous"))
    for layout in OUT_LAYOUTS:
        case = chain(d, (3, 19), (layout, layout))
        if case.ins[0].dtype is d.dtype:
            yield case._replace(out=case.ins[0], in_place=True)


def large_fused(d: Draw, count: int) -> Case:
    return chain(d, (count,), ("contiguous", "contiguous"))
