"""The parts of conformance cases: values, layouts, operands.

Everything comes from one `random.Random` per kernel and dtype, so a seed always gives the same
cases, on every machine.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tutor import dtype as dtypes
from tutor._storage.bits import pack, unpack
from tutor._storage.layout import contiguous_strides
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bool_, float64, int64, uint64

Shape = tuple[int, ...]

# ---- layouts: where the elements of an operand stand ---------------------------------------------

OUT_LAYOUTS = ("contiguous", "offset", "transposed", "window", "sliced", "reversed", "mixed")
LAYOUTS = (*OUT_LAYOUTS, "expanded")  # several indices for one element: only for inputs
MARGIN = 9  # elements after the last one that no kernel may touch


def strides_of(shape: Shape, layout: str, rng: random.Random) -> tuple[Shape, int]:
    """Strides in that layout, and the number of elements left free in front.

    contiguous  row-major, aligned          window    rows with gaps between them: x[:, 2:9]
    offset      row-major, but unaligned    sliced    every second element: x[::2, ::2]
    transposed  axes from last to first     reversed  every axis backwards: x[::-1, ::-1]
    expanded    stride 0 on some axes       mixed     axes in any order, each with any step
    """
    order, steps = list(range(len(shape))), [1] * len(shape)
    gap = lead = 0
    if layout == "offset":
        lead = rng.choice((1, 3, 5, 7))
    elif layout == "transposed":
        order.reverse()
    elif layout == "window":
        gap, lead = 3, 2
    elif layout == "sliced":
        steps, lead = [2] * len(shape), 1
    elif layout == "reversed":
        steps = [-1] * len(shape)
    elif layout == "expanded" and shape:
        steps = [rng.choice((0, 0, 1)) for _ in shape]
        steps[rng.randrange(len(shape))] = 0
    elif layout == "mixed":
        rng.shuffle(order)
        steps, lead = [rng.choice((-2, -1, 1, 3)) for _ in shape], 5
    strides, room = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = room * steps[axis]
        if steps[axis]:
            room = room * abs(steps[axis]) * max(shape[axis], 1) + gap
    return tuple(strides), lead


class Spec(NamedTuple):
    """A planned operand: its elements, row-major, and their layout. An output has no values."""

    dtype: DType
    shape: Shape
    values: Sequence[Any] | None
    layout: str
    strides: Shape
    offset: int
    room: int  # elements of its memory

    @classmethod
    def laid(
        cls,
        dtype: DType,
        shape: Shape,
        values: Sequence[Any] | None,
        layout: str,
        rng: random.Random,
    ) -> Spec:
        strides, lead = strides_of(shape, layout, rng)
        reach = [max(n - 1, 0) * stride for n, stride in zip(shape, strides, strict=True)]
        offset = lead - sum(r for r in reach if r < 0)
        count = offset + sum(r for r in reach if r > 0) + 1 + MARGIN
        return cls(dtype, shape, values, layout, strides, offset, count)

    def positions(self) -> Sequence[int]:
        """The positions of the elements, row-major."""
        if self.strides == contiguous_strides(self.shape):
            return range(self.offset, self.offset + math.prod(self.shape))
        return _walk(self.shape, self.strides, self.offset)


@functools.lru_cache(maxsize=32)  # the operands of one case and its neighbours, asked many times
def _walk(shape: Shape, strides: Shape, offset: int) -> Sequence[int]:
    found = [offset]
    for n, stride in zip(shape, strides, strict=True):
        steps = [i * stride for i in range(n)]
        found = [start + step for start in found for step in steps]
    return tuple(found)


class Case(NamedTuple):
    """One call of a kernel.

    `exact`: with these values every order of additions gives the same sum, even if the kernel
    rounds. `in_place`: out is the first input.
    """

    out: Spec
    ins: tuple[Spec, ...] = ()
    params: Mapping[str, Any] = MappingProxyType({})
    exact: bool = False
    in_place: bool = False

    def laid(self, layout: str, rng: random.Random) -> Case:
        """The same call with all operands in this layout."""
        out, *ins = (
            Spec.laid(s.dtype, s.shape, s.values, layout, rng) for s in (self.out, *self.ins)
        )
        return self._replace(out=out, ins=tuple(ins))


# ---- values --------------------------------------------------------------------------------------


def representable(values: Sequence[float], dtype: DType) -> list[Any]:
    """Those of `values` that do not overflow in the float dtype, rounded to it."""
    kept = [v for v in values if dtype.min <= v <= dtype.max or v - v != 0]
    return unpack(pack(kept, dtype), dtype)


def specials(dtype: DType) -> list[Any]:
    """The values at which kernels go wrong: ends, edges, ties, infinities and nan."""
    if dtype is bool_:
        return [False, True]
    if dtype.is_integer:
        # Ends, and the points where conversions to narrower integers and to floats wrap or tie.
        ends = [2**n + d for n in (7, 8, 15, 16, 31, 32, 63) for d in (-1, 0, 1)]
        ties = [2049, 2051, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3]
        ties += [2**62 + 2**38 + 1, 2**62 + 2**38, 2**62 + 3 * 2**38]
        numbers = [0, 1, 2, 3, 5, 100, *ends, *ties]
        numbers += [dtype.min, dtype.min + 1, dtype.max - 1, dtype.max]
        numbers += [-n for n in numbers]
        return sorted({n for n in numbers if dtype.min <= n <= dtype.max})
    eps, least, normal = dtype.eps, dtype.smallest_subnormal, dtype.smallest_normal
    numbers = [0.0, least, 3 * least, normal * (1 - eps)]
    numbers += [normal, dtype.max, dtype.max / 2, 1.0, 1 + eps, 1 - eps / 2]
    numbers += [*representable([0.1, 87.5, 1e4], dtype), 0.5, 1.5, 2.0, 2.5, 3.0, 10.0, math.inf]
    return [math.nan, *numbers, *[-n for n in numbers]]


def edges(dtype: DType) -> list[float]:
    """Floats between the values of narrower types: ties, and the ends of every integer's range."""
    found = [
        2.0**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, -0.5, -0.25, 0, 0.5, 1)
    ]
    # float16, bfloat16, float32: fraction bits, exponent of the smallest subnormal, and the tie
    # between the largest number and those that round to infinity.
    for precision, least, end in (
        (10, -24, 65520.0), (7, -133, 2.0**128 - 2.0**119), (23, -149, 2.0**128 - 2.0**103)
    ):  # fmt: skip
        eps, half = 2.0**-precision, 2.0 ** (least - 1)
        ties = [1 + eps / 2, 1 + 1.5 * eps, end, half, 3 * half]
        found += [
            tie * (1 + d) for tie in ties for d in (0, 2.0**-52, -(2.0**-52), 2.0**-23, -(2.0**-23))
        ]
    found += [0.9, 1.5, 2.5, 1e19, 2e19, 9223371487098961920.0, 2147483520.0]
    return representable([*found, *[-x for x in found]], dtype)


