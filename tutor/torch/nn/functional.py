"""nn.functional: tutor's functions with PyTorch's signatures."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from tutor.core.engine.grad_mode import is_grad_enabled, no_grad
from tutor.errors import ArgumentError, DomainError
from tutor.functions.joining import triu_indices
from tutor.functions.sets import searchsorted
from tutor.nn import functional as ours
from tutor.nn.losses import reduced
from tutor.ops.movement import stack
from tutor.programs.call import within
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
    """Cross entropy of probabilities, which are checked; within tutor.jit others give nan."""
    function = getattr(ours, name)

    @functools.wraps(function)
    def run(x: Any, *args: Any, **options: Any) -> Any:
        if (
            x.numel()
            and not within.get()
            and not bool(Plain.all(Plain.logical_and(x >= 0, x <= 1)).item())
        ):
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


@spoken
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns added up where their windows lie: (N, C kh kw, L) -> (N, C, H, W)"""
    (h, w), (kh, kw), (ph, pw) = _pair(output_size), _pair(kernel_size), _pair(padding)
    x, high, wide = input if input.ndim == 3 else input[None], h + 2 * ph, w + 2 * pw
    places = Plain.reshape(Plain.arange(0, high * wide, dtype="float64"), (1, 1, high, wide))
    places = Plain.long(Plain.reshape(unfold(places, kernel_size, dilation, 0, stride), -1))
    n, c = x.shape[0], x.shape[1] // (kh * kw)
    made = Plain.zeros(n * c, high * wide, dtype=x.dtype)
    made = Plain.index_add(made, 1, places, Plain.reshape(x, (n * c, -1)))
    made = Plain.reshape(made, (n, c, high, wide))[:, :, ph : ph + h, pw : pw + w]
    return made if input.ndim == 3 else made[0]


@spoken
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False,
                  mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False,
                  padding_idx=None):  # fmt: skip
    """The sum, mean or maximum of rows of `weight` for each bag: a row of a 2-D input, or what
    lies between two offsets of a 1-D one."""
    if max_norm is not None or scale_grad_by_freq:
        raise ArgumentError("embedding_bag(max_norm=, scale_grad_by_freq=)", "tutor has neither",
                            "leave them out")  # fmt: skip
    flat, n = Plain.reshape(input, -1), input.shape[0]
    if offsets is None:
        bags = Plain.repeat(Plain.arange(0, n, dtype="int64"), input.shape[1])
    else:
        ends = offsets[:-1] if include_last_offset else offsets
        n = ends.shape[0]
        bags = searchsorted(ends, Plain.arange(0, len(flat), dtype="int64"), side="right") - 1
    if padding_idx is not None:
        real = flat != padding_idx
        flat, bags = flat[real], bags[real]
        if per_sample_weights is not None:
            per_sample_weights = Plain.reshape(per_sample_weights, -1)[real]
    rows_ = ours.embedding(flat, weight)
    if per_sample_weights is not None:
        rows_ = rows_ * Plain.reshape(per_sample_weights, (-1, 1))
    made = Plain.zeros(n, weight.shape[1], dtype=weight.dtype)
    if mode == "max":
        where = Plain.expand(Plain.reshape(bags, (-1, 1)), rows_.shape)
        return Plain.scatter_reduce(made, 0, where, rows_, "amax", False)
    total = Plain.index_add(made, 0, bags, rows_)
    if mode == "sum":
        return total
    counts = Plain.clip(Plain.bincount(bags, minlength=n), 1, None)
    return total / Plain.reshape(Plain.cast(counts, weight.dtype), (-1, 1))


@spoken
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):  # fmt: skip
    """-ln of the probability of all alignments of the targets with (T, N, C) log-probabilities."""
    x = log_probs if log_probs.ndim == 3 else log_probs[:, None]
    steps, lengths = (listed_(v) for v in (input_lengths, target_lengths))
    labels = listed_(targets)
    if targets.ndim == 1:
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        labels = [labels[at : at + k] for at, k in zip(starts, lengths, strict=True)]
    rows_ = [[blank, *itertools.chain(*((v, blank) for v in row[:k]))]
             for row, k in zip(labels, lengths, strict=True)]  # fmt: skip
    most = max(map(len, rows_))
    skip = [[i > 1 and i < len(r) and r[i] not in (blank, r[i - 2]) for i in range(most)]
            for r in rows_]  # fmt: skip
    states = Plain([r + [blank] * (most - len(r)) for r in rows_])
    emitted = Plain.gather(x, 2, Plain.expand(states[None], (len(x), *states.shape)))
    may_skip, first = Plain(skip), Plain.arange(0, most) < 2
    alpha = Plain.masked_fill(emitted[0], ~Plain.expand(first, states.shape), NEVER)
    alphas = [alpha]
    for t in range(1, len(x)):
        one = ours.pad(alpha, (1, 0), "constant", NEVER)[:, :most]
        two = Plain.masked_fill(ours.pad(alpha, (2, 0), "constant", NEVER)[:, :most], ~may_skip,
                                NEVER)  # fmt: skip
        alpha = Plain.logsumexp(stack([alpha, one, two]), 0) + emitted[t]
        alphas.append(alpha)
    ends = [[max(len(r) - 2, 0) if k else 0, len(r) - 1]
            for r, k in zip(rows_, lengths, strict=True)]  # fmt: skip
    at = (Plain([n - 1 for n in steps]), Plain.arange(0, len(rows_), dtype="int64"))
    last = Plain.gather(stack(alphas)[at], 1, Plain(ends))
    empty = Plain([[False, not k] for k in lengths])
    loss = -Plain.logsumexp(Plain.masked_fill(last, empty, NEVER), 1)
    never = loss > -NEVER / 2
    loss = Plain.masked_fill(loss, never, 0.0 if zero_infinity else math.inf)
    if reduction == "mean":
        loss = loss / Plain.clip(Plain(lengths, dtype=x.dtype), 1, None)
    return reduced(loss if log_probs.ndim == 3 or reduction != "none" else loss[0], reduction)


NEVER = -1e30  # ln of the probability of what cannot be


def listed_(v: Any) -> Any:
    """Numbers as a list."""
    found = v.tolist() if isinstance(v, Plain) else v
    return list(found) if isinstance(found, (list, tuple)) else [found]


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
