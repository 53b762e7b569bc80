"""Convolution and pooling: the weighted sum, the mean or the maximum of a window at each place.

Shapes: x (N, C, *S), or (C, *S) for a single example, with one to three spatial axes S. A parameter
given as one number holds for every spatial axis; otherwise it is a tuple with one for each.

Over one or two spatial axes a kernel does it directly. The composed forms beside it serve any
number of axes, and integers: there the windows are views (Tensor.unfold), and only the matrix
product needs them side by side in memory. The tests compare the kernels with these forms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor._storage.layout import Shape, positive, whole_numbers
from tutor._util import checks
from tutor._util.typing import Padding, Sizes
from tutor.core.engine import apply
from tutor.errors import DomainError, ShapeError
from tutor.methods import create, views
from tutor.methods.conv_input import conv2d_input
from tutor.methods.operators import T


def each(number: Sizes | str, dims: int, name: str, least: int = 1) -> Shape:
    """A parameter as one int per spatial axis, each at least `least`; otherwise ShapeError."""
    found = whole_numbers(number, name)
    found = found * dims if len(found) == 1 else found
    if len(found) != dims or min(found) < least:
        raise ShapeError(
            f"{name}={number}", f"there are {dims} spatial axes",
            f"give one number, or {dims} of them, each {least} or more",
        )  # fmt: skip
    return found


def batched(x: T, dims: int, name: str) -> tuple[T, bool]:
    """x as (N, C, *S), and whether x had the axis N."""
    if checks.tensor(name, x).ndim not in (dims + 1, dims + 2):
        raise ShapeError(
            f"{name} of shape {x.shape}", f"{x.ndim} axes",
            f"give (N, C, ...) with {dims} spatial axes, or the same without N",
        )  # fmt: skip
    return (x, True) if x.ndim == dims + 2 else (x.unsqueeze(0), False)


def windows(x: T, size: Shape, step: Shape, dilation: Shape) -> T:
    """(N, C, *S) -> (N, C, *places, *size): a view."""
    for i, (n, s, d) in enumerate(zip(size, step, dilation, strict=True)):
        x = x.unfold(2 + i, n, s, d)
    return x


def around(x: T, before: Sequence[int], after: Sequence[int], value: float = 0) -> T:
    """x with that much padding on its spatial axes."""
    if not any(before) and not any(after):
        return x
    return views.pad(x, ((0, 0), (0, 0), *zip(before, after, strict=True)), value)


# ---- convolution ---------------------------------------------------------------------------------


def conv(
    x: T, weight: T, bias: T | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, *, dims: int,
) -> T:  # fmt: skip
    """z[n, o, p] = bias[o] + sum_c,k weight[o, c, k] * x[n, c, p * stride + k * dilation - padding]

    weight (O, C / groups, *K): the channels are split into `groups`, each of which feeds O / groups
    outputs. padding "same" keeps the sizes S (at stride 1), "valid" is 0. (Deep-learning libraries
    call this cross-correlation a convolution.) Raises ShapeError if sizes do not match.
    """
    x, was_batched = batched(x, dims, f"conv{dims}d")
    size = window_of(weight, dims)
    step, gap = each(stride, dims, "stride"), each(dilation, dims, "dilation")
    groups = positive(groups, "groups")
    before, after = conv_padding(padding, dims, size, step, gap)
    check_groups(groups, x.shape[1], weight.shape[1] * groups, weight.shape[0], weight.shape)
    x = around(x, before, after)
    slide = conv_direct if dims < 3 and x.dtype.is_float else conv_by_product
    z = slide(x, weight, step, gap, groups)
    return finished(z, bias, was_batched)


def conv_direct(x: T, weight: T, step: Shape, gap: Shape, groups: int) -> T:
    """By the kernel for two spatial axes; a single axis is treated as an image of one row."""
    flat = len(step) == 1
    x, weight = (t.unsqueeze(2) if flat else t for t in (x, weight))
    z = apply("conv2d", x, weight, **settings(step, gap), groups=groups)
    return z.squeeze(2) if flat else z


def settings(step: Shape, gap: Shape) -> dict[str, int]:
    """Stride and dilation as the kernels for two axes take them."""
    (sh, sw), (dh, dw) = ((1,) * (2 - len(each)) + each for each in (step, gap))
    return {"stride_h": sh, "stride_w": sw, "dilation_h": dh, "dilation_w": dw}


def conv_by_product(x: T, weight: T, step: Shape, gap: Shape, groups: int) -> T:
    """By one matrix product, over any number of spatial axes: each place is a row."""
    n, channels, outputs = x.shape[0], x.shape[1], weight.shape[0]
    dims, size = len(step), weight.shape[2:]
    seen = windows(x, size, step, gap)
    places = seen.shape[2 : 2 + dims]
    # (N, G, C/G, *places, *K) -> (G, N, *places, C/G, *K) -> one row for each place
    seen = seen.reshape((n, groups, channels // groups, *places, *size))
    spatial = tuple(range(3, 3 + dims))
    rows = seen.permute(1, 0, *spatial, 2, *(a + dims for a in spatial)).reshape(
        (groups, n * math.prod(places), weight.shape[1] * math.prod(size))
    )
    matrix = weight.reshape((groups, outputs // groups, -1 if weight.numel() else 0))
    z = (rows @ matrix.transpose()).reshape((groups, n, *places, outputs // groups))
    return z.permute(1, 0, z.ndim - 1, *range(2, 2 + dims)).reshape((n, outputs, *places))


def conv_transpose(
    x: T, weight: T, bias: T | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1,
    dilation: Sizes = 1, *, dims: int,
) -> T:  # fmt: skip
    """`conv` backwards: every x[n, c, p] adds weight[c, o, k] times itself at
    p * stride + k * dilation - padding. weight (C, O / groups, *K). Raises ShapeError.
    """
    x, was_batched = batched(x, dims, f"conv_transpose{dims}d")
    size, places = window_of(weight, dims), x.shape[2:]
    step, gap = each(stride, dims, "stride"), each(dilation, dims, "dilation")
    groups = positive(groups, "groups")
    cut, extra = each(padding, dims, "padding", 0), each(output_padding, dims, "output_padding", 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, step, gap, strict=True)):
        raise ShapeError(
            f"{output_padding=}", f"stride={step}, dilation={gap}", "it must be smaller than those"
        )
    check_groups(groups, x.shape[1], weight.shape[0], weight.shape[1] * groups, weight.shape)
    lengths = tuple(
        (n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(places, step, gap, size, strict=True)
    )
    if min(*size, *lengths) < 1:
        raise ShapeError(
            f"conv_transpose{dims}d of {x.shape} by windows of {size}",
            f"the sizes of the result would be {lengths}", "give sizes of 1 or more",
        )  # fmt: skip
    spread = transpose_direct if dims < 3 and x.dtype.is_float else transpose_by_product
    z = spread(x, weight, lengths, step, gap, groups)
    z = around(z, (0,) * dims, extra)
    if any(cut):
        z = z[(slice(None), slice(None), *(slice(c, m - c) for c, m in
                                           zip(cut, z.shape[2:], strict=True)))]  # fmt: skip
    return finished(z, bias, was_batched)


def transpose_direct(x: T, weight: T, lengths: Shape, step: Shape, gap: Shape, groups: int) -> T:
    """The input gradient of a convolution by this weight."""
    flat = len(step) == 1
    x, weight = (t.unsqueeze(2) if flat else t for t in (x, weight))
    shape = (x.shape[0], weight.shape[1] * groups, *(1,) * flat, *lengths)
    z = conv2d_input(x, weight, shape, **settings(step, gap), groups=groups)
    return z.squeeze(2) if flat else z


def transpose_by_product(
    x: T, weight: T, lengths: Shape, step: Shape, gap: Shape, groups: int
) -> T:
    """By one matrix product, whose rows are folded back into their windows."""
    n, channels, outputs = x.shape[0], x.shape[1], weight.shape[1] * groups
    dims, size, places = len(step), weight.shape[2:], x.shape[2:]
    rows = x.reshape((n, groups, channels // groups, math.prod(places))).permute(1, 0, 3, 2)
    matrix = weight.reshape((groups, 1, channels // groups, weight.shape[1] * math.prod(size)))
    z = (rows @ matrix).reshape((groups, n, *places, weight.shape[1], *size))
    spatial = tuple(range(2, 2 + dims))
    z = z.permute(1, 0, 2 + dims, *spatial, *(a + dims + 1 for a in spatial))
    z = z.reshape((n, outputs, *places, *size))
    for i in reversed(range(dims)):  # the last window axis goes back into its spatial axis
        shape = (*z.shape[: 2 + i], lengths[i], *z.shape[3 + i : -1])
        z = apply("fold", z, shape=shape, axis=2 + i, step=step[i], dilation=gap[i])
    return z


def conv_padding(
    padding: Padding, dims: int, size: Shape, step: Shape, gap: Shape
) -> tuple[Shape, Shape]:
    """The padding before and after each spatial axis."""
    if not isinstance(padding, str):
        both = each(padding, dims, "padding", 0)
        return both, both
    if padding not in ("same", "valid") or (padding == "same" and set(step) != {1}):
        raise DomainError(f"conv(padding={padding!r})", f"{step=}", "'same' (stride 1) or 'valid'")
    total = [d * (n - 1) * (padding == "same") for n, d in zip(size, gap, strict=True)]
    return tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)


def window_of(weight: T, dims: int) -> Shape:
    """The spatial sizes of a weight."""
    if checks.tensor("the weight of a convolution", weight).ndim != dims + 2:
        raise ShapeError(
            f"a convolution over {dims} axes with a weight of shape {weight.shape}",
            f"it has {weight.ndim} axes", f"give {dims + 2}: two for channels, {dims} for places",
        )  # fmt: skip
    return weight.shape[2:]


def check_groups(groups: int, channels: int, wanted: int, outputs: int, shape: Shape) -> None:
    if channels != wanted or channels % groups or outputs % groups:
        raise ShapeError(
            f"a convolution of {channels} channels with a weight of shape {shape}, {groups=}",
            f"that weight is for {wanted} channels and {outputs} outputs",
            "channels must be equal, and channels and outputs multiples of groups",
        )


def finished(z: T, bias: T | None, was_batched: bool) -> T:
    if bias is not None:
        if checks.tensor("the bias of a convolution", bias).shape != z.shape[1:2]:
            raise ShapeError(f"bias {bias.shape}", f"{z.shape[1]} outputs", "give one for each")
        z = z + bias.reshape((-1, *[1] * (z.ndim - 2)))
    return z if was_batched else z.squeeze(0)


# ---- pooling -------------------------------------------------------------------------------------


def pool_padding(
    shape: Shape, size: Shape, step: Shape, padding: Shape, gap: Shape, ceil_mode: bool
) -> Shape:
    """The padding after each axis. With ceil_mode the last window may reach beyond the end, but it
    must begin inside x or inside the padding before it."""
    after = []
    for n, k, s, p, d in zip(shape, size, step, padding, gap, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise ShapeError(f"a pool, {padding=}", f"a window of {k}", "half a window at most")
        left = n + 2 * p - d * (k - 1) - 1
        places = (-(-left // s) if ceil_mode else left // s) + 1
        if ceil_mode and (places - 1) * s >= n + p:
            places -= 1
        after.append(max((places - 1) * s + d * (k - 1) + 1 - n - p, p))
    return tuple(after)


def max_pool(
    x: T, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, dims: int,
) -> T:  # fmt: skip
    """The maximum of each window of x (N, C, *S); stride None means the window's size."""
    x, was_batched = batched(x, dims, f"max_pool{dims}d")
    size = each(kernel_size, dims, "kernel_size")
    step = size if stride is None else each(stride, dims, "stride")
    p, gap = each(padding, dims, "padding", 0), each(dilation, dims, "dilation")
    after = pool_padding(x.shape[2:], size, step, p, gap, ceil_mode)
    lowest = -math.inf if x.dtype.is_float else x.dtype.min
    slide = max_direct if dims < 3 else max_by_windows
    return finished(slide(around(x, p, after, lowest), size, step, gap), None, was_batched)


