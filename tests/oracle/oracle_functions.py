"""One row per case: the functions that layers are made of, and more losses, as PyTorch has them."""

from __future__ import annotations

import torch.nn.functional as theirs
from oracle import Case, torch

import tutor
import tutor.nn.functional as ours


def both(name, shapes, call=lambda f, *xs: f(*xs), values="normal", orders=2):
    """A function of both libraries, called the same way."""
    return Case(name, lambda *xs: call(getattr(ours, name), *xs), shapes,
                lambda *xs: call(getattr(theirs, name), *xs), values, orders)  # fmt: skip


def given(name, shapes, values="normal", orders=2, **options):
    return both(name, shapes, lambda f, *xs: f(*xs, **options), values, orders)


def reduced(name, shapes, values="normal", orders=2, more=(), **options):
    return [given(name, shapes, values, orders, reduction=r, **options)
            for r in ("mean", "sum", "none", *more)]  # fmt: skip


def signed(name, shapes, signs, values="normal", **options):
    """A loss whose targets are 1 and -1, and get no gradient."""

    def call(f, *xs):
        like = tutor.Tensor if isinstance(xs[0], tutor.Tensor) else torch.tensor
        return f(*xs, like(signs, dtype=xs[0].dtype), **options)

    return both(name, shapes, call, values)


def places(name, dims, numbers, *args, **options):
    """max_unpool: each number goes to a place of its own."""

    def call(f, x):
        like = tutor.Tensor if isinstance(x, tutor.Tensor) else torch.tensor
        return f(x, like(numbers), *args, **options)

    return both(name, (dims,), call)


def evaluated(f, x):
    like = tutor.Tensor if isinstance(x, tutor.Tensor) else torch.tensor
    mean, var = (like(n, dtype=x.dtype) for n in ([0.5, -1.0], [1.5, 0.25]))
    return f(x, mean, var, use_input_stats=False)


