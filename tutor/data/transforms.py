"""Random changes to images, a whole batch at once: the same digits in different handwriting.

    augment = Compose(RandomAffine(10, translate=2, scale=0.1), ElasticTransform())
    loader = DataLoader((images, labels), 128, shuffle=True, transform=augment, prefetch=2)

Images are (n, h, w) or (n, channels, h, w), of any dtype; each one is changed differently. Random
numbers come from tutor's generator: `augment(images, seed=3)` gives the same images each time, and
in a DataLoader every batch has a stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.backends import devices
from tutor.core.engine.grad_mode import no_grad
from tutor.data.dataset import as_tensor
from tutor.data.loader import count
from tutor.dtype import float32
from tutor.errors import DomainError, ShapeError
from tutor.functions import where
from tutor.functions.sampling import randint
from tutor.methods.tensor import Tensor


def as_float(images: Tensor) -> Tensor:
    return images if images.dtype.is_float else images.cast(float32)


class Transform:
    """Base class: `apply(images)` maps (n, channels, h, w) to the same number of images."""

    @no_grad()
    def __call__(self, images: TensorLike, seed: int | None = None) -> Tensor:
        """The changed images, (n, h, w) or (n, channels, h, w) like the input; `seed` draws from a
        stream of its own."""
        x = as_tensor(images)
        name = type(self).__name__
        if x.ndim not in (3, 4):
            raise ShapeError(f"{name} of shape {x.shape}", f"{x.ndim} axes",
                             "give images as (n, h, w) or (n, channels, h, w)")  # fmt: skip
        grey = x.ndim == 3
        batch = x.reshape(x.shape[0], 1, *x.shape[1:]) if grey else x
        if not batch.numel():
            found = batch
        elif seed is None:
            found = self._applied(batch)
        else:
            own = random.Stream(count(f"{name} with seed", seed, 0, 2**64 - 1))
            found = random.drawing_from(own, self._applied, batch)
        return found.reshape(found.shape[0], *found.shape[2:]) if grey else found

    def _applied(self, images: Tensor) -> Tensor:
        """`apply`, with new Tensors created on the device of the images."""
        if images.device == devices.default():
            return self.apply(images)
        with devices.device(images.device):
            return self.apply(images)

    def apply(self, images: Tensor) -> Tensor:
        """Written by a subclass: maps (n, channels, h, w) to as many images; records no graph."""
        raise NotImplementedError(f"{type(self).__name__} has no apply(self, images)")

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({settings})"


# ---- values --------------------------------------------------------------------------------------


@spelled
class ToFloat(Transform):
    """float32 from 0 to 1: bytes are divided by 255, floats keep their values."""

    def apply(self, images: Tensor) -> Tensor:
        if images.dtype.is_float:
            return images
        most = images.dtype.max if images.dtype.is_integer else 1
        return images.cast(float32) / float(most)


@spelled
class Normalize(Transform):
    """z = (x - mean) / std; mean and std are numbers, or one number per channel."""

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float]) -> None:
        self.mean, self.std = (per_channel("Normalize", v) for v in (mean, std))
        if not all(s > 0 for s in self.std):
            raise DomainError(f"Normalize(std={std!r:.60})", "a standard deviation is above 0",
                              "give the data's own")  # fmt: skip
        channels = max(len(self.mean), len(self.std))
        if {len(self.mean), len(self.std)} - {1, channels}:
            raise ShapeError("Normalize", f"{len(self.mean)} means and {len(self.std)} deviations",
                             "give one number, or one for each channel")  # fmt: skip
        means, stds = (v * channels if len(v) == 1 else v for v in (self.mean, self.std))
        self._steps = [(1.0 / s, -m / s) for m, s in zip(means, stds, strict=True)]

    def apply(self, images: Tensor) -> Tensor:
        x = as_float(images)
        if len(self._steps) == 1:
            ((times, plus),) = self._steps
            return x * times + plus
        if len(self._steps) != x.shape[1]:
            raise ShapeError(
                f"Normalize with {len(self._steps)} channels",
                f"images of {x.shape[1]}",
                "give one number, or one for each channel",
            )
        both = Tensor(self._steps, dtype=x.dtype).T.reshape(2, 1, x.shape[1], 1, 1)
        return x * both[0] + both[1]


def per_channel(name: str, value: float | Sequence[float]) -> list[float]:
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    if not given:
        raise DomainError(f"{name} of no channel", "an empty list", "give a number")
    return [float(checks.number(f"{name} of a channel", v)) for v in given]


@spelled
class GaussianNoise(Transform):
    """x + std * e, with e standard normal, independent for every pixel."""

    def __init__(self, std: float = 0.1) -> None:
        self.std = checks.number("GaussianNoise(std=...)", std, 0, nan=False)

    def apply(self, images: Tensor) -> Tensor:
        x = as_float(images)
        return x + Tensor.randn(*x.shape, dtype=x.dtype) * float(self.std)


@spelled
class RandomErasing(Transform):
    """Sets a square of side `size` at a random place to `value`, with probability p; its centre
    lies in the image, but parts of it may not (Cutout: DeVries & Taylor 2017)."""

    def __init__(self, size: int = 8, p: float = 1.0, value: float = 0.0) -> None:
        self.size = count("RandomErasing with size", size, 1)
        self.p = checks.number("RandomErasing(p=...)", p, 0, 1, nan=False)
        self.value = checks.number("RandomErasing(value=...)", value, -1e38, 1e38, nan=False)

    def apply(self, images: Tensor) -> Tensor:
        n, _, height, width = images.shape
        half = self.size // 2
        y = randint(0, height, (n, 1, 1, 1)) - half
        x = randint(0, width, (n, 1, 1, 1)) - half
        r, c = Tensor.arange(height).reshape(-1, 1), Tensor.arange(width)
        hit = (r >= y) & (r < y + self.size) & (Tensor.rand(n, 1, 1, 1) < self.p)
        whole = not images.dtype.is_float and self.value == int(self.value)
        value = int(self.value) if whole else self.value  # bytes stay bytes
        return images.masked_fill(hit & (c >= x) & (c < x + self.size), value)


# ---- whole pixels --------------------------------------------------------------------------------


def windows(images: Tensor, y: Tensor, x: Tensor, size: tuple[int, int]) -> Tensor:
    """The window of that size from each image, with upper left pixel (y, x), (n, 1, 1) each."""
    n, channels, height, width = images.shape
    wanted = Tensor.arange(0, size[0] * width, width).reshape(-1, 1) + Tensor.arange(size[1])
    first = (Tensor.arange(0, n * height * width, height * width).reshape(n, 1, 1)) + y * width + x
    places = (first + wanted).flatten()
    if channels == 1:
        return images.flatten().index_select(0, places).reshape(n, 1, *size)
    pixels = images.permute(0, 2, 3, 1).reshape(-1, channels).index_select(0, places)
    return pixels.reshape(n, *size, channels).permute(0, 3, 1, 2)


@spelled
class RandomCrop(Transform):
    """A window of `size` pixels, one number or (h, w), at a random place of the image, which is
    first padded with `padding` pixels of zeros on each side."""

    def __init__(self, size: int | tuple[int, int], padding: int = 0) -> None:
        self.size = pair("RandomCrop with size", size)
        self.padding = count("RandomCrop with padding", padding, 0)

    def apply(self, images: Tensor) -> Tensor:
        return cropped(images, self.padding, self.size)


def cropped(images: Tensor, padding: int, size: tuple[int, int]) -> Tensor:
    """Windows at random places."""
    if padding:
        images = images.pad(((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, _, height, width = images.shape
    if size[0] > height or size[1] > width:
        raise ShapeError(f"RandomCrop of {size}", f"images of {(height, width)}, with the padding",
                         "give a smaller size, or more padding")  # fmt: skip
    y, x = (randint(0, own - want + 1, (n, 1, 1))
            for own, want in ((height, size[0]), (width, size[1])))  # fmt: skip
    return windows(images, y, x, size)


def pair(what: str, size: int | tuple[int, int]) -> tuple[int, int]:
    both = size if isinstance(size, (tuple, list)) else (size, size)
    if len(both) != 2:
        raise ShapeError(what, f"{len(both)} numbers", "give one, or a pair: height and width")
    return count(what, both[0], 1), count(what, both[1], 1)


@spelled
class CenterCrop(Transform):
    """The central window of `size` pixels, one number or (h, w)."""

    def __init__(self, size: int | tuple[int, int]) -> None:
        self.size = pair("CenterCrop with size", size)

    def apply(self, images: Tensor) -> Tensor:
        (height, width), (h, w) = images.shape[2:], self.size
        if h > height or w > width:
            raise ShapeError(f"CenterCrop of {self.size}", f"images of {(height, width)}",
                             "give a smaller size")  # fmt: skip
        y, x = (height - h) // 2, (width - w) // 2
        return images[:, :, y : y + h, x : x + w]


@spelled
class RandomShift(Transform):
    """Shifts each image by up to `pixels` whole pixels on each axis; zeros move in."""

    def __init__(self, pixels: int = 2) -> None:
        self.pixels = count("RandomShift with pixels", pixels, 0)

    def apply(self, images: Tensor) -> Tensor:
        return cropped(images, self.pixels, (images.shape[2], images.shape[3]))


@spelled
class RandomHorizontalFlip(Transform):
    """Swaps left and right, with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = checks.number(f"{type(self).__name__}(p=...)", p, 0, 1, nan=False)

    _axis = 3

    def apply(self, images: Tensor) -> Tensor:
        chosen = Tensor.rand(images.shape[0], 1, 1, 1) < self.p
        return where(chosen, images.flip(self._axis), images)


class RandomVerticalFlip(RandomHorizontalFlip):
    """Swaps top and bottom, with probability p."""

    _axis = 2
