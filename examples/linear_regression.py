"""A line through points, three ways: python examples/linear_regression.py

y = 2 x - 1 and noise are given, the slope and the intercept are to be found:

- by gradient descent: walk downhill on the mean of (y' - y)², with the gradients that backward()
  finds;
- by the formula: where that mean is least, its gradients are 0, and these are two equations
  (Legendre 1805): slope = cov(x, y) / var(x), intercept = mean(y) - slope mean(x);
- and by hand, the gradients written down: d/dslope = mean(2 (y' - y) x).

All three must agree. The picture is a film of the line that finds its place.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tutor
from tutor import Tensor, data, no_grad, training, viz


def by_formula(x: Tensor, y: Tensor) -> tuple[float, float]:
    slope = ((x - x.mean()) * (y - y.mean())).mean() / ((x - x.mean()) ** 2).mean()
    return slope.item(), (y.mean() - slope * x.mean()).item()


def by_hand(x: Tensor, y: Tensor, steps: int, lr: float) -> tuple[float, float]:
    slope, intercept = 0.0, 0.0
    for _ in range(steps):
        away = slope * x + intercept - y
        slope -= lr * (2 * away * x).mean().item()
        intercept -= lr * (2 * away).mean().item()
    return slope, intercept


def picture(x: Tensor, y: Tensor, slope: float, intercept: float, step: int) -> viz.Picture:
    ends = [[x.min().item()], [x.max().item()]]
    line = tutor.cat([Tensor(ends), slope * Tensor(ends) + intercept], 1)
    title = f"step {step}: y = {slope:.2f} x {'+' if intercept >= 0 else '-'} {abs(intercept):.2f}"
    return viz.scatter({"": tutor.cat([x, y], 1)}, {"": line}, title, "x", "y")


def main() -> float:
    options = argparse.ArgumentParser(description="a line through points")
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--lr", type=float, default=0.3)
    options.add_argument("--out", type=Path, default=Path("runs/linear_regression"))
    args = options.parse_args()
    x, y = data.line(200, noise=0.3, seed=0)
    slope, intercept = (Tensor(0.0, requires_grad=True) for _ in range(2))
    frames, run = [], training.Run(1)
    for _ in run:
        for step in run.batches(range(args.steps)):
            if step < 10 or step % 20 == 0:
                frames.append(picture(x, y, slope.item(), intercept.item(), step))
            loss = ((slope * x + intercept - y) ** 2).mean()
            loss.backward()
            with no_grad():
                for p in (slope, intercept):
                    p -= args.lr * p.grad
                    p.grad = None
            run.note(loss=loss)
    found = slope.item(), intercept.item()
    ways = {
        "gradient descent": found, "by the formula": by_formula(x, y),
        "by hand": by_hand(x, y, args.steps, args.lr),
    }  # fmt: skip
    for name, (a, b) in ways.items():
        print(f"{name:<17} y = {a:.4f} x {'+' if b >= 0 else '-'} {abs(b):.4f}")
    apart = max(abs(a - b) for way in ways.values() for a, b in zip(way, found, strict=True))
    viz.film([*frames, picture(x, y, *found, args.steps)], 0.3).save(args.out / "line.svg")
    print(f"they differ by {apart:.1g} at most; wrote {args.out}/line.svg")
    return apart


if __name__ == "__main__":
    main()