def max_direct(x: T, size: Shape, step: Shape, gap: Shape) -> T:
    """By the kernel for two spatial axes."""
    flat = len(step) == 1
    x = x.unsqueeze(2) if flat else x
    kh, kw = (1,) * (2 - len(size)) + size
    z = apply("max_pool2d", x, size_h=kh, size_w=kw, **settings(step, gap))
    return z.squeeze(2) if flat else z


def max_by_windows(x: T, size: Shape, step: Shape, gap: Shape) -> T:
    """By the reduction of a view, over any number of spatial axes."""
    return windows(x, size, step, gap).max(axis=tuple(range(-len(size), 0)))


def avg_pool(
    x: T, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None, *, dims: int,
) -> T:  # fmt: skip
    """The mean of each window of x (N, C, *S). Padding counts as zeros, or, without
    count_include_pad, not at all; what ceil_mode adds never counts. divisor_override replaces the
    count."""
    x, was_batched = batched(x, dims, f"avg_pool{dims}d")
    size = each(kernel_size, dims, "kernel_size")
    step = size if stride is None else each(stride, dims, "stride")
    p, gap = each(padding, dims, "padding", 0), (1,) * dims
    after = pool_padding(x.shape[2:], size, step, p, gap, ceil_mode)
    z = windows(around(x, p, after), size, step, gap).sum(axis=tuple(range(-dims, 0)))
    if divisor_override is not None:
        by = positive(divisor_override, "avg_pool(divisor_override=...)")
        return finished(z / by, None, was_batched)
    for axis, n in enumerate(x.shape[2:]):
        pad = p[axis] if count_include_pad else 0
        first = [i * step[axis] - p[axis] for i in range(z.shape[2 + axis])]
        counts = [min(f + size[axis], n + pad) - max(f, -pad) for f in first]
        z = z / x.wrap(counts, x.dtype).reshape((-1, *[1] * (dims - 1 - axis)))
    return finished(z, None, was_batched)


