"""Windows that slide over images (N, C, H, W): convolution and the largest of each window.

Direct kernels, without padding, over two spatial axes; tutor/methods/windows.py pads and does the
rest. The composed forms, by Tensor.unfold and a matrix product, are the oracles in tests/nn.
"""

from __future__ import annotations

from typing import Any

from tutor.core.engine import apply
from tutor.core.op import Op, Shape
from tutor.dtype import DType
from tutor.errors import ShapeError
from tutor.methods.windows import CONV, conv2d_input

POOL = ("size_h", "size_w", "stride_h", "stride_w", "dilation_h", "dilation_w")


def places(sizes: Shape, window: Shape, steps: Shape, gaps: Shape) -> Shape:
    """How many windows there are along each axis; ShapeError if one does not fit at all."""
    found = tuple(
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(sizes, window, steps, gaps, strict=True)
    )
    if min(found) < 1 and 0 not in sizes:
        raise ShapeError(
            f"windows of {window}, {gaps} apart, over {sizes}",
            "the window is larger than what it slides over",
            "pad the image, or use a smaller window",
        )
    return tuple(max(n, 0) for n in found)


class Conv2d(Op):
    """z[n, o, p, q] = sum_c,i,j x[n, c, p s + i d, q s + j d] w[o, c, i, j]

    x (N, C, H, W), w (O, C / groups, K, L); s is the stride, d the dilation of each axis.
    """

    kernel, name, saves, promotes, wants_float = "conv2d", "conv2d", ("x", "w"), 0, True

    def infer(self, x: Any, w: Any, **params: int) -> tuple[Shape, DType]:
        sh, sw, dh, dw, _ = (params[name] for name in CONV)
        out = places(x.shape[2:], w.shape[2:], (sh, sw), (dh, dw))
        return (x.shape[0], w.shape[0], *out), x.buf.dtype

    def backward(self, g, x, w):
        gx = gw = None
        if self.needs[0]:
            gx = conv2d_input(g, w, x.shape, **self.params)
        if self.needs[1]:
            gw = apply("conv2d_weight", x, g, size=w.shape[2:], **self.params)
        return gx, gw


class Conv2dWeight(Op):
    """z[o, c, i, j] = sum_n,p,q x[n, c, p s + i d, q s + j d] g[n, o, p, q]: w's gradient"""

    kernel, name, saves = "conv2d_weight", "conv2d_weight", ("x", "g")

    def infer(self, x: Any, g: Any, *, size: Shape, **params: int) -> tuple[Shape, DType]:
        return (g.shape[1], x.shape[1] // params["groups"], *size), x.buf.dtype

    def backward(self, h, x, g):
        params = {name: self.params[name] for name in CONV}
        gx = conv2d_input(g, h, x.shape, **params) if self.needs[0] else None
        return gx, apply("conv2d", x, h, **params) if self.needs[1] else None


class MaxPool2d(Op):
    """z[n, c, p, q] = the largest of x[n, c, p s + i d, q s + j d] for i, j in a window"""

    kernel, name, saves, promotes = "max_pool2d", "max_pool2d", ("x", "out"), 0

    def infer(self, x: Any, **params: int) -> tuple[Shape, DType]:
        kh, kw, sh, sw, dh, dw = (params[name] for name in POOL)
        return (*x.shape[:2], *places(x.shape[2:], (kh, kw), (sh, sw), (dh, dw))), x.buf.dtype

    def backward(self, g, x, z):
        return apply("max_pool2d_grad", x, z, g, **self.params)


class MaxPool2dGrad(Op):
    """z = 0, then each window of x shares its g evenly among those that are its largest, m"""

    kernel, name, saves = "max_pool2d_grad", "max_pool2d_grad", ("x", "m")

    def infer(self, x: Any, m: Any, g: Any, **params: int) -> tuple[Shape, DType]:
        return x.shape, x.buf.dtype

    def backward(self, h, x, m):
        """g's: the mean of h over those that are the largest. x and m only choose."""
        kh, kw, sh, sw, dh, dw = (self.params[name] for name in POOL)
        x, h = (t.unfold(2, kh, sh, dh).unfold(3, kw, sw, dw) for t in (x, h))
        chosen = (x == m.unsqueeze(-1).unsqueeze(-1)).cast(h.dtype)
        return None, None, (h * chosen).sum((-2, -1)) / chosen.sum((-2, -1))
