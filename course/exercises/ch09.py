"""Chapter 9, deep networks: sixteen exercises, two challenges, five questions."""

from __future__ import annotations

import inspect
import itertools
import math
import os
import random
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.exercises.ch07 import leads_back, needs_tensor, order_kept, same_dtype, weighted
from course.exercises.ch08 import BETAS, RATES, by_adam, follow, gradients, parameters, wrong_decays
from course.library import theirs_or_ours
from course.turns import Steps, formed, in_forms, take_turns
from tutor import data
from tutor.backends import registry

own = partial(theirs_or_ours, chapter=9)


def waves(count: int, size: float = 2.0, shift: float = 0.5, step: float = 1.7) -> list[float]:
    """`count` numbers, quarters, without a pattern that an answer could rely on."""
    found = [size * math.sin(step * i + 0.3 * i * i) + shift for i in range(count)]
    return [round(4 * x) / 4 for x in found]


def tensor(answer: Any, shape: tuple[int, ...], numbers: list[float], watched: bool = False) -> Any:
    """The learner's tensor of float64 with these numbers."""
    t = own(answer, "zeros")(shape, "float64")
    t.fill(numbers)
    t.requires_grad = watched
    return formed(t)


# ---- how to begin --------------------------------------------------------------------------------


@exercise(
    "09.1",
    "He's weights",
    answer="he",
    minutes=6,
    without=("tutor", "glorot"),
    hints=(
        "Which spread must a weight have so that the sum of k products is as large as its inputs, "
        "when relu throws half of it away?",
        "spread(w)**2 = 2 / inputs. The outputs do not occur in it. random.gauss(0, spread) draws "
        "a number of that spread.",
        "spread = math.sqrt(2 / inputs); for each of `inputs` rows, `outputs` times "
        "random.gauss(0, spread).",
    ),
    why_ours="Only the inputs are counted: each output is a sum of that many products. Whether the "
    "numbers are drawn from a bell or evenly from an interval makes no difference to the spread.",
)
def check_09_1(judge: Judge, he: Any) -> None:
    """he(inputs, outputs) gives inputs rows of outputs numbers around 0, whose spread keeps the
    mean square of what comes out of a relu as it was."""
    with order_kept():
        random.seed(17)
        for inputs, outputs in ((3, 5), (200, 30), (30, 200), (64, 64), (8, 400)):
            given = f"{inputs} inputs, {outputs} outputs"
            rows = judge.call(he, inputs, outputs, again=False)
            is_table = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
            found = f"it gives {kind(rows)}; a list of rows is asked for, each of them a list"
            judge.that(is_table and rows, found, given=given)
            shape = [len(rows), len(rows[0])]
            judge.equal(shape, [inputs, outputs], given=f"the shape for {given}")
            judge.that({len(row) for row in rows} == {outputs}, "rows of different lengths")
            numbers = [x for row in rows for x in row]
            found = f"a weight is {kind(numbers[0])}; numbers are asked for"
            judge.that(all(isinstance(x, float) for x in numbers), found, given=given)
            if len(numbers) < 1000:
                continue
            mean = math.fsum(numbers) / len(numbers)
            spread = math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / len(numbers))
            wanted = math.sqrt(2 / inputs)
            found = f"their mean is {mean:.4f}; it should be near 0"
            judge.that(abs(mean) < 5 * wanted / math.sqrt(len(numbers)), found, given=given)
            found = f"their spread is {spread:.4f}, and {wanted:.4f} is needed"
            if abs(spread / wanted - 1) >= 0.09:
                found += of_spread(spread, inputs, outputs)
            judge.that(abs(spread / wanted - 1) < 0.09, found, given=given)
            different = len(set(numbers))
            found = f"of {len(numbers)} weights only {different} are different: draw each of them"
            judge.that(different > len(numbers) / 2, found, given=given)
            again = judge.call(he, inputs, outputs, again=False)
            found = "two calls give the same weights: is there a seed in it? That is the caller's"
            judge.that(again != rows, found, given=given)


def of_spread(spread: float, inputs: int, outputs: int) -> str:
    """Which known rule gives weights of this spread."""
    known = {
        "sqrt(1 / inputs), which leaves out the relu": math.sqrt(1 / inputs),
        "2 / inputs, the square of it": 2 / inputs,
        "sqrt(2 / outputs), which counts the wrong side": math.sqrt(2 / outputs),
        "Glorot's, sqrt(2 / (inputs + outputs))": math.sqrt(2 / (inputs + outputs)),
        "what even numbers up to sqrt(2 / inputs) have": math.sqrt(2 / 3 / inputs),
    }
    near = [words for words, value in known.items() if abs(spread / value - 1) < 0.05]
    return f": that is {near[0]}" if near else ""


@exercise(
    "09.2",
    "Dead relus",
    answer="dead",
    minutes=5,
    without=("tutor",),
    hints=(
        "A column of h is what one relu gave to all the pictures. When is it dead?",
        "h.T.tolist() is a list of the columns. A column is dead if not one of its numbers differs "
        "from 0.",
        "sum(1 for column in h.T.tolist() if not any(column))",
    ),
    why_ours="`any` of numbers is false where all of them are 0, which is the question itself.",
)
@in_forms
def check_09_2(judge: Judge, dead: Any) -> None:
    """dead(h), for what came out of relus, (pictures, relus), is how many of the relus are 0 for
    every picture."""
    Tensor = own(dead, "Tensor")
    cases: list[list[list[float]]] = [
        [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.5]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.5, 0.25], [0.0, 1.0], [2.0, 0.0]],
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 1e-30, 0.0]],
    ]
    for rows in cases:
        expected = sum(not any(column) for column in zip(*rows, strict=True))
        given = f"{len(rows)} pictures, {len(rows[0])} relus"
        got = judge.call(dead, formed(Tensor(rows)), given=given)
        judge.equal(got, expected)


# ---- Module --------------------------------------------------------------------------------------


def shapes(tensors: Any) -> list[tuple[int, ...]]:
    return [tuple(t.shape) for t in tensors]


def listed(judge: Judge, model: Any, wanted: list[Any], given: str) -> None:
    """parameters() must give these very tensors, in this order."""
    got = judge.call(model.parameters, given=given, changes=True)
    judge.that(isinstance(got, list), f"it gives {kind(got)}; a list is asked for", given=given)
    for t in got:
        needs_tensor(judge, t, "in the list there is")
    judge.equal(shapes(got), shapes(wanted), given=f"the shapes of the parameters, {given}")
    found = "the tensors are not the ones that the model has: a step would move copies"
    judge.that(all(a is b for a, b in zip(got, wanted, strict=True)), found, given=given)


@exercise(
    "09.3",
    "Module",
    answer="Module",
    minutes=14,
    without=("tutor",),
    hints=(
        "vars(x) is a dict of the attributes of x. An attribute may be a tensor, a list, a dict, "
        "or another object with attributes. What is the same question, asked again?",
        "Write one method that walks through everything: for a dict its values, for a list its "
        "items, for an object with __dict__ the values of vars(x); into a Tensor do not look. "
        "Remember the id of what you have met. parameters() and train() only choose from it.",
        "Keep a list of what is to be looked at, with self in it at first. Take the last one out; "
        "if it is new, note it, and put what it holds on the list, in reverse order, so that the "
        "first of it is looked at next.",
    ),
    why_ours="One walk serves both methods. It asks what a thing is made of, and not what it is "
    "called, so Linear and MLP, which have never heard of Module, are found as well. The ids keep "
    "a layer that is used twice from being counted twice, and a circle from going on for ever.",
)
def check_09_3(judge: Judge, answer: Any) -> None:
    """parameters() lists the tensors that are watched, in a Module and in all that it holds, each
    once, in order; train(on) sets .training of every Module in it, and gives the Module back."""
    Tensor, Linear, MLP = (own(answer, name) for name in ("Tensor", "Linear", "MLP"))

    def watched(*numbers: float) -> Any:
        return Tensor(list(numbers), requires_grad=True)

    a, b, c, d = watched(1.0), watched(1.0, 2.0), watched(1.0, 2.0, 3.0), watched(4.0)
    with order_kept():
        random.seed(3)
        line, net = Linear(2, 3), MLP(4, 3, 2)

    def made(**holds: Any) -> Any:
        module = judge.instance(answer)
        for name, value in holds.items():
            setattr(module, name, value)
        return module

    listed(judge, made(), [], "a Module that holds nothing")
    listed(judge, made(w=a, b=b), [a, b], "two tensors")
    listed(judge, made(z=b, a=a), [b, a], "two tensors, the later name put there first")
    listed(judge, made(w=a, mean=Tensor([0.0])), [a], "a tensor, and one that is not watched")
    listed(judge, made(first=line, eps=1e-5, name="x"), [line.w, line.b], "a Linear")
    listed(judge, made(layers=[line, a]), [line.w, line.b, a], "a list")
    listed(judge, made(layers=(b, line)), [b, line.w, line.b], "a tuple")
    listed(judge, made(heads={"one": a, "two": line}), [a, line.w, line.b], "a dict")
    listed(judge, made(rows=[[a], [[b], {"k": c}]]), [a, b, c], "lists within lists")
    listed(judge, made(net=net), net.parameters(), "an MLP of chapter 7")
    inner = made(w=c)
    listed(judge, made(w=a, inner=inner, last=b), [a, c, b], "a Module between two tensors")
    listed(judge, made(w=a, again=a, layers=[inner, inner]), [a, c], "what is held twice")
    listed(judge, made(act=Tensor.relu, kind=Linear, w=d), [d], "a function and a class")
    circle = made(w=a)
    circle.self = made(up=circle, w=b)
    listed(judge, circle, [a, b], "two Modules that hold each other")
    made(w=a).mine = b
    listed(judge, made(w=c), [c], "a Module, after others were made")
    listed(judge, made(_w=a, _Sub__b=b), [a, b], "attributes whose names begin with _")
    grows = made(w=a)
    listed(judge, grows, [a], "a Module with one tensor")
    grows.more = b
    listed(judge, grows, [a, b], "the same Module, after another tensor was put there")
    grows.w = c
    listed(judge, grows, [c, b], "the same Module, after its first tensor was exchanged")
    a.grad = watched(7.0)
    listed(judge, made(w=a), [a], "a tensor that has a gradient")
    a.grad = None

    _trains(judge, answer, made, circle, line)


