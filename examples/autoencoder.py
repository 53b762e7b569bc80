"""Digits in a plane: python examples/autoencoder.py

A network must say each digit in two numbers, and another one draw it again from these alone:

    image, 784 numbers -> encoder -> z = (z1, z2) -> decoder -> image'

Both learn together, by the mean of (image' - image)² (Hinton & Salakhutdinov 2006, "Reducing the
dimensionality of data with neural networks"). Nobody tells them which digit is which, yet digits
that look alike come to lie side by side, for so the decoder needs the fewest bends. A batch norm
keeps the z around 0, with variance 1: so it is known which part of the plane is in use.

What two numbers can say at best without a bend, PCA knows: the image nearest to x on the plane
through the mean m along the two eigenvectors v of the covariance that have the largest eigenvalues,
m + v vᵀ (x - m). The result is how much of that loss is left, over digits that were not seen: at
most three quarters. It takes about a minute.
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise
from pathlib import Path

import tutor
from tutor import Tensor, data, linalg, nn, no_grad, optim, training, viz

BATCH, SHOWN, WALK = 100, 600, 20


def layers(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes, with a bend between any two."""
    return nn.Sequential(
        *[part for a, b in pairwise(sizes) for part in (nn.GELU(), nn.Linear(a, b))][1:]
    )


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        self.encoder = nn.Sequential(layers(784, 512, 256, 64, 2), nn.BatchNorm1d(2, affine=False))
        self.decoder = nn.Sequential(layers(2, 64, 256, 512, 784), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


def principal(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean (784) and the two directions (784, 2) of PCA: any two that are not special turn into
    them when the covariance is applied again and again (the power method, of two at once). QR is
    the CPU's, whatever else the device has."""
    mean = x.mean(0)
    covariance = ((x - mean).T @ (x - mean) / len(x)).cpu()
    directions = Tensor.randn(784, 2, device="cpu")
    for _ in range(200):
        directions = linalg.qr(covariance @ directions).Q
    return mean, directions.to(x.device)


def mean_square(found: Tensor, wanted: Tensor) -> float:
    return nn.functional.mse_loss(found, wanted).item()


def in_the_plane(model: Autoencoder, x: Tensor, labels: Tensor, epoch: int) -> viz.Picture:
    """Where the encoder puts these digits, one colour and shape for each class."""
    model.eval()
    with no_grad():
        z, kinds = model.encoder(x).tolist(), labels.tolist()
    model.train()
    classes = {
        str(k): [p for p, kind in zip(z, kinds, strict=True) if kind == k] for k in range(10)
    }
    title = f"digits that it had not seen, in the plane, after {epoch} epochs"
    return viz.scatter(classes, title=title, x="z1", y="z2")


def walk(model: Autoencoder) -> viz.Picture:
    """What the decoder draws at each point of a grid, as one image."""
    steps = [4 * (i + 0.5) / WALK - 2 for i in range(WALK)]
    points = Tensor([[z1, z2] for z2 in reversed(steps) for z1 in steps])
    with no_grad():
        drawn = model.decoder(points).reshape(WALK, WALK, 28, 28)
    whole = drawn.permute(0, 2, 1, 3).reshape(1, WALK * 28, WALK * 28)
    return viz.images(whole, title="a walk through the plane, from -2 to 2", side=640)


def main() -> float:
    options = argparse.ArgumentParser(description="digits in a plane")
    options.add_argument("--steps", type=int, default=12_000)
    options.add_argument("--data", default="auto", help="auto, mnist, fashion_mnist or digits")
    options.add_argument("--limit", type=int, help="how many images to learn from, and to test on")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/autoencoder"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    digits = data.load(args.data, args.limit)
    x, test = (data.ToFloat()(t).reshape(-1, 784)
               for t in (digits.train_images, digits.test_images))  # fmt: skip
    labels = digits.test_labels

    model = Autoencoder()
    adam = optim.AdamW(nn.get_parameters(model), lr=2e-3, weight_decay=0.01)
    loader = data.DataLoader(x, BATCH, shuffle=True, seed=args.seed)
    epochs = math.ceil(args.steps / len(loader))
    rate = optim.lr_scheduler.OneCycleLR(adam, 2e-3, total_steps=epochs * len(loader))

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        loss = nn.functional.mse_loss(model(x), x)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    frames, run = [], training.Run(epochs, log=args.out / "log.jsonl")
    for epoch in run:
        if epoch % max(epochs // 20, 1) == 0:
            frames.append(in_the_plane(model, test[:SHOWN], labels[:SHOWN], epoch))
        for batch in run.batches(loader):
            run.note(loss=step(batch))
            rate.step()
    frames.append(in_the_plane(model, test[:SHOWN], labels[:SHOWN], epochs))
    viz.film(frames, 0.5).save(args.out / "plane.svg")
    model.eval()
    walk(model).save(args.out / "walk.svg")
    run.curves().save(args.out / "curves.svg")

    mean, directions = principal(x)
    with no_grad():
        ours, flat = model(test), mean + (test - mean) @ directions @ directions.T
    ten = Tensor([labels.tolist().index(k) for k in range(10) if k in labels.tolist()])
    rows = {"digits": test, "from two numbers, by the network": ours, "by PCA": flat.clip(0, 1)}
    viz.column(*[viz.images(t.index_select(0, ten), title=name) for name, t in rows.items()]).save(
        args.out / "beside.svg"
    )
    loss, before = mean_square(ours, test), mean_square(flat, test)
    print(f"the mean of (image' - image)² is {loss:.4f}, with PCA {before:.4f}")
    print(f"{loss / before:.0%} of the loss is left")
    print(f"wrote {args.out}/plane.svg, walk.svg, beside.svg, curves.svg, log.jsonl")
    return loss / before


if __name__ == "__main__":
    main()
