"""Grid sampling: reads images between their pixels, at the points of a grid.

Pixel (i, j) of an image is the point (i, j). In between, with i <= r < i + 1, a = r - i and
j <= c < j + 1, b = c - j, the value is the bilinear mean of the four surrounding pixels,

    v(r, c) = (1-a)(1-b) x[i, j] + (1-a) b x[i, j+1] + a (1-b) x[i+1, j] + a b x[i+1, j+1]

and every pixel beyond the border is 0; with a third axis it is the mean of the eight neighbours.
Everything is composed of other ops, so both the image and the points get gradients
(Jaderberg et al. 2015, "Spatial transformer networks").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import DTypeError, ShapeError
from tutor.functions import where
from tutor.methods.tensor import Tensor
from tutor.ops.movement import stack


def read_linear(images: Tensor, *points: Tensor) -> Tensor:
    """images (n, c, *S), with two or three axes S, at points given by one coordinate per axis,
    (n, *P) each: (n, c, *P)."""
    cells, shares = [], []
    for place, size in zip(points, images.shape[2:], strict=True):
        place = place.clip(-1.0, float(size))
        cells.append(place.floor().clip(-1.0, size - 1.0))
        shares.append((place - cells[-1]).reshape(-1, 1))
    found = list(pixels(images, cells, list(product((0, 1), repeat=len(cells)))))
    for share in reversed(shares):  # the last axis first: its neighbours are adjacent
        found = [a + share * (b - a) for a, b in zip(found[::2], found[1::2], strict=True)]
    return as_images(found[0], images, points[0])


def read_nearest(images: Tensor, *points: Tensor) -> Tensor:
    """images at the pixels nearest to the points; ties go to the even pixel."""
    sizes = images.shape[2:]
    cells = [p.clip(-1.0, float(n)).round() for p, n in zip(points, sizes, strict=True)]
    (found,) = pixels(images, cells, [(0,) * len(cells)])
    return as_images(found, images, points[0])


def pixels(
    images: Tensor, cells: Sequence[Tensor], beside: Sequence[tuple[int, ...]]
) -> Iterator[Tensor]:
    """For each step in `beside`, as (down, right): the pixels at that offset from the cells,
    (points, channels).

    A border of zeros is put around the images, so no point needs a bounds check. All neighbours are
    read with the same index, from views that begin that many elements later.
    """
    n, channels, *sizes = images.shape
    framed = images.pad(((0, 0), (0, 0), *[(1, 1)] * len(sizes)))
    strides = [math.prod(m + 2 for m in sizes[axis + 1 :]) for axis in range(len(sizes))]
    each = strides[0] * (sizes[0] + 2)  # pixels of one image
    wide = "float32" if each < 1 << 24 else "float64"  # represents every index exactly
    places = cells[-1].detach().cast(wide) + float(sum(strides))
    for cell, stride in zip(cells[:-1], strides, strict=False):
        places = cell.detach().cast(wide) * float(stride) + places
    firsts = Tensor.arange(0, n * each, each, device=framed.device).reshape(n, *[1] * len(sizes))
    flat = (places.cast("int64") + firsts).flatten()
    # Put all channels of a pixel side by side; a single channel needs no rows, which read slower.
    whole = framed.flatten() if channels == 1 else framed.movedim(1, -1).reshape(-1, channels)
    for steps in beside:
        first = sum(step * stride for step, stride in zip(steps, strides, strict=True))
        yield whole[first:].index_select(0, flat).reshape(-1, channels)


def as_images(found: Tensor, images: Tensor, points: Tensor) -> Tensor:
    n, channels = images.shape[:2]
    return found.reshape(n, *points.shape[1:], channels).movedim(-1, 1)


@spelled
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """input (n, c, h, w) at the points of the grid (n, y, x, 2): (n, c, y, x); or (n, c, d, h, w)
    at those of (n, z, y, x, 3): (n, c, z, y, x).

    The last axis of the grid is (column, row), or (column, row, depth), from -1 to 1 over the
    image: with `align_corners` from the centre of the first pixel to that of the last, else from
    border to border. `mode` is "bilinear" (trilinear over three axes) or "nearest". A point beyond
    the border reads 0 ("zeros"), the nearest pixel of the border ("border"), or the mirror image
    ("reflection").
    """
    x = checks.tensor("grid_sample(input=...)", input)
    g = checks.tensor("grid_sample(grid=...)", grid)
    checks.one_of("grid_sample(mode=...)", mode, ("bilinear", "nearest"))
    checks.one_of("grid_sample(padding_mode=...)", padding_mode, ("zeros", "border", "reflection"))
    dims = x.ndim - 2
    fits = dims in (2, 3) and g.ndim == x.ndim and g.shape[-1] == dims
    if not fits or g.shape[0] != x.shape[0] or not x.numel():
        raise ShapeError(
            f"grid_sample of {x.shape} and a grid {g.shape}",
            "images (n, c, h, w), which are not empty, and a grid (n, y, x, 2) are wanted, or "
            "(n, c, d, h, w) and (n, z, y, x, 3)",
            "give as many grids as images, with 2 or 3 numbers for each point",
        )
    floats(x, g)
    at = []
    for axis, size in enumerate(x.shape[2:]):
        place = g[..., dims - 1 - axis]
        steps = size - 1 if align_corners else size
        place = (place + 1.0) * (steps / 2) - (0.0 if align_corners else 0.5)
        if padding_mode == "reflection":
            place = mirrored(place, size, align_corners)
        at.append(place if padding_mode == "zeros" else place.clip(0.0, size - 1.0))
    return (read_linear if mode == "bilinear" else read_nearest)(x, *at)


def floats(*tensors: Tensor) -> None:
    for t in tensors:
        if not t.dtype.is_float:
            raise DTypeError("grid_sample or affine_grid", f"a Tensor of {t.dtype.name}",
                             "give floats: write .float() behind it")  # fmt: skip


def mirrored(place: Tensor, size: int, align_corners: bool) -> Tensor:
    """Places mirrored at the centres of the outer pixels, or at the borders, as often as needed:
    with d the distance from the first mirror and s that between both, d mod s, or s less that."""
    first, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if not span:
        return place * 0.0
    d = (place - first).abs()
    times = (d / span).floor().detach()
    rest = d - times * span
    return where(times % 2.0 == 0.0, rest, span - rest) + first


@spelled
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid (n, h, w, 2) for images of `size` (n, c, h, w): its points are theta (x, y, 1) for
    (x, y) from -1 to 1, with theta (n, 2, 3). `grid_sample` reads an image there."""
    t = checks.tensor("affine_grid(theta=...)", theta)
    sizes = layout.whole_numbers(size, "affine_grid(size=...)")
    n, height, width = (sizes[0], *sizes[2:]) if len(sizes) == 4 else (0, 0, 0)
    if t.shape != (n, 2, 3) or height < 1 or width < 1:
        raise ShapeError(f"affine_grid of {t.shape} for images of {sizes}",
                         "theta (n, 2, 3) and a size (n, c, h, w) are wanted",
                         "give a matrix of 2 rows and 3 columns for each image")  # fmt: skip
    floats(t)
    across, down = (line(k, align_corners, t) for k in (width, height))
    xs, ys = across.reshape(1, -1).expand(height, width), down.reshape(-1, 1).expand(height, width)
    points = stack([xs, ys, xs.like(1)], axis=2).reshape(1, height * width, 3)
    grid: Tensor = (points @ t.mT).reshape(n, height, width, 2)
    return grid


def line(k: int, align_corners: bool, like: Tensor) -> Tensor:
    """The centres of k adjacent pixels, from -1 to 1."""
    at = Tensor.arange(k, dtype=like.dtype, device=like.device)
    if align_corners:
        return at * (2.0 / (k - 1)) - 1.0 if k > 1 else at
    return (at * 2.0 + 1.0) / k - 1.0
