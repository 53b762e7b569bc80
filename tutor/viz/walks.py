"""The backward walk over a graph, as a film of one second per step and as single pictures."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tutor.errors import GraphError
from tutor.viz.films import pausable
from tutor.viz.gradients import visits as visits_of
from tutor.viz.graphs import ACROSS, MARGIN, WIDEST, GraphDrawing, graded
from tutor.viz.recorded import Recorded, block, name_of, op_of, shape_of, summary
from tutor.viz.svg import Picture, fit, number, rect, tag, text, width_of

HOLD, MOST_STEPS = 2, 60  # seconds for the last state; longest walk
LABEL = 88  # pixels for a gradient beside an edge


class BackwardVisit(NamedTuple):
    """One visit: the node of the op; the incoming gradient, in words and as written in the box; and
    the gradients it passes on, as (edge, words, words beside the edge)."""

    node: int
    gradient: str
    shown: str
    shares: list[tuple[int, str, str]]


class Markup(NamedTuple):
    """Markup that is visible from one step up to (not including) another."""

    markup: str
    start: int
    end: int


class BackwardFilm(Picture):
    """The film; `steps` are its states as Pictures, from the seed to the last gradient."""

    def __init__(self, film: Picture, steps: list[Picture]) -> None:
        told = "\n".join(step.title for step in steps)
        super().__init__(film.body, film.width, film.height, film.title, film.style, told)
        self.steps = steps


def _recorded_steps(y: Any, recorded: Recorded) -> list[tuple[BackwardVisit, dict[int, str]]]:
    """Each visit of backward(), with the gradient accumulated at each input's node after it."""
    total: dict[int, Any] = {}
    found = []
    for visit in visits_of(y):
        if id(visit.op) not in recorded.number or recorded.number[id(visit.op)] >= len(
            recorded.nodes
        ):
            continue
        v = recorded.number[id(visit.op)]
        if recorded.nodes[v].left_out:
            continue
        shares, sums, nth = [], {}, 0
        for edge, g in visit.shares:
            while visit.op.edges[nth] is not edge:
                nth += 1
            a = recorded.nodes[v].inputs[nth]
            total[a] = total[a] + g if a in total else g
            shares.append((nth, summary(g), _brief(g)))
            sums[a] = block(total[a])
            nth += 1
        gradient = visit.gradient
        found.append((BackwardVisit(v, summary(gradient), block(gradient), shares), sums))
    return found


def _given_steps(
    recorded: Recorded, visits: Sequence[tuple[Any, Any]]
) -> list[tuple[BackwardVisit, dict[int, str]]]:
    """The visits that the caller lists; what they pass on is unknown."""
    found: list[tuple[BackwardVisit, dict[int, str]]] = []
    for op, gradient in visits:
        if id(op) not in recorded.number:
            raise GraphError(
                f"a visit of {name_of(op)}",
                "this op is not in the graph of the result",
                "give the ops that can be reached from it, each with its gradient as text",
            )
        found.append((BackwardVisit(recorded.number[id(op)], str(gradient), str(gradient), []), {}))
    return found


def walk(
    y: Any, visits: Sequence[tuple[Any, Any]] | None = None, names: Any = None
) -> BackwardFilm:
    """The walk of `y.backward()`: each step visits one op, shows the gradient that arrives there,
    the gradients that it passes on to its inputs, and the sums that grow at them.

    The gradients are computed on the side: no `.grad` changes, the graph is not freed. For classes
    of your own (see tutor/viz/recorded.py) pass `visits`, a list of (op, gradient as text); an op
    may occur more than once. The picture loops, and pauses while the pointer is over it or after a
    click; readers whose system asks for reduced motion see its last state. `.steps` has a still
    Picture for each state. Raises GraphError if there is nothing to walk.

        >>> from tutor import Tensor
        >>> x = Tensor(3.0, requires_grad=True)
        >>> film = walk((x + 2) * 4, names={"x": x})
        >>> [step.title for step in film.steps]
        ['seed: the gradient of the result is 1', 'Mul gets 1.0, hands on 4.0', \
'Add gets 4.0, hands on 4.0', 'done: every leaf has its gradient']
    """
    recorded = Recorded(y, names)
    if op_of(y) is None:
        raise GraphError("a walk backward", "no op made this: it is a leaf",
                         "give the result of a calculation")  # fmt: skip
    given = visits is not None
    steps = _given_steps(recorded, visits) if visits is not None else _recorded_steps(y, recorded)
    steps = steps[:MOST_STEPS]
    seed = steps[0][0].shown if steps and steps[0][0].node == 0 else "1"
    room: dict[int, str] = {0: seed}
    for step, sums in steps:
        for v, words in [(step.node, step.shown), *sums.items()]:
            room[v] = max(room.get(v, ""), words, key=len)
    labels = [label for step, _ in steps for *_, label in step.shares]
    widest = max((width_of(words, 12, mono=True) for words in labels), default=0)
    drawing = GraphDrawing(recorded, room, max(ACROSS, widest + 36))
    captions = list(_captions(recorded, steps, given))
    parts = list(_parts(drawing, steps, captions, seed))
    before = 2 * MARGIN + width_of("backward  ", 12)
    wide = max([drawing.width, *(before + width_of(c, 14, bold=True) for c in captions)])
    high, frames = drawing.height + 34, len(steps) + 2

    still = drawing.all(gradients=False)
    base = text(MARGIN, 26, "backward", 12, "soft") + tag("g", still, transform="translate(0 24)")
    stills = []
    for k in range(frames):
        shown = "".join(part.markup for part in parts if part.start <= k < part.end)
        stills.append(Picture(base + shown, math.ceil(wide), math.ceil(high), captions[k]))
    body, style = _film(parts, frames, (math.ceil(wide), math.ceil(high)))
    title = f"backward through {len(steps)} ops"
    return BackwardFilm(
        Picture(base + body, math.ceil(wide), math.ceil(high), title, style), stills
    )


