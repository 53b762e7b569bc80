"""Runs a row of idiom_rows.py with either library, and says what came out in plain data."""

from __future__ import annotations

import ast
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
from oracle import torch

import tutor
from tutor.optim import lr_scheduler


def library(torch: Any, schedules: Any, norm: Any) -> dict[str, Any]:
    """The names that a row uses, on that library."""
    nn = torch.nn

    def lin(inputs: int, outputs: int, scale: float = 1.0) -> Any:
        made = nn.Linear(inputs, outputs)
        with torch.no_grad():
            for p in made.parameters():
                numbers = torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape)
                p.copy_((numbers - 1.0) * (0.25 * scale))
        return made

    def net() -> Any:
        return nn.Sequential(lin(2, 3), nn.ReLU(), lin(3, 3))

    def x() -> Any:
        return torch.tensor([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.0, 3.0]])

    def train(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (model(x()) ** 2).mean().backward()
        optimizer.step()

    def sgd() -> Any:
        return torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)

    def steps(optimizer: Any, count: int, *schedules: Any) -> list[float]:
        found = []
        for _ in range(count):
            optimizer.step()
            for schedule in schedules:
                schedule.step()
            found.append(optimizer.param_groups[0]["lr"])
        return found

    def rates(schedule: Any, by_hand: int | None = None) -> list[float]:
        optimizer = sgd()
        made, found = schedule(optimizer), []
        for i in range(9):
            if i == by_hand:
                optimizer.param_groups[0]["lr"] = 0.3
            found += steps(optimizer, 1, made)
        return found

    class Stat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(torch.ones(2))
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count += 1
            self.last, self.grown = x, x * self.p
            return self

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = lin(2, 2)
            self.shift, self.p = torch.ones(2), nn.Parameter(torch.ones(1))

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = lin(2, 2), lin(2, 2)
            self.b.weight = self.a.weight

    return {
        "torch": torch, "nn": nn, "F": nn.functional, "optim": torch.optim, "S": schedules,
        "OrderedDict": OrderedDict, "lin": lin, "net": net, "x": x(), "train": train, "sgd": sgd,
        "steps": steps, "rates": rates, "Stat": Stat, "Plain": Plain, "tied": Tied, "norm": norm,
    }  # fmt: skip


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, numbers); everything else as it is, or as its type's name."""
    if hasattr(value, "detach"):
        array = value.detach().numpy()
        return array.dtype.name, array.shape, array
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (dict, type({}.keys()))):
        return list(value)
    known = isinstance(value, (bool, int, float, str, type(None), np.generic))
    return value if known else type(value).__name__


def run(row: str, theirs: bool) -> Any:
    """The answer of a row, or the error that it ends with."""
    names = library(torch, torch.optim.lr_scheduler, None) if theirs else library(
        tutor, lr_scheduler, None)  # fmt: skip
    *before, last = ast.parse(row).body
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(ast.Module(before, []), "row", "exec"), names)
            if isinstance(last, ast.Expr):
                return plain(eval(compile(ast.Expression(last.value), "row", "eval"), names))
            exec(compile(ast.Module([last], []), "row", "exec"), names)
            return None
    except Exception as error:
        return error


def same(a: Any, b: Any) -> bool:
    """The same answer? Numbers to 1e-5."""
    if isinstance(a, (list, tuple)):
        fits = isinstance(b, (list, tuple)) and len(a) == len(b)
        return fits and all(same(p, q) for p, q in zip(a, b, strict=True))
    if isinstance(a, (float, np.ndarray)) and isinstance(b, (int, float, np.ndarray)):
        return bool(np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-5, 1e-6, equal_nan=True))
    return bool(type(a) is type(b) and a == b)
