"""Two half moons, parted by a network: python examples/two_moons.py

No straight line parts them. A network of one hidden layer draws a border that bends, and the film
shows how it finds it: each picture is the probability of the second moon over the plane.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tutor
from tutor import Tensor, data, nn, no_grad, optim, training, viz


def main() -> float:
    options = argparse.ArgumentParser(description="two half moons")
    options.add_argument("--epochs", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/two_moons"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    x, y = data.moons(400, noise=0.15, seed=args.seed)
    test_x, test_y = data.moons(400, noise=0.15, seed=args.seed + 1)
    model = nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)
    )
    adam = optim.Adam(nn.get_parameters(model), lr=0.01)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = model(x).cross_entropy(y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    def second(cells: list[list[float]]) -> Tensor:
        """The probability of the second moon at each of these points."""
        with no_grad():
            return model(Tensor(cells)).softmax(-1)[:, 1]

    frames, run = [], training.Run(args.epochs, log=args.out / "log.jsonl")
    for epoch in run:
        if epoch < 10 or epoch % 5 == 0:
            frames.append(viz.boundary(x, y, second, f"after {epoch} epochs"))
        for batch in run.batches(data.batches(x, y, 50, seed=args.seed, epoch=epoch)):
            run.note(loss=step(*batch))
        run.note(accuracy=training.evaluate(model, [(test_x, test_y)]))
    frames.append(viz.boundary(x, y, second, f"after {args.epochs} epochs"))
    viz.film(frames, 0.3).save(args.out / "moons.svg")
    run.curves().save(args.out / "curves.svg")
    accuracy = training.evaluate(model, [(test_x, test_y)])
    print(f"{accuracy:.1%} of 400 points that it had not seen are on the right side")
    print(f"wrote {args.out}/moons.svg, curves.svg, log.jsonl")
    return accuracy


if __name__ == "__main__":
    main()
