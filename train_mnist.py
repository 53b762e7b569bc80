"""Train a network that reads handwriting.

    TUTOR_BACKEND=simd python train_mnist.py
    TUTOR_BACKEND=python python train_mnist.py --limit 1000 --epochs 1     # the reference, slowly
    python train_mnist.py --eager                          # each step in Python: the same numbers
    python train_mnist.py --resume runs/mnist/checkpoint.safetensors --epochs 10
    python -m tutor ranks 4 train_mnist.py                 # four processes, or: mpiexec -n 4 python
    python -m tutor ranks 4 train_mnist.py --sharded       # each has part of the optimizer's state

Ends with a checkpoint and two pictures in `runs/mnist`, or in `runs/mnist-2` and so on, where there
is a run already. Ctrl-C stops after the step in progress and leaves a checkpoint from which
`--resume` continues with the same numbers as without a stop.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from os import devnull
from pathlib import Path
from typing import Any, NamedTuple

import tutor
from tutor import Tensor, data, dist, nn, no_grad, optim
from tutor._util import files
from tutor.backends import registry, simd_cpp
from tutor.errors import DataError, DomainError, TutorError
from tutor.nn import saving
from tutor.training.screen import Screen
from tutor.viz import training

CHECKPOINT, CURVES, MISTAKES = RESULTS = ("checkpoint.safetensors", "curves.svg", "mistakes.svg")
LR = {"adam": 0.002, "sgd": 0.05}
PRECISIONS = ("float32", "float16", "bfloat16")
SETS = ("auto", "mnist", "digits")
ASKED = 10  # steps after which ranks tell each other whether one was interrupted
COMPARED = 20  # steps that run without jit before the others, to say what it gains


class Option(NamedTuple):
    """One row of the table below: the default, and what may be given instead."""

    default: Any
    kind: type
    allowed: Callable[[Any], bool]  # asked of the command line and of a checkpoint alike
    words: str
    help: str
    shown: str = ""  # the default in words


def whole(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value < 2**64


def number(value: Any, most: float = sys.float_info.max) -> bool:
    return type(value) in (int, float) and 0 <= value <= most


def sizes(value: Any) -> bool:
    return isinstance(value, list) and all(map(whole, value))


COUNT = "a whole number from 1 on"
OPTIONS = {
    "epochs": Option(5, int, whole, COUNT, "passes over the images", "5, or as it was resumed"),
    "batch_size": Option(64, int, whole, COUNT, "images per step"),
    "optimizer": Option("adam", str, lambda v: v in [*LR], "adam or sgd", "moves the parameters"),
    "lr": Option(None, float, number, "0 or more", "learning rate", "0.002 for adam, 0.05 for sgd"),
    "decay": Option(0.6, float, lambda v: number(v, 1), "0 to 1", "factor on lr after every epoch"),
    "momentum": Option(0.9, float, lambda v: number(v, 1), "0 to 1", "of sgd"),
    "hidden": Option([128], int, sizes, "whole numbers from 1 on", "sizes of hidden layers", "128"),
    "seed": Option(0, int, lambda v: whole(v, 0), "a whole number from 0 on, of 64 bits",
                   "other first weights and another order of the images"),
    "data": Option("auto", str, lambda v: v in SETS, "auto, mnist or digits",
                   "what to learn from; auto is mnist, or digits where nobody has mnist"),
    "limit": Option(None, int, lambda v: v is None or whole(v), COUNT,
                    "how many images to learn from, and to test on", "all"),
    "autocast": Option("float32", str, lambda v: v in PRECISIONS, "float32, float16 or bfloat16",
                       "dtype of the products; with float16 the loss is scaled"),
    "leaves": Option(None, int, lambda v: v is None or (whole(v, 0) and not v & (v - 1)),
                     "0 or a power of two", "parts of a batch that are computed one by one, and "
                     "added in a fixed order: the same numbers on as many ranks, or fewer",
                     "8 on ranks; for one process 0: the batch as a whole"),
    "sharded": Option(False, bool, lambda v: type(v) is bool, "the same numbers, in less memory",
                      "each rank keeps the optimizer's state for a part of the parameters alone",
                      "each keeps all of it"),
}  # fmt: skip
# What a checkpoint fixes: with any of these changed, the numbers would be others.
FIXED = [name for name in OPTIONS if name not in ("epochs", "sharded")]


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """The options. Beside --resume those that were not given are missing: the checkpoint says."""
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, option in OPTIONS.items():
        values: dict[str, Any] = {"type": option.kind}
        if option.kind is bool:
            values = {"action": "store_true"}
        elif isinstance(option.default, list):
            values["nargs"] = "*"
        p.add_argument(
            flag(name), default=argparse.SUPPRESS, **values,
            help=f"{option.help}: {option.words} (default: {option.shown or option.default})",
        )  # fmt: skip
    p.add_argument("--out", type=Path, default=argparse.SUPPRESS, help="folder for the results, or "
                   "one beside it with a number, where another run's are in it (default: "
                   "runs/mnist, or where the checkpoint is that is resumed)")  # fmt: skip
    p.add_argument("--resume", type=Path, help="a checkpoint to go on from (default: begin anew)")
    p.add_argument("--no-plot", action="store_true", help="write no pictures (default: write them)")
    p.add_argument("--device", help="where the model and its batches are: cpu, opencl, opencl:1; a "
                   "checkpoint goes on on any (default: TUTOR_DEVICE, or cpu)")  # fmt: skip
    p.add_argument("--eager", action="store_true", help="run each step's Python, in place of "
                   "replaying its kernel calls: the same numbers (default: tutor.jit)")  # fmt: skip
    args = p.parse_args(argv)
    for name, option in OPTIONS.items():
        if name in args and not option.allowed(getattr(args, name)):
            p.error(f"{flag(name)} {getattr(args, name)}: it must be {option.words}")
    if not args.resume:
        defaults = {name: option.default for name, option in OPTIONS.items()}
        vars(args).update({**defaults, "out": Path("runs/mnist"), **vars(args)})
        args.lr = LR[args.optimizer] if args.lr is None else args.lr
        if args.leaves is None:
            args.leaves = dist.LEAVES if dist.size() > 1 else 0
        if dist.size() > 1 and not args.leaves:
            p.error("--leaves 0: on ranks gradients are added leaf by leaf; give 8, for example")
    return args


class Training:
    """A model, its optimizer, where they stand, and what happened so far."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.device = args, tutor.device(args.device)
        tutor.manual_seed(args.seed)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise([784, *args.hidden, 10]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.model = nn.Sequential(*layers[:-1]).to(self.device)
        params = nn.get_parameters(self.model)
        own = {"momentum": args.momentum} if args.optimizer == "sgd" else {}
        kind = optim.SGD if args.optimizer == "sgd" else optim.Adam
        make: Any = partial(dist.Sharded, kind) if args.sharded and dist.size() > 1 else kind
        self.optimizer: optim.Optimizer = make(params, lr=args.lr, **own)
        scaler = tutor.amp.GradScaler(enabled=args.autocast == "float16")
        self.scaler = scaler  # of the loss: the smallest gradients are 0 in float16
        self.parts: dict[str, Any] = {"model": self.model, "optimizer": self.optimizer}
        self.parts |= {"scaler": scaler} if scaler.enabled else {}
        self.replayed = tutor.jit(self.learn_from)
        self.parallel = dist.DataParallel(self.model, args.leaves) if args.leaves else None
        self.seconds: dict[bool, list[float]] = {False: [], True: []}  # of steps, by: with jit?
        self.epoch, self.step = 0, 0  # the next step to take
        self.losses: list[float] = []  # of every step, but for
        self.unread: list[Tensor] = []  # those of the latest
        self.accuracies: list[float] = []  # on the test images, after every epoch
        self.checksum = ""  # of the data it is trained on
        self.kept: int | None = None  # how many epochs are in the checkpoint that it has written

    def logits(self, images: Tensor) -> Tensor:
        """Scores for the ten digits: images (n, 28, 28) uint8 -> (n, 10)."""
        pixels = (images.reshape(-1, 784).cast("float32") - 33) / 79  # to mean 0 and variance 1
        if self.args.autocast == "float32":
            return self.model(pixels)
        with tutor.autocast(self.args.autocast):
            return self.model(pixels).cast("float32")

    def loss_of(self, images: Tensor, labels: Tensor) -> Tensor:
        return self.logits(images).cross_entropy(labels)

    def learn_from(self, images: Tensor, labels: Tensor) -> Tensor:
        """One step: every kernel call of it, forward and backward and the optimizer's. Of a batch
        in leaves this rank has some."""
        self.optimizer.zero_grad()
        if self.parallel:
            scale = self.scaler.scale(Tensor(1.0))
            loss = self.parallel.backward(self.loss_of, images, labels, gradient=scale)
        else:
            loss = self.loss_of(images, labels)
            self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def train_step(self, images: Tensor, labels: Tensor) -> None:
        jit = not self.args.eager and len(self.seconds[False]) >= COMPARED
        start = time.perf_counter()
        if self.parallel:
            self.parallel.jit = jit  # what it replays is a leaf
        images, labels = images.to(self.device), labels.to(self.device)
        loss = (self.replayed if jit and not self.parallel else self.learn_from)(images, labels)
        self.seconds[jit].append(time.perf_counter() - start)
        self.unread.append(loss.detach())

    def read(self) -> list[float]:
        """The losses of all steps. Who reads one waits for the device, which then has nothing to do
        until it is given more: so the latest are read together."""
        if self.unread:
            self.losses += tutor.stack(self.unread).tolist()
            self.unread.clear()
        return self.losses

    def gained(self) -> str:
        """What tutor.jit has made of a step; nothing where it has replayed too few to say so."""
        eager, jit = self.seconds[False], self.seconds[True][2:]
        if self.args.eager or self.parallel or len(jit) < COMPARED:
            return ""
        before, after = (1000 * statistics.median(times) for times in (eager, jit))
        steps = len(self.replayed.recorded), len(self.replayed.program)
        return (f"jit    {steps[0]} kernel calls of a step became {steps[1]}, replayed in "
                f"{after:.2f} ms; without it {before:.2f} ms")  # fmt: skip

    def predictions(self, images: Tensor) -> list[int]:
        """The digits that it reads; of each thousand images one rank reads all."""
        digits = Tensor.zeros(len(images), dtype="int64", device="cpu")
        with no_grad():
            for i in range(1000 * dist.rank(), len(images), 1000 * dist.size()):
                some = images[i : i + 1000].to(self.device)
                digits[i : i + 1000] = self.logits(some).argmax(axis=-1).cpu()
        read: list[int] = dist.all_reduce(digits).tolist()
        return read

    def state(self) -> dict[str, Tensor]:
        """All its numbers by name, those of the model and of the optimizer. All ranks ask for
        them: some have parts."""
        return saving.tensors_of(**self.parts)

    def save(self) -> None:
        """Write all of it; whole or not at all. Rank 0 does, and the others give it their parts."""
        states = {name: saving.taken(name, part) for name, part in self.parts.items()}
        losses = self.read()
        if dist.rank():
            return
        tutor.save(
            self.args.out / CHECKPOINT,
            **states,
            losses=Tensor(losses, dtype="float64", device="cpu"),
            accuracies=Tensor(self.accuracies, dtype="float64", device="cpu"),
            settings={name: getattr(self.args, name) for name in FIXED},
            epochs=self.args.epochs,
            at=[self.epoch, self.step, len(losses)],
            data=self.checksum,
        )
        self.kept = self.epoch

    def room(self) -> int:
        """How many bytes its results will need: a checkpoint, the next one while it is written,
        the pictures, and some more for the history, which grows."""
        numbers = sum(t.numel() * t.dtype.itemsize for t in self.state().values())
        copies = 1 if (self.args.out / CHECKPOINT).exists() else 2
        return copies * (numbers + 8 * len(self.losses)) + 2**20

    def use(self, digits: data.Images) -> None:
        """Note what it is trained on; DataError if it was begun on anything else."""
        self.args.data, checksum = digits.name, digits.sha256()
        first = dist.broadcast(Tensor([*bytes.fromhex(checksum)], dtype="uint8", device="cpu"))
        if bytes(first.tolist()).hex() != checksum:
            raise DataError(f"to train on {dist.size()} ranks", f"rank {dist.rank()} has other "
                            "images than rank 0", "let all of them find the same data: set "
                            "TUTOR_DATA, or give --data mnist")  # fmt: skip
        if self.checksum and checksum != self.checksum:
            raise DataError(
                f"to go on with {self.args.resume}",
                f"it was trained on {digits.name} with SHA-256 {self.checksum}; that of the "
                f"{digits.name} here is {checksum}",
                "point TUTOR_DATA at the data it was begun with, or begin a new run",
            )
        self.checksum = checksum

    @classmethod
    def resumed(cls, args: argparse.Namespace) -> Training:
        """As it stood when `args.resume` was written, with the settings it was begun with."""
        found = tutor.load(args.resume, device="cpu")
        try:
            older = {"autocast": "float32", "leaves": 0}  # which do not say
            settings = {**older, **found["settings"]}
            epochs, checksum = found["epochs"], found["data"]
            epoch, step, steps = at = found["at"]
            losses, accuracies = found["losses"], found["accuracies"]
            scaled = ["scaler"] if settings["autocast"] == "float16" else []
            states = {name: found[name] for name in ("model", "optimizer", *scaled)}
            known = {"epochs": epochs, **settings}
            named = ("epochs", *FIXED)
            wrong = [name for name in named if not OPTIONS[name].allowed(known.pop(name))]
            counted = losses.shape == (steps,) and accuracies.shape == (epoch,)
            if wrong or known or not counted or not all(whole(n, 0) for n in at):
                raise ValueError(", ".join([*wrong, *known]) or "where it stands")
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"to go on with {args.resume}",
                f"it is no checkpoint of train_mnist.py: no good note of {error}",
                "give a checkpoint.safetensors that train_mnist.py has written",
            ) from error
        refuse_changes(args, settings)
        if dist.size() > 1 and not settings["leaves"]:
            raise DomainError(f"{dist.size()} ranks with --resume {args.resume}",
                              "that run was begun by one process, with batches as a whole",
                              "go on with one, or begin a run with --leaves 8")  # fmt: skip
        own = {"epochs": epochs, "out": args.resume.parent, "sharded": False}
        vars(args).update({**own, **vars(args), **settings})
        self = cls(args)
        self.epoch, self.step, self.checksum = epoch, step, checksum
        saving.fill(self.parts, states)
        self.losses, self.accuracies = losses.tolist(), accuracies.tolist()
        return self


