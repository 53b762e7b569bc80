"""Films: pictures one after the other, as a single animated SVG."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from tutor._util import checks
from tutor.errors import DataError
from tutor.viz.svg import Picture, _pictures, number, rect, tag


def pausable(markup: str, name: str, width: float, height: float) -> tuple[str, str]:
    """Animated markup as one group that pauses while the pointer is over it, or while it has the
    focus (by the Tab key, a click or a tap); and the style rule for that."""
    whole = rect(0, 0, width, height, "none", pointer_events="all")
    rule = f".{name}:is(:hover,:focus) *{{animation-play-state:paused}}"
    return tag("g", whole + markup, class_=name, tabindex="0"), rule


def film(
    pictures: Iterable[Picture], seconds: float = 0.25, hold: float = 2.0, title: str = ""
) -> Picture:
    """Each picture for `seconds`, the last one `hold` seconds longer, then again from the start.

    It pauses while the pointer is over it, or after a click. Readers whose system asks for reduced
    motion see the last picture, as do programs without animation. Sizes may differ: the film is as
    large as the largest picture. DataError without any picture.

        >>> from tutor.viz import curves
        >>> film([curves([1.0, 0.5][: n + 1]) for n in range(2)], title="learning")
        <Picture 'learning'>
    """
    frames = tuple(pictures)
    if not frames:
        raise DataError("a film", "no pictures were given", "give at least one")
    _pictures("film", frames)
    checks.number("film(seconds=...)", seconds, 1e-3, nan=False)
    checks.number("film(hold=...)", hold, 0, nan=False)
    whole = seconds * len(frames) + hold
    # A unique name: several films may be in one page, which shares one set of keyframes.
    name = f"film{zlib.crc32(''.join(f.body for f in frames).encode()):08x}"
    parts, rules = [], []
    for i, frame in enumerate(frames):
        last = i == len(frames) - 1
        start, end = (100 * seconds * n / whole for n in (i, i + 1))
        steps = {0.0: i == 0, start: True} | ({100.0: True} if last else {end: False})
        frames_of = "".join(
            f"{number(at)}%{{visibility:{'visible' if seen else 'hidden'}}}"
            for at, seen in steps.items()
        )
        rules.append(f"@keyframes {name}-{i}{{{frames_of}}}")
        rules.append(f".{name}-{i}{{animation:{name}-{i} {number(whole)}s step-end infinite}}")
        # Without animations, or with reduced motion, these attributes decide what is visible.
        parts.append(tag("g", frame.body, class_=f"{name}-{i}",
                         visibility="visible" if last else "hidden"))  # fmt: skip
    style = "".join(dict.fromkeys(frame.style for frame in frames))
    width, height = max(f.width for f in frames), max(f.height for f in frames)
    body, pause = pausable("".join(parts), name, width, height)
    moving = f"@media(prefers-reduced-motion:no-preference){{{''.join(rules)}{pause}}}"
    told = "\n".join(dict.fromkeys(frame.words or frame.title for frame in frames))
    return Picture(body, width, height, title or frames[-1].title, style + moving, told)
