"""Windows that slide over images: the rules of the forms conv, conv_weight, pool and pool_grad.

An image is (n, c, h, w). A window is k elements high and l wide, `dilation` apart; the next window
begins `stride` further on. engine/windows.cpp in simd_cpp states the same for C++.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tutor._storage.layout import Shape
from tutor.backends.signatures import Signature
from tutor.errors import ShapeError

Params = Mapping[str, Any]


def _check_images(name: str, shapes: Sequence[Shape]) -> None:
    if any(len(shape) != 4 for shape in shapes):
        raise ShapeError(
            f"{name} of shapes {', '.join(map(str, shapes))}",
            f"they have {', '.join(str(len(shape)) for shape in shapes)} axes",
            "give four: images (n, c, h, w), weights (o, c, k, l)",
        )


def _places(image: Shape, window: Shape, params: Params) -> Shape:
    """How many windows there are along h and w; ShapeError if one does not fit at all."""
    sizes = image[2:]
    steps = params["stride_h"], params["stride_w"]
    gaps = params["dilation_h"], params["dilation_w"]
    along = zip(sizes, window, steps, gaps, strict=True)
    found = tuple([(n - d * (k - 1) - 1) // s + 1 if k > 0 else 0 for n, k, s, d in along])
    if min(found) < 1:
        raise ShapeError(
            f"windows of {window}, {gaps} apart, over {sizes}",
            "the window is larger than what it slides over"
            if min(window) > 0
            else "the window has no elements",
            "pad the image, or use a smaller window"
            if min(window) > 0
            else "give sizes of 1 or more",
        )
    return found


def convolved(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    _check_images(name, shapes)
    (x, w), groups = shapes, params["groups"]
    if x[1] != w[1] * groups or w[0] % groups:
        raise ShapeError(
            f"{name} of images {x} with weights {w}, {groups=}",
            f"the weights are for {w[1] * groups} channels and {w[0]} outputs",
            "channels must be equal, and outputs a multiple of groups",
        )
    return (x[0], w[0], *_places(x, w[2:], params))


def weighed(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    _check_images(name, shapes)
    x, g = shapes
    weights = (g[1], x[1] // params["groups"], *params["size"])
    if (wanted := convolved(signature, name, (x, weights), params)) != g:
        raise ShapeError(
            f"{name} of images {x} with gradients {g}",
            f"weights {weights} give {wanted}",
            "give the gradient of that result",
        )
    return weights


def pooled(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    _check_images(name, shapes)
    x = shapes[0]
    return (*x[:2], *_places(x, (params["size_h"], params["size_w"]), params))


def shared(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    _check_images(name, shapes)
    x, m, g = shapes
    wanted = pooled(signature, name, (x,), params)
    if m != wanted or g != wanted:
        raise ShapeError(
            f"{name} of images {x}, their largest {m} and gradients {g}",
            f"the windows give {wanted}",
            "give both of that shape",
        )
    return x
