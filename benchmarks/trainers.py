"""The same network in all libraries: started from the same weights, fed with the same memory."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import tutor
from benchmarks import libraries
from benchmarks.libraries import Run
from tutor import Tensor


def make(kind: str, bias: bool = True, adam: bool = False) -> dict[str, Any]:
    """A Trainer for each library: `kind` is "mlp" or "cnn". NumPy has only the MLP with SGD."""
    trainers = {}
    for name in libraries.NAMES:
        if libraries.modules[name] is None:
            continue
        module = importlib.import_module(f"benchmarks.with_{name}")
        if name != "numpy":
            model = module.mlp(bias) if kind == "mlp" else module.cnn()
            trainers[name] = module.Trainer(model, adam)
            if name == "torch" and kind == "cnn":
                trainers["channels_last"] = module.Trainer(module.channels_last(module.cnn()), adam)
        elif kind == "mlp" and bias and not adam:
            trainers[name] = module.Trainer()
    weights = [p.detach().copy() for p in trainers["tutor"].params]
    for trainer in trainers.values():
        trainer.start_from(weights)
    return trainers


def jitted(make_model: str, sizes: dict[str, Any], adam: bool = False, decay: float = 0.0
           ) -> dict[str, Any]:  # fmt: skip
    """Who takes steps: tutor under tutor.jit, the same as "eager", and PyTorch; each has a model of
    `make_model`, from the same weights."""
    trainers: dict[str, Any] = {}
    for name, library, kind in (("tutor", "tutor", "Jitted"), ("eager", "tutor", "Trainer"),
                                ("torch", "torch", "Trainer")):  # fmt: skip
        if libraries.modules[library] is not None:
            module = importlib.import_module(f"benchmarks.with_{library}")
            trainers[name] = getattr(module, kind)(
                getattr(module, make_model)(**sizes), adam, decay
            )
            if name == "torch" and make_model == "cnn":
                model = module.channels_last(module.cnn(**sizes))
                trainers["channels_last"] = module.Trainer(model, adam, decay)
    weights = [p.detach().copy() for p in trainers["tutor"].params]
    for trainer in trainers.values():
        trainer.start_from(weights)
    return trainers


def images(count: int) -> tuple[Tensor, Tensor]:
    """As many images as MNIST may have, and labels. Random numbers take as long as handwriting."""
    return tutor.rand(count, 784), (tutor.rand(count) * 10).cast("int64")


def runs(
    trainers: dict[str, Any], method: str, *inputs: Tensor, size: int | None = None
) -> dict[str, Run]:
    """method(*inputs) of every trainer that has it, on the library's own view of the memory."""
    found: dict[str, Run] = {}
    for name, trainer in trainers.items():
        if hasattr(trainer, method):
            operands = [libraries.view(name, x) for x in inputs]
            sizes = [] if size is None else [size]
            found[name] = functools.partial(getattr(trainer, method), *_place(operands, sizes))
    return found


def _place(operands: list[Any], size: list[int]) -> list[Any]:
    """x, y, size, order: the size of a batch stands third."""
    return operands[:2] + size + operands[2:]


def some_steps(trainers: dict[str, Any], x: Tensor, y: Tensor, count: int = 3) -> dict[str, Run]:
    """The losses of some steps: equal only if forward, backward and update are."""

    def losses(step: Run) -> list[Any]:
        return [step() for _ in range(count)]

    steps = runs(trainers, "step", x, y)
    return {name: functools.partial(losses, step) for name, step in steps.items()}
