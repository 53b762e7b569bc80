"""Grey images, such as those of MNIST, in a grid, with their labels and predictions."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

from tutor._storage.layout import positive
from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.viz.axes import drawable, numbers_of
from tutor.viz.svg import Picture, fit, rect, tag, text

Labels: TypeAlias = TensorLike | Sequence[object]

MARGIN, SIDE, GAP = 24, 58, 12
MOST = 200  # images; the rest is left out


def png(pixels: Sequence[int], width: int, height: int) -> bytes:
    """A PNG file of grey `pixels` (0 black, 255 white), row by row from the top."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    grey_of_8_bits = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (bytes(pixels[i * width : (i + 1) * width]) for i in range(height))
    unfiltered = b"".join(b"\0" + row for row in rows)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", grey_of_8_bits)
        + chunk(b"IDAT", zlib.compress(unfiltered, 9))
        + chunk(b"IEND", b"")
    )


def _shape(image: Any) -> tuple[int, int]:
    """(height, width) of nested lists, including (1, h, w); a flat list is a square."""
    sizes = []
    while isinstance(image, (list, tuple)):
        sizes.append(len(image))
        image = image[0] if image else None
    sizes = sizes[-2:] if math.prod(sizes[:-2]) == 1 else sizes
    side = math.isqrt(sizes[0]) if len(sizes) == 1 else 0
    if len(sizes) == 1 and side * side == sizes[0]:
        sizes = [side, side]
    if len(sizes) != 2 or 0 in sizes:
        raise ShapeError("an image", f"its sizes are {sizes}",
                         "give rows of pixels, or a flat list of a square's")  # fmt: skip
    return sizes[0], sizes[1]


def images(
    rows_of_pixels: TensorLike, labels: Labels | None = None, predicted: Labels | None = None,
    columns: int = 10, title: str = "", side: int = SIDE,
) -> Picture:  # fmt: skip
    """A grid of grey images: 0 is paper, the largest number ink.

    An image is a list of rows, or a flat list of a square's pixels: numbers from 0 to 1, or
    integers to 255; other ranges are scaled from their minimum to their maximum. The label is below
    each image; if `predicted` differs, framed and in red, "7 → 1". `side` is the size of an image
    in pixels of the page. Raises ShapeError if the sizes do not fit.

        >>> images([[[0, 1], [1, 0]]], labels=[7], predicted=[1])
        <Picture '1 images, 1 of them read wrongly'>
    """
    rows: Any = rows_of_pixels
    given = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    given = [im.tolist() if hasattr(im, "tolist") else im for im in given]
    said: tuple[Any, Any] = (labels, predicted)
    names = [None if found is None else
             list(found.tolist() if hasattr(found, "tolist") else found)
             for found in said]  # fmt: skip
    for what, found in zip(("labels", "predictions"), names, strict=True):
        if found is not None and len(found) != len(given):
            raise ShapeError(f"images with {len(found)} {what}", f"{len(given)} images",
                             "give one per image")  # fmt: skip
    if not given or columns < 1:
        raise ShapeError(f"{len(given)} images in {columns} columns", "nothing can be drawn",
                         "give one image or more, in one column or more")  # fmt: skip
    side = positive(side, "images(side=...)")
    shown = given[:MOST]
    pixels = [numbers_of(image, "the pixels of an image") for image in shown]
    shapes = [_shape(image) for image in shown]
    for flat, (h, w) in zip(pixels, shapes, strict=True):
        if len(flat) != h * w:
            raise ShapeError(f"an image of {h} x {w}", f"{len(flat)} pixels", "give equal rows")
    known = [p for flat in pixels for p in flat if drawable(p)] or [0.0]
    low, high = min(known), max(known)
    whole = all(p == int(p) for p in known)  # bytes; an activation of 3.7 is not a pale pixel
    for most, possible in ((255.0, whole), (1.0, True)):
        if possible and min(known) >= 0 and max(known) <= most:
            low, high = 0.0, most

    def grey(p: float) -> int:
        share = (p - low) / (high - low or 1.0) if drawable(p) else 0.0
        return 255 - round(255 * min(max(share, 0.0), 1.0))

    across = min(columns, len(shown))
    named = any(found is not None for found in names)
    tall = side + (24 if named else 0) + GAP
    top = 54 if title else MARGIN
    parts = [text(MARGIN, 34, title, 15, weight=600)] if title else []
    wrong = 0
    for k, (flat, (h, w)) in enumerate(zip(pixels, shapes, strict=True)):
        x, y = MARGIN + k % across * (side + GAP), top + k // across * tall
        file = base64.b64encode(png([grey(p) for p in flat], w, h)).decode()
        scale = side / max(h, w)
        parts.append(tag("image", x=x + (side - w * scale) / 2, y=y + (side - h * scale) / 2,
                         width=w * scale, height=h * scale, style="image-rendering:pixelated",
                         href=f"data:image/png;base64,{file}"))  # fmt: skip
        label, read = (found[k] if found is not None else None for found in names)
        missed = label is not None and read is not None and label != read
        wrong += missed
        edge = {"stroke": "red", "stroke_width": 2.5} if missed else {"stroke": "line"}
        parts.append(rect(x - 1, y - 1, side + 2, side + 2, "none", rx=3, **edge))
        words = f"{label} → {read}" if missed else label if label is not None else read
        if words is not None:
            ink, weight = ("red", 600) if missed else ("ink", None)
            words = fit(words, side + GAP - 4, 13, bold=missed)
            parts.append(text(x + side / 2, y + side + 17, words, 13, ink, "middle", weight))
    bottom = top + -(-len(shown) // across) * tall
    if len(shown) < len(given):
        bottom += 18
        parts.append(text(MARGIN, bottom - 8, f"{len(given) - MOST} more are left out", 12, "soft"))
    if wrong:
        bottom += 20
        legend = "7 → 1: a 7 that was read as 1"
        parts.append(text(MARGIN, bottom - 8, legend, 12, "soft"))
    both = None not in names
    about = title or f"{len(given)} images" + (f", {wrong} of them read wrongly" if both else "")
    width = max(2 * MARGIN + across * (side + GAP) - GAP, 300)
    return Picture("".join(parts), width, bottom + MARGIN - GAP, about)
