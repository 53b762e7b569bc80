"""A device's table of kernels, by name and dtype, as every backend has one."""

from __future__ import annotations

from collections.abc import Callable

from tutor.backends.opencl import (
    attention,
    draws,
    elementwise,
    fused,
    moving,
    norms,
    products,
    recurrent,
    reduce,
    scan,
    scores,
    updates,
    windows,
)
from tutor.backends.opencl.memory import DeviceMemory, Pool, Rows
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, float64

Maker = Callable[[Pool, str, DType], Callable[..., None]]
MAKERS: dict[str, Maker] = {}  # by kernel; its dtypes are those of signatures.py
for _family in (
    elementwise, moving, products, reduce, scan, scores, windows, norms, attention,
    recurrent, draws, updates,
):  # fmt: skip
    MAKERS |= _family.KERNELS


class DeviceTable(Rows):
    """The kernels of one device, and two facts for conformance: where its memory comes from, and
    which rows promise less."""

    def __init__(
        self, rows: Rows, room: Callable[[int, DType], DeviceMemory],
        looser: dict[tuple[str, DType], float],
    ) -> None:  # fmt: skip
        super().__init__(rows)
        self.room, self.looser = room, looser


def rows_of(where: Pool) -> Rows:
    """All kernels, using the memory of that pool."""
    rows: Rows = {
        (name, dtype): made(where, name, dtype)
        for name, made in MAKERS.items()
        for dtype in SIGNATURES[name].dtypes
    }
    chains = fused.Fused(where, rows)
    rows |= {("fused", dtype): chains for dtype in SIGNATURES["fused"].dtypes}
    if not where.place.has_double:
        rows = {key: kernel for key, kernel in rows.items() if key[1] is not float64}
    return rows
