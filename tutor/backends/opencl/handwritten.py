"""The common parts of handwritten kernels.

A `Body` is the code of one work-item and the list of its parameters, which is all that says how it
is declared and called. Its language is OpenCL C plus a few words for the differences between
dtypes. For each letter that a kernel uses for a dtype, say X, these are defined: X_m, its type in
memory; X_t, the type used to compute; LOAD_X(x[i]) and STORE_X(value), which convert. So one text
serves all dtypes.

They expect contiguous memory: an operand that is not contiguous is first copied (`dense`) by the
generated kernel `copy`; such a result is computed elsewhere and then copied to its place
(`filled`). The one exception is the product, whose operands are usually transposed.
"""

from __future__ import annotations

import functools
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor._storage.layout import Shape, contiguous_strides, is_contiguous
from tutor.backends.codegen.dialect import BY_NAME, Dialect
from tutor.backends.codegen.expressions import loaded, stored
from tutor.backends.codegen.helpers import needed
from tutor.backends.opencl.elementwise import Elements, body_of
from tutor.backends.opencl.launch import LONG, Compiled, compiled, rounded_up, scalar
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool, held
from tutor.backends.registry import Operand
from tutor.dtype import DType, float32, float64

GROUP = 64  # work-items per group, where they do not cooperate
Kinds = Mapping[str, DType]


