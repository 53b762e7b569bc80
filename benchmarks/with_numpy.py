"""The MLP 784-128-10 with SGD, written by hand in NumPy: what is left without a framework."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


class Trainer:
    """Weights as nn.Linear keeps them, biases, and the derivatives worked out on paper."""

    def start_from(self, weights: Iterable[Any]) -> None:
        self.w1, self.b1, self.w2, self.b2 = (w.numpy().copy() for w in weights)

    def step(self, x: np.ndarray, y: np.ndarray) -> np.float32:
        hidden = x @ self.w1.T + self.b1
        active = np.maximum(hidden, 0)
        scores = active @ self.w2.T + self.b2
        scores -= scores.max(1, keepdims=True)
        e = np.exp(scores)
        total = e.sum(1, keepdims=True)
        rows = np.arange(len(y))
        loss: np.float32 = (np.log(total[:, 0]) - scores[rows, y]).mean()
        g = e / total  # d loss / d scores = (softmax - one hot) / batch
        g[rows, y] -= 1
        g /= len(y)
        g1 = (g @ self.w2) * (hidden > 0)
        self.w2 -= 0.1 * (g.T @ active)
        self.b2 -= 0.1 * g.sum(0)
        self.w1 -= 0.1 * (g1.T @ x)
        self.b1 -= 0.1 * g1.sum(0)
        return loss

    def epoch(self, x: np.ndarray, y: np.ndarray, size: int) -> np.float32:
        return self.ordered_epoch(x, y, size, np.random.permutation(len(x)))

    def ordered_epoch(self, x: Any, y: Any, size: int, order: Any) -> np.float32:
        for at in range(0, len(x), size):
            pick = order[at : at + size]
            loss = self.step(x[pick], y[pick])
        return loss
