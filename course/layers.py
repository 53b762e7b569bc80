"""The four layers of a compiler for tensors, and what each library calls them: for chapter 16."""

from __future__ import annotations

from tutor.viz.svg import Picture, rect, text, tint

HEAD = ("layer", "you", "tutor", "tinygrad", "JAX", "PyTorch")
LAYERS = (
    ("capture", "recorded, lines_of", "record.py: Program", "lazy Tensor: UOps",
     "tracing: jaxpr", "Dynamo: FX graph"),
    ("rewrite", "matched, once", "passes/", "PatternMatcher", "XLA passes: HLO",
     "AOTAutograd, FX passes"),
    ("schedule", "fuse, lives, plan", "passes/fuse.py, plan.py", "kernelize, memory plan",
     "XLA fusion, buffers", "Inductor's scheduler"),
    ("code", "c_body", "source/: C", "renderer: C, PTX, WGSL", "LLVM, PTX", "Triton, C++"),
)  # fmt: skip
LEFT = (12, 96, 232, 398, 566, 712)  # where each column begins


def layers() -> Picture:
    """One row for each layer, one column for each library."""
    body = "".join(text(x, 28, word, weight=700) for x, word in zip(LEFT, HEAD, strict=True))
    for number, (name, *words) in enumerate(LAYERS):
        y = 42 + 46 * number
        body += rect(6, y, 868, 38, tint(number))
        body += text(LEFT[0], y + 24, name, weight=700)
        body += "".join(text(x, y + 24, word, 12) for x, word in zip(LEFT[1:], words, strict=True))
    return Picture(body, 880, 236, "the four layers of a compiler, by library")
