"""Why does a model not learn? Checks one batch for the usual causes.

print(diagnose(model, cross_entropy, x, y))
print(diagnose(model, cross_entropy, x, y, step=train_step))    # also checks a training step
losses = overfit(train_step, x, y)                  # a working network can memorize one batch
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tutor._storage.layout import positive
from tutor._util import checks
from tutor._util.callers import user_line
from tutor._util.keyword_aliases import spelled
from tutor.backends.step import Step, watch
from tutor.errors import DataError
from tutor.methods.tensor import Tensor
from tutor.nn.module import state_dict
from tutor.nn.parts import state_of

# Thresholds. A healthy network is far from each of these; the updates of one that learns well are
# about 1e-3 of its weights (Karpathy 2015, CS231n notes, "Ratio of weights:updates").
FAR, WIDE, NARROW = 5.0, 20.0, 1e-2  # of inputs: |mean| / std; std above, below
DEAD = 0.5  # share of a relu's units that are 0 for every row
VANISHED = 1e-4  # gradients of the first layer relative to those of the last one
EXPLODED = 1e3  # gradient relative to its parameter
GUESSING = 2.0  # first loss relative to the loss of guessing, ln(classes)
LEAST_UPDATE, MOST_UPDATE = 1e-6, 0.1  # |change of p| / |p| in a step


class Finding(NamedTuple):
    """`kind` in one word, what was found and where, and what to do about it."""

    kind: str
    found: str
    do: str


class Diagnosis(list[Finding]):
    """A list of findings, printed one a line. An empty list means no usual cause was found."""

    def __repr__(self) -> str:
        if not self:
            return "nothing of the usual is wrong"
        title = "your network does not learn because ..." if len(self) > 1 else (
            "your network may not learn because")  # fmt: skip
        return "\n".join([title, *(f"- {f.kind}: {f.found}\n  {f.do}" for f in self)])

    @property
    def kinds(self) -> set[str]:
        """The kinds of the findings, one word each."""
        return {finding.kind for finding in self}


@spelled
def diagnose(
    model: Callable[..., Any], loss: Callable[[Any, Tensor], Tensor], x: Tensor, y: Tensor,
    step: Callable[[Tensor, Tensor], object] | None = None,
) -> Diagnosis:  # fmt: skip
    """Look for the usual causes, in one forward and backward of `loss(model(x), y)`.

    `step(x, y)`, optional, is your training step. Two steps are taken, to see whether gradients are
    reset in between and how far the weights move. Afterwards the model's Tensors and their
    gradients are restored, but the optimizer's state is not, so diagnose before you train.
    """
    checks.function("diagnose(model, ...)", model)
    checks.function("diagnose(..., loss, ...)", loss)
    tensors = {s.name: s.tensor for s in state_of(model) if s.tensor.requires_grad}
    if not tensors:
        raise DataError(
            "to see why a model does not learn",
            "it has no Tensor that requires a gradient",
            "make its weights with requires_grad=True, and keep them in attributes",
        )
    saved = {n: (t.detach().copy(), t.grad) for n, t in state_dict(model).items()}
    found = Diagnosis([*_inputs(x, y), *_bad_numbers(tensors)])
    try:
        for t in tensors.values():
            t.grad = None
        look = Look()
        with watch(look):
            value = loss(model(x), y)
            value.backward()
        found += [*look.findings(), *_first_loss(value, look), *_gradients(tensors)]
        if step is not None:
            found += _steps(tensors, step, x, y)
    finally:
        for name, t in state_dict(model).items():
            t.assign(saved[name][0])
            t.grad = saved[name][1]
    return found


# ---- what goes in --------------------------------------------------------------------------------


def _inputs(x: Tensor, y: Tensor) -> list[Finding]:
    found = []
    if x.dtype.is_float and x.numel() > 1:
        mean, std = float(x.mean().item()), float(x.std().item())
        if not math.isfinite(mean) or not math.isfinite(std):
            found.append(Finding("inputs that are no numbers", f"mean {mean}, std {std}",
                                 "look for nan and inf in the data"))  # fmt: skip
        elif std < NARROW or std > WIDE or abs(mean) > FAR * std:
            found.append(Finding(
                "scale of the inputs", f"mean {mean:.3g}, standard deviation {std:.3g}",
                "bring them to mean 0 and standard deviation 1: (x - mean) / std, of all the data",
            ))  # fmt: skip
    if y.dtype.is_integer and y.ndim and len(y) > 7 and (y == y.flatten()[0]).all().item():
        found.append(Finding("one class only", f"all {len(y)} targets of the batch are equal",
                             "shuffle the data: DataLoader(..., shuffle=True)"))  # fmt: skip
    return found


def _bad_numbers(tensors: dict[str, Tensor]) -> list[Finding]:
    bad = [n for n, t in tensors.items() if not t.detach().isfinite().all().item()]
    return [Finding("weights that are no numbers", f"nan or inf in {', '.join(bad)}",
                    "begin anew with a smaller learning rate; tutor.detect_anomaly() names the "
                    "first operation that makes a nan")] if bad else []  # fmt: skip


# ---- one forward ---------------------------------------------------------------------------------


class Look:
    """Observes a forward for relus with dead units, and for scores that are probabilities."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.classes = 0  # that the loss distinguishes

    def __call__(self, step: Step, go: Callable[[], None]) -> None:
        go()
        fused = step.kernel == "linear" and "relu" in step.params.values()
        if (step.kernel == "relu" or fused) and len(step.out.shape) > 1:
            self._relu(_tensor(step.out))
        if step.kernel in ("cross_entropy", "log_softmax") and len(step.ins[0].shape) > 1:
            self._scores(_tensor(step.ins[0]))

    def _relu(self, out: Tensor) -> None:
        dead = float((out <= 0).all(0).cast("float32").mean().item())
        if len(out) > 7 and dead > DEAD:
            file, line = user_line()
            self.found.append(Finding(
                "dead relus", f"{dead:.0%} of the units {out.shape[1:]} of the relu at "
                f"{file}:{line} are 0 for all {len(out)} rows: no gradient passes them",
                "a smaller learning rate, weights drawn for relus (nn.init.kaiming_normal_), biases"
                " at 0, or leaky_relu",
            ))  # fmt: skip

    def _scores(self, scores: Tensor) -> None:
        self.classes = scores.shape[-1]
        sums = scores.sum(-1)
        if self.classes > 1 and ((sums - 1).abs() < 1e-3).all().item() and (
            scores >= 0).all().item():  # fmt: skip
            self.found.append(Finding(
                "softmax before cross_entropy", "each row of its scores sums to 1, as "
                "probabilities do; cross_entropy takes the softmax itself",
                "hand over the scores as the last layer gives them, without softmax",
            ))  # fmt: skip

    def findings(self) -> list[Finding]:
        return self.found