def _trains(judge: Judge, answer: Any, made: Any, circle: Any, line: Any) -> None:
    """train(on) of Modules within each other."""
    judge.call(circle.train, False, changes=True, given="two Modules that hold each other")
    states = [circle.training, circle.self.training]
    judge.equal(states, [False, False], given="`training` of two Modules that hold each other, "
                "after train(False)")  # fmt: skip
    sub = type("Sub", (answer,), {})
    outer = made(layers=[made(), {"k": sub()}], plain=line, other=made(deep=[made()]), _own=made())
    inside = [outer, outer.layers[0], outer.layers[1]["k"], outer.other, outer.other.deep[0]]
    inside.append(outer._own)
    states = [getattr(module, "training", None) for module in inside]
    judge.equal(states, [True] * 6, given="the attribute `training`, to begin with")
    back = judge.call(outer.train, False, changes=True, given="six Modules within each other")
    states = [module.training for module in inside]
    judge.equal(states, [False] * 6, given="`training` of six Modules, after train(False)")
    judge.that(back is outer, "train gives back something else than the Module itself")
    judge.that(not hasattr(line, "training"), "a Linear is no Module, and got `training`")
    judge.equal(judge.instance(answer).training, True, given="`training` of a new Module, after "
                "train(False) of another one")  # fmt: skip
    judge.call(outer.train, changes=True)
    states = [module.training for module in inside]
    judge.equal(states, [True] * 6, given="`training` of six Modules, after train()")


# ---- norms ---------------------------------------------------------------------------------------


def together(shape: tuple[int, ...], axis: tuple[int, ...]) -> list[list[int]]:
    """The places of the numbers that are averaged with each other."""
    found: dict[tuple[int, ...], list[int]] = {}
    for place, index in enumerate(itertools.product(*map(range, shape))):
        key = tuple(i for a, i in enumerate(index) if a not in axis)
        found.setdefault(key, []).append(place)
    return list(found.values())


def normal(
    numbers: list[float], shape: tuple[int, ...], axis: tuple[int, ...], eps: float,
    mistake: str = "",
) -> tuple[list[float], list[float]]:  # fmt: skip
    """(numbers - mean) * scale, and scale, for each place; or what a mistake makes of them."""
    z, scales = [0.0] * len(numbers), [0.0] * len(numbers)
    for places in together(shape, axis):
        mean = math.fsum(numbers[p] for p in places) / len(places)
        count = len(places) - (mistake == "n - 1")
        var = math.fsum((numbers[p] - mean) ** 2 for p in places) / count
        for p in places:
            scales[p] = 1 / math.sqrt(var + eps)
            if mistake == "eps outside":
                scales[p] = 1 / (math.sqrt(var) + eps)
            elif mistake == "no root":
                scales[p] = 1 / (var + eps)
            z[p] = (numbers[p] - (mean if mistake != "no mean" else 0.0)) * scales[p]
    return z, scales


MISTAKES = {
    "n - 1": "the variance divided by n - 1, where it is the mean of the squares: by n",
    "eps outside": "eps added to the spread: it stands under the root, with the variance",
    "no root": "divided by the variance: its root is the spread",
    "no mean": "divided by the spread, but the mean was not taken away",
}


def known_norms(
    numbers: list[float], shape: tuple[int, ...], axis: tuple[int, ...], eps: float
) -> dict[str, Any]:
    """What the known mistakes of a norm lead to."""
    known: dict[str, Any] = {
        words: lambda mistake=mistake: normal(numbers, shape, axis, eps, mistake)[0]
        for mistake, words in MISTAKES.items()
    }
    for other in {(k,) for k in range(len(shape))} | {tuple(range(1, len(shape)))} - {axis}:
        if other != axis:
            words = f"over {'the axis' if len(other) == 1 else 'the axes'} {other}, not {axis}"
            known[words] = lambda other=other: normal(numbers, shape, other, eps)[0]
    return known


def slopes(
    numbers: list[float], g: list[float], shape: tuple[int, ...], axis: tuple[int, ...], eps: float
) -> list[float]:
    """The derivative of the sum of g times the normal numbers by each number."""
    z, scales = normal(numbers, shape, axis, eps)
    found = [0.0] * len(numbers)
    for places in together(shape, axis):
        mean = math.fsum(g[p] for p in places) / len(places)
        along = math.fsum(g[p] * z[p] for p in places) / len(places)
        for p in places:
            found[p] = (g[p] - mean - z[p] * along) * scales[p]
    return found


@exercise(
    "09.4",
    "Mean 0, spread 1, and back",
    answer="Normalize",
    minutes=15,
    seconds=5,
    without=("tutor",),
    hints=(
        "Forward first: x.mean(axis, keep=True) is the mean, and it fits under x. The variance is "
        "the mean of the squares of what is left. A root in a denominator is ** -0.5.",
        "Backward is the formula of the text, with means over the same axes: of g, and of g * z. z "
        "and the scale can be computed again from self.inputs[0].",
        "With z and scale as in forward: (g - g.mean(axis, keep=True) - z * (g * z).mean(axis, "
        "keep=True)) * scale, in a tuple of one.",
    ),
    why_ours="z and the scale are computed anew in backward, from the input, by operators of "
    "tensors: so backward can itself be recorded, and second derivatives come out right. Storing "
    "them in forward saves half of the work, and costs the memory.",
)
@in_forms
def check_09_4(judge: Judge, answer: Any) -> None:
    """Normalize(x, axis=..., eps=...).apply() is (x - mean) / sqrt(variance + eps), with mean and
    variance over these axes; backward gives the derivative."""
    cases: list[tuple[tuple[int, ...], tuple[int, ...], float]] = [
        ((2, 3), (1,), 1e-5),
        ((3, 4), (0,), 1e-5),
        ((4, 4), (1,), 0.5),
        ((2, 3, 5), (2,), 1e-5),
        ((3, 2, 2, 2), (0, 2, 3), 1e-3),
        ((6,), (0,), 1e-5),
    ]
    take_turns(*[_normalize(judge, answer, *case) for case in cases])
    given = "a row of equal numbers, whose variance is 0"
    x = tensor(answer, (2, 3), [4.0, 4.0, 4.0, 1.0, 2.0, 3.0])
    out = judge.run(judge.instance(answer, x, axis=(1,), eps=1e-5).apply)
    judge.close(out.tolist()[0], [0.0, 0.0, 0.0], given=given)


def _normalize(
    judge: Judge, answer: Any, shape: tuple[int, ...], axis: tuple[int, ...], eps: float
) -> Steps:
    """One Op, forward and back; between them come others."""
    numbers = waves(math.prod(shape), 2.0 + len(shape), 1.5)
    factors = waves(len(numbers), 1.0, -0.2, 0.9)
    given = f"x of shape {shape}, axis={axis}, eps={eps}"
    x = tensor(answer, shape, numbers, True)
    op = judge.instance(answer, x, axis=axis, eps=eps)
    out = judge.call(op.apply, given=given, changes=True)
    needs_tensor(judge, out)
    judge.equal(tuple(out.shape), shape, given=f"the shape, {given}")
    same_dtype(judge, out, x, given)
    z, _ = normal(numbers, shape, axis, eps)
    judge.close(list(out.values()), z, rtol=1e-7, atol=1e-9, given=given,
                mistakes=known_norms(numbers, shape, axis, eps))  # fmt: skip
    yield
    found = "the result's op is another one: backward of Normalize will never be asked"
    judge.that(out.op is op, found, given=given)
    given, g = f"the gradient, {given}", tensor(answer, shape, factors)
    grads = judge.call(op.backward, g, given=given)
    is_one = isinstance(grads, tuple | list) and len(grads) == 1
    found = f"backward gives {kind(grads)}; a tuple of one gradient is asked for"
    judge.that(is_one, found, given=given)
    needs_tensor(judge, grads[0], "in the tuple there is")
    judge.equal(tuple(grads[0].shape), shape, given=f"the shape of {given}")
    yield
    leads_back(judge, judge.run(partial(weighted, out, g)), x, given)
    expected = slopes(numbers, factors, shape, axis, eps)
    judge.close(list(x.grad.values()), expected, rtol=1e-6, atol=1e-8, given=given)
    judge.equal(list(x.values()), numbers, given="x, afterwards")


def learnt(judge: Judge, layer: Any, features: int) -> tuple[Any, Any]:
    """w and b of a norm, which begin as 1 and 0."""
    pair: list[Any] = [getattr(layer, name, None) for name in "wb"]
    for name, p, start in zip("wb", pair, (1.0, 0.0), strict=True):
        needs_tensor(judge, p, f"self.{name} is")
        judge.equal(p.tolist(), [start] * features, given=f"{name}, to begin with")
        judge.that(p.requires_grad, f"{name} is not watched: requires_grad")
        judge.that(p.op is None, f"{name} is the result of an op, no leaf")
    judge.that(hasattr(layer, "parameters"), "it has no parameters(): make it a Module")
    found: Any = judge.run(layer.parameters)
    same = {id(p) for p in found} == {id(p) for p in pair} and len(found) == 2
    judge.that(same, f"parameters() gives {len(found)} tensors; they should be w and b")
    return pair[0], pair[1]