def _captions(
    recorded: Recorded, steps: Sequence[tuple[BackwardVisit, Any]], given: bool
) -> Iterator[str]:
    t = recorded.nodes[0].tensor
    one = math.prod(getattr(t, "shape", ())) == 1
    yield f"seed: the gradient of {'the result' if one else 'the sum of it'} is 1"
    for step, _ in steps:
        handed = (
            f", hands on {' and '.join(words for _, words, _ in step.shares)}"
            if step.shares
            else ""
        )
        name = name_of(recorded.nodes[step.node].op)
        yield f"{name} gets {step.gradient}{handed}"
    yield "done: every op was visited" if given else "done: every leaf has its gradient"


def _gradient(drawing: GraphDrawing, v: int, words: str) -> str:
    """The last lines of the box of node v."""
    (x, y), (_, h) = drawing.middle[v], drawing.sizes[v]
    lines = [fit(line, WIDEST, 12, mono=True) for line in graded(words)]
    low = y + 24 + h / 2 - 10 - 17 * (len(graded(drawing.room[v])) - 1)
    return "".join([text(x, low + 17 * n, line, 12, "orange", "middle", 600, mono=True)
                    for n, line in enumerate(lines)])  # fmt: skip


def _labels(drawing: GraphDrawing, step: BackwardVisit) -> Iterator[str]:
    """Gradients passed on, written on the edges; on edges close together, one below the other."""
    found = []
    for n, _, label in step.shares:
        (x0, y0), (x1, y1) = drawing.routes[step.node, n][-2:]
        found.append(((y0 + y1) / 2 + 24, x1 - min(drawing.across, x1 - x0) / 2, label))
    found.sort()
    low = -math.inf
    for y, x, words in found:
        y = low = max(y, low + 23)
        wide = width_of(words, 12, mono=True) + 12
        yield rect(x - wide / 2, y - 11, wide, 20, "orange wash", rx=10)
        yield text(x, y + 3.5, words, 12, "ink", "middle", mono=True)


def _brief(gradient: Any) -> str:
    """A gradient as text short enough for an edge: its numbers if they fit, else its shape."""
    words = summary(gradient)
    fits = width_of(words, 12, mono=True) <= LABEL
    return words if fits and not words.startswith("shape") else f"{shape_of(gradient)}"


def _parts(
    drawing: GraphDrawing, steps: Sequence[tuple[BackwardVisit, dict[int, str]]],
    captions: list[str], seed: str,
) -> Iterator[Markup]:  # fmt: skip
    """Everything that appears and disappears above the still drawing."""
    end = len(steps) + 2
    for k, caption in enumerate(captions):
        yield Markup(
            text(MARGIN + width_of("backward  ", 12), 26, caption, 14, weight=600), k, k + 1
        )
        done = rect(MARGIN, 33, max(1, k) * (drawing.width - 2 * MARGIN) / (end - 1), 2, "orange")
        yield Markup(done, k, k + 1)

    history: dict[int, list[tuple[int, str]]] = {0: [(0, seed)]}
    for k, (step, sums) in enumerate(steps, 1):
        (x, y), (w, h) = drawing.middle[step.node], drawing.sizes[step.node]
        ring = rect(x - w / 2 - 5, y + 24 - h / 2 - 5, w + 10, h + 10, "none", rx=15,
                    stroke="orange", stroke_width=3)  # fmt: skip
        edges = [drawing.edge(step.node, n, "orange", 3, back=True) for n, *_ in step.shares]
        markup = tag("g", "".join(edges), transform="translate(0 24)") if edges else ""
        yield Markup(markup + ring + "".join(_labels(drawing, step)), k, k + 1)
        past = history.setdefault(step.node, [])
        if not past or past[-1][1] != step.shown:
            past.append((k, step.shown))
        for v, words in sums.items():
            history.setdefault(v, []).append((k, words))
    for v, past in history.items():
        ends = [k for k, _ in past[1:]] + [end]
        for (k, words), until in zip(past, ends, strict=True):
            if k < until:
                yield Markup(_gradient(drawing, v, words), k, until)


def _film(parts: Sequence[Markup], frames: int, size: tuple[int, int]) -> tuple[str, str]:
    """All parts on top of each other, each with the times when it is visible."""
    seconds = frames + HOLD
    body, rules, names = [], [], {}
    key = hashlib.blake2s("".join(p.markup for p in parts).encode(), digest_size=4).hexdigest()
    for part in parts:
        last = part.end == frames
        span = (part.start, seconds if last else part.end)
        if span not in names:
            names[span] = name = f"tw{key}-{span[0]}-{span[1]}"
            on, off = (number(100 * t / seconds) for t in span)
            before = "" if part.start == 0 else "0%{opacity:0}"
            after = "" if last else f"{off}%{{opacity:0}}"
            rules.append(f"@keyframes {name}{{{before}{on}%{{opacity:1}}{after}}}")
            rules.append(f".{name}{{animation:{name} {seconds}s step-end infinite}}")
        body.append(tag("g", part.markup, class_=names[span], opacity=None if last else 0))
    markup, pause = pausable("".join(body), f"tw{key}", *size)
    return markup, f"@media(prefers-reduced-motion:no-preference){{{''.join(rules)}{pause}}}"
