"""nn.functional: tutor's functions with PyTorch's signatures."""

from __future__ import annotations

import functools
from typing import Any

from tutor.core.engine.grad_mode import is_grad_enabled, no_grad
from tutor.errors import DomainError
from tutor.functions.joining import triu_indices
from tutor.nn import functional as ours
from tutor.nn.losses import reduced
from tutor.torch.carrier import Plain, missing, tag
from tutor.torch.nn.table import FUNCTIONS
from tutor.torch.reductions import floats
from tutor.torch.signatures import adapted, changed, formula, spoken
from tutor.torch.table import rows


def only_floats(name: str) -> Any:
    """Our function, for floats: of integers PyTorch's result would be rounded, or is an error."""
    function = getattr(ours, name)

    @functools.wraps(function)
    def run(x: Any, *args: Any, **options: Any) -> Any:
        return function(floats(name, x), *args, **options)

    return run


def first_of_ties(name: str) -> Any:
    """A max pool whose gradient goes to the first of equal numbers; ours shares it."""
    function = getattr(ours, name)
    axes = int(name[-2])

    @functools.wraps(function)
    def run(x: Any, *args: Any, **options: Any) -> Any:
        if not (is_grad_enabled() and x.requires_grad):
            return function(x, *args, **options)
        with no_grad():
            _, places = function(x, *args, **{**options, "return_indices": True})
        flat = Plain.reshape(x, (*x.shape[:-axes], -1))
        rows_ = Plain.reshape(places, (*places.shape[:-axes], -1))
        values = Plain.reshape(Plain.gather(flat, -1, rows_), places.shape)
        return (values, places) if options.get("return_indices") else values

    return run


def within_one(name: str) -> Any:
    """Cross entropy of probabilities, which are checked."""
    function = getattr(ours, name)

    @functools.wraps(function)
    def run(x: Any, *args: Any, **options: Any) -> Any:
        if x.numel() and not bool(Plain.all(Plain.logical_and(x >= 0, x <= 1)).item()):
            raise DomainError(f"{name} of {x.dtype.name}", "a number is not from 0 to 1",
                              "apply sigmoid, or use binary_cross_entropy_with_logits")  # fmt: skip
        return function(x, *args, **options)

    return run


WRAPPED: dict[str, Any] = {
    f"{kind}max_pool{n}d": first_of_ties for kind in ("", "adaptive_") for n in (1, 2, 3)
} | {"binary_cross_entropy": within_one}  # fmt: skip
for _name, _text, _ in rows(FUNCTIONS):
    _floats = _name.startswith(("avg_pool", "hardtanh")) or _name.endswith("_loss")
    _plain = only_floats if _floats else functools.partial(getattr, ours)
    _target = WRAPPED.get(_name, _plain)(_name)
    globals()[_name] = adapted(_name, _text, _target)
for _name in ("relu", "leaky_relu", "elu", "selu", "celu", "hardtanh", "threshold"):
    globals()[f"{_name}_"] = changed(_name, globals()[_name])


_ROWS: dict[str, Any] = {
    "softmax(input, dim, _stacklevel=3, dtype=None)":
        lambda x, dim, level, dtype: Plain.softmax(floats("softmax", x, dtype), dim),
    "log_softmax(input, dim, _stacklevel=3, dtype=None)":
        lambda x, dim, level, dtype: Plain.log_softmax(floats("log_softmax", x, dtype), dim),
    "softmin(input, dim, _stacklevel=3, dtype=None)":
        lambda x, dim, level, dtype: Plain.softmax(floats("softmin", -x, dtype), dim),
}  # fmt: skip
for _row, _compute in _ROWS.items():
    globals()[_row.partition("(")[0]] = formula(_row, _compute)


@spoken
def one_hot(tensor, num_classes=-1):
    """1 at the class of each number, else 0, int64."""
    made = Plain.one_hot(tensor, None if num_classes == -1 else num_classes)
    return Plain.cast(made, "int64")


@spoken
def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """A draw from the classes, softened by tau; hard ones have the gradient of the soft ones."""
    noise = tag(Plain.zeros_like(logits.detach())).exponential_()
    soft = Plain.softmax((logits - Plain.log(noise)) / tau, dim)
    if not hard:
        return soft
    place = Plain.argmax(soft, dim, True)
    made = Plain.scatter(soft.detach() * 0, dim, place, Plain.cast(place * 0 + 1, soft.dtype))
    return made - soft.detach() + soft