class Body:
    """A handwritten kernel, `name(parameters)`. A parameter is memory (`const X *x`: of dtype X,
    which begins at the operand's first element), a number of a type (`double eps`), or an int64_t
    (`n`). The body is for thing number `at` of `count`; if `free`, it finds out itself what to do,
    and there is no `count`. `before`: functions that it calls."""

    def __init__(self, head: str, body: str, before: str = "", free: bool = False) -> None:
        self.name, _, rest = head.rstrip(")").partition("(")
        self.parameters = [" ".join(each.split()) for each in rest.split(",")]
        self.is_memory = ["*" in each for each in self.parameters]
        self.free, self.before = free, before
        lines = textwrap.dedent(body).strip("\n").split("\n")
        first = sum(line.startswith("#pragma") for line in lines[:1])  # it must stand first
        lines[first:first] = [f"{x} += {x}_0;" for x in map(pointer, self.parameters) if x]
        body = "\n".join(lines)
        if not free:
            inside = textwrap.indent(body, "    ")
            body = f"const int64_t at = get_global_id(0);\nif (at < count) {{\n{inside}\n}}"
        self.body = textwrap.indent(body, "    ")

    def declared(self) -> str:
        """The parameters as the compiler reads them."""
        found = []
        for each in self.parameters:
            kind = re.sub(r"\b([A-Z]) ", r"\1_m ", each)
            if name := pointer(each):
                found.append(f"global {kind}, const int64_t {name}_0")
            else:
                found.append(f"const {kind if ' ' in kind else f'int64_t {kind}'}")
        return ",\n    ".join(found if self.free else [*found, "const int64_t count"])

    def types(self, kinds: Kinds) -> list[Any]:
        """The types of its arguments, None for memory."""
        found: list[Any] = []
        for each in self.parameters:
            kind = each.rpartition(" ")[0]
            if pointer(each):
                found += [None, LONG]
            elif kind == "double":
                found.append(scalar(float64))
            else:
                found.append(scalar(kinds.get(kind) or BY_NAME[(kind or "int64_t")[:-2]]))
        return found if self.free else [*found, LONG]

    def arguments(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of a launch: an operand is its memory and its offset."""
        found: list[Any] = []
        for is_memory, arg in zip(self.is_memory, args, strict=True):
            if is_memory:
                found += (held(arg.buf).data, arg.offset)
            else:
                found.append(arg)
        return found

    def source(self, name: str, kinds: Kinds, more: str, c: Dialect) -> str:
        """The complete source of the kernel for these dtypes."""
        code = f"{words(kinds, c)}{more}{self.before}\n"
        code += f"kernel void {name}(\n    {self.declared()}) {{\n{self.body}\n}}\n"
        code = re.sub(r"\bglobal ", c.pointer[0], code)
        return f"{c.head}{needed(code, c)}\n{code}"


def pointer(parameter: str) -> str:
    """The name of a parameter that is memory; of another, none."""
    return parameter.partition("*")[2]


def words(kinds: Kinds, c: Dialect) -> str:
    """The definitions for each letter."""
    lines = []
    for letter, dtype in kinds.items():
        lines += [
            f"typedef {c.stored[dtype]} {letter}_m;",
            f"typedef {c.computed(dtype)} {letter}_t;",
            f"#define LOAD_{letter}(x) {loaded(dtype, '(x)')}",
            f"#define STORE_{letter}(x) {stored(dtype, '(x)')}",
        ]
    return "\n".join(lines) + "\n"


def hand(pool: Pool, text: Body, kinds: Kinds, more: str = "") -> Compiled:
    """The kernel of that text, compiled once for these dtypes. `more`: definitions of its words."""
    place = pool.place
    key = (text, *kinds.items(), more)
    found: Compiled | None = place.programs.get(key)
    if found is None:
        code = f"{text.parameters}{text.before}{text.body}{more}"
        used = {x: dtype for x, dtype in kinds.items() if re.search(rf"\b{x}_|_{x}\b|\b{x} ", code)}
        name = "_".join([text.name, *dict.fromkeys(d.name for d in used.values())])
        source = text.source(name, used, more, place.c)
        found = place.programs[key] = compiled(place, name, source, text.types(used))
    return found


def launch(
    pool: Pool, text: Body, kinds: Kinds, count: int, *args: Any, more: str = ""
) -> None:  # fmt: skip
    """Run one work-item for each of `count` things."""
    if count:
        kernel = hand(pool, text, kinds, more)
        kernel((rounded_up(count, GROUP),), (GROUP,), *text.arguments(args), count)


class Kernel:
    """One row of the table: `kernel(out, *ins, **params)` for one dtype, which the letter X stands
    for in its texts; A is the dtype in which floats of that dtype are computed."""

    def __init__(self, pool: Pool, name: str, dtype: DType) -> None:
        self.pool, self.name, self.dtype, self.acc = pool, name, dtype, width(dtype)
        self.c, self.kinds = pool.place.c, {"X": dtype, "A": width(dtype)}

    def run(
        self, text: Body, count: int, *args: Any, more: str = "", kinds: Kinds | None = None
    ) -> None:  # fmt: skip
        """Run one work-item of the text for each of `count` things."""
        launch(self.pool, text, self.kinds if kinds is None else kinds, count, *args, more=more)

    def into(
        self, out: Any, text: Body, count: int, *args: Any, more: str = "",
        kinds: Kinds | None = None,
    ) -> None:  # fmt: skip
        """The same with `out` as its first argument, contiguous or not."""
        filled(self.pool, out, lambda z: self.run(text, count, z, *args, more=more, kinds=kinds))

    def dense(self, *operands: Any) -> list[Any]:
        return [dense(self.pool, x) for x in operands]

    def fresh(self, shape: Shape, dtype: DType | None = None) -> Operand:
        """A new contiguous operand, contents undefined."""
        return fresh(self.pool, shape, dtype or self.dtype)

    def copy(self, to: Any, x: Any) -> None:
        mover(self.pool, to.buf.dtype)(to, x)


def width(dtype: DType) -> DType:
    """The dtype in which floats of that dtype are computed."""
    return float64 if dtype is float64 else float32


# ---- memory --------------------------------------------------------------------------------------


def at(x: Any) -> tuple[Any, int]:
    """Memory and offset, as two arguments of a kernel."""
    return held(x.buf).data, x.offset


def over(memory: DeviceMemory, dtype: DType, shape: Shape) -> Operand:
    """The memory as a contiguous operand."""
    return Operand(Part(memory, dtype), shape, contiguous_strides(shape), 0)


def fresh(pool: Pool, shape: Shape, dtype: DType) -> Operand:
    """A new contiguous operand, contents undefined."""
    return over(DeviceMemory(pool, math.prod(shape), dtype.format), dtype, shape)


@functools.cache
def mover(pool: Pool, dtype: DType) -> Elements:
    """The kernel `copy`."""
    return Elements(pool, "copy", (dtype, dtype), body_of("copy", dtype, (dtype,) * 2,
                                                          pool.place.c))  # fmt: skip


def is_on_device(x: Any) -> bool:
    return isinstance(held(x.buf), DeviceMemory)


def lies(x: Any) -> bool:
    """Is it contiguous and on the device?"""
    return is_on_device(x) and is_contiguous(x.shape, x.strides)


def dense(pool: Pool, x: Any) -> Any:
    """x itself, or a contiguous copy."""
    return x if lies(x) else copied(pool, x)


def copied(pool: Pool, x: Any) -> Operand:
    z = fresh(pool, x.shape, x.buf.dtype)
    mover(pool, x.buf.dtype)(z, x)
    return z


def as_dtype(pool: Pool, x: Any, dtype: DType) -> Any:
    """x in another dtype, contiguous."""
    of = x.buf.dtype
    if of is dtype:
        return dense(pool, x)
    z = fresh(pool, x.shape, dtype)
    casting(pool, dtype, of)(z, x)
    return z


@functools.cache
def casting(pool: Pool, to: DType, of: DType) -> Elements:
    return Elements(pool, "cast", (to, of), body_of("cast", of, (to, of), pool.place.c))


def filled(pool: Pool, out: Any, fill: Callable[[Any], None]) -> None:
    """Let `fill` write to out, or to a copy if out is not contiguous."""
    z = out if lies(out) else fresh(pool, out.shape, out.buf.dtype)
    fill(z)
    if z is not out:
        mover(pool, out.buf.dtype)(out, z)


def permuted(x: Any, order: Sequence[int]) -> Operand:
    shape, strides = tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order)
    return Operand(x.buf, shape, strides, x.offset)


def lines(x: Any, axis: int) -> tuple[int, int, int]:
    """(outer, n, inner) of a contiguous shape: n elements along axis, with a step of inner."""
    shape = x.shape or (1,)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def one(axis: Any, x: Any) -> int:
    """The axis, counted from the front; a single number has axis 0."""
    found = axis if isinstance(axis, int) else axis[0] if axis else 0
    return found % max(len(x.shape), 1)
