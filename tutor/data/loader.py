"""Batches: a data set in random order, a few rows at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from tutor import random
from tutor.core.buffer import Buffer
from tutor.dtype import int64
from tutor.errors import DTypeError, ShapeError
from tutor.ground.typing import TensorLike
from tutor.methods.tensor import Tensor


def _as_tensor(data: TensorLike) -> Tensor:
    """`data`, sharing its memory where that is possible."""
    if isinstance(data, Tensor):
        return data
    if hasattr(data, "__dlpack__"):
        try:
            return Tensor.from_dlpack(data)
        except (BufferError, DTypeError):  # another device or byte order, or it is no number
            pass
    return Tensor(data)


def batches(
    images: TensorLike,
    labels: TensorLike,
    size: int = 64,
    shuffle: bool = True,
    seed: int = 0,
    epoch: int = 0,
    drop_last: bool = False,
) -> Iterator[tuple[Tensor, Tensor]]:
    """(x, y) of `size` rows each, until every row was there once; the last pair may be shorter.

    The order depends on (seed, epoch) alone: give each epoch its number, and a run that was
    stopped continues exactly (`itertools.islice(batches(...), done, None)`). Shuffled batches are
    copies; without `shuffle` they are views of `images` and `labels`.

    Those may be Tensors, arrays of NumPy's or another library's, or lists. An array's memory is
    shared where it can be: of a file that is mapped (`np.load(path, mmap_mode="r")`) only the rows
    of a batch are read.
    """
    xs, ys = _as_tensor(images), _as_tensor(labels)
    rows = [t.shape[0] if t.shape else None for t in (xs, ys)]
    if rows[0] is None or rows[0] != rows[1]:
        raise ShapeError(
            "batches of images and labels",
            f"shapes {xs.shape} and {ys.shape}",
            "give one label for each image: the first axes must be alike",
        )
    if size < 1:
        raise ShapeError(f"batches of size {size}", "a batch has at least one row", "use size=64")
    starts = range(0, rows[0] - size + 1 if drop_last else rows[0], size)
    if not shuffle:
        return ((xs[at : at + size], ys[at : at + size]) for at in starts)
    shuffled = array("q", random.permutation(rows[0], seed, epoch))
    order = Tensor(Buffer.from_memory(shuffled, dtype=int64))
    picks = (order[at : at + size] for at in starts)
    return ((xs.index_select(0, pick), ys.index_select(0, pick)) for pick in picks)
