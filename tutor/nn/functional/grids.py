"""Images read between their pixels, at points that a grid names.

Pixel (i, j) of an image is the point (i, j). In between, with i <= r < i + 1, a = r - i and
j <= c < j + 1, b = c - j, the value is the bilinear mean of the four pixels around,

    v(r, c) = (1-a)(1-b) x[i, j] + (1-a) b x[i, j+1] + a (1-b) x[i+1, j] + a b x[i+1, j+1]

and beyond the border every pixel is 0. Everything is composed of other ops, so there are gradients
to the image and to the points (Jaderberg et al. 2015, "Spatial transformer networks").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.errors import DTypeError, ShapeError
from tutor.functions import where
from tutor.ground import checks, layout
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.ops.movement import stack

ALL_FOUR = ((0, 0), (0, 1), (1, 0), (1, 1))


def read_bilinear(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """images (n, c, h, w) at the points (rows, columns), each (n, y, x): (n, c, y, x)."""
    height, width = images.shape[2:]
    r, c = rows.clip(-1.0, float(height)), columns.clip(-1.0, float(width))
    i, j = r.floor().clip(-1.0, height - 1.0), c.floor().clip(-1.0, width - 1.0)
    a, b = (r - i).reshape(-1, 1), (c - j).reshape(-1, 1)
    nw, ne, sw, se = pixels(images, i, j, ALL_FOUR)
    north, south = nw + b * (ne - nw), sw + b * (se - sw)
    return as_images(north + a * (south - north), images, rows)


def read_nearest(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """images at the pixels that are nearest to the points; of two as near, the even one."""
    height, width = images.shape[2:]
    r, c = rows.clip(-1.0, float(height)).round(), columns.clip(-1.0, float(width)).round()
    (found,) = pixels(images, r, c, ((0, 0),))
    return as_images(found, images, rows)


def pixels(
    images: Tensor, i: Tensor, j: Tensor, beside: Sequence[tuple[int, int]]
) -> Iterator[Tensor]:
    """For each (down, right): the pixels (i + down, j + right), (points, channels).

    A border of zeros is put around the images: so nothing has to be asked of the single points. All
    neighbours are read with the same index, from views that begin so many elements later.
    """
    n, channels, height, width = images.shape
    framed = images.pad(((0, 0), (0, 0), (1, 1), (1, 1)))
    h, w = height + 2, width + 2
    wide = "float32" if h * w < 1 << 24 else "float64"  # in which every index is exact
    places = (i.detach().cast(wide) * float(w) + j.detach().cast(wide) + float(w + 1)).cast("int64")
    firsts = Tensor.arange(0, n * h * w, h * w).reshape(n, 1, 1)
    flat = (places + firsts).flatten()
    # All channels of a pixel side by side; a single one needs no rows, which are read more slowly.
    whole = framed.flatten() if channels == 1 else framed.permute(0, 2, 3, 1).reshape(-1, channels)
    for down, right in beside:
        yield whole[down * w + right :].index_select(0, flat).reshape(-1, channels)


def as_images(found: Tensor, images: Tensor, rows: Tensor) -> Tensor:
    n, channels = images.shape[:2]
    return found.reshape(n, *rows.shape[1:], channels).permute(0, 3, 1, 2)


@spelled
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """input (n, c, h, w) at the points of the grid (n, y, x, 2): (n, c, y, x).

    The last axis of the grid is (column, row), from -1 to 1 over the image: with `align_corners`
    from the middle of the first pixel to that of the last, else from border to border. `mode` is
    "bilinear" or "nearest". What lies beyond the border is 0 ("zeros"), the pixel of the border
    nearest to it ("border"), or its mirror image ("reflection").
    """
    x = checks.tensor("grid_sample(input=...)", input)
    g = checks.tensor("grid_sample(grid=...)", grid)
    checks.one_of("grid_sample(mode=...)", mode, ("bilinear", "nearest"))
    checks.one_of("grid_sample(padding_mode=...)", padding_mode, ("zeros", "border", "reflection"))
    if x.ndim != 4 or g.ndim != 4 or g.shape[3] != 2 or g.shape[0] != x.shape[0] or not x.numel():
        raise ShapeError(
            f"grid_sample of {x.shape} and a grid {g.shape}",
            "images (n, c, h, w), which are not empty, and a grid (n, y, x, 2) are wanted",
            "give as many grids as images, with 2 numbers for each point",
        )
    floats(x, g)
    at = []
    for axis, size in ((1, x.shape[2]), (0, x.shape[3])):
        place = g[..., axis]
        steps = size - 1 if align_corners else size
        place = (place + 1.0) * (steps / 2) - (0.0 if align_corners else 0.5)
        if padding_mode == "reflection":
            place = mirrored(place, size, align_corners)
        at.append(place if padding_mode == "zeros" else place.clip(0.0, size - 1.0))
    return (read_bilinear if mode == "bilinear" else read_nearest)(x, *at)


def floats(*tensors: Tensor) -> None:
    for t in tensors:
        if not t.dtype.is_float:
            raise DTypeError("grid_sample or affine_grid", f"a Tensor of {t.dtype.name}",
                             "give floats: write .float() behind it")  # fmt: skip


def mirrored(place: Tensor, size: int, align_corners: bool) -> Tensor:
    """Places mirrored at the middles of the outer pixels, or at the borders, as often as it takes:
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
    """The grid (n, h, w, 2) for images of `size` (n, c, h, w) whose point (x, y), from -1 to 1, is
    theta (x, y, 1): theta is (n, 2, 3). `grid_sample` reads an image there."""
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
    """The middles of k pixels side by side, from -1 to 1."""
    at = Tensor.arange(k, dtype=like.dtype)
    if align_corners:
        return at * (2.0 / (k - 1)) - 1.0 if k > 1 else at
    return (at * 2.0 + 1.0) / k - 1.0
