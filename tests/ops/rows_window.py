"""Rows of the ops that slide windows over images; tests/nn has their definitions in loops."""

from case import Case

from tutor import Tensor, apply
from tutor.methods.windows import conv_by_product, max_by_windows

PLAIN = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "groups": 1}
MIXED = {"stride_h": 2, "stride_w": 1, "dilation_h": 1, "dilation_w": 2, "groups": 2}
POOL = {
    "size_h": 2, "size_w": 3, "stride_h": 2, "stride_w": 1, "dilation_h": 1, "dilation_w": 1,
}  # fmt: skip


PAIRS = POOL | {"size_w": 2, "stride_w": 2}  # 2 x 2 side by side, which has a way of its own
APART = PAIRS | {"dilation_w": 2}


def by_product(step, gap, groups):
    """The same by a matrix product: the composed form, which the kernel must equal."""
    return lambda x, w: conv_by_product(Tensor(x), Tensor(w), step, gap, groups).numpy()


def by_windows(x):
    return max_by_windows(Tensor(x), (2, 3), (2, 1), (1, 1)).numpy()


def pool_grad(x, g, window=POOL):
    return apply("max_pool2d_grad", x, apply("max_pool2d", x, **window), g, **window)


X = Tensor([[[[1.0, 2.0, 2.0, 0.0, 1.0]] * 4, [[0.0, 3.0, 1.0, 3.0, 3.0]] * 4]], dtype="float64")


CASES = [
    Case("conv2d", lambda x, w: apply("conv2d", x, w, **PLAIN), ((2, 3, 5, 6), (4, 3, 3, 2)),
         by_product((1, 1), (1, 1), 1)),
    Case("conv2d", lambda x, w: apply("conv2d", x, w, **MIXED), ((1, 4, 6, 7), (2, 2, 2, 2)),
         by_product((2, 1), (1, 2), 2)),
    Case("conv2d_weight",
         lambda x, g: apply("conv2d_weight", x, g, size=(2, 2), **MIXED),
         ((1, 4, 6, 7), (1, 2, 3, 5))),
    Case("max_pool2d", lambda x: apply("max_pool2d", x, **POOL), ((2, 2, 5, 5),), by_windows,
         "apart"),
    Case("max_pool2d_grad",
         lambda g: pool_grad(X.to(g.device), g),
         ((1, 2, 2, 3),)),
    Case("max_pool2d", lambda x: apply("max_pool2d", x, **APART), ((2, 2, 5, 7),),
         lambda x: max_by_windows(Tensor(x), (2, 2), (2, 2), (1, 2)).numpy(), "apart"),
    Case("max_pool2d_grad",
         lambda g: pool_grad(X.to(g.device), g.transpose(2, 3), PAIRS),
         ((1, 2, 2, 2),)),
]  # fmt: skip