def normed(
    judge: Judge, layer: Any, answer: Any, shape: tuple[int, ...], axis: tuple[int, ...],
    feature: int, eps: float, given: str,
) -> None:  # fmt: skip
    """A norm in training, forward and backward, against the formulas; w and b as they are."""
    count = math.prod(shape)
    numbers, factors = waves(count, 3.0, 2.0), waves(count, 1.0, 0.3, 0.8)
    of = [index[feature] for index in itertools.product(*map(range, shape))]
    w, b = layer.w.tolist(), layer.b.tolist()
    x = tensor(answer, shape, numbers, True)
    out = judge.call(layer, x, given=given, changes=True)
    needs_tensor(judge, out)
    judge.equal(tuple(out.shape), shape, given=f"the shape, {given}")
    z, _ = normal(numbers, shape, axis, eps)
    expected = [zi * w[k] + b[k] for zi, k in zip(z, of, strict=True)]
    mistakes: dict[str, Any] = {
        words: lambda way=way: [zi * w[k] + b[k] for zi, k in zip(way(), of, strict=True)]
        for words, way in known_norms(numbers, shape, axis, eps).items()
    }
    mistakes["without w"] = [zi + b[k] for zi, k in zip(z, of, strict=True)]
    mistakes["without b"] = [zi * w[k] for zi, k in zip(z, of, strict=True)]
    mistakes["what w = 1 and b = 0 give, the numbers at the beginning"] = z
    judge.close(list(out.values()), expected, rtol=1e-5, atol=1e-5, given=given, mistakes=mistakes)
    layer.w.grad = layer.b.grad = None
    leads_back(judge, judge.run(partial(weighted, out, tensor(answer, shape, factors))), x, given)
    weights = [g * w[k] for g, k in zip(factors, of, strict=True)]
    wanted = slopes(numbers, weights, shape, axis, eps)
    judge.close(list(x.grad.values()), wanted, rtol=1e-5, atol=1e-5, given=f"x.grad, {given}")
    for name, p, part in (("w", layer.w, z), ("b", layer.b, [1.0] * count)):
        sums = [
            math.fsum(g * v for g, v, k in zip(factors, part, of, strict=True) if k == feature_of)
            for feature_of in range(len(w))
        ]
        judge.that(p.grad is not None, f"no gradient has arrived at {name}", given=given)
        judge.close(p.grad.tolist(), sums, rtol=1e-4, atol=1e-4, given=f"{name}.grad, {given}")


@exercise(
    "09.5",
    "LayerNorm",
    answer="LayerNorm",
    minutes=7,
    seconds=5,
    without=("tutor",),
    hints=(
        "Normalize does the work. Which axis is the last one of an x with any number of axes?",
        "It is len(x.shape) - 1, and Normalize wants it in a tuple. w and b are tensors of ones "
        "and of zeros, both watched.",
        "Normalize(x, axis=(len(x.shape) - 1,), eps=self.eps).apply() * self.w + self.b",
    ),
    why_ours="w and b have one axis, the last one, so broadcasting puts them under each row, "
    "however many axes stand in front.",
)
@in_forms
def check_09_5(judge: Judge, answer: Any) -> None:
    """LayerNorm(features)(x) gives the numbers along the last axis mean 0 and spread 1, times w,
    plus b, whatever axes stand before it."""
    sizes = ((1e-5, (3, 4)), (0.5, (4, 4)), (1e-5, (2, 3, 5)), (1e-3, (2, 1, 2, 3)))
    take_turns(*[_layer_norm(judge, answer, eps, shape) for eps, shape in sizes])


def _layer_norm(judge: Judge, answer: Any, eps: float, shape: tuple[int, ...]) -> Steps:
    """One LayerNorm, before and after a step; between them come others."""
    Module = own(answer, "Module")
    features = shape[-1]
    options: dict[str, Any] = {} if eps == 1e-5 else {"eps": eps}
    layer = judge.instance(answer, features, **options)
    judge.that(isinstance(layer, Module), "it is no Module: `class LayerNorm(Module)`")
    yield
    w, b = learnt(judge, layer, features)
    last = len(shape) - 1
    given = f"x of shape {shape}, eps={eps}"
    normed(judge, layer, answer, shape, (last,), last, eps, given)
    yield
    w.fill([0.5 + 0.25 * k for k in range(features)])
    b.fill([1.0 - 0.5 * k for k in range(features)])
    given += ", after a step has changed w and b"
    yield
    normed(judge, layer, answer, shape, (last,), last, eps, given)
    judge.call(layer.train, False, changes=True)
    given += ", and not in training, which makes no difference here"
    normed(judge, layer, answer, shape, (last,), last, eps, given)


def by_batch(shape: tuple[int, ...], numbers: list[float]) -> tuple[list[float], list[float]]:
    """Mean and variance of each feature (axis 1) of a batch."""
    means, variances = [], []
    for places in together(shape, (0, *range(2, len(shape)))):
        mean = math.fsum(numbers[p] for p in places) / len(places)
        means.append(mean)
        variances.append(math.fsum((numbers[p] - mean) ** 2 for p in places) / len(places))
    return means, variances


def running(
    judge: Judge, layer: Any, mean: list[float], var: list[float], given: str,
    mistakes: dict[str, tuple[str, list[float]]] = {},  # noqa: B006 - nobody changes it
) -> None:  # fmt: skip
    """The running numbers of a BatchNorm must be these."""
    for name, wanted in (("mean", mean), ("var", var)):
        t: Any = getattr(layer, name, None)
        needs_tensor(judge, t, f"self.{name} is")
        known = {words: numbers for words, (of, numbers) in mistakes.items() if of == name}
        judge.close(t.tolist(), wanted, rtol=1e-4, atol=1e-5, given=f"self.{name}, {given}",
                    mistakes=known)  # fmt: skip
        found = f"self.{name} is part of a graph, or watched: it is no parameter. Use no_grad"
        judge.that(t.op is None and not t.requires_grad, found, given=given)


@exercise(
    "09.6",
    "BatchNorm",
    answer="BatchNorm",
    minutes=13,
    seconds=6,
    without=("tutor",),
    hints=(
        "Every axis but the features' one, which is axis 1, is averaged over: (0,) for rows, "
        "(0, 2, 3) for pictures. A number for each feature has to stand under axis 1: reshape it.",
        "In training: Normalize over these axes, and, under no_grad, move self.mean and self.var: "
        "each is (1 - momentum) times what it was plus momentum times that of the batch. Else: "
        "(x - self.mean) * (self.var + eps) ** -0.5.",
        "axis = (0, *range(2, len(x.shape))); under = [-1] + [1] * (len(x.shape) - 2); then "
        "z * self.w.reshape(*under) + self.b.reshape(*under).",
    ),
    why_ours="The running numbers are moved in a method of their own, under no_grad, from the same "
    "batch that is normalised. They are tensors without requires_grad, so parameters() passes "
    "them over.",
)
def check_09_6(judge: Judge, answer: Any) -> None:
    """BatchNorm(features) normalises each feature over all other axes; in training with mean and
    variance of the batch, which move the running ones; otherwise with the running ones."""
    cases: list[tuple[tuple[int, ...], dict[str, Any]]] = [
        ((4, 3), {}),
        ((3, 3), {"momentum": 0.5, "eps": 0.25}),
        ((2, 3, 2, 2), {"momentum": 0.25}),
        ((3, 2, 2, 3), {}),
    ]
    take_turns(*[_batch_norm(judge, answer, *case) for case in cases])


def moved(old: list[float], new: list[float], momentum: float) -> list[float]:
    """The running numbers, after a batch."""
    return [(1 - momentum) * a + momentum * m for a, m in zip(old, new, strict=True)]


def _batch_norm(
    judge: Judge, answer: Any, shape: tuple[int, ...], options: dict[str, Any]
) -> Steps:
    """One BatchNorm, in training, not in training, and again; between them come others."""
    Module = own(answer, "Module")
    features, eps = shape[1], options.get("eps", 1e-5)
    momentum = options.get("momentum", 0.1)
    axis = (0, *range(2, len(shape)))
    layer = judge.instance(answer, features, **options)
    judge.that(isinstance(layer, Module), "it is no Module: `class BatchNorm(Module)`")
    yield
    w, b = learnt(judge, layer, features)
    mean, var = [0.0] * features, [1.0] * features
    running(judge, layer, mean, var, "to begin with")
    about = f"x of shape {shape}" + "".join(f", {k}={v}" for k, v in options.items())
    for batch in range(3):
        given = f"{about}, batch {batch + 1} of a training"
        normed(judge, layer, answer, shape, axis, 1, eps, given)
        yield
        means, vars_ = by_batch(shape, waves(math.prod(shape), 3.0, 2.0))
        n = math.prod(shape) // features
        mistakes = {
            "the mean of the batch divided by n - 1, as is the variance: both are means": (
                "var", moved(var, [v * n / (n - 1) for v in vars_], momentum)
            ),
            "momentum the other way round: it is the share of the new one": (
                "mean", moved(mean, means, 1 - momentum)
            ),
            "momentum is the share of the new variance": (
                "var", moved(var, vars_, 1 - momentum)
            ),
            "the spread, where the variance is asked for": (
                "var", moved(var, [math.sqrt(v) for v in vars_], momentum)
            ),
            "the mean of this batch alone": ("mean", means),
            "the variance of this batch alone": ("var", vars_),
        }  # fmt: skip
        mean, var = moved(mean, means, momentum), moved(var, vars_, momentum)
        running(judge, layer, mean, var, f"after {given}", mistakes)
        w.fill([0.5 + 0.25 * k for k in range(features)])
        b.fill([1.0 - 0.5 * k for k in range(features)])
    judge.call(layer.train, False, changes=True)
    yield from _not_training(judge, answer, layer, shape, eps, mean, var)
    judge.call(layer.train, True, changes=True)
    normed(judge, layer, answer, shape, axis, 1, eps, f"{about}, in training again")


