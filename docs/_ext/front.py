"""The pictures of the front page, made by the library itself when the site is built."""

from __future__ import annotations

import base64

import speed

import tutor
from tutor import Tensor, data, nn, optim, viz
from tutor.data import digits
from tutor.viz.pixels import png
from tutor.viz.svg import Picture, rect, tag, text

STEPS, BATCH, SHOWN = 400, 32, 4


def walk() -> Picture:
    """A loss of three numbers and the walk back through what made it."""
    x, w, b = (Tensor(value, requires_grad=True) for value in (2.0, -3.0, 7.0))
    loss = (x * w + b) ** 2
    return viz.walk(loss, names={"x": x, "w": w, "b": b, "loss": loss})


def reading(seed: int = 3) -> Picture:
    """A drawn digit, and what a network says of it that has learned from others like it."""
    tutor.manual_seed(0)
    images, labels = digits.draw(STEPS * BATCH // 4, seed=0)
    model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    loader = data.DataLoader(data.TensorDataset(pixels(images), labels), BATCH, shuffle=True)
    for _ in range(4):
        for x, y in loader:
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    image = digits.draw(SHOWN, seed=seed)[0][SHOWN - 1 :]
    with tutor.no_grad():
        said = model(pixels(image)).softmax(1)[0].tolist()
    return answer(image.reshape(-1).tolist(), said)


def answer(ink: list[int], said: list[float]) -> Picture:
    """The digit, large, and a bar for the probability of each of the ten answers."""
    side, top, step = 160, 46, 16
    file = base64.b64encode(png([255 - p for p in ink], 28, 28)).decode()
    parts = [
        text(20, 30, "a digit it has never seen", 13, "soft"),
        tag("image", x=20, y=top, width=side, height=side, style="image-rendering:pixelated",
            href=f"data:image/png;base64,{file}"),
        rect(19, top - 1, side + 2, side + 2, "none", rx=3, stroke="line"),
        text(206, 30, "what the network says", 13, "soft"),
    ]  # fmt: skip
    best = max(range(10), key=said.__getitem__)
    for digit, p in enumerate(said):
        y, won = top + step * digit, digit == best
        ink_, weight = ("blue", 600) if won else ("soft", None)
        parts.append(text(206, y + 12, digit, 13, ink_, weight=weight, mono=True))
        parts.append(rect(222, y + 2, max(1.5, 150 * p), step - 5, "blue" if won else "line", rx=2))
        if p >= 0.01:
            words = f"{100 * p:.0f} %"
            parts.append(text(228 + 150 * p, y + 12, words, 12, ink_, weight=weight))
    title = (
        f"A drawn digit; the network says {best}, with a probability of {100 * said[best]:.0f} %"
    )
    return Picture("".join(parts), 440, top + side + 24, title)


def pixels(images: Tensor) -> Tensor:
    """Bytes from 0 to 255 as rows of numbers from 0 to 1."""
    return images.reshape(-1, 784).float() / 255


def step() -> Picture:
    """How long a training step takes, from the benchmark's rows."""
    some = [row for row in speed.rows("mlp") if row["case"].startswith("step")][:2]
    return speed.chart(some, "a training step, 784-128-10", 440)


PICTURES = {"walk": walk, "reading": reading, "step": step}
