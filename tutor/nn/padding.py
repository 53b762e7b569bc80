"""Padding with PyTorch's argument order: two widths for each axis, the last axis first."""

from __future__ import annotations

from collections.abc import Sequence

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@spelled
def pad(
    input: TensorLike, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Add elements around x: `pad` is (left, right), (left, right, top, bottom), ...: the widths
    before and after the last axis, then those of the one before it, and so on.

    "constant": `value`, by default 0. "reflect": mirrors the elements next to the outermost one:
    c b | a b c | b a. "replicate": repeats the outermost element. "circular": the axis is a ring:
    b c | a b c | a b. Negative widths cut elements off: after "reflect" and "replicate" have read
    them, before "circular" makes a ring of the rest. (`Tensor.pad` takes one pair for each axis.)
    ShapeError for widths that are not pairs, or for more pairs than there are axes.

        >>> pad(Tensor([[1.0, 2.0]]), (1, 0, 0, 1)).tolist()
        [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    """
    x = input if isinstance(input, Tensor) else Tensor(input)
    checks.one_of("pad(mode=...)", mode, MODES)
    widths = layout.whole_numbers(pad, "widths of pad")
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ShapeError(
            f"pad by {widths} of shape {x.shape}",
            f"{len(widths)} widths for {x.ndim} axes",
            "give two for each axis to be padded, from the last axis on",
        )
    named = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(named)) + named
    added = tuple((max(a, 0), max(b, 0)) for a, b in pairs)
    if min(widths, default=0) >= 0:
        return x.pad(added, value, MODES[mode])
    reads = mode in ("reflect", "replicate")
    x = x.pad(added, value, MODES[mode]) if reads else x
    kept = [(max(-a, 0), n + min(b, 0)) for n, (a, b) in zip(x.shape, pairs, strict=True)]
    if any(start > stop for start, stop in kept):
        raise ShapeError(
            f"pad by {widths} of shape {input.shape if isinstance(input, Tensor) else x.shape}",
            "more is cut off than there is",
            "give negative widths that leave 0 elements or more",
        )
    x = x.shrink(tuple(kept))
    return x if reads else x.pad(added, value, MODES[mode])