def _not_training(
    judge: Judge, answer: Any, layer: Any, shape: tuple[int, ...], eps: float,
    mean: list[float], var: list[float],
) -> Steps:  # fmt: skip
    """What a BatchNorm gives after its training, by the running numbers."""
    w, b, axis = layer.w, layer.b, (0, *range(2, len(shape)))
    for first in (shape[0], 1):
        small = (first, *shape[1:])
        numbers = waves(math.prod(small), 1.0, -3.0, 0.6)
        given = f"x of shape {small}, not in training"
        x = tensor(answer, small, numbers, True)
        out = judge.call(layer, x, given=given, changes=True)
        of = [index[1] for index in itertools.product(*map(range, small))]
        scale = [wk / math.sqrt(v + eps) for wk, v in zip(w.tolist(), var, strict=True)]
        expected = [
            (a - mean[k]) * scale[k] + b.tolist()[k] for a, k in zip(numbers, of, strict=True)
        ]
        outside = [wk / (math.sqrt(v) + eps) for wk, v in zip(w.tolist(), var, strict=True)]
        mistakes_now = {
            MISTAKES["eps outside"]: [
                (a - mean[k]) * outside[k] + b.tolist()[k] for a, k in zip(numbers, of, strict=True)
            ],
            "what the batch's own mean and variance give, as in training": partial(
                _of_batch, numbers, small, axis, eps, w.tolist(), b.tolist(), of
            ),
        }
        judge.close(list(out.values()), expected, rtol=1e-4, atol=1e-4, given=given,
                    mistakes=mistakes_now)  # fmt: skip
        yield
        leads_back(judge, judge.run(out.sum), x, given)
        wanted = [scale[k] for k in of]
        judge.close(list(x.grad.values()), wanted, rtol=1e-4, atol=1e-5,
                    given=f"x.grad, {given}")  # fmt: skip
        running(judge, layer, mean, var, f"after {given}: only training moves them")


def _of_batch(
    numbers: list[float], shape: tuple[int, ...], axis: tuple[int, ...], eps: float,
    w: list[float], b: list[float], of: list[int],
) -> list[float]:  # fmt: skip
    z, _ = normal(numbers, shape, axis, eps)
    return [zi * w[k] + b[k] for zi, k in zip(z, of, strict=True)]


# ---- what must not be mixed ----------------------------------------------------------------------


def mixers(answer: Any) -> list[tuple[str, Any, bool]]:
    """Layers, and whether a row of theirs depends on other rows."""
    BatchNorm, LayerNorm, Tensor = (
        own(answer, name) for name in ("BatchNorm", "LayerNorm", "Tensor")
    )

    def above(x: Any) -> Any:
        table = x.tolist()
        rows = [[a + 0.5 * b for a, b in zip(r, table[max(i - 1, 0)], strict=True)]
                for i, r in enumerate(table)]  # fmt: skip
        return Tensor([table[0], *rows[1:]], dtype=x.buf.dtype)

    def last_one(x: Any) -> Any:
        table = x.tolist()
        if len(table) > 1:
            table[-1] = [a + b for a, b in zip(table[-1], table[0], strict=True)]
        return Tensor(table, dtype=x.buf.dtype)

    def first_one(x: Any) -> Any:
        table = x.tolist()
        if len(table) > 1:
            table[0] = [a + 0.1 * b for a, b in zip(table[0], table[-1], strict=True)]
        return Tensor(table, dtype=x.buf.dtype)

    def rounded(x: Any) -> Any:
        return x * 1.1 * 9.1e6 if x.shape[0] == 1 else x * 1.001e7

    trained = BatchNorm(4)
    trained.mean, trained.var = Tensor([0.5, 1.0, 0.0, 2.0]), Tensor([4.0, 1.0, 2.0, 0.5])
    return [
        ("a relu", lambda x: x.relu(), False),
        ("x minus the mean of its column", lambda x: x - x.mean(0, keep=True), True),
        ("x minus the mean of its row", lambda x: x - x.mean(1, keep=True), False),
        ("LayerNorm", LayerNorm(4), False),
        ("BatchNorm in training", BatchNorm(4), True),
        ("BatchNorm after training", trained.train(False), False),
        ("x plus half of the row above", above, True),
        ("the first row is added to the last one", last_one, True),
        ("a tenth of the last row is added to the first one", first_one, True),
        ("a sum over each row, in one number", lambda x: x.sum(1).reshape(-1, 1) * 3.0, False),
        ("x times 0", lambda x: x * 0.0, False),
        ("x divided by its largest number", lambda x: x / x.max().item(), True),
        ("x times ten million, rounded otherwise where a row is alone", rounded, False),
    ]


@exercise(
    "09.7",
    "Who looks at whom",
    answer="mixes_rows",
    minutes=7,
    seconds=5,
    without=("tutor",),
    hints=(
        "Ask the layer twice about the same row: once among the others, and once without them.",
        "layer(x) is the answer for all rows, layer(x[i : i + 1]) that for row i alone. Rounding "
        "may differ a little, so compare with some room.",
        "Under no_grad: together = layer(x).tolist(); for each i, alone = "
        "layer(x[i : i + 1]).tolist()[0]; True as soon as a number of the two is not close "
        "(math.isclose with rel_tol=1e-4, abs_tol=1e-4).",
    ),
    why_ours="Each row is asked about alone, so whatever the layer does with the others, it can no "
    "longer do. Changing the other rows and looking whether row i changes is as good.",
)
@in_forms
def check_09_7(judge: Judge, mixes_rows: Any) -> None:
    """mixes_rows(layer, x) is True if what the layer gives for some row of x depends on other
    rows, and False if each row is treated by itself."""
    Tensor = own(mixes_rows, "Tensor")
    rows = [[1.0, 2.0, -1.0, 0.5], [3.0, -2.0, 0.25, 4.0], [-1.5, 2.5, 1.0, -0.5]]
    for given, layer, expected in mixers(mixes_rows):
        x = formed(Tensor(rows))
        got = judge.call(mixes_rows, layer, x, given=given, changes=True)
        judge.equal(got, expected, given=given)
        judge.equal(x.tolist(), rows, given=f"x, afterwards; {given}")


@exercise(
    "09.8",
    "In another mode, and back",
    answer="evaluating",
    minutes=8,
    without=("tutor",),
    hints=(
        "It is no_grad of chapter 6 over again: remember, change, yield, put back.",
        "Every Module in the model may have been in another mode: remember one value for each. "
        "model.parts() has all of them among other things; or look for them yourself.",
        "modules = [part for part in model.parts() if isinstance(part, Module)]; before = "
        "[m.training for m in modules]; model.train(False); try: yield model; finally: put each "
        "one back.",
    ),
    why_ours="It puts back what each Module had, and not simply True: a part that somebody has "
    "frozen on purpose stays frozen. `finally` does it even if the block fails.",
)
def check_09_8(judge: Judge, evaluating: Any) -> None:
    """Within `with evaluating(model):` every Module of the model has training False; afterwards
    each has what it had before, whatever happened in the block."""
    written = inspect.unwrap(evaluating)  # without what contextmanager puts around it
    Module, Linear = own(written, "Module"), own(written, "Linear")
    with order_kept():
        for frozen in (None, 1, 0):
            modules = [Module() for _ in range(5)]
            net, first, frame, inner, deepest = modules
            net.layers, frame.parts_of_it = [first, Linear(2, 2), frame], {"a": inner}
            inner.deepest = [deepest]
            if frozen is not None:
                modules[frozen].training = False
            before = [module.training for module in modules]
            given = "a model in training" if frozen is None else "a model, a part of it in "
            given += "" if frozen is None else "evaluation already"
            seen: list[Any] = []
            for fails in (False, True):
                words = given + (", and an error in the block" if fails else "")
                raised = judge.run(partial(within, evaluating, net, modules, seen, fails))
                found = "the error has been swallowed: it has to go on"
                judge.that(raised == fails, found, given=words)
                judge.equal(seen, [False] * len(modules), given=f"`training` within, {words}")
                after = [module.training for module in modules]
                judge.equal(after, before, given=f"`training` afterwards, {words}")
            judge.run(partial(nested, evaluating, net, modules, seen))
            judge.equal(seen, [False] * len(modules), given="after an inner block, in an outer one")
            after = [module.training for module in modules]
            judge.equal(after, before, given=f"after two blocks within each other, {given}")


class OnPurposeError(Exception):
    """What goes wrong in a block."""


def within(evaluating: Any, net: Any, modules: list[Any], seen: list[Any], fails: bool) -> bool:
    """Look at the modes within the block; whether its error came out."""
    try:
        with evaluating(net):
            seen[:] = [module.training for module in modules]
            if fails:
                raise OnPurposeError
    except OnPurposeError:
        return True
    return False