def asked_sizes(x: T, output_size: Sizes, dims: int) -> Shape:
    """The output sizes of an adaptive pool; None keeps an axis as it is."""
    asked = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    sizes = tuple(n if m is None else m for m, n in zip(asked, x.shape[2:], strict=False))
    return each(sizes, dims, "output_size")


def adaptive_avg_pool(x: T, output_size: Sizes, *, dims: int) -> T:
    """The means of output_size windows that cover each axis evenly: window i of m, on an axis of n,
    runs from floor(i n / m) up to ceil((i + 1) n / m). None keeps an axis as it is."""
    x, was_batched = batched(x, dims, f"adaptive_avg_pool{dims}d")
    if {*(sizes := asked_sizes(x, output_size, dims))} == {1} and x.numel() and x.dtype.is_float:
        return finished(x.mean(tuple(range(2, x.ndim)), keepdims=True), None, was_batched)
    for i, m in enumerate(sizes):
        n = x.shape[2 + i]
        place = create.arange(type(x), m, device=x.buf.device)
        at = create.arange(type(x), n, device=x.buf.device).unsqueeze(1)
        first, end = place * n // m, -((-n * (place + 1)) // m)
        inside = ((first <= at) & (at < end)).cast(x.dtype if x.dtype.is_float else "float32")
        weights = inside / (end - first).cast(inside.dtype)
        x = views.movedim(views.movedim(x, 2 + i, -1) @ weights, -1, 2 + i)
    return finished(x, None, was_batched)


def adaptive_max_pool(x: T, output_size: Sizes, *, dims: int) -> T:
    """The maximum of each window of adaptive_avg_pool, one axis after the other."""
    x, was_batched = batched(x, dims, f"adaptive_max_pool{dims}d")
    for i, m in enumerate(asked_sizes(x, output_size, dims)):
        x = covered(x, 2 + i, m).max(3 + i)
    return finished(x, None, was_batched)


def covered(x: T, axis: int, m: int) -> T:
    """One axis of x as the m windows of adaptive_avg_pool: (..., m, the widest window, ...).
    Shorter windows repeat their last element."""
    n, here = x.shape[axis], x.buf.device
    places = create.arange(type(x), m, device=here).unsqueeze(1)
    first, end = places * n // m, -((-n * (places + 1)) // m)
    index = (first + create.arange(type(x), -(-n // m) + 1, device=here)).minimum(end - 1)
    seen = x.index_select(axis, views.flatten(index))
    return seen.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
