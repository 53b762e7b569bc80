"""The picture at the top of the README: one memory and three ways to walk it, and a graph with the
gradients that went back through it.

    python docs/readme_picture.py        # writes docs/_static/readme.svg

It is drawn by tutor.viz, from the objects that the README's first block makes, so it shows what
they are. SVG brings its dark colours along: it fits a dark page as well as a light one.
"""

from __future__ import annotations

from pathlib import Path

import tutor
from tutor import Buffer, Tensor, viz

FILE = Path(__file__).with_name("_static") / "readme.svg"


def picture() -> viz.Picture:
    buf = Buffer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    x = Tensor(buf, shape=(2, 3))
    flipped = Tensor(buf, shape=(3, 2), strides=(1, 3))
    windows = Tensor(buf, shape=(5, 2), strides=(1, 1))
    memory = viz.shared(x, flipped, windows, names=["x", "its transpose", "windows"])

    a = Tensor(2.0, requires_grad=True)
    b = Tensor(3.0, requires_grad=True)
    y = (a * b).relu() + a
    y.backward(retain_graph=True)
    graph = viz.graph(y, grads=True, names={"a": a, "b": b})
    return viz.column(memory, graph)


if __name__ == "__main__":
    with tutor.use_backend("python_ref"):
        picture().save(FILE)