@spoken
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows as columns: (N, C, H, W) -> (N, C kh kw, L)"""
    kh, kw = _pair(kernel_size)
    (dh, dw), (ph, pw), (sh, sw) = _pair(dilation), _pair(padding), _pair(stride)
    x: Any = ours.pad(input, (pw, pw, ph, ph))
    n, c = x.shape[:2]
    windows = Plain.unfold(Plain.unfold(x, 2, kh, sh, dh), 3, kw, sw, dw)
    columns = windows.shape[2] * windows.shape[3]
    return Plain.reshape(Plain.permute(windows, 0, 1, 4, 5, 2, 3), (n, c * kh * kw, columns))


_MORE: dict[str, Any] = {
    "channel_shuffle(input, groups)": lambda x, g: Plain.reshape(
        Plain.transpose(Plain.reshape(x, (x.shape[0], g, -1, *x.shape[2:])), 1, 2), x.shape),
    "local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0)":
        lambda x, size, alpha, beta, k: floats("local_response_norm", x)
        / (k + alpha * neighbours(x * x, size)) ** beta,
    "triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, "
    "margin=1.0, swap=False, reduction='mean')": lambda *given: triplet(*given),
    "pdist(input, p=2.0)": lambda x, p: Plain.__getitem__(
        Plain.cdist(x, x, p), tuple(triu_indices(len(x), len(x), 1))),
    "constant_pad_nd(input, pad, value=0)": lambda x, pad, v: ours.pad(x, pad, "constant", v),
    "upsample_nearest(input, size=None, scale_factor=None)":
        lambda x, size, by: ours.interpolate(x, size, by, "nearest"),
    "upsample_bilinear(input, size=None, scale_factor=None)":
        lambda x, size, by: ours.interpolate(x, size, by, "bilinear", True),
    "multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, "
    "reduce=None, reduction='mean')": lambda *given: multi_margin(*given),
}  # fmt: skip
for _row, _compute in _MORE.items():
    globals()[_row.partition("(")[0]] = formula(_row, _compute)


def neighbours(x: Any, size: int) -> Any:
    """The mean of each channel and its neighbours; beyond the ends there are zeros."""
    rows_ = Plain.reshape(x, (x.shape[0], 1, x.shape[1], -1))
    wide = ours.pad(rows_, (0, 0, size // 2, (size - 1) // 2))
    return Plain.reshape(ours.avg_pool2d(wide, (size, 1), 1), x.shape)


def triplet(a: Any, p: Any, n: Any, distance: Any, margin: float, swap: bool, how: str) -> Any:
    """max(0, d(a, p) - d(a, n) + margin)"""
    d = distance or ours.pairwise_distance
    near, far = d(a, p), d(a, n)
    each = Plain.relu(margin + near - (Plain.minimum(far, d(p, n)) if swap else far))
    return reduced(each, how)


def multi_margin(x: Any, target: Any, p: int, margin: float, weight: Any, *how: Any) -> Any:
    """mean_j max(0, margin - x[target] + x[j])**p over the other classes j"""
    rows_, t = (x, target) if x.ndim == 2 else (Plain.reshape(x, (1, -1)), target)
    t = Plain.reshape(t, (-1, 1))
    gap = Plain.relu(margin - Plain.gather(rows_, 1, t) + rows_)
    gap = gap if p == 1 else gap * gap
    gap = gap if weight is None else gap * Plain.reshape(weight[Plain.reshape(t, -1)], (-1, 1))
    others = Plain.one_hot(Plain.reshape(t, -1), rows_.shape[1]) == 0
    each = Plain.sum(Plain.masked_fill(gap, ~others, 0.0), 1) / rows_.shape[1]
    return reduced(each if x.ndim == 2 else Plain.reshape(each, ()), how[2])


def _pair(size: Any) -> tuple[int, int]:
    a, b = (size, size) if isinstance(size, int) else size
    return int(a), int(b)


def __getattr__(name: str) -> Any:
    raise missing("nn.functional", name)
