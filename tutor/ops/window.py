"""Windows that slide over images (N, C, H, W), for convolution and max pooling; and windows along
any one axis, as a view.

Direct kernels, without padding, over two spatial axes; tutor/methods/windows.py pads and does the
rest. The composed forms, by Tensor.unfold and a matrix product, are the oracles in tests/nn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tutor._storage.layout import Shape, axis_of, checked_shape, positive
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.errors import ShapeError
from tutor.methods.conv_input import CONV, conv2d_input


class Conv2d(Op):
    """z[n, o, p, q] = sum_c,i,j x[n, c, p s + i d, q s + j d] w[o, c, i, j]

    x (N, C, H, W), w (O, C / groups, K, L); s is the stride, d the dilation of each axis.
    """

    kernel, takes, saves, promotes, wants_float = "conv2d", ("x", "w"), ("x", "w"), 0, True
    saved_for: ClassVar[Mapping[str, str]] = {"x": "w"}

    def backward(self, g, x, w):
        gx = gw = None
        if self.needs[0]:
            gx = conv2d_input(g, w, self.edges[0].shape, **self.params)
        if self.needs[1]:
            gw = apply("conv2d_weight", x, g, size=w.shape[2:], **self.params)
        return gx, gw


class Conv2dWeight(Op):
    """z[o, c, i, j] = sum_n,p,q x[n, c, p s + i d, q s + j d] g[n, o, p, q]: w's gradient"""

    kernel, takes, saves = "conv2d_weight", ("x", "g"), ("x", "g")

    def backward(self, h, x, g):
        params = {name: self.params[name] for name in CONV}
        gx = conv2d_input(g, h, x.shape, **params) if self.needs[0] else None
        return gx, apply("conv2d", x, h, **params) if self.needs[1] else None


class MaxPool2d(Op):
    """z[n, c, p, q] = the largest of x[n, c, p s + i d, q s + j d] for i, j in a window"""

    kernel, saves, promotes = "max_pool2d", ("x", "out"), 0

    def backward(self, g, x, z):
        return apply("max_pool2d_grad", x, z, g, **self.params)


class MaxPool2dGrad(Op):
    """z = 0, then each window of x splits its g evenly among its elements equal to m, its max"""

    kernel, takes, saves = "max_pool2d_grad", ("x", "m", "g"), ("x", "m")

    def backward(self, h, x, m):
        """g's gradient: the mean of h over the largest elements. x and m only choose."""
        kh, kw, sh, sw, dh, dw = (self.params[name] for name in self.kernel_params)
        x, h = (t.unfold(2, kh, sh, dh).unfold(3, kw, sw, dw) for t in (x, h))
        chosen = (x == m.unsqueeze(-1).unsqueeze(-1)).cast(h.dtype)
        return None, None, (h * chosen).sum((-2, -1)) / chosen.sum((-2, -1))


# ---- along one axis ----------------------------------------------------------------------------


class Windows(Op):
    """z[..., i, ..., j] = x[..., i * step + j * dilation, ...]

    The windows of `size` elements that start at i * step along axis; j is the last axis. Nothing is
    copied, though most elements appear several times.
    """

    def settle(self):
        (size,) = checked_shape((self.params["size"],), "a window's size")
        self.params = {**sliding(self.params, self.inputs[0].shape), "size": size}

    def layout(self, x, *, axis, size, step, dilation):
        shape = windowed(x.shape, axis, size, step, dilation)
        along = x.strides[axis]
        strides = (*x.strides[:axis], along * step, *x.strides[axis + 1 :], along * dilation)
        return shape, strides, x.offset

    def backward(self, g):
        params = {name: self.params[name] for name in ("axis", "step", "dilation")}
        return apply("fold", g, shape=self.edges[0].shape, **params)


def sliding(given: Mapping[str, Any], shape: Shape) -> dict[str, int]:
    """axis, step and dilation of windows over a tensor of that shape, as checked ints."""
    axis = axis_of(given["axis"], len(shape))
    step, dilation = positive(given["step"], "a step"), positive(given["dilation"], "a dilation")
    return {"axis": axis, "step": step, "dilation": dilation}


def windowed(shape: Shape, axis: int, size: int, step: int, dilation: int) -> Shape:
    """The shape of the windows of a tensor of that shape; ShapeError if none fits."""
    span = dilation * (size - 1) + 1 if size else 0
    count = (shape[axis] - span) // step + 1
    if count < 1:
        raise ShapeError(
            f"windows of {size} elements, {dilation} apart, along axis {axis} of {shape}",
            f"a window spans {span} elements",
            "pad the tensor, or use a smaller window",
        )
    return checked_shape((*shape[:axis], count, *shape[axis + 1 :], size))


class Fold(Op):
    """z = the windows x added up where they came from: the reverse of Windows"""

    def settle(self):
        shape, size = checked_shape(self.params["shape"]), self.inputs[0].shape[-1:] or (0,)
        slide = sliding(self.params, shape)
        if (found := windowed(shape, size=size[0], **slide)) != self.inputs[0].shape:
            raise ShapeError(
                f"to fold shape {self.inputs[0].shape} into {shape}",
                f"the windows of that are {found}",
                "give all windows, or the shape that they come from",
            )
        self.params = {"shape": shape, **slide}

    def forward(self, x, *, shape, axis, step, dilation):
        out, (*_, size) = x.like(0, shape), x.shape
        for j in range(size):
            start = j * dilation
            stop = start + step * (x.shape[axis] - 1) + 1
            to = out[(*[slice(None)] * axis, slice(start, stop, step))].detach()
            engine.call("add", x.dtype, to, to, x[..., j])
        return out

    def backward(self, g):
        params = {name: self.params[name] for name in ("axis", "step", "dilation")}
        return apply("windows", g, size=self.edges[0].shape[-1], **params)