def refuse_changes(args: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Options beside --resume that ask for other than what the run was begun with."""
    for name, was in settings.items():
        now = getattr(args, name, was)
        if now != was and (name, now) != ("data", "auto"):
            raise DomainError(
                f"{flag(name)} {now} with --resume {args.resume}",
                f"that run was begun with {flag(name)} {was}",
                f"leave {flag(name)} out, or begin a new run without --resume",
            )


class Interrupt:
    """Ctrl-C asks to stop after the step in progress; a second one stops at once."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> Interrupt:
        self.before = signal.signal(signal.SIGINT, self)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)

    def asked_of_any(self, step: int) -> bool:
        """Was it pressed, on whatever rank? They stop after the same step."""
        if dist.size() == 1:
            return self.asked
        asked = Tensor(int(self.asked), device="cpu")
        return not step % ASKED and dist.all_reduce(asked, "max").item() > 0

    def __call__(self, *_: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def describe(run: Training, digits: data.Images) -> None:
    """Say what it runs on."""
    backend = registry.current()
    if backend == "simd_cpp":
        backend += f" ({simd_cpp.level()}, {simd_cpp.num_threads()} threads)"
    backend += f", {dist.size()} ranks" if dist.size() > 1 else ""
    args, sizes = run.args, [784, *run.args.hidden, 10]
    count = sum(p.numel() for p in nn.get_parameters(run.model))
    print(f"tutor {tutor.__version__} on {backend if run.device == 'cpu' else run.device}")
    print(f"data   {digits.source}: {len(digits.train_labels):,} to learn from,", end=" ")
    print(f"{len(digits.test_labels):,} to test on")
    print(f"model  {'-'.join(map(str, sizes))}, {count:,} parameters;", end=" ")
    sharded = ", sharded" if isinstance(run.optimizer, dist.Sharded) else ""
    print(f"{args.optimizer}{sharded}, lr {args.lr:g}, batches of {args.batch_size}", end="")
    print(f" in {args.leaves} leaves, seed {args.seed}" if args.leaves else f", seed {args.seed}")


def train(run: Training, digits: data.Images, interrupt: Interrupt) -> bool:
    """All epochs that are left. False if Ctrl-C came between."""
    args, images = run.args, len(digits.train_labels)
    while run.epoch < args.epochs:
        batches = data.batches(
            digits.train_images, digits.train_labels, args.batch_size,
            seed=args.seed, epoch=run.epoch, shard=(dist.rank(), dist.size()),
        )  # fmt: skip
        run.optimizer.lr = args.lr * args.decay**run.epoch
        before = min(run.step * args.batch_size, images)
        start, screen, title = time.perf_counter(), Screen(True), f"epoch {run.epoch + 1}"
        for x, y in islice(batches, run.step, None):
            run.train_step(x, y)
            run.step += 1
            if screen.is_due():
                done = min(run.step * args.batch_size, images)
                screen.show(title, done, images, {"loss": run.read()[-1]}, "images")
            if interrupt.asked_of_any(len(run.losses) + len(run.unread)):
                run.save()
                return False
        mean_loss = sum(run.read()[-run.step :]) / run.step  # when a device has done all of it
        rate = (images - before) / (time.perf_counter() - start)
        wrong = sum(p != t for p, t in zip(run.predictions(digits.test_images),
                                           digits.test_labels.tolist(), strict=True))  # fmt: skip
        run.accuracies.append(1 - wrong / len(digits.test_labels))
        screen.clear()
        print(f"{title}: loss {mean_loss:.4f}, {rate:,.0f} images/s,", end=" ")
        print(f"test accuracy {run.accuracies[-1]:.2%}", flush=True)
        run.epoch, run.step = run.epoch + 1, 0
        run.save()
    if said := run.gained():
        print(said)
    return True


def learn(run: Training, digits: data.Images) -> int:
    """Train what is left, and draw what came out."""
    args, path = run.args, run.args.out / CHECKPOINT
    if run.epoch >= args.epochs:
        print(f"nothing left to train: {args.resume} has {run.epoch} epochs already,", end=" ")
        print(f"{args.epochs} were asked for; --epochs {run.epoch + 1} goes on")
    with Interrupt() as interrupt:
        if not train(run, digits, interrupt):
            print(f"\nstopped; continue with: {go_on(path)}")
            return 130
    written = [path] if run.kept is not None else []
    if not args.no_plot:
        guesses, labels = run.predictions(digits.test_images), digits.test_labels.tolist()
    if not args.no_plot and not dist.rank():
        written += [
            training.plot_curves(args.out / CURVES, run.losses, run.accuracies),
            training.plot_mistakes(args.out / MISTAKES, digits.test_images, labels, guesses),
        ]
    if written:
        print("wrote " + ", ".join(map(str, written)))
    return 0


def go_on(path: Path) -> str:
    return f"python train_mnist.py --resume {shlex.quote(str(path))}"


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    if not dist.rank():
        return run(args)
    with open(devnull, "w") as nobody, contextlib.redirect_stdout(nobody):
        return run(args)  # rank 0 prints and writes


def run(args: argparse.Namespace) -> int:
    training = None
    try:
        training = Training.resumed(args) if args.resume else Training(args)
        digits = data.load(args.data, limit=args.limit)
        training.use(digits)
        own = files.run_folder(args.out, RESULTS, args.resume)
        with contextlib.nullcontext(args.out) if dist.rank() else own as folder:
            if folder != args.out:
                print(f"{args.out} has the results of another run: these go to {folder}")
                args.out = folder
            room = training.room()
            if not dist.rank():
                files.check_room(folder, room)
            describe(training, digits)
            return learn(training, digits)
    except TutorError as error:
        print(error, file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print(
            "\nstopped"
            if training and training.kept is not None
            else "\nstopped: nothing was written"
        )
        code = 130
    if training and training.kept is not None:
        print(
            f"epochs that are kept: {training.kept}; continue with: {go_on(args.out / CHECKPOINT)}"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