def _tensor(operand: Any) -> Tensor:
    """An operand of a kernel call as a Tensor over the same memory."""
    return Tensor(operand.buf, operand.shape, operand.strides, operand.offset)


def _first_loss(value: Tensor, look: Look) -> list[Finding]:
    number = float(value.item())
    if not math.isfinite(number):
        return [Finding("a loss that is no number", f"it is {number}",
                        "tutor.detect_anomaly() names the operation that made it")]  # fmt: skip
    guess = math.log(look.classes) if look.classes > 1 else math.inf
    if number > GUESSING * guess:
        return [Finding(
            "a first loss far above guessing", f"{number:.3g}, where guessing one of "
            f"{look.classes} classes costs {guess:.3g}",
            "if it has not learned yet, its last layer starts with weights that are too large",
        )]  # fmt: skip
    return []


# ---- one backward --------------------------------------------------------------------------------


def _gradients(tensors: dict[str, Tensor]) -> list[Finding]:
    found = []
    missing = [n for n, t in tensors.items() if t.grad is None]
    if missing:
        found.append(Finding(
            "parameters that the loss does not depend on", ", ".join(missing),
            "see that forward uses them, and that nothing between is detached or made of numbers",
        ))  # fmt: skip
    sizes = {n: (_rms(t.grad), _rms(t.detach())) for n, t in tensors.items()
             if t.grad is not None and t.ndim > 1}  # fmt: skip
    still = [n for n, (g, _) in sizes.items() if g == 0]
    if still:
        found.append(Finding("gradients that are 0", ", ".join(still),
                             "look for dead relus and saturated functions"))  # fmt: skip
    moving = [(n, g) for n, (g, _) in sizes.items() if g > 0]
    if moving and moving[0][1] < VANISHED * moving[-1][1]:
        found.append(Finding(
            "vanishing gradients", f"those of {moving[0][0]} are "
            f"{moving[0][1] / moving[-1][1]:.2g} of those of {moving[-1][0]}",
            "weights drawn for the number of inputs (nn.init), relu in place of sigmoid or tanh, a "
            "norm layer, residual paths",
        ))  # fmt: skip
    large = [n for n, (g, p) in sizes.items() if p and g > EXPLODED * p]
    if large:
        g, p = sizes[large[0]]
        found.append(Finding(
            "exploding gradients", f"those of {large[0]} are {g / p:.2g} times its numbers",
            "weights drawn for the number of inputs (nn.init), a norm layer, clipping",
        ))  # fmt: skip
    return found


