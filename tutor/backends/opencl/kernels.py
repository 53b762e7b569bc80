"""The table of kernels of a device: by name and dtype, as every backend has one."""

from __future__ import annotations

import functools

from tutor.backends.opencl import (
    attention,
    draws,
    elementwise,
    fused,
    moving,
    norms,
    products,
    reduce,
    scan,
    scores,
    updates,
    windows,
)
from tutor.backends.opencl.device import DEVICE, pool
from tutor.backends.opencl.memory import DeviceMemory, Pool, Rows
from tutor.backends.opencl.precision import looser
from tutor.backends.registry import Table
from tutor.dtype import DType, float64

FAMILIES = (
    elementwise, moving, products, reduce, scan, scores, windows, norms, attention, draws,
    updates,
)  # fmt: skip


class DeviceTable(Rows):
    """The kernels of one device, and what conformance asks: where its memory comes from, and which
    rows promise less."""

    def __init__(self, rows: Rows, index: int, looser: dict[tuple[str, DType], float]) -> None:
        super().__init__(rows)
        self.index, self.looser = index, looser

    def room(self, count: int, dtype: DType) -> DeviceMemory:
        return DEVICE.empty(count, dtype, self.index)


def rows_of(where: Pool) -> Rows:
    """All kernels, over the memory of that pool."""
    rows: Rows = {}
    for family in FAMILIES:
        rows |= family.kernels(where)
    rows |= fused.kernels(where, rows)
    if not where.place.has_double:
        rows = {key: kernel for key, kernel in rows.items() if key[1] is not float64}
    return rows


@functools.cache
def table(index: int = 0) -> Table:
    """All kernels of the device of that number."""
    return DeviceTable(rows_of(pool(index)), index, looser())
