"""Six patches to tutor, each of which adds the op `logit`, for the bug hunt of chapter 18.

One of them would be taken. Of the others each has another fault, which tests/course/test_patches.py
shows by running them.
"""

from __future__ import annotations

FAULTS = {
    "derivative": "its backward is not the derivative of its forward",
    "once": "its backward cannot be differentiated again",
    "saves": "it keeps more than its backward needs",
    "broadcasting": "its backward does what the Engine does for all ops",
    "integers": "it fails on tensors of integers",
    "none": "nothing: it would be taken",
}

HEAD = '''class Logit(Unary):
    """z = ln(x / (1 - x))"""

'''
FORWARD = """
    @no_grad()
    def forward(self, x):
        return x.log() - (-x).log1p()
"""

PATCHES = {
    "A": HEAD
    + '    saves, wants_float = ("x", "out"), True\n'
    + FORWARD
    + """
    def backward(self, g, x, out):
        return g / (x * (1 - x))
""",
    "B": HEAD
    + '    saves, wants_float = ("x",), True\n'
    + FORWARD
    + """
    def backward(self, g, x):
        slopes = [1 / (v * (1 - v)) for v in x.reshape(-1).tolist()]
        return g * Tensor(slopes, dtype=x.dtype).reshape(*x.shape)
""",
    "C": HEAD
    + '    saves, wants_float = ("x",), True\n'
    + FORWARD
    + """
    def backward(self, g, x):
        return g * (1 / x - 1 / (1 - x))
""",
    "D": HEAD
    + '    saves = ("x",)\n'
    + """
    @no_grad()
    def forward(self, x):
        if not x.is_floating_point():
            raise DTypeError("logit of integers", x.dtype, "cast them first")
        return x.log() - (-x).log1p()

    def backward(self, g, x):
        return g / (x * (1 - x))
""",
    "E": HEAD
    + '    saves, wants_float = ("x",), True\n'
    + FORWARD
    + """
    def backward(self, g, x):
        return g / (x * (1 - x))
""",
    "F": HEAD
    + '    saves, wants_float = ("x",), True\n'
    + FORWARD
    + """
    def backward(self, g, x):
        slope = g / (x * (1 - x))
        while slope.ndim > x.ndim:
            slope = slope.sum(0)
        return slope
""",
}
LETTERS = {"A": "saves", "B": "once", "C": "derivative", "D": "integers", "E": "none",
           "F": "broadcasting"}  # fmt: skip
