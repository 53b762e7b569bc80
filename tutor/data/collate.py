"""Collation: samples become a batch, with each of their parts stacked along a new first axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        _same(samples, path, lambda s: isinstance(s, Mapping) and s.keys() == first.keys(), "keys")
        return {key: collate([s[key] for s in samples], f"{path}[{key!r}]") for key in first}
    if isinstance(first, (tuple, list)):
        kind = type(first)
        _same(samples, path, lambda s: type(s) is kind and len(s) == len(first), "parts")
        parts = [collate([s[i] for s in samples], f"{path}[{i}]") for i in range(len(first))]
        return kind(*parts) if hasattr(first, "_fields") else kind(parts)
    if isinstance(first, (bool, int, float)):
        kinds = (bool, int, float)
        _same(samples, path, lambda s: isinstance(s, kinds), "numbers")
        return Tensor(list(samples))
    if isinstance(first, Tensor) or is_array(first):
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


def _same(samples: Sequence[Any], path: str, alike: Any, what: str) -> None:
    for i, sample in enumerate(samples):
        if not alike(sample):
            raise DataError(
                f"a batch of {len(samples)} samples",
                f"{path} is {samples[0]!r:.60} in the first and {sample!r:.60} in number {i} of the"
                f" batch: not the same {what}",
                "give all samples the same parts, or DataLoader a collate_fn=",
            )
