"""The perceptron that is measured, in JAX: one function for the whole step, compiled by XLA.

JAX keeps no state: a step takes parameters and gives new ones. The old ones are donated, so that
XLA may write into their memory, as everybody does who trains with it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

Numbers = list[Any]


def loss(params: Numbers, x: Any, y: Any) -> Any:
    """Mean cross-entropy of x W1ᵀ + b1, relu, ... with params W1, b1, W2, b2, ..."""
    for weight, bias in zip(params[:-2:2], params[1:-2:2], strict=True):
        x = jax.nn.relu(x @ weight.T + bias)
    logs = jax.nn.log_softmax(x @ params[-2].T + params[-1])
    return -jnp.take_along_axis(logs, y[:, None], axis=1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def sgd(params: Numbers, x: Any, y: Any) -> tuple[Numbers, Any]:
    """p - 0.1 g"""
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return [p - 0.1 * g for p, g in zip(params, grads, strict=True)], value


@functools.partial(jax.jit, donate_argnums=0)
def adam(state: tuple[Numbers, Numbers, Numbers, Any], x: Any, y: Any) -> tuple[Any, Any]:
    """Adam (Kingma & Ba 2015, algorithm 1), with a rate of 0.001."""
    params, ms, vs, count = state
    value, grads = jax.value_and_grad(loss)(params, x, y)
    count = count + 1
    ms = [0.9 * m + 0.1 * g for m, g in zip(ms, grads, strict=True)]
    vs = [0.999 * v + 0.001 * g * g for v, g in zip(vs, grads, strict=True)]
    rate, far = 1e-3 / (1 - 0.9**count), 1 / jnp.sqrt(1 - 0.999**count)
    params = [p - rate * m / (jnp.sqrt(v) * far + 1e-8)
              for p, m, v in zip(params, ms, vs, strict=True)]  # fmt: skip
    return (params, ms, vs, count), value


class Trainer:
    """The perceptron and its optimizer."""

    def __init__(self, with_adam: bool = False) -> None:
        self.adam = with_adam
        self.state: Any = None

    def start_from(self, weights: Iterable[Any]) -> None:
        params = [jnp.array(w.numpy()) for w in weights]
        zeros = [[jnp.zeros_like(p) for p in params] for _ in range(2)]
        self.state = (params, *zeros, jnp.zeros(())) if self.adam else params

    def step(self, x: Any, y: Any) -> Any:
        self.state, value = (adam if self.adam else sgd)(self.state, x, y)
        jax.block_until_ready(self.state)  # it runs on while Python goes on
        return value


@jax.jit  # type: ignore[untyped-decorator]  # to mypy all of jax is Any
def chain(x: Any) -> Any:
    return jax.nn.relu(x * 2 + 1).sum()
