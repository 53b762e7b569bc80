"""tutor's kernels, lent to a library of one's own: `from course.lent import kernels`.

The one thing besides Python's standard library that tutor200.py may import. A kernel is called as
in chapter 4, `kernel(out, *inputs, **params)`, with tensors that have `buf.raw` (a bytearray),
`buf.dtype`, `shape`, `strides` and `offset`: the same bytes, walked by the same instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor import Buffer
from tutor import dtype as dtypes
from tutor.backends import registry
from tutor.backends.registry import Operand

DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
    "float32", "float64",
)  # fmt: skip


def kernels() -> dict[tuple[str, str], Callable[..., None]]:
    """{(name, dtype): kernel}, of the backend in use."""
    names = {dtypes.of(dtype): dtype for dtype in DTYPES}
    table = registry.table(registry.current())
    return {
        (name, names[dtype]): lent(kernel) for (name, dtype), kernel in table.items()
        if dtype in names
    }  # fmt: skip


def lent(kernel: Callable[..., Any]) -> Callable[..., None]:
    """The kernel, for tensors of another library."""

    def call(*tensors: Any, **params: Any) -> None:
        walks = []
        for t in tensors:
            memory = Buffer.from_memory(t.buf.raw, dtype=t.buf.dtype, copy=False)
            walks.append(Operand(memory, t.shape, t.strides, t.offset))
        kernel(*walks, **params)

    return call