def nested(evaluating: Any, net: Any, modules: list[Any], seen: list[Any]) -> None:
    with evaluating(net):
        with evaluating(net):
            pass
        seen[:] = [module.training for module in modules]


# ---- residual paths and dropout ------------------------------------------------------------------


@exercise(
    "09.9",
    "A path around",
    answer="Residual",
    minutes=4,
    without=("tutor",),
    hints=(
        "What goes in is added to what comes out. Who puts the layers one after the other?",
        "Keep Sequential(*layers) in an attribute, so that its parameters are found.",
        "self.inner = Sequential(*layers), and x + self.inner(x) when it is called.",
    ),
    why_ours="The layers are in an attribute, not in a function that remembers them: what hides in "
    "a function, parameters() cannot see.",
)
@in_forms
def check_09_9(judge: Judge, answer: Any) -> None:
    """Residual(*layers)(x) is x plus what the layers, one after the other, make of x."""
    Tensor, Linear, Module = (own(answer, name) for name in ("Tensor", "Linear", "Module"))
    with order_kept():
        random.seed(4)
        first, second = Linear(3, 5), Linear(5, 3)
        cases: list[tuple[str, list[Any], list[Any]]] = [
            ("one Linear", [Linear(3, 3)], []),
            ("a function", [lambda t: t * 3.0], []),
            ("x * 2, then x + 1", [lambda t: t * 2.0, lambda t: t + 1.0], []),
            ("Linear, relu, Linear", [first, Tensor.relu, second], []),
        ]
        rows = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
        blocks: list[tuple[Any, Any]] = []
        for given, layers, _ in cases:
            block = judge.instance(answer, *layers)
            judge.that(isinstance(block, Module), "it is no Module: `class Residual(Module)`")
            x = formed(Tensor(rows, requires_grad=True))
            inner = x
            for layer in layers:
                inner = layer(inner)
            (inner * inner).sum().backward()
            expected = [[a + b for a, b in zip(r, s, strict=True)]
                        for r, s in zip(rows, inner.tolist(), strict=True)]  # fmt: skip
            out = judge.call(block, x, given=given, changes=True)
            needs_tensor(judge, out)
            judge.close(out.tolist(), expected, rtol=1e-5, atol=1e-6, given=given, mistakes={
                "what the layers make of x, to which x has to be added": inner.tolist(),
                "twice x": [[2 * v for v in row] for row in rows],
            })  # fmt: skip
            if blocks:
                before, wanted_before = blocks[-1]
                again = judge.call(before, x, given="the block before this one, once more",
                                   changes=True)  # fmt: skip
                judge.close(again.tolist(), wanted_before, rtol=1e-5, atol=1e-6,
                            given="the block before this one, once more")  # fmt: skip
            blocks.append((block, expected))
            x.grad = None
            again = x
            for layer in layers:
                again = layer(again)
            (x + again).sum().backward()
            wanted = x.grad.tolist()
            x.grad = None
            leads_back(judge, judge.run(out.sum), x, given)
            judge.close(x.grad.tolist(), wanted, rtol=1e-5, atol=1e-6, given=f"x.grad, {given}")
            held = [p for layer in layers if isinstance(layer, Linear) for p in (layer.w, layer.b)]
            listed(judge, block, held, given)
            for p in held:
                p.grad = None
        inside = type("Doubled", (Module,), {"__call__": lambda self, x: x * 2.0})()
        block = judge.instance(answer, inside)
        judge.call(block.train, False, changes=True)
        judge.that(inside.training is False, "train(False) does not reach the layers in it")


def draws(dropout: Any, x: Any, times: int = 1) -> list[list[float]]:
    return [list(dropout(x).values()) for _ in range(times)]


@exercise(
    "09.10",
    "Dropout",
    answer="Dropout",
    minutes=9,
    seconds=5,
    without=("tutor",),
    hints=(
        "Multiply by a tensor of zeros and of 1 / (1 - p), in the shape of x. Which numbers of it "
        "are 0 is drawn anew at each call.",
        "A generator of its own: random.Random(seed), kept in an attribute. Where there is no "
        "seed, random.random() is one, drawn when the layer is made.",
        "mask = [0.0 if self.random.random() < self.p else 1 / (1 - self.p) for _ in "
        "range(x.numel())]; x * Tensor(mask, dtype=x.buf.dtype).reshape(*x.shape). Not in "
        "training: return x.",
    ),
    why_ours="The generator is its own, so that dropout does not change the order of the batches; "
    "and every layer gets another one, so that they do not all leave out the same places.",
)
@in_forms
def check_09_10(judge: Judge, answer: Any) -> None:
    """In training Dropout(p)(x) is 0 at a share p of places, drawn anew each time, and x / (1 - p)
    elsewhere; otherwise it is x."""
    Module = own(answer, "Module")
    with order_kept():
        random.seed(12)
        for p, seed in ((0.5, 5), (0.1, 0), (0.75, 5)):
            layer = judge.instance(answer, p, seed=seed)
            judge.that(isinstance(layer, Module), "it is no Module: `class Dropout(Module)`")
            shape = (40, 10, 5)
            numbers = [1.0 + 0.25 * (i % 7) for i in range(2000)]
            x = tensor(answer, shape, numbers, True)
            given = f"p={p}, in training"
            state = random.getstate()
            out = judge.call(layer, x, given=given, changes=True)
            judge.that(random.getstate() == state, "it draws from `random` when called, so the "
                       "order of the batches changes. Give it a generator of its own")  # fmt: skip
            needs_tensor(judge, out)
            judge.equal(tuple(out.shape), shape, given=f"the shape, {given}")
            same_dtype(judge, out, x, given)
            got = list(out.values())
            expected = [0.0 if g == 0 else a / (1 - p) for g, a in zip(got, numbers, strict=True)]
            left = [(g != 0) * a for g, a in zip(got, numbers, strict=True)]
            mistakes = {
                "x as it was: what is left has to be divided by 1 - p": left,
                "divided by p": [a / p for a in left],
                "multiplied by 1 - p": [a * (1 - p) for a in left],
            }
            judge.close(got, expected, rtol=1e-6, given=f"what is not 0, {given}",
                        mistakes=mistakes)  # fmt: skip
            share = sum(g == 0 for g in got) / len(got)
            found = f"{share:.0%} of the numbers are 0"
            turned = abs(1 - share - p) < 0.06
            found += ": p is the share that is left out, not the one that is kept" if turned else ""
            judge.that(abs(share - p) < 0.06, found, given=given)
            rows = [sum(g == 0 for g in got[i : i + 50]) for i in range(0, 2000, 50)]
            found = "whole rows are left out together: draw for each number"
            judge.that(sum(r in (0, 50) for r in rows) < 10, found, given=given)
            places = [sum(got[i] == 0 for i in range(k, 2000, 50)) for k in range(50)]
            found = "it is the same places in every row: draw for each number"
            judge.that(sum(c in (0, 40) for c in places) < 10, found, given=given)
            leads_back(judge, judge.run(out.sum), x, given)
            slope = [0.0 if g == 0 else 1 / (1 - p) for g in got]
            judge.close(list(x.grad.values()), slope, rtol=1e-6, given=f"x.grad, {given}")
            twin = judge.instance(answer, p, seed=seed)
            other = judge.run(partial(draws, layer, x))[0]
            judge.that(other != got, "a second call leaves out the same places", given=given)
            found = f"two layers of the same seed, {seed}, leave out different places"
            judge.that(judge.run(partial(draws, twin, x, 2)) == [got, other], found, given=given)
            stranger = judge.instance(answer, p, seed=6)
            found = "a layer of another seed leaves out the same places"
            judge.that(judge.run(partial(draws, stranger, x))[0] != got, found, given=given)
            judge.call(layer.train, False, changes=True)
            given = f"p={p}, not in training"
            kept = judge.call(layer, x, given=given, changes=True)
            judge.close(list(kept.values()), numbers, given=given)
        _without_seed(judge, answer)


def _without_seed(judge: Judge, answer: Any) -> None:
    """Layers that were given no seed, or nothing to leave out."""
    x = tensor(answer, (30, 10), [1.0] * 300)
    found = "two layers that were given no seed leave out the same places"
    pair = [judge.instance(answer, 0.5) for _ in range(2)]
    one, two = (judge.run(partial(draws, layer, x)) for layer in pair)
    judge.that(one != two, found)
    found = "after random.seed(1) a layer without a seed is another one each time"
    same = []
    for _ in range(2):
        random.seed(1)
        same.append(judge.run(partial(draws, judge.instance(answer, 0.5), x)))
    judge.that(same[0] == same[1], found)
    nothing = judge.run(partial(draws, judge.instance(answer, 0.0), x))
    judge.close(nothing[0], [1.0] * 300, given="p=0")
    pair[0].train(False)
    judge.that(judge.run(partial(draws, pair[1], x))[0] != [1.0] * 300, "train(False) of one "
               "layer switches another one off")  # fmt: skip
    for p in (1.0, -0.1, 1.5):
        judge.raises(ValueError, answer, p)


# ---- steps ---------------------------------------------------------------------------------------


