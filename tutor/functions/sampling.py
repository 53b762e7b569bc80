"""Random integers, permutations and classes, from the generator that `tutor.manual_seed` sets.

From the random bits on, all arithmetic is on integers, or exact: the same seed gives the same draws
on every backend, and every outcome has its proper probability to within 2**-64 (for `multinomial`
and `bernoulli`: that of the weights as 53-bit numbers). `Tensor.rand`, `randn` and
`glorot_uniform`, which fill a Tensor with floats, are in tutor/methods/create.py.

No number is read back to Python: the same kernels run whatever the draws and the weights are, and a
kernel refuses invalid weights. So these functions can be recorded (tutor.jit), and a replay draws
the next numbers, as a call of the function would.
"""

from __future__ import annotations

import math

from tutor import dtype as dtypes
from tutor import random
from tutor._storage import layout
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, DTypeLike, ShapeLike, TensorLike, Walked
from tutor.backends import devices
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import float64, int64, uint32, uint64
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor

WHOLE = 62  # bits that the sum of one draw's integer weights may have


@spelled
@no_grad
def randint(
    low: int,
    high: ShapeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    dtype: DTypeLike = int64,
    device: DeviceLike | None = None,
) -> Tensor:
    """Uniformly random integers from low up to, but excluding, high: randint(0, 6, (2, 3)).

    `randint(high, shape=...)` starts at 0, and so does PyTorch's `randint(high, shape)`. Raises
    DomainError if the range is empty, or if the dtype cannot hold all of it.
    """
    if shape is None and high is not None and hasattr(high, "__iter__"):
        high, shape = None, high
    start, stop = (0, low) if high is None else (low, high)
    start = layout.whole_number(start, "randint(low)")
    stop = layout.whole_number(stop, "randint(high)")
    found = dtypes.of(dtype)
    if stop <= start:
        raise DomainError(f"randint({start}, {stop})", "no number lies there", "give high > low")
    held = (found.min, found.max) if not found.is_float else (-(2**63), 2**63 - 1)
    if not held[0] <= start <= stop - 1 <= held[1]:
        raise DomainError(
            f"randint({start}, {stop}) as {found.name}",
            f"that can be {held[0]} to {held[1]}",
            "use a wider dtype, or a smaller range",
        )
    sizes = layout.checked_shape(() if shape is None else shape)
    drawn, span = _words(math.prod(sizes), device=devices.of(device)), stop - start
    if span < 2**64:
        drawn = _below(drawn.like(span), (2**64 % span).bit_length(), drawn)
    return (drawn + start % 2**64).cast(int64).cast(found).reshape(sizes)  # wraps to its value


@spelled
def randperm(n: int, *, dtype: DTypeLike = int64, device: DeviceLike | None = None) -> Tensor:
    """The numbers 0 to n - 1 in a uniformly random order."""
    (count,) = layout.checked_shape(layout.whole_number(n, "randperm(n)"))
    return _words(count, device=devices.of(device)).argsort().cast(dtype)


@spelled
@no_grad
def bernoulli(p: TensorLike) -> Tensor:
    """1 with probability p, else 0, in p's shape and dtype. DomainError unless 0 <= p <= 1."""
    chance = p if isinstance(p, Tensor) else Tensor(p)
    if not chance.dtype.is_float and chance.dtype is not dtypes.bool_:
        raise DTypeError(
            f"bernoulli of {chance.dtype.name}", "a probability is no integer", "give floats"
        )
    wide = chance.cast(float64)
    sure = _sure(
        (wide >= 0) & (wide <= 1), "bernoulli(p)", "a p that is not from 0 to 1", "clip or scale it"
    )
    drawn = Tensor.rand(*chance.shape, dtype=float64, device=chance.device)
    return (drawn < wide * sure).cast(chance.dtype)


