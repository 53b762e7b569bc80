"""A ball that rolls down a curve step by step: gradient descent in one dimension."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

from tutor._util.typing import TensorLike
from tutor.errors import DataError
from tutor.viz.axes import Frame, drawable, finite, numbers_of
from tutor.viz.svg import Picture, fit, number, path, polyline, short, tag, text

WIDTH, HEIGHT, MARGIN = 720, 380, 24
SAMPLES, HOLD, MOST_STEPS = 160, 2, 100


def _value(f: Callable[[float], TensorLike], x: float) -> float:
    """f(x) as a float; nan if f refuses x."""
    try:
        return numbers_of(f(x), "f(x)")[0]
    except (ArithmeticError, ValueError):
        return math.nan


def plane(
    f: Callable[[float], TensorLike], path_of_x: TensorLike, title: str = "", x: str = "x",
    y: str = "f(x)",
) -> Picture:  # fmt: skip
    """The curve of f, and a ball that spends one second at every x of the path.

    Readers whose system asks for reduced motion see the ball at the last x; the earlier places stay
    as small marks. `f` takes a float. Raises DataError for a path without an x, or if f has no
    finite value on it.

        >>> plane(lambda x: (x - 3) ** 2, [0.0, 1.5, 2.25])
        <Picture 'from x = 0.0 to x = 2.25 in 2 steps'>
    """
    xs = finite(numbers_of(path_of_x, "the path of a plane"), "the path of a plane")
    title = title or f"from {x} = {short(xs[0])} to {x} = {short(xs[-1])} in {len(xs) - 1} steps"
    if len(xs) > MOST_STEPS:  # evenly spaced, including both ends
        chosen = [round(k * (len(xs) - 1) / (MOST_STEPS - 1)) for k in range(MOST_STEPS)]
        xs = [xs[k] for k in chosen]
    ys = [_value(f, v) for v in xs]
    low, high = min(xs), max(xs)
    room = 0.35 * (high - low) or 1.0
    span = (low - room, high + room)
    samples = [span[0] + (span[1] - span[0]) * k / SAMPLES for k in range(SAMPLES + 1)]
    curve = [(v, _value(f, v)) for v in samples]
    heights = finite([v for _, v in curve] + ys, "the curve of a plane")
    if not all(map(drawable, ys)):
        raise DataError("a ball on a curve", "f has no finite value at an x of the path",
                        "give a path on which f is finite")  # fmt: skip
    air = 0.08 * (max(heights) - min(heights)) or 1.0
    frame = Frame(78, 78, WIDTH - 78 - 48, HEIGHT - 78 - 64, span,
                  (min(heights) - air, max(heights) + air))  # fmt: skip
    parts = [text(MARGIN, 34, fit(title, WIDTH - 2 * MARGIN, 15, bold=True), 15, weight=600),
             frame.grid(x, y)]  # fmt: skip
    piece: list[tuple[float, float]] = []
    for v, height in [*curve, (math.nan, math.nan)]:
        if drawable(height):
            piece.append((frame.x(v), frame.y(height)))
        elif piece:
            parts.append(path(polyline(piece), "blue", 2.25, stroke_linejoin="round"))
            piece = []
    at = [(frame.x(a), frame.y(b)) for a, b in zip(xs, ys, strict=True)]
    if len(at) > 1:
        parts.append(path(polyline(at), "orange", 1.25, stroke_dasharray="3 4"))
    for px, py in at:
        parts.append(tag("circle", cx=px, cy=py, r=3.5, fill="paper", stroke="orange",
                         stroke_width=1.5))  # fmt: skip

    seconds = len(at) - 1 + HOLD
    key = hashlib.blake2s(repr((at, title)).encode(), digest_size=4).hexdigest()
    moves, words = [], []
    for k, (px, py) in enumerate(at):
        stops = [k / seconds, (k + 0.45) / seconds] if k < len(at) - 1 else [k / seconds, 1.0]
        where = ",".join(f"{number(100 * t)}%" for t in stops)
        moves.append(f"{where}{{transform:translate({number(px)}px,{number(py)}px)}}")
        last = k == len(at) - 1
        name = f"tp{key}-{k}"
        shown = f"step {k}:  {x} = {short(xs[k])},  {y} = {short(ys[k])}"
        words.append((name, k, last, text(WIDTH - MARGIN, 62, shown, 13, "orange", "end", 600)))
    style = [f"@keyframes tp{key}{{{''.join(moves)}}}",
             f".tp{key}{{animation:tp{key} {seconds}s ease-in-out infinite}}"]  # fmt: skip
    for name, k, last, markup in words:
        before = "" if k == 0 else "0%{opacity:0}"
        after = "" if last else f"{number(100 * (k + 1) / seconds)}%{{opacity:0}}"
        on = number(100 * k / seconds)
        style.append(f"@keyframes {name}{{{before}{on}%{{opacity:1}}{after}}}")
        style.append(f".{name}{{animation:{name} {seconds}s step-end infinite}}")
        parts.append(tag("g", markup, class_=name, opacity=None if last else 0))
    (px, py), ball = at[-1], tag("circle", r=8.5, fill="orange", stroke="paper", stroke_width=2)
    parts.append(tag("g", ball, class_=f"tp{key}",
                     transform=f"translate({number(px)} {number(py)})"))  # fmt: skip
    moving = f"@media(prefers-reduced-motion:no-preference){{{''.join(style)}}}"
    return Picture("".join(parts), WIDTH, HEIGHT, title, moving)