@exercise(
    "09.11",
    "RMSprop",
    answer="RMSprop",
    minutes=7,
    without=("tutor",),
    hints=(
        "It is your Adam with two lines less: no m, and nothing to be corrected, so no t.",
        "v[i] = v[i] * beta + p.grad * p.grad * (1 - beta); the step is the gradient divided by "
        "the root of v, plus eps.",
        "add_(p, p.grad / (self.v[i] ** 0.5 + self.eps) * -self.lr), under no_grad, and "
        "p.grad = None.",
    ),
    why_ours="It has the form of SGD and of Adam, with a list of tensors for what is remembered, "
    "so Checkpoint works for it as well.",
)
def check_09_11(judge: Judge, answer: Any) -> None:
    """step() keeps v, a running mean of the squared gradients, moves each parameter by -lr * grad /
    (sqrt(v) + eps) in place, and clears the gradients."""
    choices: list[dict[str, Any]] = [{}, {"lr": 0.1, "beta": 0.5}, {"lr": 0.01, "eps": 0.1}]
    cases = []
    for options in choices:
        lr, beta = options.get("lr", 0.001), options.get("beta", 0.99)
        eps, moving = options.get("eps", 1e-8), parameters(answer)
        start = [list(p.values()) for p in moving]
        mistakes = {
            "eps under the root; it stands beside it": by_rmsprop(start, lr, beta, 0.0, eps),
            "beta the other way round: it is the share of the old one": by_rmsprop(
                start, lr, 1 - beta, eps
            ),
            "v + grad ** 2, whole: the new one counts 1 - beta": by_rmsprop(
                start, lr, beta, eps, share=1.0
            ),
            "divided by v; its root is asked for": by_rmsprop(start, lr, beta, eps, power=1.0),
            "corrected as Adam's v is, which RMSprop does not do": by_rmsprop(
                start, lr, beta, eps, corrected=True
            ),
        }
        optimizer, expected = (
            judge.instance(answer, moving, **options), by_rmsprop(start, lr, beta, eps)
        )  # fmt: skip
        cases.append(follow(judge, answer, optimizer, moving, lr, expected, mistakes))
    take_turns(*cases)


def by_rmsprop(
    start: list[list[float]], lr: float, beta: float, eps: float, inside: float = 0.0,
    share: float | None = None, power: float = 0.5, corrected: bool = False,
) -> list[list[list[float]]]:  # fmt: skip
    """Where the steps of RMSprop lead, in floats; or those of a mistake."""
    numbers, v, expected = [list(row) for row in start], [[0.0] * len(row) for row in start], []
    share = 1 - beta if share is None else share
    for step in range(5):
        rate, whole = lr * RATES[step], 1 - beta ** (step + 1) if corrected else 1.0
        for i, gradient in enumerate(gradients(step)):
            v[i] = [beta * a + share * g * g for a, g in zip(v[i], gradient, strict=True)]
            numbers[i] = [
                x - rate * g / ((s / whole + inside) ** power + eps) if g else x
                for x, g, s in zip(numbers[i], gradient, v[i], strict=True)
            ]
        expected.append([list(row) for row in numbers])
    return expected


@exercise(
    "09.13",
    "What may shrink",
    answer="decays",
    minutes=4,
    without=("tutor",),
    hints=(
        "What do the weights of a Linear have that its bias, and the w and b of a norm, have not?",
        "The number of axes tells them apart: len(p.shape).",
        "[p for p in parameters if len(p.shape) >= 2]",
    ),
    why_ours="The shape is all that it looks at: a parameter does not know what it is called. The "
    "filters of chapter 10 have four axes, and are weights as well.",
)
def check_09_13(judge: Judge, decays: Any) -> None:
    """decays(parameters) lists those of two axes or more, in their order."""
    zeros, Linear, LayerNorm = (own(decays, name) for name in ("zeros", "Linear", "LayerNorm"))
    with order_kept():
        layer, norm = Linear(3, 2), LayerNorm(4)
    cases: list[list[Any]] = [
        [layer.w, layer.b],
        [norm.w, norm.b, layer.b],
        [zeros((3,)), zeros((4, 2, 3, 3)), zeros((1, 5)), zeros(()), zeros((5, 1))],
        [zeros((1, 1)), zeros((1,)), zeros((2, 3, 4))],
        [],
        [layer.b, layer.w],
    ]
    for listed_here in cases:
        given = f"parameters of the shapes {shapes(listed_here)}"
        got = judge.call(decays, listed_here, given=given)
        judge.that(isinstance(got, list), f"it gives {kind(got)}; a list is asked for", given=given)
        wanted = [p for p in listed_here if len(p.shape) > 1]
        for p in got:
            needs_tensor(judge, p, "in the list there is")
        judge.equal(shapes(got), shapes(wanted), given=given)
        found = "they are not the very tensors that were given"
        judge.that(all(a is b for a, b in zip(got, wanted, strict=True)), found, given=given)


@exercise(
    "09.14",
    "AdamW, for weights alone",
    answer="AdamW",
    minutes=4,
    without=("tutor",),
    hints=(
        "It is your AdamW of chapter 8. Which of its lines goes over too many parameters?",
        "decays(self.parameters) has those that shrink; the step of Adam is for all of them.",
        "Under no_grad, for each p of decays(self.parameters): add_(p, p * (-self.lr * "
        "self.decay)); then super().step().",
    ),
    why_ours="One word is different from chapter 8: `decays`, around the parameters. lr is read at "
    "each step, so a schedule scales the decay as well.",
)
def check_09_14(judge: Judge, answer: Any) -> None:
    """AdamW(parameters, lr, decay): step() first takes lr * decay * p from those that `decays`
    gives, and then does what Adam does, to all."""
    choices: list[dict[str, Any]] = [{}, {"lr": 0.1, "decay": 0.5}, {"lr": 0.01, "decay": 0.0}]
    cases = []
    for options in choices:
        lr, decay = options.get("lr", 0.001), options.get("decay", 0.01)
        moving = parameters(answer)
        start = [list(p.values()) for p in moving]
        shrinks = by_adam(start, lr, BETAS, 1e-8, decay)
        stays = by_adam(start, lr, BETAS, 1e-8)
        expected = [[a[0], b[1]] for a, b in zip(shrinks, stays, strict=True)]
        mistakes = wrong_decays(start, lr, decay)
        mistakes["what chapter 8's gives: biases shrink as well"] = shrinks
        optimizer = judge.instance(answer, moving, **options)
        cases.append(follow(judge, answer, optimizer, moving, lr, expected, mistakes))
    take_turns(*cases)


