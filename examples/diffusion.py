"""Digits from noise: python examples/diffusion.py

Noise is mixed into a digit x0, step by step, until after T steps nothing else is left. Each step is
easy to take back for one who knows what digit is behind it, and to guess that from a picture is
what a network learns (Ho, Jain & Abbeel 2020, "Denoising diffusion probabilistic models"). With e
and z normal, and 1 = a_0 > ... > a_T = 0 how much of the digit is left (the square of a cosine:
Nichol & Dhariwal 2021):

    noisy   x_t = sqrt(a_t) x0 + sqrt(1 - a_t) e
    learnt  x0'(x_t, t, k) for a digit of kind k, by the mean of (x0' - x0)²
    back    x_{t-1} = (sqrt(a_{t-1}) b x0' + sqrt(1 - b) (1 - a_{t-1}) x_t) / (1 - a_t)
                      + sqrt(b (1 - a_{t-1}) / (1 - a_t)) z,     b = 1 - a_t / a_{t-1}

So x_T = noise becomes a digit that nobody has written, of the kind that was asked for. (There the
network says e, from which x0' follows: the same knowledge, but 784 numbers of noise do not go
through layers of 512, and a digit does.) It is told t by sines of it, as places are told in
transformers, and k by a row of a table; one time in ten k is not said. So it knows, too, what a
digit is like in general, and what makes it a k can be made stronger (guidance: Ho & Salimans 2022):
x0'(any) + 2 (x0'(k) - x0'(any)) is taken for x0'.

The result: of 200 digits, how many does a classifier, which learns here from the real ones, take
for what was asked for, and with a probability above 0.9? At least three quarters. It takes some
minutes on two cores.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import tutor
from tutor import Tensor, data, nn, no_grad, optim, training, viz

T, BATCH, CODE, WIDTH, LR = 200, 128, 64, 512, 1e-3
UNSAID, GUIDANCE = 0.1, 2.0


class Block(nn.Module):
    """x + two layers of its norm, which between them hear the code of the time and the digit."""

    def __init__(self) -> None:
        self.norm, self.enter = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.hear, self.leave = nn.Linear(CODE, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        return x + self.leave((self.enter(self.norm(x)) + self.hear(code)).silu())


class Guesser(nn.Module):
    """The digits behind pictures (n, 784) at the times (n), if they are of these kinds (n)."""

    def __init__(self) -> None:
        self.kinds = nn.Embedding(11, CODE)  # ten, and one for those who do not say
        self.time = nn.Sequential(nn.Linear(CODE, CODE), nn.SiLU(), nn.Linear(CODE, CODE))
        self.enter, self.leave = nn.Linear(784, WIDTH), nn.Linear(WIDTH, 784)
        self.blocks = [Block() for _ in range(3)]
        self.waves = Tensor([math.pi * 2 ** (8 * i / (CODE // 2) - 1) for i in range(CODE // 2)])

    def forward(self, x: Tensor, t: Tensor, kinds: Tensor) -> Tensor:
        angles = t.reshape(-1, 1) / T * self.waves
        code = (self.time(tutor.cat([angles.sin(), angles.cos()], 1)) + self.kinds(kinds)).silu()
        h = self.enter(x)
        for block in self.blocks:
            h = block(h, code)
        return self.leave(h.silu()).tanh()


class Diffusion:
    """The network, and the way from a digit to noise and back."""

    def __init__(self) -> None:
        self.model = Guesser()
        self.params = nn.get_parameters(self.model)
        self.average = optim.EMA(self.params, decay=0.998, warm_up=True)
        left = [math.cos(0.5 * math.pi * (t / T + 0.008) / 1.008) ** 2 for t in range(T + 1)]
        self.left = Tensor([a / left[0] for a in left]).clip(1e-5, 1.0)  # a_t, of which one divides
        self.back = tutor.jit(self.one_step_back)

    def at(self, t: Tensor) -> Tensor:
        """a_t for each of the pictures."""
        return self.left.index_select(0, t).reshape(-1, 1)

    def loss(self, x0: Tensor, kinds: Tensor) -> Tensor:
        """How far its guesses are off, with noise mixed in up to times drawn at random."""
        x0 = x0.reshape(-1, 784)
        kinds = (Tensor.rand(len(x0)) < UNSAID).where(10, kinds.cast("int64"))
        t, e = tutor.randint(1, T + 1, (len(x0),)), Tensor.randn(*x0.shape)
        a = self.at(t)
        return nn.functional.mse_loss(self.model(a.sqrt() * x0 + (1 - a).sqrt() * e, t, kinds), x0)

    def one_step_back(self, x: Tensor, t: Tensor, kinds: Tensor) -> Tensor:
        """x_{t-1} of x_t: the formulas above."""
        a, before = self.at(t), self.at(t - 1)
        b, rest = 1 - a / before, (1 - before) / (1 - a)
        any_kind = self.model(x, t, Tensor.full(kinds.shape, 10, dtype="int64"))
        guess = any_kind + GUIDANCE * (self.model(x, t, kinds) - any_kind)
        mean = before.sqrt() * b / (1 - a) * guess.clip(-1, 1) + (1 - b).sqrt() * rest * x
        return mean + (b * rest).sqrt() * Tensor.randn(*x.shape)

    def draw(self, kinds: Tensor, every: int = 10) -> list[tuple[int, Tensor]]:
        """From noise to pictures of these digits: every few steps t and what is there, and x0."""
        x, seen = Tensor.randn(len(kinds), 784), []
        with no_grad(), self.average.swapped():
            for t in range(T, 0, -1):
                if t % every == 0:
                    seen.append((t, x))
                x = self.back(x, Tensor([t] * len(kinds)), kinds)
        return [*seen, (0, x)]


def judge_of_digits() -> nn.Sequential:
    """A small network that is to read digits."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip


def train(
    steps: int, loader: data.DataLoader, params: list[Tensor],
    loss_of: Callable[[Tensor, Tensor], Tensor], after: Callable[[], object] = lambda: None,
    log: Path | None = None,
) -> training.Run:  # fmt: skip
    """Move the parameters until the loss of (images, labels) is small."""
    run = training.Run(math.ceil(steps / len(loader)), log=log)
    adam = optim.AdamW(params, lr=LR)
    rate = optim.lr_scheduler.OneCycleLR(adam, LR, total_steps=run.epochs * len(loader))

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = loss_of(x, y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        after()
        return loss

    for _ in run:
        for batch in run.batches(loader):
            run.note(loss=step(*batch))
            rate.step()
    return run


def as_input(images: Tensor) -> Tensor:  # pixels from -1 to 1
    return (data.ToFloat()(images) * 2 - 1).reshape(-1, 1, 28, 28)


def grid(x: Tensor, rows: int, title: str) -> viz.Picture:
    return viz.images((x[: 10 * rows] / 2 + 0.5).clip(0, 1), title=title)


def main() -> float:
    options = argparse.ArgumentParser(description="digits from noise")
    options.add_argument("--steps", type=int, default=12_000)
    options.add_argument("--data", default="auto", help="auto, mnist or digits")
    options.add_argument("--limit", type=int, help="how many images to learn from, and to test on")
    options.add_argument("--each", type=int, default=20, help="how many of each digit are drawn")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/diffusion"))
    args = options.parse_args()
    tutor.manual_seed(args.seed)
    digits = data.load(args.data, args.limit)
    pairs = (digits.train_images, digits.train_labels)
    loader = data.DataLoader(pairs, BATCH, shuffle=True, drop_last=True, transform=as_input)

    judge, diffusion = judge_of_digits(), Diffusion()
    print("a judge learns to read digits")
    train(args.steps // 10, loader, judge.parameters(), lambda x, y: judge(x).cross_entropy(y))
    tests = data.batches(as_input(digits.test_images), digits.test_labels, 500, shuffle=False)
    print(f"it reads {training.evaluate(judge, tests):.1%} of the test digits rightly")
    print("another network learns to tell noise")
    average, log = diffusion.average, args.out / "log.jsonl"
    run = train(args.steps, loader, diffusion.params, diffusion.loss, average.update, log)
    asked = Tensor([*range(10)] * args.each)
    print(f"and draws {len(asked)} digits")
    drawn = diffusion.draw(asked)
    frames = [grid(x, 3, f"{T - t} of {T} steps back") for t, x in drawn]
    viz.film(frames, 0.25).save(args.out / "film.svg")
    grid(x := drawn[-1][1], 10, "digits that nobody has written").save(args.out / "digits.svg")
    run.curves().save(args.out / "curves.svg")
    with no_grad():
        sure = judge(x.reshape(-1, 1, 28, 28)).softmax(-1).gather(1, asked.reshape(-1, 1))
    share = (sure > 0.9).cast("float32").mean().item()
    print(f"{share:.1%} of them are taken for what was asked for")
    print(f"wrote {args.out}/film.svg, digits.svg, curves.svg, log.jsonl")
    return share


if __name__ == "__main__":
    main()
