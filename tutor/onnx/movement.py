"""ONNX operators that move, select or reshape numbers."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import axis_of
from tutor.methods.tensor import Tensor
from tutor.onnx.given import Given, as_tensor, cannot, either, ints


def reshape(n: Given, x: Tensor, shape: Any) -> Tensor:
    sizes = ints(shape) or []
    if not n.flag("allowzero"):
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    return x.reshape(tuple(sizes))


def flatten(n: Given, x: Tensor) -> Tensor:
    axis = n.get("axis")
    at = x.ndim if axis == x.ndim else n.axis(x)
    return x.reshape((math.prod(x.shape[:at]), math.prod(x.shape[at:])))


def transpose(n: Given, x: Tensor) -> Tensor:
    return x.permute(tuple(n.get("perm", range(x.ndim)[::-1])))


def unsqueeze(n: Given, x: Tensor, axes: Any = None) -> Tensor:
    found = either(n, "axes", axes) or []
    for axis in sorted(axis_of(a, x.ndim + len(found)) for a in found):
        x = x.unsqueeze(axis)
    return x


def squeeze(n: Given, x: Tensor, axes: Any = None) -> Tensor:
    found = either(n, "axes", axes)
    return x.squeeze() if found is None else x.squeeze(tuple(found))


def slice_(
    n: Given, x: Tensor, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> Tensor:
    """Slices as in Python, except that a start beyond an end of its axis moves to that end: with a
    negative step the first element is taken where Python takes none."""
    first, last = either(n, "starts", starts) or [], either(n, "ends", ends) or []
    along = either(n, "axes", axes) or list(range(len(first)))
    step = ints(steps) or [1] * len(first)
    key = [slice(None)] * x.ndim
    for a, b, axis, s in zip(first, last, along, step, strict=True):
        key[axis] = slice(0 if s < 0 and a < -x.shape[axis] else a, b, s)
    return x[tuple(key)]


def split(n: Given, x: Tensor, sizes: Any = None) -> tuple[Tensor, ...]:
    axis, found = n.get("axis", 0), either(n, "split", sizes)
    n.only("num_outputs", n.results, f"it has {n.results}")
    if found is None:
        each = -(-x.shape[axis] // n.results)
        found = [min(each, x.shape[axis] - i * each) for i in range(n.results)]
    return tuple(x.split(found, axis))


def gather(n: Given, x: Any, index: Any) -> Any:
    x, index = as_tensor(x), as_tensor(index)
    axis = n.axis(x)
    rows = x.index_select(axis, index.reshape((-1,)))
    return rows.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def scatter(n: Given, x: Any, index: Any, src: Any) -> Tensor:
    how = n.get("reduction")
    if how not in ("none", "add"):
        raise cannot("ScatterElements", f"reduction={how!r}")
    x, index, src = (as_tensor(t) for t in (x, index, src))
    f = x.scatter if how == "none" else x.scatter_add
    found: Tensor = f(n.get("axis"), index, src)
    return found


def expand(n: Given, x: Any, shape: Any) -> Tensor:
    x = as_tensor(x)
    zeros = [1] * max(x.ndim - len(ints(shape) or []), 0) + (ints(shape) or [])
    own = [1] * (len(zeros) - x.ndim) + list(x.shape)
    found: Tensor = x.expand(tuple(a if b == 1 else b for a, b in zip(own, zeros, strict=True)))
    return found


def pad(n: Given, x: Tensor, pads: Any = None, value: Any = None, axes: Any = None) -> Tensor:
    n.only("mode", "constant", "only numbers of one kind are put around")
    found, along = either(n, "pads", pads) or [], ints(axes) or list(range(x.ndim))
    half, widths = len(found) // 2, [(0, 0)] * x.ndim
    for axis, before, after in zip(along, found[:half], found[half:], strict=True):
        widths[axis] = (before, after)
    key = tuple(
        slice(max(-b, 0), n_ - max(-a, 0)) for (b, a), n_ in zip(widths, x.shape, strict=True)
    )
    number = n.get("value", 0.0) if value is None else value.reshape(-1).tolist()[0]
    return x[key].pad([(max(b, 0), max(a, 0)) for b, a in widths], number)


def constant_of_shape(n: Given, *numbers: Any) -> Tensor:
    raise cannot(n.kind, "a shape that depends on numbers")


def trilu(n: Given, x: Tensor, k: Any = None) -> Tensor:
    at = (ints(k) or [0])[0]
    return x.triu(at) if n.flag("upper") else x.tril(at)
