"""Images turned, moved, scaled and bent: transforms that read images between their pixels.

Each maps every pixel of the new image to its source in the old one, where `read_linear` reads it.
Several in a row compose to one map, and need a single reading.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.data.transforms import Transform, as_float
from tutor.dtype import float32
from tutor.errors import DTypeError
from tutor.methods.tensor import Tensor
from tutor.nn.grids import read_linear


def uniform(n: int, most: float, least: float | None = None) -> Tensor:
    """A number per image from [least, most), n images: (n, 1, 1). least defaults to -most."""
    low = -most if least is None else least
    return Tensor.rand(n, 1, 1) * (most - low) + low


class Warp(Transform):
    """A transform that maps every pixel of the new image to its source in the old one:
    `source(rows, columns, shape)`. The result is float."""

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        raise NotImplementedError(
            f"{type(self).__name__} has no source(self, rows, columns, shape)"
        )

    def apply(self, images: Tensor) -> Tensor:
        return warped(images, [self])


def warped(images: Tensor, warps: Sequence[Warp]) -> Tensor:
    """The images after all of these, read once: the sources compose from the last to the first."""
    if not warps:
        return images
    x = as_float(images)
    n, _, height, width = x.shape
    rows: Tensor = Tensor.arange(height, dtype=float32).reshape(1, -1, 1)
    columns: Tensor = Tensor.arange(width, dtype=float32).reshape(1, 1, -1)
    for warp in reversed(warps):
        rows, columns = warp.source(rows, columns, (n, height, width))
    # Places are float32, as is the mean of pixels of lower precision.
    found = read_linear(x, rows.expand(n, height, width), columns.expand(n, height, width))
    return found if found.dtype is x.dtype else found.cast(x.dtype)


@spelled
class RandomAffine(Warp):
    """Each image turned, sheared and scaled about its centre m, then shifted:

        p' = s R(t) S(k) (p - m) + m + d
        R(t) = [[cos t, -sin t], [sin t, cos t]],  S(k) = [[1, k], [0, 1]]

    for points p = (x, y), with t uniform in +-degrees, k in +-shear, s in 1 +- scale, and d in
    +-translate pixels in either direction. The new pixel p' comes from p, by the inverse,
    (1/s) [[cos t + k sin t, sin t - k cos t], [-sin t, cos t]] (p' - m - d) + m.
    """

    def __init__(
        self, degrees: float = 10.0, translate: float = 0.0, scale: float = 0.0, shear: float = 0.0
    ) -> None:
        name = type(self).__name__
        self.degrees = checks.number(f"{name}(degrees=...)", degrees, 0, 360, nan=False)
        self.translate = checks.number(f"{name}(translate=...)", translate, 0, 1e6, nan=False)
        self.scale = checks.number(f"{name}(scale=...)", scale, 0, 0.99, nan=False)
        self.shear = checks.number(f"{name}(shear=...)", shear, 0, 1e3, nan=False)

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        n, height, width = shape
        t = uniform(n, math.radians(self.degrees))
        k, s = uniform(n, self.shear), uniform(n, 1 + self.scale, 1 - self.scale)
        dx, dy = uniform(n, self.translate), uniform(n, self.translate)
        cos, sin = t.cos() / s, t.sin() / s
        mx, my = (width - 1) / 2, (height - 1) / 2
        x, y = columns - (dx + mx), rows - (dy + my)
        return cos * y - sin * x + my, (cos + k * sin) * x + (sin - k * cos) * y + mx


@spelled
class RandomRotation(RandomAffine):
    """Rotates each image about its centre, by an angle uniform in +-degrees."""

    def __init__(self, degrees: float = 10.0) -> None:
        super().__init__(degrees)


@spelled
class ElasticTransform(Warp):
    """Moves every pixel a little, neighbours alike, as if the paper were rubber (Simard, Steinkraus
    & Platt 2003, "Best practices for convolutional neural networks applied to visual document
    analysis").

    The displacements of rows and of columns are alpha * G u: u is uniform in [-1, 1) for each
    pixel, G the Gaussian filter of standard deviation sigma (its weights add up to 1; beyond the
    border u is 0). Two products with a matrix compute it: G_h u G_w.
    """

    def __init__(self, alpha: float = 34.0, sigma: float = 4.0) -> None:
        self.alpha = checks.number("ElasticTransform(alpha=...)", alpha, 0, 1e6, nan=False)
        self.sigma = checks.number("ElasticTransform(sigma=...)", sigma, 1e-3, 1e6, nan=False)

    def source(
        self, rows: Tensor, columns: Tensor, shape: tuple[int, int, int]
    ) -> tuple[Tensor, Tensor]:
        n, height, width = shape
        u = Tensor.rand(2, n, height, width) * 2.0 - 1.0
        down, across = gaussian(height, self.sigma) * float(self.alpha), gaussian(width, self.sigma)
        moved = down @ (u @ across)
        return rows + moved[0], columns + moved[1]


def gaussian(size: int, sigma: float) -> Tensor:
    """G[i, j] = g(i - j), with g(d) = exp(-d^2 / 2 sigma^2) / sum over all whole d."""
    half = min(math.ceil(4 * sigma), 1 << 16)
    whole = math.fsum(math.exp(-0.5 * (d / sigma) ** 2) for d in range(-half, half + 1))
    at = Tensor.arange(size, dtype=float32)
    return (((at.reshape(-1, 1) - at) / sigma) ** 2 * -0.5).exp() / whole


@spelled
class Compose(Transform):
    """`Compose(first, second, ...)`: one after another. Adjacent transforms that move pixels read
    the images between their pixels only once, so nothing is blurred twice."""

    def __init__(self, *transforms: Transform) -> None:
        for t in transforms:
            if not isinstance(t, Transform):
                raise DTypeError(
                    "Compose",
                    f"{checks.said(t)} is no Transform",
                    "give Compose(RandomShift(2), GaussianNoise(0.1)), for example",
                )
        self.transforms = transforms

    def apply(self, images: Tensor) -> Tensor:
        warps: list[Warp] = []
        for t in self.transforms:
            if isinstance(t, Warp):
                warps.append(t)
                continue
            images = t.apply(warped(images, warps))
            warps = []
        return warped(images, warps)

    def __repr__(self) -> str:
        return f"Compose({', '.join(map(repr, self.transforms))})"
