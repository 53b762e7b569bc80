"""Train a network that reads handwriting.

    TUTOR_BACKEND=simd python train_mnist.py
    TUTOR_BACKEND=python python train_mnist.py --limit 1000 --epochs 1     # the reference, slowly
    python train_mnist.py --resume runs/mnist/checkpoint.safetensors --epochs 10

Ends with a checkpoint and two pictures in `runs/mnist`. Ctrl-C stops after the step in progress and
leaves a checkpoint from which `--resume` continues with the same numbers as without a stop.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from tqdm import tqdm

import tutor
from tutor import Tensor, data, nn, no_grad, optim
from tutor.backends import registry, simd_cpp
from tutor.errors import TutorError
from tutor.nn import checkpoint
from tutor.viz import training


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=5, help="passes over the training images")
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--optimizer", choices=("adam", "sgd"), default="adam")
    p.add_argument("--lr", type=float, help="learning rate (default: 0.002 for adam, 0.05 for sgd)")
    p.add_argument("--decay", type=float, default=0.6, help="factor on lr after every epoch")
    p.add_argument("--momentum", type=float, default=0.9, help="of sgd")
    p.add_argument("--hidden", type=int, nargs="*", default=[128], help="sizes of hidden layers")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--data", choices=("auto", "mnist", "digits"), default="auto")
    p.add_argument("--limit", type=int, help="use only so many training (and test) images")
    p.add_argument("--out", type=Path, default=Path("runs/mnist"), help="where results are written")
    p.add_argument("--resume", type=Path, help="continue from this checkpoint")
    p.add_argument("--no-plot", action="store_true", help="write no pictures")
    args = p.parse_args(argv)
    for name in ("epochs", "batch_size", "limit", *(["hidden"] if args.hidden else [])):
        value = getattr(args, name)
        if value is not None and min(value if isinstance(value, list) else [value]) < 1:
            p.error(f"--{name.replace('_', '-')} must be at least 1")
    args.lr = args.lr or {"adam": 0.002, "sgd": 0.05}[args.optimizer]
    return args


class Training:
    """A model, its optimizer, where they stand, and what happened so far."""

    # What a checkpoint fixes: with any of these changed, the numbers would be others.
    FIXED = (
        "batch_size",
        "optimizer",
        "lr",
        "decay",
        "momentum",
        "hidden",
        "seed",
        "data",
        "limit",
    )

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        tutor.manual_seed(args.seed)
        sizes = [784, *args.hidden, 10]
        layers: list[Any] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.model = nn.Sequential(*layers[:-1])
        params = nn.get_parameters(self.model)
        self.optimizer: optim.Optimizer = (
            optim.Adam(params, lr=args.lr)
            if args.optimizer == "adam"
            else optim.SGD(params, lr=args.lr, momentum=args.momentum)
        )
        self.epoch, self.step = 0, 0  # the next step to take
        self.losses: list[float] = []  # of every step
        self.accuracies: list[float] = []  # on the test images, after every epoch

    def logits(self, images: Tensor) -> Tensor:
        """Scores for the ten digits: images (n, 28, 28) uint8 -> (n, 10)."""
        pixels = images.reshape(-1, 784).cast("float32")
        return self.model((pixels - 33) / 79)  # to mean 0 and variance 1, over MNIST's pixels

    def train_step(self, images: Tensor, labels: Tensor) -> float:
        loss = self.logits(images).cross_entropy(labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        return self.losses[-1]

    def predictions(self, images: Tensor) -> list[int]:
        with no_grad():
            parts = [self.logits(images[i : i + 1000]) for i in range(0, len(images), 1000)]
            return [digit for part in parts for digit in part.argmax(axis=-1).tolist()]

    def save(self, path: Path) -> None:
        """Write all of it; whole or not at all."""
        settings = {name: getattr(self.args, name) for name in self.FIXED}
        history = {"losses": self.losses, "accuracies": self.accuracies}
        checkpoint.save(
            path,
            {f"model.{name}": t for name, t in nn.state_dict(self.model).items()}
            | {f"optimizer.{n}": t for n, t in self.optimizer.state_dict().items() if n != "steps"}
            | {name: Tensor(values, dtype="float64") for name, values in history.items()},
            {
                "settings": json.dumps(settings),
                "at": json.dumps([self.epoch, self.step, self.optimizer.steps]),
            },
        )

    @classmethod
    def resumed(cls, args: argparse.Namespace) -> Training:
        """As it stood when `args.resume` was written; only --epochs, --out and --no-plot count."""
        tensors, notes = checkpoint.load(args.resume)
        vars(args).update(json.loads(notes["settings"]))
        self = cls(args)
        self.epoch, self.step, steps = json.loads(notes["at"])
        parts: dict[str, dict[str, Any]] = {"model": {}, "optimizer": {"steps": steps}}
        for name, t in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = t
        nn.load_state_dict(self.model, parts["model"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.losses, self.accuracies = tensors["losses"].tolist(), tensors["accuracies"].tolist()
        return self


class Interrupt:
    """Ctrl-C asks to stop after the step in progress; a second one stops at once."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGINT, self)

    def __call__(self, *_: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def describe(run: Training, digits: data.Dataset) -> None:
    """Say what it runs on."""
    backend = registry.current()
    if backend == "simd_cpp":
        backend += f" ({simd_cpp.level()}, {simd_cpp.num_threads()} threads)"
    args, sizes = run.args, [784, *run.args.hidden, 10]
    count = sum(p.numel() for p in nn.get_parameters(run.model))
    print(f"tutor {tutor.__version__} on {backend}")
    print(f"data   {digits.source}: {len(digits.train_labels):,} to learn from,", end=" ")
    print(f"{len(digits.test_labels):,} to test on")
    print(f"model  {'-'.join(map(str, sizes))}, {count:,} parameters;", end=" ")
    print(f"{args.optimizer}, lr {args.lr:g}, batches of {args.batch_size}, seed {args.seed}")


def train(run: Training, digits: data.Dataset) -> bool:
    """All epochs that are left. False if Ctrl-C came between."""
    args, interrupt = run.args, Interrupt()
    path = args.out / "checkpoint.safetensors"
    images = len(digits.train_labels)
    while run.epoch < args.epochs:
        batches = data.batches(
            digits.train_images, digits.train_labels, args.batch_size,
            seed=args.seed, epoch=run.epoch,
        )  # fmt: skip
        run.optimizer.lr = args.lr * args.decay**run.epoch
        done, start = min(run.step * args.batch_size, images), time.perf_counter()
        title = f"epoch {run.epoch + 1}"
        with tqdm(total=images, initial=done, unit=" images", desc=title, leave=False, disable=None,
                  mininterval=0.2) as bar:  # fmt: skip
            for x, y in islice(batches, run.step, None):
                loss = run.train_step(x, y)
                run.step += 1
                bar.update(len(y))
                bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
                if interrupt.asked:
                    run.save(path)
                    return False
        rate = (images - done) / (time.perf_counter() - start)
        wrong = sum(p != t for p, t in zip(run.predictions(digits.test_images),
                                           digits.test_labels.tolist(), strict=True))  # fmt: skip
        run.accuracies.append(1 - wrong / len(digits.test_labels))
        mean_loss = sum(run.losses[-run.step :]) / run.step
        print(f"epoch {run.epoch + 1}: loss {mean_loss:.4f}, {rate:,.0f} images/s,", end=" ")
        print(f"test accuracy {run.accuracies[-1]:.2%}", flush=True)
        run.epoch, run.step = run.epoch + 1, 0
        run.save(path)
    return True


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    try:
        run = Training.resumed(args) if args.resume else Training(args)
        digits = data.load(args.data, limit=args.limit)
        describe(run, digits)
        args.out.mkdir(parents=True, exist_ok=True)
        finished = train(run, digits)
    except TutorError as error:
        print(error, file=sys.stderr)
        return 1
    written = [args.out / "checkpoint.safetensors"]
    if not finished:
        print(f"\nstopped; continue with: python train_mnist.py --resume {written[0]}")
        return 130
    if not args.no_plot:
        guesses = run.predictions(digits.test_images)
        written += [
            training.plot_curves(args.out / "curves.svg", run.losses, run.accuracies),
            training.plot_mistakes(
                args.out / "mistakes.svg", digits.test_images, digits.test_labels.tolist(), guesses
            ),
        ]
    print("wrote " + ", ".join(map(str, written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