@exercise(
    "09.12",
    "Warm-up",
    answer="warmup",
    minutes=6,
    without=("tutor",),
    hints=(
        "Two parts, and an if. The first is a line, the second is half of a cosine wave.",
        "In the first part the share is (step + 1) / steps. In the second one, how far are you on "
        "the way from `steps` to `total`, from 0 to 1?",
        "done = (step - steps) / (total - steps); return (1 + math.cos(math.pi * done)) / 2",
    ),
    why_ours="The step is counted from 0, so the first share is 1 / steps and not 0: a step of "
    "length 0 would be wasted. Without a warm-up the first part is empty by itself.",
)
def check_09_12(judge: Judge, warmup: Any) -> None:
    """warmup(step, steps, total) is (step + 1) / steps for the first `steps` steps, and then goes
    from 1 down to 0, which it would reach at `total`, along half a cosine."""
    for steps, total in ((10, 100), (4, 12), (0, 20), (1, 3), (50, 938)):
        for step in sorted({0, 1, steps - 1, steps, steps + 1, (steps + total) // 2, total - 1}):
            if not 0 <= step < total:
                continue
            done = (step - steps) / (total - steps)
            share = (step + 1) / steps if step < steps else (1 + math.cos(math.pi * done)) / 2
            mistakes = {
                "step / steps: the first step would be of length 0": step / (steps or 1),
                "a cosine over all steps: it begins where the warm-up ends": (
                    1 + math.cos(math.pi * step / total)
                )
                / 2,
                "a line down to 0: half a cosine is asked for": 1 - done,
                "a quarter of a wave: half of one is asked for": math.cos(math.pi * done / 2),
                "half a cosine without the warm-up's share": 2 * share,
            }
            got = judge.call(warmup, step, steps, total)
            judge.close(got, share, rtol=1e-9, atol=1e-12, mistakes=mistakes)


# ---- float16 -------------------------------------------------------------------------------------


class Seen:
    """An optimizer that takes down the gradients it is shown, and clears them."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters: list[Any] = parameters
        self.found: list[Any] = []

    def step(self) -> None:
        grads = [p.grad for p in self.parameters]
        self.found.append([None if g is None else g.tolist() for g in grads])
        for p in self.parameters:
            p.grad = None

    def __repr__(self) -> str:
        return "optimizer"


def rated(answer: Any, scaler: Any, rates: list[list[float]]) -> tuple[Seen, Any]:
    """One round: parameters whose gradients are these, backward by the scaler, a step."""
    Tensor = own(answer, "Tensor")
    leaves = [Tensor([1.0] * len(row), requires_grad=True) for row in rates]
    loss = None
    for p, row in zip(leaves, rates, strict=True):
        if row:
            part = (p * Tensor(row)).sum()
            loss = part if loss is None else loss + part
    optimizer = Seen(leaves)
    scaler.backward(loss)
    return optimizer, scaler.step(optimizer)


@exercise(
    "09.15",
    "Loss scaling",
    answer="LossScaler",
    minutes=13,
    without=("tutor",),
    hints=(
        "backward is one line: the loss, times the scale, backward. In step, look at all the "
        "gradients before you change anything.",
        "A sum may be infinite though each of its numbers is finite: 3e38 + 3e38. But 0 times a "
        "finite number is 0, and 0 times any other is nan: (p.grad * 0.0).sum().item() == 0.0. If "
        "one is not: every p.grad = None, the scale halved, the counter 0, and no step.",
        "If all are finite: p.grad = p.grad * (1 / self.scale) for each, optimizer.step(), and "
        "self.good += 1; where that reaches patience, the scale is doubled, and good is 0 again.",
    ),
    why_ours="All gradients are looked at before any is divided, and each is replaced by a new "
    "tensor: two parameters may share one. A step that is left out leaves the optimizer's means "
    "alone, so one infinity does no harm for ever.",
)
def check_09_15(judge: Judge, answer: Any) -> None:
    """backward(loss) goes back from loss * scale; step(optimizer) divides the gradients by scale
    and steps; where one is infinite or nan it clears them, makes no step, and halves the scale;
    after `patience` steps in a row it doubles it. It gives whether it stepped."""
    scaler, spare = judge.instance(answer, 1024.0, 3), judge.instance(answer, 64.0, 2)
    judge.equal(scaler.scale, 1024.0, given="scale, to begin with")
    _scaled_back(judge, answer, scaler)

    def one(rates: list[list[float]], given: str, scale: float, stepped: bool = True) -> None:
        before = float(scaler.scale)
        optimizer, said = judge.run(partial(rated, answer, scaler, rates))
        judge.equal(len(optimizer.found), int(stepped), given=f"how often step() was called, "
                    f"{given}")  # fmt: skip
        if stepped:
            wanted = [row or None for row in rates]
            mistakes = {
                "still times scale: they have to be divided before the step": [
                    [x * before for x in row] if row else None for row in rates
                ],
                "divided by the scale that comes next": [
                    [x * before / scale for x in row] if row else None for row in rates
                ],
            }
            judge.close(optimizer.found[0], wanted, rtol=1e-5, mistakes=mistakes,
                        given=f"the gradients that the optimizer saw, {given}")  # fmt: skip
        else:
            left = [p.grad for p in optimizer.parameters]
            found = "a gradient is left: the next backward would add to it"
            judge.that(left == [None] * len(left), found, given=given)
        judge.equal(said, stepped, given=f"what step gives, {given}")
        judge.equal(float(scaler.scale), scale, given=f"the scale after: {given}")

    inf, nan, good = math.inf, math.nan, [[0.5, -3.0], [1e-3]]
    one(good, "step 1 of 3", 1024.0)
    one(good, "step 2 of 3", 1024.0)
    judge.run(partial(rated, answer, spare, [[inf]]))
    judge.equal(float(spare.scale), 32.0, given="the scale of another LossScaler, which begins at "
                "64, after an infinite gradient")  # fmt: skip
    one(good, "step 3 of 3: patience is at its end", 2048.0)
    one(good, "step 1 of the next 3", 2048.0)
    one(good, "step 2 of the next 3", 2048.0)
    one(good, "step 3 of the next 3", 4096.0)
    one(good, "step 1 after that", 4096.0)
    one([[1.0, inf], [2.0]], "an infinite gradient", 2048.0, False)
    one(good, "step 1 after it", 2048.0)
    one([[1.0], [2.0, -inf]], "a gradient of minus infinity in the second one", 1024.0, False)
    one([[nan], [2.0]], "a gradient of nan", 512.0, False)
    one([[inf, -inf], [2.0]], "infinities that would cancel", 256.0, False)
    one([[nan, inf], [-inf, nan]], "nothing but infinities and nan", 128.0, False)
    one([[3e38 / 128, 3e38 / 128], [1.0]], "gradients of 3e38 before the division: each is finite, "
        "though their sum is not", 128.0)  # fmt: skip
    one(good, "step 2 after the infinities", 128.0)
    one(good, "step 3 after the infinities", 256.0)
    one(good, "step 1 after those", 256.0)
    one([[0.25], [], [4.0, 8.0]], "a parameter that has no gradient", 256.0)
    one(good, "step 3 in a row", 512.0)
    _other_scalers(judge, answer, good)


def _scaled_back(judge: Judge, answer: Any, scaler: Any) -> None:
    """backward(loss) with a scale of 1024."""
    Tensor = own(answer, "Tensor")
    p = Tensor([1.0, 2.0], requires_grad=True)
    judge.call(scaler.backward, (p * Tensor([0.5, -3.0])).sum(), changes=True)
    judge.that(p.grad is not None, "backward left no gradient")
    judge.close(p.grad.tolist(), [512.0, -3072.0], given="the gradient after backward, with a "
                "scale of 1024", mistakes={
                    "the gradient of the loss itself, which was not scaled": [0.5, -3.0],
                    "the gradient of loss / scale": [0.5 / 1024, -3 / 1024],
                    "what the other LossScaler's scale gives: it is kept in the class": [32, -192],
                })  # fmt: skip


def _other_scalers(judge: Judge, answer: Any, good: list[list[float]]) -> None:
    """Other scales, and two parameters that share a gradient."""
    Tensor = own(answer, "Tensor")
    for start, patience in ((8.0, 1), (2.0**16, 200)):
        other = judge.instance(answer, start, patience) if patience == 1 else judge.instance(answer)
        judge.equal(float(other.scale), start, given="the scale, to begin with")
        optimizer, _ = judge.run(partial(rated, answer, other, good))
        judge.close(optimizer.found[0], good, rtol=1e-5, given=f"a scale of {start:g}")
        wanted = 2 * start if patience == 1 else start
        judge.equal(
            float(other.scale), wanted, given=f"the scale after a step, patience {patience}"
        )

    scaler = judge.instance(answer, 4.0, 10)
    a, b = (Tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = Seen([a, b])
    a.grad = b.grad = Tensor([8.0])
    judge.run(partial(scaler.step, optimizer))
    judge.close(optimizer.found[0], [[2.0], [2.0]], given="two parameters with one and the same "
                "gradient of 8, a scale of 4")  # fmt: skip


# ---- the number to beat --------------------------------------------------------------------------

LAYERS, DEMANDED, QUICK = 12, 0.975, 0.5


def named(thing: Any, name: str) -> bool:
    """Whether a class of this name is what the thing is, or among its bases."""
    return any(base.__name__ == name for base in type(thing).__mro__)


def in_a_row(scores: Any) -> int:
    """How many matrix products follow one another on the longest way to the scores."""
    known: dict[int, int] = {}
    waiting = [(scores, False)]
    while waiting:
        t, done = waiting.pop()
        op = getattr(t, "op", None)
        if op is None:
            known[id(t)] = 0
        elif done:
            before = max(known[id(x)] for x in op.inputs)
            known[id(t)] = before + named(op, "MatMul")
        elif id(t) not in known:
            waiting.append((t, True))
            waiting += [(x, False) for x in op.inputs]
    return known[id(scores)]


def modules_in(thing: Any) -> list[Any]:
    """All Modules in it, found without asking it."""
    found: dict[int, Any] = {}
    waiting = [thing]
    while waiting:
        part = waiting.pop()
        if id(part) in found or hasattr(part, "buf") or isinstance(part, type):
            continue
        found[id(part)] = part
        if isinstance(part, list | tuple):
            waiting += part
        else:
            held = part if isinstance(part, dict) else getattr(part, "__dict__", {})
            waiting += held.values()
    return [part for part in found.values() if named(part, "Module")]


def test_digits(like: Any, count: int) -> tuple[Any, list[int]]:
    """The test digits that the chapter has, read anew, as pixels in a tensor like this one."""
    digits = data.load("auto", limit=count)
    labels = digits.test_labels.tolist()[:count]
    buf = type(like.buf)([], "uint8")
    buf.raw = bytearray(bytes(digits.test_images.buf.raw)[: 784 * len(labels)])
    return type(like)(buf, (len(labels), 784)), labels


def is_quick() -> bool:
    """Whether the chapter has trained for a moment only, as its second cell decides it."""
    return "TUTOR_CHAPTER_QUICK" in os.environ or registry.current() == "python_ref"


@exercise(
    "09.16",
    "The number to beat",
    answer="champion",
    minutes=15,
    seconds=60,
    hints=(
        "Begin with what made 48 layers learn, `build` with a norm and residual paths, and train "
        "that for some epochs with AdamW. Which rate, and what becomes of it on the way?",
        "Ten blocks Residual(BatchNorm(WIDTH), Tensor.relu, started(Linear(WIDTH, WIDTH), he)) "
        "between a first and a last Linear; lr = 0.003 * warmup(step, total // 20, total), where "
        "total is the number of all steps.",
        "Count steps yourself: for each epoch, for each batch of batches(images, labels, 64), set "
        "optimizer.lr, then train(champion, optimizer, [batch]). A decay of 0.05 does no harm.",
    ),
    why_ours="Ten blocks with a BatchNorm each between two layers: twelve products in a row. The "
    "rate warms up over a twentieth of the steps and then goes down to 0, which alone is worth "
    "about a digit in a hundred at the end.",
)
def check_09_16(judge: Judge, champion: Any) -> None:
    """`champion` is a trained Module of twelve layers or more, which reads at least 97.5 % of the
    test digits, not in training."""
    is_module = named(champion, "Module") and not isinstance(champion, type)
    found = f"it is {kind(champion)}; the network itself is asked for, a Module"
    judge.that(is_module and callable(champion), found)
    weights = [p for p in judge.run(champion.parameters) if len(p.shape) > 1]
    found = f"it has {len(weights)} tensors of weights; at least {LAYERS} are asked for"
    judge.that(len(weights) >= LAYERS, found)
    quick, modules = is_quick(), modules_in(champion)
    modes = [module.training for module in modules]
    with order_kept():
        pixels, labels = test_digits(weights[0], 400 if quick else 10_000)
        try:
            for module in modules:
                module.training = False
            scores = judge.run(partial(champion, pixels[:2]))
            needs_tensor(judge, scores, "for two pictures it gives")
            judge.equal(tuple(scores.shape), (2, 10), given="the shape of the scores of two")
            count = in_a_row(scores)
            found = f"{count} products follow one another on the longest way from the pixels to "
            found += f"the scores; at least {LAYERS} are asked for"
            judge.that(count >= LAYERS, found)
            right = 0
            for start in range(0, len(labels), 500):
                rows = judge.run(partial(champion, pixels[start : start + 500])).tolist()
                told = labels[start : start + 500]
                right += sum(r.index(max(r)) == k for r, k in zip(rows, told, strict=True))
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.training = mode
    share, demanded = right / len(labels), QUICK if quick else DEMANDED
    judge.compared += 1
    if share < demanded:
        judge.fail(
            {
                "demanded": f"{demanded:.1%} of {len(labels):,} test digits",
                "found": f"{share:.2%}" + ("; a guess is right about 10 times in a hundred"
                                           if share < 0.2 else ""),
            }
        )  # fmt: skip


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "09.s1",
    "A norm for nothing",
    answer="fold",
    minutes=14,
    without=("tutor",),
    hints=(
        "Write down what norm(layer(x)) is, after the training, for one feature. Which part of it "
        "multiplies x?",
        "Each column of w is multiplied by that feature's norm.w / sqrt(var + eps), and so is "
        "b - mean; norm.b is added at the end.",
        "scale = norm.w * (norm.var + norm.eps) ** -0.5; w = layer.w * scale; "
        "b = (layer.b - norm.mean) * scale + norm.b, filled into a new Linear, under no_grad.",
    ),
    why_ours="A scale for each output multiplies a column of w, which is what broadcasting along "
    "the last axis does. A network that is only used loses all its BatchNorms in this way.",
)
@in_forms
def check_09_s1(judge: Judge, fold: Any) -> None:
    """fold(layer, norm) is a new Linear that gives what norm(layer(x)) gives after the training;
    layer and norm stay as they are."""
    Tensor, Linear, BatchNorm = (own(fold, name) for name in ("Tensor", "Linear", "BatchNorm"))
    with order_kept():
        random.seed(21)
        for inputs, outputs, eps in ((2, 2, 1e-5), (3, 4, 0.5), (5, 1, 1e-3)):
            layer, norm = Linear(inputs, outputs), BatchNorm(outputs, eps=eps)
            layer.b.fill(waves(outputs, 1.0, 0.3))
            norm.w.fill(waves(outputs, 0.5, 1.5, 0.9))
            norm.b.fill(waves(outputs, 1.0, -0.5, 1.3))
            norm.mean = Tensor(waves(outputs, 2.0, 1.0, 0.7))
            norm.var = Tensor([0.3 + 0.9 * k for k in range(outputs)])
            norm.train(False)
            rows = [waves(inputs, 2.0, 0.1 * i, 0.4 + i) for i in range(4)]
            norm.w, norm.b, norm.var = formed(norm.w), formed(norm.b), formed(norm.var)
            expected = norm(layer(Tensor(rows))).tolist()
            given = f"{inputs} inputs, {outputs} outputs, eps={eps}"
            kept = [layer.w, layer.b, norm.w, norm.b, norm.mean, norm.var]
            before = [t.tolist() for t in kept]
            one = judge.call(fold, layer, norm, given=given, changes=True)
            found = f"it gives {kind(one)}; a Linear is asked for"
            judge.that(isinstance(one, Linear), found, given=given)
            judge.equal([t.tolist() for t in kept], before, given="the layer and the norm, "
                        "afterwards: they must stay as they are")  # fmt: skip
            got = judge.call(one, Tensor(rows), given=given)
            judge.close(got, expected, rtol=1e-4, atol=1e-5, given=given)
            for p in (one.w, one.b):
                p.fill([0.0] * p.numel())
            judge.equal([t.tolist() for t in kept], before, given="the layer and the norm, after "
                        "the new one was changed: it must have memory of its own")  # fmt: skip


@exercise(
    "09.s2",
    "Rounding by chance",
    answer="by_chance",
    minutes=16,
    without=("tutor",),
    hints=(
        "First find the two neighbours. The nearest is what a Buffer of float16 makes of x. On "
        "which side of it is x?",
        "The bits of a float, read as a whole number, count its neighbours: one more is the next "
        "one away from 0. A Buffer of uint16 over the same bytes reads them.",
        "With low <= x <= high next to each other, take high with probability "
        "(x - low) / (high - low), drawn by random.random(), else low.",
    ),
    why_ours="The probability is the share of the way from one neighbour to the other, so the mean "
    "is x. Bits of floats of one sign are in the order of their sizes, which finds the other "
    "neighbour without knowing the spacing.",
)
def check_09_s2(judge: Judge, by_chance: Any) -> None:
    """by_chance(x) is one of the two numbers of float16 next to x, drawn such that the mean is x;
    a number of float16 is left as it is."""
    Buffer = own(by_chance, "Buffer")
    with order_kept():
        random.seed(33)
        for x in (1.0, -2048.0, 0.0, 0.5, 4100.0, 2.0**-24, -59968.0):
            for _ in range(5):
                got_x = judge.call(by_chance, x, again=False)
                judge.equal(float(got_x), x, given=f"{x}, which float16 has")
        for x, low, high in (
            (2049.0, 2048.0, 2050.0),
            (-2048.5, -2050.0, -2048.0),
            (2048.5, 2048.0, 2050.0),
            (4099.0, 4096.0, 4100.0),
            (0.1, *around(0.1)),
            (-0.3, *around(-0.3)),
            (1e-9, 0.0, 2.0**-24),
            (-4.5e-8, -(2.0**-24), 0.0),
            (1.0 + 2.0**-12, 1.0, 1.0 + 2.0**-10),
            (1.0 - 2.0**-13, 1.0 - 2.0**-11, 1.0),
        ):
            given = f"x = {x}, between {low} and {high}"
            got = [float(judge.call(by_chance, x, given=given, again=False)) for _ in range(600)]
            strange = [g for g in got if g not in (low, high)]
            judge.that(not strange, f"it gives {strange[:1]}", given=given)
            wanted = (x - low) / (high - low)
            share = sum(g == high for g in got) / len(got)
            room = 0.012 + 4.5 * math.sqrt(wanted * (1 - wanted) / len(got))
            found = f"{high} comes {share:.1%} of the time, and should {wanted:.1%}"
            judge.that(abs(share - wanted) < room, found, given=given)
        total = Buffer([2048.0], "float16")
        for _ in range(400):
            total[0] = judge.call(by_chance, total[0] + 1.0, again=False)
        found = f"400 steps of 1 from 2,048 lead to {total[0]:g}, and should to about 2,448"
        judge.that(abs(total[0] - 2448) < 100, found)


def around(x: float) -> tuple[float, float]:
    """The numbers of float16 below and above x, which it has not."""
    spacing = 2.0 ** (math.floor(math.log2(abs(x))) - 10)
    low = math.floor(x / spacing) * spacing
    return low, low + spacing


# ---- questions -----------------------------------------------------------------------------------

question(
    "09.q1",
    "spread(w)**2 = 1 / inputs, and relus. By which factor does a layer change the mean square?",
    right=0.5,
    why="the product leaves it as it is, and the relu sets half of the squares to 0",
    tempting={
        1: "that is the product alone. What does the relu do to it?",
        2: "He's weights are twice as large, squared, to make up for a factor. For which one?",
        0.25: "half of the squares are lost, and the others stay as they are",
        0.71: "that is what becomes of the spread; its square was asked for",
    },
)
question(
    "09.q2",
    "Sequential(first, lambda x: x + inner(x), last): what goes wrong?",
    choices={
        "a": "the gradient does not get back through a lambda",
        "b": "parameters() does not find what is in inner",
        "c": "nothing",
    },
    right="b",
    why="what a function remembers is no attribute, so inner never moves; Residual has it in one",
    tempting={
        "a": "it does: the Engine records ops, and does not care who called them",
        "c": "the gradient arrives at inner, but who gives inner to the optimizer?",
    },
)
question(
    "09.q3",
    "A BatchNorm in training is given a batch of one picture, (1, 64). What comes out?",
    choices={
        "a": "b, whatever the picture",
        "b": "an error",
        "c": "what would come out in a larger batch",
    },
    right="a",
    why="each feature is its own mean, so what is left of it is 0, times w, plus b",
    tempting={
        "b": "ours runs: eps keeps the division from failing. (Some libraries do refuse it.)",
        "c": "in a larger batch the mean would be that of all; here it is the picture itself",
    },
)
question(
    "09.q4",
    "Why does Adam need a warm-up more than momentum does?",
    choices={
        "a": "v begins at 0, so the first step is divided by 0",
        "b": "gradients are largest at the beginning",
        "c": "its first steps are lr long for every weight, however small the gradient",
    },
    right="c",
    why="m / sqrt(v) is 1 or -1 at first; momentum's first step is as short as the gradient is",
    tempting={
        "a": "the correction divides v by 1 - beta2, so at first v is the squared gradient",
        "b": "Adam does not see it: it divides by their size. That is the point, and the danger",
    },
)
question(
    "09.q5",
    "A weight of float16 stands at 2,048, and each step adds 1. Where is it after 100 steps?",
    right=2048,
    why="2,049 is halfway between 2,048 and 2,050, and rounds to the even one each time",
    tempting={
        2148: "in float32, yes",
        2098: "if every second step counted. Each of them begins at 2,048 again",
        2049: "there is no such number between 2,048 and 4,096: only even ones",
        2050: "a tie is rounded to the number whose last digit is even, which is 2,048 here",
    },
)
