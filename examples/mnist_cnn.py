"""A small convolutional network reads handwriting: python examples/mnist_cnn.py

Four convolutions look for strokes, and for what strokes make together. Each is followed by a batch
norm (Ioffe & Szegedy 2015), which keeps its numbers near mean 0 and variance 1, and by max(0, x);
a pool halves the picture after the first and the third. What is left, 64 maps of 7 x 7 places, is
weighed by one linear layer, half of it hidden at random while it learns (dropout).

    image 1 x 28 x 28 -> 16 x 14 x 14 -> 32 x 14 x 14 -> 32 x 7 x 7 -> 64 x 7 x 7 -> 10 scores

64,314 weights would learn 60,000 images by heart, so no image is ever shown twice: each is turned,
moved, scaled, slanted and bent like rubber anew (Simard et al. 2003), by a thread that is a batch
ahead. The rate goes up and down once (Smith & Topin 2019). It takes some minutes on two cores, and
reads at least 99.4 % of MNIST's test images; without MNIST, of digits that tutor draws itself.

Before each epoch all of it is saved; --resume goes on from there, with the very same numbers.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path

import tutor
from tutor import Tensor, data, nn, no_grad, optim, training, viz
from tutor.viz.training import plot_mistakes

BATCH = 128
AUGMENT = data.Compose(
    data.ToFloat(),
    data.RandomAffine(degrees=10, translate=2, scale=0.1, shear=0.1),
    data.ElasticTransform(alpha=30, sigma=4),
)


def block(inputs: int, outputs: int, size: int, pool: bool) -> list[nn.Module]:
    """A convolution that keeps the size; halved where asked, before the norm: so it is cheaper."""
    conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
    return [conv, *[nn.MaxPool2d(2)] * pool, nn.BatchNorm2d(outputs), nn.ReLU()]


def network() -> nn.Sequential:
    """Images (n, 1, 28, 28) of numbers from 0 to 1 -> scores (n, 10)."""
    return nn.Sequential(
        *block(1, 16, 5, pool=True),
        *block(16, 32, 3, pool=False),
        *block(32, 32, 3, pool=True),
        *block(32, 64, 3, pool=False),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(64 * 7 * 7, 10),
    )


def as_input(images: Tensor) -> Tensor:
    return data.ToFloat()(images).reshape(-1, 1, 28, 28)


def settle(model: nn.Sequential, plain: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Show the batch norms images as they are: a bent one is read between its pixels, so it is
    paler, and means and variances that are good for learning are wrong for reading (Wu & Johnson
    2021, "Rethinking 'batch' in batch norm")."""
    model.train()
    with no_grad():
        for images, _ in plain:
            model(images)
    model.eval()


def what_it_sees(model: nn.Sequential, image: Tensor) -> viz.Picture:
    """The filters of the first layer, and what each block makes of one image."""
    rows = [viz.images(model[0].weight.detach()[:, 0], title="16 filters of 5 x 5", columns=16)]
    x = as_input(image)
    with no_grad():
        for layer in model:
            x = layer(x)
            if isinstance(layer, nn.ReLU):
                _, channels, height, width = x.shape
                title = f"{channels} maps of {height} x {width}"
                rows.append(viz.images(x[0], title=title, columns=16))
    return viz.column(viz.images(image, title="one image"), *rows)


def main() -> float:
    options = argparse.ArgumentParser(description="a convolutional network reads handwriting")
    options.add_argument("--steps", type=int, default=7400)
    options.add_argument("--data", default="auto", help="auto, mnist or digits")
    options.add_argument("--limit", type=int, help="how many images to learn from, and to test on")
    options.add_argument("--lr", type=float, default=0.01, help="the largest rate")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--resume", action="store_true", help="go on where it was interrupted")
    options.add_argument("--out", type=Path, default=Path("runs/mnist_cnn"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    digits = data.load(args.data, args.limit)
    x, y, test_images, test_labels = digits[:4]
    loader = data.DataLoader(
        (x, y), BATCH, shuffle=True, drop_last=True,
        seed=args.seed, transform=AUGMENT, prefetch=2,
    )  # fmt: skip
    tests, plain = (
        [(as_input(a), b) for a, b in data.batches(images, labels, 200, shuffle=False)]
        for images, labels in ((test_images, test_labels), (x[:10_000], y[:10_000]))
    )

    model = network()
    adam = optim.AdamW(nn.get_parameters(model), lr=args.lr, weight_decay=0.01)
    epochs = math.ceil(args.steps / len(loader))
    rate = optim.lr_scheduler.OneCycleLR(adam, args.lr, total_steps=epochs * len(loader))
    run = training.Run(epochs, log=args.out / "log.jsonl")
    parts = {"model": model, "adam": adam, "rate": rate, "loader": loader, "run": run}
    saved = args.out / "checkpoint.safetensors"
    if args.resume:
        tutor.load(saved, **parts, generator=True)

    @tutor.jit
    def step(images: Tensor, labels: Tensor) -> Tensor:
        loss = model(images.reshape(-1, 1, 28, 28)).cross_entropy(labels)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    weights = sum(p.numel() for p in nn.get_parameters(model))
    print(f"{digits.source}: {len(loader.dataset):,} images, {weights:,} weights")
    for _ in run:
        tutor.save(saved, **parts, generator=True)  # as this epoch finds it
        model.train()
        for images, labels in run.batches(loader):
            run.note(loss=step(images, labels))
            rate.step()
        settle(model, plain)
        run.note(accuracy=training.evaluate(model, tests))
    tutor.save(saved, **parts, generator=True)
    model.eval()
    with no_grad():
        guesses = [guess for x, _ in tests for guess in model(x).argmax(-1).tolist()]
    plot_mistakes(args.out / "mistakes.svg", test_images, test_labels.tolist(), guesses)
    what_it_sees(model, test_images[:1]).save(args.out / "filters.svg")
    run.curves().save(args.out / "curves.svg")
    accuracy = training.evaluate(model, tests)
    print(f"{accuracy:.2%} of {len(guesses):,} digits that it had not seen are read rightly")
    print(f"wrote {args.out}/mistakes.svg, filters.svg, curves.svg, log.jsonl, {saved.name}")
    return accuracy


if __name__ == "__main__":
    main()
