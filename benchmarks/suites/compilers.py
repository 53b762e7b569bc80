"""The same steps replayed by `tutor.jit`, and compiled by JAX (XLA) and by `torch.compile`.

Both take seconds to compile a step, which is not counted; tutor's recording takes milliseconds. A
library that is not installed has an empty column: `pip install jax` fills JAX's.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from typing import Any

import tutor
from benchmarks import libraries, trainers
from benchmarks.case import Case
from benchmarks.libraries import Run, operand, views
from benchmarks.measure import Effort
from benchmarks.suites import jit
from benchmarks.suites.elementwise import CHAIN
from benchmarks.suites.mlp import LOSSES

# Adam's first step goes by the sign of each gradient, and where one is 0 but for rounding errors,
# libraries that add up in another order may disagree about it.
FIRST_STEPS = 1e-2
COLUMNS = {"tutor": "jit", "jax": "JAX jit", "compiled": "compile"}


def cases(effort: Effort) -> Iterator[Case]:
    jax = jax_with(effort.threads)
    for batch in effort.pick((32, 128, 512), (32, 128), (8,)):
        yield mlp(jax, batch, (128,), False, effort)
    for batch in effort.pick((32, 128), (32,), (8,)):
        yield mlp(jax, batch, (256, 128), True, effort)
    yield chain(jax, effort.pick(1024, 1024, 32), effort)


def jax_with(threads: int) -> Any:
    """benchmarks.with_jax, where JAX is installed. It reads how many threads to use when it is
    loaded: NPROC is the size of the pool in which XLA runs."""
    os.environ["NPROC"] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        return importlib.import_module("benchmarks.with_jax")
    except ImportError:
        return None


def compiled(effort: Effort) -> bool:
    """Whether torch.compile takes part: it takes minutes, too long to see that a suite runs."""
    return libraries.torch is not None and effort.name != "smoke"


def mlp(jax: Any, batch: int, hidden: tuple[int, ...], adam: bool, effort: Effort) -> Case:
    networks = trainers.jitted("mlp", {"hidden": hidden}, adam)
    del networks["eager"]
    weights = [p.detach().copy() for p in networks["tutor"].params]
    theirs = networks.pop("torch", None)
    if theirs is not None and compiled(effort):
        theirs.model = libraries.torch.compile(theirs.model)
        networks["compiled"] = theirs
    if jax:
        networks["jax"] = jax.Trainer(adam)
        networks["jax"].start_from(weights)
    x, y = trainers.images(batch)
    seen = {"tutor": (x, y)}
    if "compiled" in networks:
        seen["compiled"] = (views(x)["torch"], views(y)["torch"])
    if jax:
        seen["jax"] = (jax.jnp.array(x.numpy()), jax.jnp.array(y.numpy()))
    runs: dict[str, Run] = {
        name: functools.partial(networks[name].step, *operands) for name, operands in seen.items()
    }
    sizes = "-".join(map(str, (784, *hidden, 10)))
    name = f"step {sizes} {'Adam' if adam else 'SGD'} batch {batch}"
    return Case(name, runs, check=several(runs), tolerance=FIRST_STEPS if adam else LOSSES)


def several(runs: dict[str, Run]) -> dict[str, Run]:
    """The losses of some steps: equal only if forward, backward and update are."""
    return {
        name: functools.partial(lambda run: [run() for _ in range(jit.CALLS)], run)
        for name, run in runs.items()
    }


def chain(jax: Any, n: int, effort: Effort) -> Case:
    x = operand(n, n)
    runs: dict[str, Run] = {"tutor": functools.partial(tutor.jit(CHAIN["tutor"]), x)}
    if jax:
        run = functools.partial(jax.chain, jax.jnp.array(x.numpy()))
        runs["jax"] = lambda: run().block_until_ready()
    if compiled(effort):
        f = libraries.torch.compile(CHAIN["torch"])
        runs["compiled"] = functools.partial(f, views(x)["torch"])
    return Case(f"(x*2+1).relu().sum() {n * n}", runs, check=several(runs))