class Repeated(list[Any]):
    """`count` values: a prime number of them, repeated, so that packing is fast."""

    def __init__(self, values: list[Any], count: int) -> None:
        super().__init__(itertools.islice(itertools.cycle(values), count))
        self.period = len(values)

    def packed(self, dtype: DType) -> bytes:
        whole = pack(self[: self.period], dtype) * (len(self) // self.period + 1)
        return whole[: len(self) * dtype.itemsize]


# For each domain, the values of `any` that it accepts, and how it replaces the others.
LEGAL: dict[str, tuple[Callable[[Any, DType], bool], Callable[[random.Random, DType], Any]]] = {
    # for powers: no negative integers
    "exponent": (lambda v, t: t.is_float or v >= 0, lambda rng, t: rng.randrange(8)),
    # for divisions: no integer 0
    "divisor": (lambda v, t: t.is_float or v != 0, lambda rng, t: rng.randint(1, 9)),
    # for shifts: no negative count; half of the time up to the width and slightly beyond
    "count": (lambda v, t: v >= 0, lambda rng, t: rng.randrange(8 * t.itemsize + 4)),
    # for logaddexp in float64: where max + ln(1 + e**-|x - y|) is near 0, its two terms cancel,
    # their rounding errors are large relative to the sum, and no wider type exists
    "tame": (lambda v, t: t is not float64 or not -1.4 < v < 0, lambda rng, t: rng.random()),
}

FLOAT_DOMAINS: dict[str, Callable[[random.Random], float]] = {
    "small": lambda rng: rng.uniform(-4, 4),
    "whole": lambda rng: float(rng.randint(-3, 3)),
    "positive": lambda rng: rng.uniform(0.25, 4),
    "two": lambda rng: rng.choice((-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)),
    "decay": lambda rng: rng.uniform(-1.2, 1.2),
    "sign": lambda rng: float(rng.randint(-1, 1)),
    "part": lambda rng: rng.uniform(0.01, 0.99),
}


class Draw:
    """A random number generator, and the signature of one kernel at one dtype."""

    def __init__(self, kernel: str, dtype: DType, seed: int) -> None:
        self.kernel, self.dtype = kernel, dtype
        self.rng = random.Random(f"{seed} {kernel} {dtype.name}")
        self.out, *self.ins = [
            self.meaning(letter) for letter in SIGNATURES[kernel].types.rstrip("+")
        ]

    def meaning(self, letter: str) -> DType:
        """The dtype for a letter of `Signature.types`."""
        if letter == "S":
            kind = self.dtype.kind
            return self.dtype if kind == "float" else uint64 if kind == "uint" else int64
        if letter == "C":
            return self.dtype if self.dtype is float64 else dtypes.float32
        found = {"b": bool_, "i": int64, "u": dtypes.uint32, "d": float64, "n": uint64}
        return found.get(letter, self.dtype)

    # ---- values, by domain -----------------------------------------------------------------------

    def values(self, count: int, domain: str = "any", dtype: DType | None = None) -> list[Any]:
        """`count` values of a domain:

        any        all values of the dtype: special values, small integers, random bits
        small      floats up to 4 in magnitude; any integers
        whole      floats that are small integers, so that their sums are exact; any integers
        positive   floats from 0.25 to 4
        factor     floats of either sign from 0.5 to 2, whose product stays far from both ends
        two        floats that are +-0.5, 1 or 2, so that their products are exact
        decay      floats up to 1.2 in magnitude: a long product of them decays
        sign       floats that are -1, 0 or 1
        part       floats above 0 and below 1
        exponent, divisor, count, tame    as any, but only the values that LEGAL allows
        """
        dtype, rng = dtype or self.dtype, self.rng
        if count > 5000:
            return Repeated(self.values(4099, domain, dtype), count)
        if domain in LEGAL:
            legal, instead = LEGAL[domain]
            drawn = self.mixture(count, dtype)
            return [
                v if legal(v, dtype) and (dtype.is_float or rng.random() < 0.5)
                else instead(rng, dtype)
                for v in drawn
            ]  # fmt: skip
        if domain == "any" or not dtype.is_float:
            return self.mixture(count, dtype)
        if domain == "factor":
            return self.factors(count)
        return [FLOAT_DOMAINS[domain](rng) for _ in range(count)]

    def factors(self, count: int) -> list[float]:
        """Factors, each of which brings the product so far back towards 1."""
        exponent, found = 0.0, []
        for _ in range(count):
            step = -math.copysign(self.rng.random(), exponent)
            exponent += step
            found.append(self.rng.choice((-1, 1)) * 2.0**step)
        return found

    def mixture(self, count: int, dtype: DType) -> list[Any]:
        rng = self.rng
        bits = rng.randbytes(count * dtype.itemsize)
        if dtype is bool_:
            return [byte > 127 for byte in bits]
        drawn = unpack(bits, dtype)
        known = specials(dtype)
        far = 5 * dtype.itemsize  # magnitudes from 2**-far to 2**far, where arithmetic is ordinary
        for i in range(count):
            kind = rng.randrange(8)
            if kind == 0:
                drawn[i] = rng.choice(known)
            elif kind < 3:
                drawn[i] = rng.randint(0 if dtype.kind == "uint" else -9, 9)
            elif kind < 7 and dtype.is_float:
                drawn[i] = rng.uniform(-1, 1) * 2.0 ** rng.randint(-far, far)
        return drawn

    # ---- operands --------------------------------------------------------------------------------

    def spec(
        self,
        shape: Shape,
        values: Any = "any",
        layout: str = "contiguous",
        dtype: DType | None = None,
    ) -> Spec:
        """An input: `values` is a domain or the values themselves."""
        dtype = dtype or self.dtype
        if isinstance(values, str):
            values = self.values(math.prod(shape), values, dtype)
        return Spec.laid(dtype, shape, values, layout, self.rng)

    def result(self, shape: Shape, layout: str = "contiguous", dtype: DType | None = None) -> Spec:
        """An output: memory without values."""
        return Spec.laid(dtype or self.out, shape, None, layout, self.rng)

    def cell(self, value: float, dtype: DType) -> Spec:
        """An input of one number, in any layout."""
        return self.spec((), [value], self.rng.choice(LAYOUTS), dtype)

    def layouts(self, inputs: int) -> Iterator[tuple[str, ...]]:
        """(layout of out, of input 1, ...): each layout alone on either side, then mixtures."""
        for layout in LAYOUTS:
            yield ("contiguous", *[layout] * inputs)
        for layout in OUT_LAYOUTS[1:]:
            yield (layout, *["contiguous"] * inputs)
        for _ in range(6):
            yield self.any_layouts(inputs)

    def any_layouts(self, inputs: int) -> tuple[str, ...]:
        return (self.rng.choice(OUT_LAYOUTS), *self.rng.choices(LAYOUTS, k=inputs))
