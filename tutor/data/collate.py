"""Collation: samples become a batch, with each of their parts stacked along a new first axis."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from tutor._util import checks
from tutor.data.dataset import as_tensor, is_array
from tutor.errors import DataError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import stack

OWN = "pad them to one size, or give DataLoader a collate_fn=, a function of the list of samples"


def collate(samples: Sequence[Any], path: str = "sample") -> Any:
    """The batch of these samples.

    Tensors and arrays are stacked, numbers become a Tensor; tuples, named tuples, lists and dicts
    keep their structure, with a batch in every place; texts and bytes stay a list. ShapeError,
    DTypeError or DataError if the samples differ in structure, or have parts of other types.
    """
    if not samples:
        raise DataError("a batch of samples", "there is none", "collate at least one")
    first = samples[0]
    if isinstance(first, (str, bytes)):
        return list(samples)
    if isinstance(first, Mapping):
        keys = first.keys()
        if not (_alike(samples, dict) and all(map(keys.__eq__, map(dict.keys, samples)))):
            _same(samples, path, lambda s: isinstance(s, Mapping) and s.keys() == keys, "keys")
        return {key: collate(list(map(itemgetter(key), samples)), f"{path}[{key!r}]")
                for key in first}  # fmt: skip
    if isinstance(first, (tuple, list)):
        kind = type(first)
        if not _alike(samples, kind):
            _same(samples, path, lambda s: type(s) is kind and len(s) == len(first), "parts")
        parts = [collate(list(part), f"{path}[{i}]")
                 for i, part in enumerate(zip(*samples, strict=True))]  # fmt: skip
        return kind(*parts) if hasattr(first, "_fields") else kind(parts)
    if isinstance(first, (bool, int, float)):
        kinds = (bool, int, float)
        if not all(issubclass(kind, kinds) for kind in set(map(type, samples))):
            _same(samples, path, lambda s: isinstance(s, kinds), "numbers")
        return Tensor(list(samples))
    if isinstance(first, Tensor) or is_array(first):
        if (joined := _joined(samples)) is not None:
            return as_tensor(joined)
        tensors = [as_tensor(s) for s in samples]
        shapes = {t.shape for t in tensors}
        if len(shapes) > 1:
            other = next(i for i, t in enumerate(tensors) if t.shape != tensors[0].shape)
            raise ShapeError(
                f"a batch of {len(samples)} samples",
                f"{path} has shape {tensors[0].shape} in the first and {tensors[other].shape} in"
                f" number {other} of the batch",
                OWN,
            )
        return stack(tensors)
    raise DTypeError(f"a batch of {len(samples)} samples", f"{path} is {checks.said(first)}",
                     "give numbers, Tensors, arrays, texts, tuples or dicts of these; or "
                     "a collate_fn=, a function of the list of samples")  # fmt: skip


def moved(batch: Any, device: str) -> Any:
    """The batch with each Tensor in it moved to that device; everything else is unchanged."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: moved(part, device) for key, part in batch.items()}
    if isinstance(batch, (tuple, list)):
        parts = [moved(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def _joined(samples: Sequence[Any]) -> Any:
    """NumPy's arrays of one shape and dtype, as one of its arrays: in one call, where a Tensor of
    each would be dozens of times slower. None for other samples."""
    first, numpy = samples[0], sys.modules.get("numpy")
    if numpy is None or type(first) is not numpy.ndarray:
        return None
    kind, shape, dtype = type(first), first.shape, first.dtype
    if all(type(s) is kind and s.shape == shape and s.dtype == dtype for s in samples):
        return numpy.stack(samples)
    return None


def _alike(samples: Sequence[Any], kind: type) -> bool:
    """Whether all are of one type and one length. (By `map`, which costs a tenth of a loop.)"""
    return set(map(type, samples)) == {kind} and len(set(map(len, samples))) == 1


def _same(samples: Sequence[Any], path: str, alike: Any, what: str) -> None:
    for i, sample in enumerate(samples):
        if not alike(sample):
            raise DataError(
                f"a batch of {len(samples)} samples",
                f"{path} is {samples[0]!r:.60} in the first and {sample!r:.60} in number {i} of the"
                f" batch: not the same {what}",
                "give all samples the same parts, or DataLoader a collate_fn=",
            )