# ---- two steps -----------------------------------------------------------------------------------


def _steps(
    tensors: dict[str, Tensor], step: Callable[[Tensor, Tensor], object], x: Tensor, y: Tensor
) -> list[Finding]:
    before = {n: t.detach().copy() for n, t in tensors.items()}
    kept: list[dict[str, Tensor]] = []
    moved: dict[str, float] = {}
    for number in range(2):
        for n, t in tensors.items():  # same start: any difference was left behind
            t.assign(before[n])
            if number == 0:
                t.grad = None
        step(x, y)
        kept.append({n: t.grad.copy() for n, t in tensors.items() if t.grad is not None})
        if number == 0:
            moved = {n: _ratio(t.detach() - before[n], before[n]) for n, t in tensors.items()}
    return [*_forgotten(*kept), *_moves(moved)]


def _ratio(part: Tensor, whole: Tensor) -> float:
    """The size of `part` relative to that of `whole`."""
    one, other = _rms(part), _rms(whole)
    return one / other if other else (math.inf if one else 0.0)


def _rms(x: Tensor) -> float:
    """sqrt(mean(x**2)), the root mean square."""
    return float((x.cast("float64") ** 2).mean().sqrt().item())


def _forgotten(first: dict[str, Tensor], second: dict[str, Tensor]) -> list[Finding]:
    """Compares the gradients of two steps: if the second is double, it was added to the first."""
    grown = [n for n in first.keys() & second.keys() if _ratio(first[n], first[n]) and
             _ratio(second[n] - 2 * first[n], first[n]) < 1e-2]  # fmt: skip
    if not first or len(grown) < (len(first) + 1) // 2:
        return []
    return [Finding(
        "gradients that are never forgotten",
        f"after a second step on the same batch that of {min(grown)} is twice as large",
        "call optimizer.zero_grad() in each step, before backward()",
    )]  # fmt: skip


def _moves(moved: dict[str, float]) -> list[Finding]:
    found = []
    still = [n for n, ratio in moved.items() if ratio == 0]
    if still:
        found.append(Finding(
            "parameters that do not move", ", ".join(still), "hand all of them to the optimizer "
            "(get_parameters(model)), with a learning rate above 0, and call its step()",
        ))  # fmt: skip
    far = max(moved, key=moved.__getitem__)
    ratios = [r for r in moved.values() if 0 < r < math.inf]
    if ratios and max(ratios) > MOST_UPDATE:
        far = max((n for n in moved if moved[n] < math.inf), key=moved.__getitem__)
        found.append(Finding("steps that are too large", f"one moves {far} by {moved[far]:.0%} of "
                             "its size; 0.1 % is usual", "a smaller learning rate"))  # fmt: skip
    if ratios and max(ratios) < LEAST_UPDATE:
        found.append(Finding("steps that are too small", f"one moves no parameter by more than "
                             f"{max(ratios):.1g} of its size; 1e-3 is usual",
                             "a larger learning rate"))  # fmt: skip
    return found


# ---- one batch -----------------------------------------------------------------------------------


@spelled
def overfit(
    step: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor, steps: int = 200,
    share: float = 0.1,
) -> list[float]:  # fmt: skip
    """Take `steps` steps on one batch and return the loss of each. A network that can learn at all
    can memorize one batch: DataError if the last loss is above `share` of the first."""
    steps = positive(steps, "overfit(steps=...)")
    checks.number("overfit(share=...)", share, 0)
    losses: list[float] = []
    for _ in range(steps):
        value = step(x, y)
        losses.append(float(value.item() if isinstance(value, Tensor) else value))
    if not losses[-1] <= share * losses[0]:
        raise DataError(
            f"to learn one batch by heart in {steps} steps",
            f"the loss went from {losses[0]:.4g} to {losses[-1]:.4g}",
            "print(diagnose(model, loss, x, y, step)) looks for the usual causes",
        )
    return losses