@spelled
@no_grad
def multinomial(weights: TensorLike, num_samples: int, replacement: bool = False) -> Tensor:
    """Classes with probabilities in proportion to their weights: int64 (..., num_samples).

    `weights` (..., classes) are finite numbers >= 0, not all 0. Without replacement no class comes
    twice: after each draw its weight becomes 0, so there must be as many weights above 0 as samples
    (and each sample takes a pass over the weights). Raises DomainError otherwise.
    """
    given = weights if isinstance(weights, Tensor) else Tensor(weights)
    count = layout.positive(num_samples, "multinomial(num_samples)")
    if not 1 <= given.ndim <= 2 or not given.shape[-1]:
        raise ShapeError(
            f"multinomial of shape {given.shape}", "no row of weights", "(classes) or (N, classes)"
        )
    needed = 1 if replacement else count
    whole = _whole_weights(given.cast(float64))
    whole = whole * _sure(
        (whole > 0).sum(-1) >= needed,
        f"multinomial(num_samples={count}, replacement={replacement})",
        f"a row has less than {needed} weights above 0",
        "give more classes, fewer samples, or replacement=True",
    )
    if replacement:
        return _picked(whole, count)
    classes, drawn = Tensor.arange(given.shape[-1], device=given.device), []
    for _ in range(count):
        drawn.append(_picked(whole, 1))
        whole = apply("where", classes == drawn[-1], 0, whole)
    return apply("cat", *drawn, axis=-1)


def _sure(holds: Tensor, asked: str, found: str, do: str) -> Tensor:
    """1 if all of `holds` is true, else DomainError.

    The check is made by a kernel, which refuses every position except 0. A caller that multiplies
    by the 1 makes the check a part of its result, so that a replay repeats it.
    """
    place = apply("where", holds.all(), 0, 1).reshape(1)
    try:
        return apply("index_select", place.like(1), place, axis=0).reshape(())
    except OutOfRangeError:
        raise DomainError(asked, found, do) from None


def _words(*shape: int, device: str, cells: tuple[Walked, ...] = ()) -> Tensor:
    """Random uint64, each made of two uint32 of the generator, or of another stream, whose `cells`
    are on the host."""
    bits = Tensor(Buffer.empty(2 * math.prod(shape), uint32, device), (*shape, 2))
    cells = cells or random.stream().cells
    engine.call("random_bits", uint32, bits, *cells, blocks=-(-bits.numel() // 4))
    halves = bits.cast(uint64)
    return (halves[..., 0] << 32) | halves[..., 1]


def _below(limits: Tensor, beyond: int, *spare: Tensor) -> Tensor:
    """For each uint64 limit a uniformly random number below it, in the same shape.

    The remainder of a random word by the limit is such a number, unless the word is one of the last
    2**64 % limit words (a count of at most `beyond` bits), which would make small numbers likelier.
    Such a word is replaced, first by a `spare` one, then by others: enough of them to find a good
    one with a probability of 1 - 2**-64. The others come from a stream of their own, which begins
    at a random word, so later draws do not depend on how many were replaced.
    """
    words = _words(*limits.shape, device=limits.device)
    more = -(-64 // (64 - beyond)) - 1
    if more and words.numel():
        tries = [t.unsqueeze(0) for t in (words, *spare)]
        if more > len(spare):
            cells = ~Tensor(random.stream().buf, (), ()), words.flatten()[0].copy().cpu()
            tries.append(_words(more - len(spare), *words.shape, device=words.device, cells=cells))
        each = apply("cat", *tries, axis=0)
        first = (each <= ~((~limits + 1) % limits)).argmax(0, keepdims=True)
        words = each.gather(0, first).squeeze(0)
    return words % limits


def _whole_weights(w: Tensor) -> Tensor:
    """Weights as int64 with a sum below 2**WHOLE in each row. No weight above 0 becomes 0."""
    sure = _sure(
        (w >= 0) & w.isfinite(),
        "multinomial(weights)",
        "a negative, infinite or nan one",
        "check them",
    )
    if not w.numel():
        return w.cast(int64)
    w = w * sure
    largest = w.max(-1, keepdims=True)
    scale = 2.0 ** (WHOLE - w.shape[-1].bit_length())
    whole = (w / apply("where", largest == 0, 1.0, largest) * scale).cast(int64)
    return apply("where", w > 0, whole.maximum(1), 0)


def _picked(whole: Tensor, count: int) -> Tensor:
    """`count` classes for each row of integer weights: those where numbers below their sum fall.

    Each class owns an interval of numbers, as long as its weight; the class of a number is the
    count of intervals that end at or before it. A stable sort of ends and numbers together, ends
    first, counts them.
    """
    ends = whole.cumsum(-1)
    total = ends[..., -1:].expand((*whole.shape[:-1], count))
    places = _below(total.cast(uint64), WHOLE).cast(int64)
    order = apply("cat", ends, places, axis=-1).argsort(-1).argsort(-1)
    return order[..., whole.shape[-1] :] - places.argsort(-1).argsort(-1)
