"""Windows that slide over images (N, C, H, W): convolution and the largest of each window.

Direct kernels, without padding, over two spatial axes; tutor/methods/windows.py pads and does the
rest. The composed forms, by Tensor.unfold and a matrix product, are the oracles in tests/nn.
"""

from __future__ import annotations

from tutor.core.engine import apply
from tutor.core.op import Op
from tutor.methods.windows import CONV, conv2d_input


class Conv2d(Op):
    """z[n, o, p, q] = sum_c,i,j x[n, c, p s + i d, q s + j d] w[o, c, i, j]

    x (N, C, H, W), w (O, C / groups, K, L); s is the stride, d the dilation of each axis.
    """

    kernel, takes, saves, promotes, wants_float = "conv2d", ("x", "w"), ("x", "w"), 0, True

    def backward(self, g, x, w):
        gx = gw = None
        if self.needs[0]:
            gx = conv2d_input(g, w, x.shape, **self.params)
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
    """z = 0, then each window of x shares its g evenly among those that are its largest, m"""

    kernel, takes, saves = "max_pool2d_grad", ("x", "m", "g"), ("x", "m")

    def backward(self, h, x, m):
        """g's: the mean of h over those that are the largest. x and m only choose."""
        kh, kw, sh, sw, dh, dw = (self.params[name] for name in self.kernel_params)
        x, h = (t.unfold(2, kh, sh, dh).unfold(3, kw, sw, dw) for t in (x, h))
        chosen = (x == m.unsqueeze(-1).unsqueeze(-1)).cast(h.dtype)
        return None, None, (h * chosen).sum((-2, -1)) / chosen.sum((-2, -1))
