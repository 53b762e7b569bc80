"""Sequences of different lengths: padded side by side, or packed without any padding.

A packed batch has the first places of all sequences, one sequence after the other, then the second
places of the sequences that have one, and so on. The longest sequence comes first, so unfinished
sequences are always at the front, and `batch_sizes` counts them for each place.

    packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
    y, h = nn.GRU(8, 16)(packed)          # h is the state after each sequence's own last place
    padded, lengths = pad_packed_sequence(y)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import cat, stack


class PackedSequence(NamedTuple):
    """data (all places, *), batch_sizes (places of the longest,), and, if packing sorted the
    sequences, the sorting permutation and its inverse (else None)."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def lengths_of(name: str, lengths: Any, count: int, most: int) -> list[int]:
    """The lengths as a list; ShapeError unless there are `count` of them, from 1 to `most`."""
    given = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    found = list(layout.whole_numbers(given, f"{name}(lengths=...)"))
    if len(found) != count or any(not 1 <= n <= most for n in found):
        raise ShapeError(
            f"{name} of {count} sequences of up to {most} places",
            f"their lengths are {found}"[:200],
            f"give one length for each sequence, from 1 to {most}",
        )  # fmt: skip
    return found


@spelled
def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:  # fmt: skip
    """Packs x (L, N, *), or (N, L, *) with batch_first, without the padding after each sequence.

    ShapeError for lengths that do not fit, or, with `enforce_sorted`, that increase.
    """
    x: Tensor = checks.at_least("pack_padded_sequence", input, 2)
    x = x.transpose(0, 1) if batch_first else x
    count, most = x.shape[1], x.shape[0]
    ends = lengths_of("pack_padded_sequence", lengths, count, most)
    order = sorted(range(count), key=lambda i: -ends[i])
    if enforce_sorted and ends != sorted(ends, reverse=True):
        raise ShapeError(f"pack_padded_sequence of the lengths {ends}"[:200],
                         "a sequence stands before a longer one",
                         "sort them, or write enforce_sorted=False")  # fmt: skip
    sizes = [sum(end > t for end in ends) for t in range(max(ends, default=0))]
    rows = [t * count + i for t, size in enumerate(sizes) for i in order[:size]]
    there = Tensor(rows, dtype="int64", device=x.device)
    data = x.reshape((most * count, *x.shape[2:])).index_select(0, there)
    if enforce_sorted:
        return PackedSequence(data, Tensor(sizes, dtype="int64", device="cpu"))
    there = Tensor(order, dtype="int64", device=x.device)
    return PackedSequence(data, Tensor(sizes, dtype="int64", device="cpu"), there, there.argsort())


@spelled
def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(x, lengths): the inverse of pack_padded_sequence. Each sequence is padded with
    `padding_value` to the length of the longest one, or to `total_length`."""
    data, sizes = sequence.data, whole_sizes("pad_packed_sequence", sequence)
    most = len(sizes) if total_length is None else total_length
    if type(most) is not int or most < len(sizes):
        raise ShapeError(f"pad_packed_sequence({total_length=})",
                         f"the longest sequence has {len(sizes)} places",
                         "give at least as many")  # fmt: skip
    count, first, rows = sizes[0], 0, [len(data)] * (most * sizes[0])
    for t, size in enumerate(sizes):
        rows[t * count : t * count + size] = range(first, first + size)
        first += size
    beyond = data.like(padding_value, (1, *data.shape[1:]))
    x = cat([data, beyond]).index_select(0, Tensor(rows, dtype="int64", device=data.device))
    x = x.reshape((most, count, *data.shape[1:]))
    ends = [sum(size > i for size in sizes) for i in range(count)]
    lengths = Tensor(ends, dtype="int64", device="cpu")
    if sequence.unsorted_indices is not None:
        x = x.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices.cpu())
    return (x.transpose(0, 1) if batch_first else x), lengths


def whole_sizes(name: str, sequence: PackedSequence) -> list[int]:
    """The batch sizes as a list. ShapeError unless they never increase and add up to the data."""
    if not isinstance(sequence, PackedSequence):
        raise ShapeError(f"{name} of a {type(sequence).__name__}", "it is no PackedSequence",
                         "give what pack_padded_sequence gave")  # fmt: skip
    sizes: list[int] = sequence.batch_sizes.tolist()
    falls = sizes and sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
    if not falls or sum(sizes) != len(sequence.data):
        raise ShapeError(f"{name} of {len(sequence.data)} places in batches of {sizes}"[:200],
                         "the batches do not fall, or are of another number of places",
                         "give what pack_padded_sequence gave")  # fmt: skip
    return sizes


@spelled
def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Tensors (L_i, *) side by side: (L, N, *), or (N, L, *) with batch_first, L the largest
    length. `padding_value` fills the end of each ("right"), or its beginning ("left")."""
    given = checks.tensors("pad_sequence", sequences)
    checks.one_of("pad_sequence(padding_side=...)", padding_side, ("right", "left"))
    shapes = {t.shape[1:] for t in given if t.ndim}
    if not given or len(shapes) > 1 or not all(t.ndim for t in given):
        raise ShapeError(f"pad_sequence of {len(given)} Tensors",
                         f"of shapes {[t.shape for t in given]}"[:200],
                         "give one or more, that differ in the first axis alone")  # fmt: skip
    longest = max(t.shape[0] for t in given)
    rows = []
    for t in given:
        beyond = longest - t.shape[0]
        ends = (0, beyond) if padding_side == "right" else (beyond, 0)
        rows.append(t.pad((ends, *[(0, 0)] * (t.ndim - 1)), padding_value))
    found: Tensor = stack(rows, axis=0 if batch_first else 1)
    return found


@spelled
def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """The inverse of pad_sequence: a list of the sequences, each cut to its length."""
    x: Tensor = checks.at_least("unpad_sequence", padded_sequences, 2)
    x = x if batch_first else x.transpose(0, 1)
    ends = lengths_of("unpad_sequence", lengths, x.shape[0], x.shape[1])
    return [x[i, :end] for i, end in enumerate(ends)]


@spelled
def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (L_i, *) packed: pack_padded_sequence of pad_sequence."""
    ends = [t.shape[0] if t.ndim else 0 for t in checks.tensors("pack_sequence", sequences)]
    return pack_padded_sequence(pad_sequence(sequences), ends, enforce_sorted=enforce_sorted)


@spelled
def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of pack_sequence: a list of the sequences."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
