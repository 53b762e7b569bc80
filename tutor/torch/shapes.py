"""Methods about shapes whose conventions differ from NumPy's."""

from __future__ import annotations

import itertools
from typing import Any

from tutor._storage import layout
from tutor.errors import ShapeError
from tutor.torch.carrier import Plain, Size


def several(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is given one by one, or as one tuple or list."""
    one = len(given) == 1 and isinstance(given[0], (tuple, list))
    return tuple(given[0]) if one else given


def sizes_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one tuple or list."""
    return tuple(int(n) for n in several(given))


def view(self: Any, shape: Any) -> Any:
    """As `reshape`, but never a copy."""
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, Plain)):
        found = "tutor reads no bits as another dtype"
        raise ShapeError("x.view(dtype)", found, "write x.to(dtype)")
    return Plain.view(self, sizes_of(shape))


def repeat(self: Any, repeats: Any) -> Any:
    """The whole tensor repeated along each axis."""
    times = sizes_of(repeats)
    if len(times) < self.ndim:
        raise ShapeError(f"repeat{times} of {self.ndim} axes", "too few", "give one for each axis")
    return Plain.tile(self, times)


def squeeze(x: Any, dim: Any) -> Any:
    """Without axes of size 1; of those named, the ones that have size 1."""
    if dim is None:
        return Plain.squeeze(x)
    dims = layout.axes_of(tuple(dim) if isinstance(dim, list) else dim, x.ndim or 1)
    gone = tuple(a for a in dims if x.ndim and x.shape[a] == 1)
    return Plain.squeeze(x, gone) if gone else Plain.reshape(x, x.shape)


def flatten(x: Any, start: int, end: int) -> Any:
    """The axes from `start` to `end` as one; x itself if there is only one."""
    return x if x.ndim == 1 else Plain.flatten(x, start, end)


def flip(x: Any, *dims: Any) -> Any:
    """Those axes in reverse order. A copy."""
    return Plain.copy(Plain.flip(x, sizes_of(dims)))


def key_at(x: Any, dim: int, place: Any) -> Any:
    """x at that position, or those, of one axis."""
    a = layout.axis_of(dim, x.ndim)
    return Plain.__getitem__(x, (*[slice(None)] * a, place))


def narrow(x: Any, dim: int, start: Any, length: Any) -> Any:
    """`length` positions along `dim`, from `start`."""
    start, n = int(start), x.shape[layout.axis_of(dim, x.ndim)]
    start += n if start < 0 else 0
    if not 0 <= start <= start + length <= n:
        raise ShapeError(f"narrow({dim}, {start}, {length})", f"the axis has {n}", "stay inside")
    return key_at(x, dim, slice(start, start + int(length)))


def tensor_split(x: Any, indices_or_sections: Any, dim: int) -> tuple[Any, ...]:
    """Parts of nearly equal sizes, or cut at those positions."""
    n = x.shape[dim]
    if isinstance(indices_or_sections, Plain):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        parts = indices_or_sections
        cuts = [0, *itertools.accumulate(n // parts + (i < n % parts) for i in range(parts))]
    else:
        places = [i + n if i < 0 else i for i in map(int, indices_or_sections)]
        cuts = [0, *(min(max(i, 0), n) for i in places), n]
    return tuple(narrow(x, dim, a, max(b - a, 0)) for a, b in itertools.pairwise(cuts))


def at_least(axes: int) -> Any:
    """`atleast_2d` and the like: of one tensor, or of several."""

    def reshaped(tensors: tuple[Any, ...]) -> Any:
        found = tuple(Plain.reshape(x, shape_of(x.shape)) for x in several(tensors))
        return found[0] if len(found) == 1 else found

    def shape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
        if axes == 3 and len(shape) == 2:
            return (*shape, 1)
        return (
            (1, *shape, 1) if axes == 3 and len(shape) == 1 else (1,) * (axes - len(shape)) + shape
        )

    return reshaped


def size(self: Any, dim: Any = None) -> Any:
    """The shape, or the size of one axis."""
    return Size(self.shape) if dim is None else self.shape[layout.axis_of(dim, self.ndim)]


FORMULAS: dict[str, Any] = {
    "reshape(input, *shape)": lambda x, shape: Plain.reshape(x, sizes_of(shape)),
    "permute(input, *dims)": lambda x, dims: Plain.permute(x, sizes_of(dims)),
    "broadcast_to(input, size)": lambda x, size: Plain.expand(x, sizes_of((size,))),
    "tile(input, *dims)": lambda x, dims: Plain.tile(x, sizes_of(dims)),
    "repeat_interleave(input, repeats, dim=None, *, output_size=None)":
        lambda x, repeats, dim, total: Plain.repeat(x, repeats, dim),
    "flip(input, *dims)": lambda x, dims: flip(x, *dims),
    "fliplr(input)": lambda x: flip(x, 1),
    "flipud(input)": lambda x: flip(x, 0),
    "squeeze(input, dim=None)": squeeze,
    "flatten(input, start_dim=0, end_dim=-1)": flatten,
    "ravel(input)": lambda x: flatten(x, 0, -1),
    "diag(input, diagonal=0)": lambda x, k: Plain.copy(Plain.diag(x, k)),
    "unbind(input, dim=0)": lambda x, dim: tuple(key_at(x, dim, i) for i in range(x.shape[dim])),
    "select(input, dim, index)": lambda x, dim, i: key_at(x, dim, int(i)),
    "narrow(input, dim, start, length)": narrow,
    "tensor_split(input, indices_or_sections, dim=0)": tensor_split,
    "hsplit(input, indices_or_sections)": lambda x, cut: tensor_split(x, cut, min(x.ndim - 1, 1)),
    "vsplit(input, indices_or_sections)": lambda x, cut: tensor_split(x, cut, 0),
    "dsplit(input, indices_or_sections)": lambda x, cut: tensor_split(x, cut, 2),
    "split_with_sizes(input, split_sizes, dim=0)":
        lambda x, sizes, dim: Plain.split(x, tuple(sizes), dim),
    "unsafe_chunk(input, chunks, dim=0)": Plain.chunk,
    "unsafe_split(input, split_size, dim=0)": Plain.split,
    "narrow_copy(input, dim, start, length)": lambda *given: Plain.copy(narrow(*given)),
    "alias_copy(input)": Plain.clone,
    "swapdims(input, dim0, dim1)": Plain.transpose,
}  # fmt: skip
ONLY_METHODS: dict[str, Any] = {
    "view(self, *shape)": view,
    "expand(self, *sizes)": lambda x, sizes: Plain.expand(x, sizes_of(sizes)),
    "repeat(self, *repeats)": repeat,
    "unfold(self, dimension, size, step)": Plain.unfold,
}
ONLY_FUNCTIONS: dict[str, Any] = {
    f"atleast_{n}d(*tensors)": at_least(n) for n in (1, 2, 3)
}  # fmt: skip
