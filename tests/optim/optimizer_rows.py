"""Every optimizer of tutor.optim with settings, and where the numbers come from that it must give.

They are PyTorch's where PyTorch has the optimizer, and those of a formula in NumPy where it has
none. test_against_torch.py compares them over 50 steps.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from tutor import optim

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd, decay": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "momentum, decay": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "dampening": (
        "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}
    ),
    "nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "nesterov, decay": (
        "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}
    ),
    "sgd, maximize": ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True, "weight_decay": 0.1}),
    "adam": ("Adam", {"lr": 0.1}),
    "adam, decay": ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "amsgrad": ("Adam", {"lr": 0.1, "amsgrad": True}),
    "amsgrad, decay": ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    "adam, maximize": ("Adam", {"lr": 0.1, "maximize": True}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "adamw, decay": ("AdamW", {"lr": 0.1, "weight_decay": 0.5}),
    "adamw, amsgrad": ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    "nadam": ("NAdam", {"lr": 0.1}),
    "nadam, decay": ("NAdam", {"lr": 0.1, "momentum_decay": 0.1, "weight_decay": 0.1}),
    "radam": ("RAdam", {"lr": 0.1}),
    "radam, decay": ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {"lr": 0.1}),
    "rmsprop, decay": ("RMSprop", {"lr": 0.1, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop, centered": ("RMSprop", {"lr": 0.1, "centered": True, "weight_decay": 0.1}),
    "rmsprop, momentum": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1}),
    "rmsprop, all": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad, decay": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ),
    "adadelta": ("Adadelta", {"lr": 1.0}),
    "adadelta, decay": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    "lion": ("Lion", {"lr": 0.01}),
    "lion, decay": ("Lion", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    "lion, maximize": ("Lion", {"lr": 0.01, "maximize": True}),
    "muon": ("Muon", {"lr": 0.01}),
    "muon, maximize": ("Muon", {"lr": 0.01, "maximize": True}),
    "muon, decay": (
        "Muon", {"lr": 0.01, "weight_decay": 0.3, "momentum": 0.8, "nesterov": False,
                 "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw", "betas": (0.7, 0.8), "eps": 0.1},
    ),
}  # fmt: skip
# What is large beside sqrt(v), so that it shows where it is added; and upwards.
CASES |= {
    f"{name.lower()}, eps": (name, {"lr": 0.1, "eps": 0.1, "maximize": True})
    for name in ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta")
}
CASES |= {f"{name}, betas": (name, {"lr": 0.1, "betas": (0.7, 0.8)}) for name in ("AdamW", "NAdam")}
CASES |= {
    "l-bfgs": ("LBFGS", {"lr": 0.3, "max_iter": 3, "history_size": 2}),
    "l-bfgs, search": ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4, "max_eval": 3}),
    "l-bfgs, rough": (
        "LBFGS",
        {"lr": 0.3, "max_iter": 3, "tolerance_grad": 0.1, "tolerance_change": 1e-3},
    ),
}
# Moves that take a loss, `step(closure)`, and parameters in one group.
BY_CLOSURE = {"LBFGS"}


# ---- those that PyTorch has not ------------------------------------------------------------------


def lion(
    p: Any, g: Any, s: dict[str, Any], *, lr: float = 1e-4, betas: Any = (0.9, 0.99),
    weight_decay: float = 0.0, maximize: bool = False,
) -> Any:  # fmt: skip
    """p = (1 - lr weight_decay) p - lr sign(b1 m + (1 - b1) g), and then m = b2 m + (1 - b2) g"""
    (b1, b2), g, m = betas, -g if maximize else g, s.get("m", 0 * p)
    s["m"] = b2 * m + (1 - b2) * g
    return p * (1 - lr * weight_decay) - lr * np.sign(b1 * m + (1 - b1) * g)


# By name: from a parameter, its gradient and its state so far to the parameter after the step.
FORMULAS: dict[str, Callable[..., Any]] = {"Lion": lion}


class Stated(torch.optim.Optimizer):
    """An optimizer that moves as a formula says."""

    def __init__(self, formula: Callable[..., Any], params: Any, **options: Any) -> None:
        defaults = inspect.signature(formula).parameters.values()
        super().__init__(params, {p.name: p.default for p in defaults if p.kind == p.KEYWORD_ONLY}
                         | options)  # fmt: skip
        self.formula = formula

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            settings = {name: value for name, value in group.items() if name != "params"}
            for p in group["params"]:
                if p.grad is not None:
                    moved = self.formula(p.numpy(), p.grad.numpy(), self.state[p], **settings)
                    p.copy_(torch.tensor(moved))


class Muon:
    """PyTorch's for matrices, and its AdamW for all else; it has no maximize."""

    def __init__(
        self, groups: Any, weight_decay: float = 0.1, betas: Any = (0.9, 0.95), eps: float = 1e-8,
        maximize: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        self.params = [p for group in groups for p in group["params"]] if maximize else []
        rest = {"lr": options["lr"], "betas": betas, "eps": eps}
        self.parts = [
            torch.optim.Muon([g], weight_decay=weight_decay, **options)
            if g["params"][0].ndim == 2
            else torch.optim.AdamW([g], weight_decay=weight_decay, **rest)
            for g in groups
        ]

    def step(self) -> None:
        for p in self.params:
            p.grad = None if p.grad is None else -p.grad
        for part in self.parts:
            part.step()


def oracle(name: str) -> Callable[..., Any]:
    """The optimizer of that name whose numbers count: PyTorch's, or one that a formula states."""
    if name in FORMULAS:
        return lambda params, **options: Stated(FORMULAS[name], params, **options)
    found: Callable[..., Any] = Muon if name == "Muon" else getattr(torch.optim, name)
    return found


# ---- none is left out ----------------------------------------------------------------------------


def optimizers() -> dict[str, type[optim.Optimizer]]:
    """Every optimizer that a module of tutor.optim defines, whether it is exported or not."""
    modules = [optim, *(importlib.import_module(f"tutor.optim.{one.name}")
                        for one in pkgutil.iter_modules(optim.__path__))]  # fmt: skip
    return {
        name: cls
        for module in modules
        for name, cls in vars(module).items()
        if isinstance(cls, type)
        and issubclass(cls, optim.Optimizer)
        and cls is not optim.Optimizer
        and cls.__module__ == module.__name__
    }


def missing(found: Mapping[str, type[optim.Optimizer]]) -> list[str]:
    """What lacks a row, a line each: an optimizer, or one of its settings, which some row must
    change; and rows of optimizers that do not exist."""
    lines = [f"{name} does not exist" for name in {name for name, _ in CASES.values()} - {*found}]
    for name, cls in found.items():
        rows = [options for of, options in CASES.values() if of == name]
        if not rows:
            lines.append(f"{name} has no row in tests/optim/optimizer_rows.py")
            continue
        for option, p in inspect.signature(cls).parameters.items():
            same = all(row.get(option, p.default) == p.default for row in rows)
            if option != "params" and same:
                lines.append(f"{name} has no row that changes {option}")
    return lines
