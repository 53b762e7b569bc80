"""The common parts of handwritten kernels.

Their text is OpenCL C plus a few words for the differences between dtypes. For each letter that a
kernel uses for a dtype, say X, these are defined: X_m, its type in memory; X_t, the type used to
compute; LOAD_X(x[i]) and STORE_X(value), which convert. So one text serves all dtypes.

They expect contiguous memory: an operand that is not contiguous is first copied (`dense`) by the
generated kernel `copy`; such a result is computed elsewhere and then copied to its place
(`filled`). The one exception is the product, whose operands are usually transposed.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor._storage.layout import Shape, contiguous_strides, is_contiguous
from tutor.backends.codegen.dialect import HALVES, Dialect
from tutor.backends.codegen.expressions import loaded, stored
from tutor.backends.codegen.helpers import needed
from tutor.backends.opencl.elementwise import Elements, body_of
from tutor.backends.opencl.launch import LONG, Compiled, compiled, rounded_up
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool, held
from tutor.backends.registry import Operand
from tutor.dtype import DType, float32, float64

GROUP = 64  # work-items per group, where they do not cooperate


def words(kinds: Mapping[str, DType], c: Dialect) -> str:
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


def source(name: str, text: str, kinds: Mapping[str, DType], more: str, c: Dialect) -> str:
    """The complete source of one kernel."""
    code = words(kinds, c) + more + "\n" + text.replace("NAME", name)
    code = re.sub(r"\bglobal ", c.pointer[0], code)
    return f"{c.head}{needed(code, c)}\n{code}"


def hand(
    pool: Pool, name: str, text: str, kinds: Mapping[str, DType], types: Sequence[Any],
    more: str = "",
) -> Compiled:  # fmt: skip
    """The kernel NAME of `text`, compiled once for these dtypes."""
    place = pool.place
    key = (name, *kinds.items(), more)
    found: Compiled | None = place.programs.get(key)
    if found is None:
        whole = "_".join([name, *dict.fromkeys(d.name for d in kinds.values())])
        made = source(whole, text, kinds, more, place.c)
        found = place.programs[key] = compiled(place, whole, made, types)
    return found


def run(kernel: Compiled, count: int, *args: Any) -> None:
    """Run one work-item for each of `count` things; the kernel's last argument is `count`."""
    if count:
        kernel((rounded_up(count, GROUP),), (GROUP,), *args, count)


def longs(count: int) -> list[Any]:
    return [LONG] * count


def width(dtype: DType) -> DType:
    """The dtype in which floats of that dtype are computed."""
    return float64 if dtype is float64 else float32


# ---- memory --------------------------------------------------------------------------------------


def at(x: Any) -> tuple[Any, int]:
    """Memory and offset, as two arguments of a kernel."""
    return held(x.buf).data, x.offset


def fresh(pool: Pool, shape: Shape, dtype: DType) -> Operand:
    """A new contiguous operand, contents undefined."""
    memory = DeviceMemory(pool, math.prod(shape), dtype.format)
    return Operand(Part(memory, dtype), shape, contiguous_strides(shape), 0)


@functools.cache
def mover(pool: Pool, dtype: DType) -> Elements:
    """The kernel `copy`."""
    return Elements(pool, "copy", (dtype, dtype), body_of("copy", dtype, (dtype,) * 2,
                                                          pool.place.c))  # fmt: skip


def lies(x: Any) -> bool:
    """Is it contiguous and on the device?"""
    return isinstance(held(x.buf), DeviceMemory) and is_contiguous(x.shape, x.strides)


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


__all__ = ["HALVES"]
