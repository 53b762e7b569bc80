"""Elementwise kernels: their texts, generated from the table of expressions, and their calls.

One work-item computes one element. Axes that all operands traverse as one are merged first
(codegen/loops.py); the remaining axes decide between a few texts:

- one axis along which every operand is contiguous or constant: `p1[b1 + i]`, `p2[b2]`;
- up to three axes with any strides, which are arguments: `p1[b1 + i * s1_0 + j * s1_1 + k * s1_2]`;
- more: the axes beyond the third are indexed by division.

So a kernel is compiled a few times, not once per shape. A single number on the host is passed by
value instead of an operand.

Work-groups of a fixed size may extend beyond an axis, so each work-item checks whether it has an
element. On a CPU this check prevents vectorization, which costs a factor of four. But PoCL compiles
a text again for each group size. So on a CPU, large launches use groups that end where the elements
do, without the check; small launches, or the last elements of a row, use the check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from tutor.backends.codegen import elements
from tutor.backends.codegen.dialect import Dialect
from tutor.backends.codegen.expressions import EXPRESSIONS, refused
from tutor.backends.codegen.helpers import needed
from tutor.backends.codegen.loops import Axis, axes_of, joined, ordered
from tutor.backends.opencl.capture import decided
from tutor.backends.opencl.launch import LONG, Compiled, compiled, number, read, rounded_up, scalar
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool, Rows, ask, held
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES, dtype_of
from tutor.dtype import DType, uint8
from tutor.errors import DomainError

LINE, SQUARE = (256, 1, 1), (16, 16, 1)  # work-groups: for long last axes, and for short ones
MUCH = 1024  # elements: from here on the check would slow a CPU down
MOST_PLANS = 256  # per kernel, one for each layout of its operands; the oldest is dropped

# A launch: may work-items lie beyond the end; how many there are; the shape of a group; and the
# first work-item, None: (0, 0, 0).
Grid = tuple[bool, tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]

# Maps the text of each operand's element to the statements that compute the results.
Body = Callable[[Sequence[str]], list[str]]


class Pattern(NamedTuple):
    """How operands are traversed: for each one "1" (contiguous), "0" (constant), "s" (any strides)
    or "v" (a number, by value); the number of axes; and whether work-items may lie beyond their
    ends."""

    codes: str
    rank: int
    guarded: bool = True

    def place(self, k: int) -> str:
        """The text for the element of operand k."""
        code = self.codes[k]
        if code == "v":
            return f"v{k}"
        if code != "s":
            return f"p{k}[b{k} + i]" if code == "1" else f"p{k}[b{k}]"
        return f"p{k}[b{k}{''.join(f' + {x} * s{k}_{a}' for a, x in enumerate(self.variables))}]"

    @property
    def variables(self) -> list[str]:
        return [*"ijk"[: self.rank], *(f"at{a}" for a in range(3, self.rank))]


def text(
    name: str, dtypes: Sequence[DType], written: Sequence[int], pattern: Pattern, body: Body,
    c: Dialect,
) -> str:  # fmt: skip
    """The source of one elementwise kernel."""
    arguments = []
    for k, dtype in enumerate(dtypes):
        kind = c.stored[dtype]
        if pattern.codes[k] == "v":
            arguments.append(f"const {kind} v{k}")
            continue
        const = "" if k in written else "const "
        arguments.append(f"{c.pointer[0]}{const}{kind} *p{k}, const int64_t b{k}")
        if pattern.codes[k] == "s":
            strides = [f"const int64_t s{k}_{a}" for a in range(pattern.rank)]
            arguments.append(", ".join(strides))
    arguments.append(", ".join(f"const int64_t n{a}" for a in range(pattern.rank)))
    lines = ["const int64_t i = get_global_id(0);"]
    if pattern.rank > 1:
        lines.append("const int64_t j = get_global_id(1);")
    if pattern.rank == 3:
        lines.append("const int64_t k = get_global_id(2);")
    if pattern.rank > 3:
        lines += ["int64_t rest = get_global_id(2);", "const int64_t k = rest % n2; rest /= n2;"]
        for a in range(3, pattern.rank):
            last = a == pattern.rank - 1
            lines.append(f"const int64_t at{a} = rest{'' if last else f' % n{a}; rest /= n{a}'};")
    guard = "i < n0" + (" && j < n1" if pattern.rank > 1 else "")
    statements = body([pattern.place(k) for k in range(len(dtypes))])
    if pattern.guarded:
        lines += [f"if ({guard}) {{", *(f"    {line}" for line in statements), "}"]
    else:
        lines += statements
    head = ",\n    ".join(arguments)
    code = f"kernel void {name}(\n    {head}) {{\n" + "".join(f"    {x}\n" for x in lines) + "}\n"
    return c.head + needed(code, c) + "\n" + code


def body_of(kernel: str, dtype: DType, dtypes: Sequence[DType], c: Dialect) -> Body:
    """The statements for one element, from the table of expressions."""
    return lambda places: elements.elementwise(kernel, dtype, dtypes, places, c)


# ---- calls ---------------------------------------------------------------------------------------


def walked(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Axis]:
    """The axes left after merging, the innermost last."""
    return joined(ordered(axes_of(shape, *strides))) or [Axis(1, (0,) * len(strides))]


def pattern_of(axes: Sequence[Axis], values: Sequence[bool]) -> Pattern:
    """The Pattern for these axes. `values`: which operands are passed by value."""
    rank = len(axes)
    strides = list(zip(*[axis.strides for axis in axes], strict=True))
    flat = rank == 1 and all(v or s[0] in (0, 1) for s, v in zip(strides, values, strict=True))
    codes = [
        "v" if value else str(s[0]) if flat else "s"
        for s, value in zip(strides, values, strict=True)
    ]
    return Pattern("".join(codes), 1 if flat else max(rank, 3))


def grids(axes: Sequence[Axis], is_cpu: bool) -> list[Grid]:
    """The launches for these axes, the innermost first: one, or two if the elements do not fill
    whole groups."""
    sizes = [axis.size for axis in reversed(axes)]
    sizes += [1] * (3 - len(sizes))
    n, m, rest = sizes[0], sizes[1], math.prod(sizes[2:])
    if not is_cpu or n * m * rest < MUCH:
        local = LINE if n > 64 or m == 1 else SQUARE
        return [(True, (rounded_up(n, local[0]), rounded_up(m, local[1]), rest), local, None)]
    wide = min(n, LINE[0])
    high = max(k for k in range(1, LINE[0] // wide + 1) if m % k == 0)
    whole = n // wide * wide
    found: list[Grid] = [(False, (whole, m, rest), (wide, high, 1), None)]
    if whole < n and m * rest == 1:
        found.append((True, LINE, LINE, (whole, 0, 0)))
    elif whole < n:
        found.append((False, (n - whole, m, rest), (n - whole, 1, 1), (whole, 0, 0)))
    return found


class Plan:
    """A call with certain layouts: its launches, which operands are passed by value, and their
    strides. The last item of `fixed` is the sizes of the axes."""

    __slots__ = ("fixed", "launches", "values")

    def __init__(self, launches: Sequence[tuple[Any, ...]], values: Any, fixed: Any) -> None:
        self.launches, self.values, self.fixed = launches, values, fixed


class Elements:
    """`kernel(out, *ins)` for elementwise operations."""

    def __init__(
        self, pool: Pool, name: str, dtypes: Sequence[DType], body: Body,
        written: Sequence[int] = (0,), key: Any = None,
    ) -> None:  # fmt: skip
        """`key` distinguishes its text from others with the same name and dtypes."""
        self.pool, self.name, self.body, self.key = pool, name, body, key
        self.dtypes, self.written = tuple(dtypes), tuple(written)
        self.plans: dict[Any, Plan] = {}

    def __call__(self, *operands: Any) -> None:
        memories = [held(x.buf) for x in operands]
        key = (
            operands[0].shape,
            *[(x.strides, type(m)) for x, m in zip(operands, memories, strict=True)],
        )
        plan = self.plans.get(key) or self.plan(key, operands, memories)
        if not plan.launches:
            return
        args: list[Any] = []
        for x, memory, value, strides in zip(
            operands, memories, plan.values, plan.fixed, strict=False
        ):
            if value:
                args.append(number(x.buf, x.offset))
            else:
                args += (memory.data, x.offset, *strides)
        for kernel, sizes, local, first in plan.launches:
            kernel(sizes, local, *args, *plan.fixed[-1], first=first)

    def plan(self, key: Any, operands: Sequence[Any], memories: Sequence[Any]) -> Plan:
        values = [not isinstance(m, DeviceMemory) for m in memories]
        shape = operands[0].shape
        if 0 in shape:
            plan = Plan((), None, None)
        else:
            still = (0,) * len(shape)  # cells have stride 0
            axes = walked(shape, [x.strides if x.shape else still for x in operands])
            pattern = pattern_of(axes, values)
            inside = list(reversed(axes))
            inside += [Axis(1, (0,) * len(operands))] * (pattern.rank - len(inside))
            strides = [
                tuple([axis.strides[k] for axis in inside]) if code == "s" else ()
                for k, code in enumerate(pattern.codes)
            ]
            sizes = tuple([axis.size for axis in inside])
            launches = [
                (self.compiled(pattern._replace(guarded=asks)), *grid)
                for asks, *grid in grids(axes, self.pool.place.is_cpu)
            ]
            plan = Plan(launches, values, [*strides, sizes])
        while len(self.plans) >= MOST_PLANS:
            self.plans.pop(next(iter(self.plans)), None)
        self.plans[key] = plan
        return plan

    def compiled(self, pattern: Pattern) -> Compiled:
        place = self.pool.place
        key = (self.name, self.key, self.dtypes, *pattern)
        found: Compiled | None = place.programs.get(key)
        if found is None:
            types: list[Any] = []
            for k, code in enumerate(pattern.codes):
                if code == "v":
                    types.append(scalar(self.dtypes[k]))
                else:
                    types += [None, LONG, *[LONG] * (pattern.rank if code == "s" else 0)]
            types += [LONG] * pattern.rank
            name = "_".join([self.name, *dict.fromkeys(d.name for d in self.dtypes)])
            source = text(name, self.dtypes, self.written, pattern, self.body, place.c)
            found = place.programs[key] = compiled(place, name, source, types)
        return found


class Refusing(Elements):
    """Integer operations without a result for some second operands: checked before any write."""

    def __init__(self, pool: Pool, kernel: str, dtype: DType, condition: str) -> None:
        super().__init__(pool, kernel, (dtype,) * 3, body_of(kernel, dtype, (dtype,) * 3,
                                                             pool.place.c))  # fmt: skip
        self.condition = condition

        def ask(places: Sequence[str]) -> list[str]:
            return [f"if ({places[1]} {condition}) {places[0]} = 1;"]

        self.ask = Elements(pool, "zeros" if condition == "== 0" else "negatives",
                            (uint8, dtype), ask)  # fmt: skip

    def __call__(self, out: Any, *ins: Any) -> None:
        if 0 not in out.shape:
            self.question(ins[1])
        super().__call__(out, *ins)

    def question(self, y: Any) -> None:
        """DomainError if any of these numbers has no result."""

        def refuse(answer: Any) -> NoReturn:
            if self.condition == "== 0":
                found, do = "an integer divided by 0 is no integer", ZEROS
            elif self.name == "pow":
                found, do = "a negative exponent, whose power is no integer", FRACTIONS
            else:
                found, do = "a shift by a negative number of bits", NEGATIVES
            raise DomainError(f"kernel {self.name} of {self.dtypes[0].name}", found, do)

        memory = held(y.buf)
        if not isinstance(memory, DeviceMemory):
            value = read(y.buf, y.offset)
            decided(y.buf)
            if value == 0 if self.condition == "== 0" else value < 0:
                refuse(value)
            return

        def run(flag: DeviceMemory) -> None:
            self.ask(Operand(Part(flag, uint8), y.shape, (0,) * len(y.shape), 0), y)

        question = (self.condition, self.dtypes[1], y.shape, y.strides, y.offset)
        ask(self.pool, 1, uint8, run, refuse, memory.data, question)


ZEROS = "keep zeros out of the divisor, or cast to a float dtype first"
FRACTIONS = "keep the exponent at 0 or more, or cast to a float dtype first"
NEGATIVES = "keep the second operand at 0 or more; shift the other way instead"


class Casts:
    """`cast(out, x)` from one dtype; out may have any dtype."""

    def __init__(self, pool: Pool, of: DType) -> None:
        self.pool, self.of = pool, of
        self.to: dict[DType, Elements] = {}

    def __call__(self, out: Any, x: Any) -> None:
        to = out.buf.dtype
        if to not in self.to:
            body = body_of("cast", self.of, (to, self.of), self.pool.place.c)
            self.to[to] = Elements(self.pool, "cast", (to, self.of), body)
        self.to[to](out, x)


def kernels(pool: Pool) -> Rows:
    """All kernels that have an expression, and casts."""
    rows: Rows = {}
    for name in EXPRESSIONS:
        row = SIGNATURES[name]
        for dtype in row.dtypes:
            dtypes = [dtype_of(letter, dtype) or dtype for letter in row.types]
            condition = refused(name, dtype)
            rows[name, dtype] = (
                Refusing(pool, name, dtype, condition)
                if condition
                else Elements(pool, name, dtypes, body_of(name, dtype, dtypes, pool.place.c))
            )
    return rows | {("cast", dtype): Casts(pool, dtype) for dtype in SIGNATURES["cast"].dtypes}
