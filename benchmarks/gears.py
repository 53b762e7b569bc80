"""`python -m benchmarks.gears [NAME ...]`: in which gear tutor.jit runs real training steps.

Each row is a step of train_mnist.py, of an example, or of a program in tests/ported: the gear that
jit has chosen, how long a call takes with jit and without it, and how often of 100 calls the guards
had to be looked at one by one in Python. The two are timed by turns; the best of each counts.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import runpy
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tutor
import tutor.nn.functional as F  # noqa: N812 - PyTorch's customary name
from tutor.programs import guards
from tutor.programs.jit import Jitted

HERE = Path(__file__).resolve().parent.parent
EXAMPLES = {
    "train_mnist": "--limit 3000 --epochs 1 --no-plot",
    "autoencoder": "--limit 1000 --steps 40 --out OUT",
    "diffusion": "--limit 1000 --steps 40 --each 2 --out OUT",
    "dqn_cartpole": "--rounds 3 --out OUT",
    "gpt": "--length 20000 --epochs 1 --out OUT",
    "mnist_cnn": "--limit 1000 --steps 20 --out OUT",
    "names_lstm": "--names 300 --epochs 1 --out OUT",
    "two_moons": "--epochs 3 --out OUT",
}
ONCE = {"draw"}  # the next token of a text, whose length has a limit
Run = functools.partial[Any]


class Row(NamedTuple):
    """Times are in seconds a call; `slow` of 100 calls looked at each guard in Python."""

    name: str
    gear: str
    jitted: float
    eager: float
    slow: int

    def __str__(self) -> str:
        ratio = self.eager / self.jitted
        return (f"| {self.name} | {self.gear} | {self.jitted * 1e6:,.0f} | "
                f"{self.eager * 1e6:,.0f} | {ratio:.2f} | {self.slow} |")  # fmt: skip


def of_example(name: str) -> list[tuple[str, Run, Run]]:
    """Each function that the example has jitted, with the arguments of its last call."""
    last: dict[int, tuple[Jitted, Any, Any]] = {}
    real = Jitted.__call__

    def noted(self: Jitted, *args: Any, **kwargs: Any) -> Any:
        last[id(self)] = self, args, kwargs
        return real(self, *args, **kwargs)

    path = HERE / ("train_mnist.py" if name == "train_mnist" else f"examples/{name}.py")
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
        argv, sys.argv = sys.argv, [str(path), *EXAMPLES[name].replace("OUT", out).split()]
        Jitted.__call__ = noted  # type: ignore[method-assign]
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        finally:
            Jitted.__call__ = real  # type: ignore[method-assign]
            sys.argv = argv
    called = [entry for entry in last.values()
              if sum(entry[0].stats().values()) > 4
              and entry[0].name.rpartition(".")[2] not in ONCE]  # fmt: skip
    return [(f"{name}, {jitted.name.rpartition('.')[2]}",
             functools.partial(jitted, *args, **kwargs),
             functools.partial(jitted.function, *args, **kwargs))
            for jitted, args, kwargs in called]  # fmt: skip


def of_program(name: str) -> tuple[str, Run, Run]:
    """The step of a program in tests/ported, jitted and as it is, each with a model of its own."""
    if (folder := str(HERE / "tests" / "ported")) not in sys.path:
        sys.path.insert(0, folder)
    ported = importlib.import_module("test_ported")

    def step(jit: bool) -> Run:
        tutor.manual_seed(0)
        text = (HERE / "tests" / f"{name}.py").read_text()
        lines = ported.PORTED.get(name.rpartition("/")[2], ported.Port()).lines
        program = ported.program(ported.translated(text, lines)[0], name)
        function, *args = STEPS[name](program)
        function = tutor.jit(function) if jit else function
        return functools.partial(function, *args)

    return name, step(True), step(False)


# ---- the step of each ported program, as its loop has it -----------------------------------------


def supervised(model: Any, optimizer: Any, loss: Callable[..., Any], *given: Any) -> Any:
    def step(*batch: Any) -> Any:
        optimizer.zero_grad()
        value = loss(*batch)
        value.backward()
        optimizer.step()
        return value

    return step, *given


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return tutor.tensor(np.random.default_rng(0).normal(size=shape).astype(dtype))


def integers(most: int, *shape: int) -> Any:
    return tutor.tensor(np.random.default_rng(0).integers(0, most, shape))


def transformer(p: dict[str, Any]) -> Any:
    model, ids = p["build"](), integers(len(p["encode"]), 16, p["BLOCK"] + 1)
    optimizer = tutor.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)

    def step(x: Any, y: Any) -> Any:
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        tutor.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step, ids[:, :-1].clone(), ids[:, 1:].clone()


def vae(p: dict[str, Any]) -> Any:
    model = p["build"]()

    def loss(data: Any, eps: Any) -> Any:
        recon, mu, logvar = model(data, eps)
        return p["loss_function"](recon, data, mu, logvar)

    optimizer = tutor.optim.Adam(model.parameters(), lr=1e-2)
    return supervised(model, optimizer, loss, numbers(16, 4, 4).sigmoid(), numbers(16, 2))


def pinn(p: dict[str, Any]) -> Any:
    model, derivative = p["build"](), p["derivative"]

    def loss(t: Any, start: Any) -> Any:
        u = model(t)
        first = derivative(u, t)
        physics = ((derivative(first, t) + u) ** 2).mean()
        u0 = model(start)
        return physics + u0.squeeze() ** 2 + (derivative(u0, start).squeeze() - 1) ** 2

    t = tutor.linspace(0, 2, 40).view(-1, 1).requires_grad_(True)
    start = tutor.tensor(0.0).view(-1, 1).requires_grad_(True)
    return supervised(model, tutor.optim.Adam(model.parameters(), lr=5e-3), loss, t, start)


def names_lstm(p: dict[str, Any]) -> Any:
    model, many = p["build"](), len(p["stoi"])
    size = len(p["NAMES"]), p["LONGEST"] + 1

    def loss(x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x)[0].view(-1, many), y.view(-1), ignore_index=-1)

    optimizer = tutor.optim.Adam(model.parameters(), lr=0.02)
    return supervised(model, optimizer, loss, integers(many, *size), integers(many, *size))


def wgan_gp(p: dict[str, Any]) -> Any:
    generator, critic = p["build"]()
    optimizer = tutor.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def loss(real: Any, noise: Any, alpha: Any) -> Any:
        fake = generator(noise).detach()
        penalty = p["gradient_penalty"](critic, real.data, fake.data, alpha)
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    alpha = numbers(32, 1).sigmoid()
    return supervised(critic, optimizer, loss, numbers(32, 2), numbers(32, 2), alpha)


def moons(p: dict[str, Any]) -> Any:
    model = p["build"]()

    def step(x: Any, y: Any) -> Any:
        loss = (1 - y * model(x).squeeze(1)).relu().mean()
        loss = loss + 1e-4 * sum((w * w).sum() for w in model.parameters())
        model.zero_grad()
        loss.backward()
        with tutor.no_grad():
            for w in model.parameters():
                w -= 0.05 * w.grad
        return loss

    return step, *p["data"]()


def hessian(p: dict[str, Any]) -> Any:
    def step(x: Any) -> Any:
        g, h = p["hessian"](p["rosenbrock"], x)
        with tutor.no_grad():
            x -= 1e-3 * tutor.linalg.solve(h, g)
        return p["rosenbrock"](x), g.norm(), h.diagonal().sum()

    return step, p["build"]()["x"]


def lbfgs_scipy(p: dict[str, Any]) -> Any:
    model = p["build"]()
    x = tutor.linspace(-2, 2, 40, dtype=tutor.float64).unsqueeze(1)
    flat = tutor.nn.utils.parameters_to_vector(model.parameters()).detach().clone()

    def closure(flat: Any, x: Any, y: Any) -> Any:
        tutor.nn.utils.vector_to_parameters(flat, model.parameters())
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss, tutor.cat([w.grad.flatten() for w in model.parameters()])

    return closure, flat, x, tutor.sin(2 * x)


def cnn(p: dict[str, Any]) -> Any:
    model = p["build"]()
    optimizer = tutor.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    def step(data: Any, label: Any) -> Any:
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), label)
        loss.backward()
        tutor.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        return loss

    return step, numbers(32, 1, 10, 10), integers(3, 32)


def batchnorm(p: dict[str, Any]) -> Any:
    w = p["build"]()

    def step(x: Any, y: Any) -> Any:
        before = x @ w["W1"]
        var = before.var(0, keepdim=True, correction=1)
        raw = (before - before.mean(0, keepdim=True)) * (var + 1e-5) ** -0.5
        loss = F.cross_entropy(tutor.tanh(w["bngain"] * raw + w["bnbias"]) @ w["W2"] + w["b2"], y)
        for t in w.values():
            t.grad = None
        loss.backward()
        for t in w.values():
            t.data += -0.05 * t.grad
        return loss

    return step, numbers(32, 10), integers(5, 32)


STEPS = {f"ported/{step.__name__}": step for step in (
    batchnorm, cnn, hessian, lbfgs_scipy, moons, names_lstm, pinn, transformer, vae, wgan_gp,
)}  # fmt: skip


# ---- measuring -----------------------------------------------------------------------------------


def gear_of(run: Run) -> str:
    jitted: Any = run.func
    counts = jitted.stats()
    run()
    now = jitted.stats()
    return next(kind for kind in ("replayed", "eager", "recorded") if now[kind] > counts[kind])


def slow_looks(run: Run, calls: int = 100) -> int:
    """In how many of the calls each guard is looked at in Python."""
    real, found = guards.first_changed, 0

    def counted(of: Any) -> Any:
        nonlocal found
        found += isinstance(of, guards.Guards)
        return real(of)

    guards.first_changed = counted
    try:
        for _ in range(calls):
            run()
    finally:
        guards.first_changed = real
    return found


def timed(runs: tuple[Run, Run], turns: int = 12) -> list[float]:
    """The best seconds a call of each, by turns."""
    start = time.perf_counter()
    runs[1]()
    calls = max(1, int(0.05 / (time.perf_counter() - start)))
    best = [float("inf")] * len(runs)
    for _ in range(turns):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            for _ in range(calls):
                run()
            best[i] = min(best[i], (time.perf_counter() - start) / calls)
    return best


def main(names: list[str]) -> None:
    print("| step | gear | jit, µs | without, µs | without / jit | slow looks in 100 |")
    print("|---|---|---|---|---|---|")
    warnings.simplefilter("ignore")
    for name in names or [*EXAMPLES, *STEPS]:
        for row, jitted, eager in of_example(name) if name in EXAMPLES else [of_program(name)]:
            for _ in range(4):
                jitted(), eager()
            gear = gear_of(jitted)
            slow = slow_looks(jitted)
            with_jit, without = timed((jitted, eager))
            print(Row(row, gear, with_jit, without, slow), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