LINE, PICTURE, SOLID = (2, 2, 5), (1, 2, 4, 5), (1, 2, 4, 3, 5)
ROWS = ((3, 4), (3, 4))
SIZES = [
    *[given("pad", (x,), pad=p) for x, p in (
        ((2, 3), (1, 2)), ((2, 3), (1, 0, 0, 2)), ((3,), (0, 2)), (SOLID, (1, 2, 0, 1)),
        ((2, 4), (-1, -2)), ((2, 4), (-1, 2, 1, -1)), ((2, 3), ()), ((0, 3), (1, 1, 2, 0)))],
    given("pad", ((2, 3),), pad=(2, 1), value=-1.5),
    given("pad", ((2, 3),), pad=[2, 1], mode="constant", value=2),
    *[given("pad", (x,), pad=p, mode=mode) for mode in ("reflect", "replicate", "circular")
      for x, p in (((2, 4), (2, 3)), (LINE, (0, 1)), (PICTURE, (3, 2, 1, 2)),
                   (PICTURE[1:], (1, 0, 2, 1)), (SOLID, (1, 2, 2, 0, 3, 1)),
                   (LINE, (-1, 2)), (LINE, (2, -3)), (LINE, (-4, 1)), (PICTURE, (-1, -1, 1, -2)))],
    *[given("interpolate", (LINE,), size=m) for m in (1, 3, 5, 8)],
    *[given("interpolate", (PICTURE,), scale_factor=s) for s in (2, 0.5, (1.5, 2.3))],
    *[given("interpolate", (LINE,), size=m, mode="nearest-exact") for m in (1, 3, 8, 10)],
    *[given("interpolate", (PICTURE,), scale_factor=s, mode="nearest-exact")
      for s in (2, 0.5, (1.5, 2.3))],
    given("interpolate", (SOLID,), size=(3, 2, 7), mode="nearest-exact"),
    given("interpolate", (SOLID,), scale_factor=2),
    *[given("interpolate", (x,), size=m, mode=mode, align_corners=corners)
      for corners in (False, True)
      for x, m, mode in ((LINE, 8, "linear"), (LINE, 3, "linear"), (PICTURE, (7, 3), "bilinear"),
                         (PICTURE, (1, 9), "bilinear"), (PICTURE, (7, 3), "bicubic"),
                         (PICTURE, (1, 9), "bicubic"), (SOLID, (5, 2, 8), "trilinear"))],
    *[given("interpolate", (x,), scale_factor=s, mode=mode, align_corners=False)
      for x, s, mode in ((LINE, 1.7, "linear"), (PICTURE, (2, 0.6), "bilinear"),
                      (PICTURE, (2, 0.6), "bicubic"))],
    given("interpolate", (PICTURE,), size=(2, 3), mode="area"),
    given("pixel_shuffle", ((2, 8, 3, 2),), upscale_factor=2),
    given("pixel_unshuffle", ((2, 2, 4, 6),), downscale_factor=2),
    places("max_unpool1d", (1, 2, 2), [[[1, 2], [0, 3]]], 2),
    places("max_unpool1d", (1, 1, 2), [[[1, 4]]], 2, output_size=(5,)),
    places("max_unpool2d", (1, 1, 2, 2), [[[[0, 3], [9, 14]]]], 2),
    places("max_unpool2d", (1, 2, 1), [[[0], [9]]], (2, 3), output_size=(4, 3)),
    places("max_unpool3d", (1, 1, 1, 1, 2), [[[[[0, 7]]]]], (2, 1, 2), output_size=(2, 1, 5)),
    places("max_unpool3d", (1, 1, 1, 1, 2), [[[[[0, 7]]]]], 2),
    *[given(f"avg_pool{d}d", (SOLID,), kernel_size=2, **o) for d in (3,)
      for o in ({}, {"stride": 1, "padding": 1}, {"ceil_mode": True}, {"divisor_override": 3})],
    *[given("avg_pool2d", (PICTURE,), kernel_size=2, divisor_override=3, **o)
      for o in ({}, {"padding": 1, "count_include_pad": False}, {"ceil_mode": True})],
    *[given("max_pool3d", (SOLID,), "apart", kernel_size=2, **o)
      for o in ({}, {"stride": 1, "padding": 1}, {"ceil_mode": True})],
    given("adaptive_avg_pool3d", (SOLID,), output_size=(2, 3, 4)),
    *[given("adaptive_max_pool1d", (LINE,), "apart", output_size=m) for m in (1, 2, 5, 7)],
    given("adaptive_max_pool2d", (PICTURE,), "apart", output_size=(3, 2)),
    given("adaptive_max_pool3d", (SOLID,), "apart", output_size=(3, 2, 2)),
    *[given(f"adaptive_max_pool{d}d", (x,), "apart", output_size=m, return_indices=True)
      for d, x in ((1, LINE), (2, PICTURE), (3, SOLID)) for m in (1, 2, 3, 5)],
    given("conv3d", (SOLID, (3, 2, 2, 1, 2), (3,)), stride=(1, 2, 1), padding=1),
    given("conv3d", (SOLID, (4, 1, 2, 2, 2)), groups=2, dilation=(1, 2, 1)),
    given("conv_transpose3d", ((1, 2, 2, 3, 2), (2, 3, 2, 1, 2), (3,)), stride=2, padding=(1, 0, 0),
          output_padding=(1, 0, 1)),
    given("conv_transpose3d", ((1, 2, 2, 3, 2), (2, 3, 2, 1, 2), (3,)), stride=(1, 2, 3)),
    given("conv_transpose3d", ((1, 2, 2, 3, 2), (2, 3, 2, 1, 2)), stride=(3, 1, 2),
          dilation=(1, 2, 3), output_padding=(2, 1, 2), padding=(0, 0, 1)),
]  # fmt: skip
DISTANCES = [
    *[given("normalize", ((3, 4),), p=p, **a)
      for p, a in ((2.0, {}), (1.0, {"dim": 0}), (3.0, {}), (-1.0, {}))],
    *[given(name, ROWS[:n], p=p, orders=1) for name, n in (("normalize", 1),
      ("pairwise_distance", 2)) for p in (0.0, -2.0, -float("inf"))],
    *[given("pairwise_distance", ROWS, p=p) for p in (2.0, 1.0, 3.0, -1.0)],
    given("pairwise_distance", ((2, 3, 4), (2, 3, 4)), keepdim=True),
    given("cosine_similarity", ROWS),
    given("cosine_similarity", ((2, 3, 4), (2, 3, 4)), dim=0),
    *[given("cosine_similarity", s, dim=a) for s, a in (
        (((3, 4), (3, 1)), 1), (((1, 4), (3, 1)), 0), (((2, 1, 4), (3, 1)), 1), (((4,), (1,)), 0))],
    given("bilinear", ((3, 2), (3, 4), (5, 2, 4), (5,))),
    given("bilinear", ((2, 3, 2), (2, 3, 4), (5, 2, 4))),
    *[given("instance_norm", shapes) for shapes in (((2, 3, 5),), ((2, 3, 2, 4),))],
    both("instance_norm", ((2, 3, 5), (3,), (3,)), lambda f, x, w, b: f(x, weight=w, bias=b)),
    both("instance_norm", ((3, 2, 5),), evaluated),
    *[given(f"dropout{d}d", ((2, 3, *[4] * d),), p=p, training=t)
      for d in (1, 2) for p, t in ((0.0, True), (0.5, False))],
    *[given(f"dropout{d}d", ((2, 3, *[4] * d),), p=1.0, orders=1) for d in (1, 2)],
]  # fmt: skip
LOSSES = [
    *reduced("smooth_l1_loss", ROWS, "apart"), *reduced("smooth_l1_loss", ROWS, "apart", beta=0.3),
    *reduced("smooth_l1_loss", ROWS, "apart", beta=0.0),
    *[case for r in ("mean", "sum", "none") for case in (
        both("binary_cross_entropy", ROWS,  # PyTorch adds 1e-12 in its second derivative
             lambda f, x, t, r=r: f(x.sigmoid(), t.sigmoid(), reduction=r), orders=1),
        both("kl_div", ROWS, lambda f, x, t, r=r: f(x.log_softmax(-1), t.softmax(-1), reduction=r)),
        both("kl_div", ROWS, lambda f, x, t, r=r: f(x.log_softmax(-1), t.log_softmax(-1),
                                                    log_target=True, reduction=r)),
        both("gaussian_nll_loss", (*ROWS, (3, 4)),
             lambda f, x, t, v, r=r: f(x, t, v.exp(), reduction=r)))],
    both("kl_div", ROWS, lambda f, x, t: f(x, t.softmax(-1), reduction="batchmean")),
    both("gaussian_nll_loss", (*ROWS, (3, 1)), lambda f, x, t, v: f(x, t, v.exp(), full=True)),
    both("gaussian_nll_loss", (*ROWS, (3,)), lambda f, x, t, v: f(x, t, v.exp())),
    both("binary_cross_entropy", (*ROWS, (4,)),
         lambda f, x, t, w: f(x.sigmoid(), t.sigmoid(), w.detach().exp()), orders=1),
    *reduced("poisson_nll_loss", ROWS, "above one"),
    *reduced("poisson_nll_loss", ROWS, "above one", log_input=False, full=True),
    *[case for r in ("mean", "sum", "none") for case in (
        signed("soft_margin_loss", ((4,),), [1, -1, -1, 1], reduction=r),
        signed("hinge_embedding_loss", ((4,),), [1, -1, -1, 1], "apart", reduction=r),
        signed("margin_ranking_loss", ((4,), (4,)), [1, -1, -1, 1], margin=0.4, reduction=r),
        signed("cosine_embedding_loss", ((4, 3), (4, 3)), [1, -1, -1, 1], reduction=r))],
    signed("hinge_embedding_loss", ((4,),), [1, -1, -1, 1], margin=0.2),
    signed("cosine_embedding_loss", ((4, 3), (4, 3)), [1, -1, -1, 1], margin=-0.5),
    *reduced("triplet_margin_loss", ((4, 3), (4, 3), (4, 3))),
    *reduced("triplet_margin_loss", ((4, 3), (4, 3), (4, 3)), swap=True, margin=2.0, p=3.0),
]  # fmt: skip
FUNCTIONS = [*SIZES, *DISTANCES, *LOSSES]
