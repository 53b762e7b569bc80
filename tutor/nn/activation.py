"""Activations as layers: each applies the function of the same name in tutor.nn.functional, with
the same parameters; the formulas are there.

`inplace` is accepted where PyTorch has it, and changes nothing: no input is ever overwritten.
"""

from __future__ import annotations

import math
from typing import Any

from tutor import functions as F  # noqa: N812 - as everybody writes it
from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, DTypeLike
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module


@spelled
class Plain(Module):
    """An activation without parameters."""

    def __init__(self) -> None:
        """Takes no settings."""


@spelled
class InPlace(Module):
    """An activation that PyTorch can compute in place."""

    def __init__(self, inplace: bool = False) -> None:
        """Ignores `inplace`: see above."""


@spelled
class Along(Module):
    """An activation that looks at all numbers along an axis."""

    def __init__(self, axis: Axis = -1) -> None:
        self.axis = layout.whole_number(axis, f"{type(self).__name__}(axis=...)")


@spelled
class Alpha(Module):
    """An activation that falls to -alpha at most."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = real(self, "alpha", alpha)


@spelled
class Shrink(Module):
    """An activation that makes numbers between -lambd and lambd 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = real(self, "lambd", lambd)


def real(layer: Module, name: str, x: Any) -> float:
    """A setting as a float; an error unless it is a number."""
    return float(checks.number(f"{type(layer).__name__}({name}=...)", x))


class Tanh(Plain):
    """y = tanh(x)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.tanh(x)


class Sigmoid(Plain):
    """y = 1 / (1 + e**-x)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)


class LogSigmoid(Plain):
    """y = ln(1 / (1 + e**-x))"""

    def forward(self, x: Tensor) -> Tensor:
        return F.logsigmoid(x)


class Softsign(Plain):
    """y = x / (1 + |x|)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.softsign(x)


class Tanhshrink(Plain):
    """y = x - tanh(x)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.tanhshrink(x)


class ReLU(InPlace):
    """y = max(x, 0)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class ReLU6(InPlace):
    """y = min(max(x, 0), 6)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class SELU(InPlace):
    """y = scale (x if x > 0 else alpha (e**x - 1)), which keeps mean 0 and variance 1 from layer to
    layer (Klambauer et al. 2017, "Self-normalizing neural networks")"""

    def forward(self, x: Tensor) -> Tensor:
        return F.selu(x)


class SiLU(InPlace):
    """y = x / (1 + e**-x), also called swish"""

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(x)


class Mish(InPlace):
    """y = x tanh(ln(1 + e**x)) (Misra 2019)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.mish(x)


class Hardswish(InPlace):
    """y = x min(max(x + 3, 0), 6) / 6 (Howard et al. 2019, MobileNetV3)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.hardswish(x)


class Hardsigmoid(InPlace):
    """y = min(max(x + 3, 0), 6) / 6"""

    def forward(self, x: Tensor) -> Tensor:
        return F.hardsigmoid(x)


@spelled
class LeakyReLU(Module):
    """y = x if x > 0 else negative_slope x (Maas et al. 2013)"""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope = real(self, "negative_slope", negative_slope)

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.negative_slope)


class ELU(Alpha):
    """y = x if x > 0 else alpha (e**x - 1) (Clevert et al. 2016)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class CELU(Alpha):
    """y = x if x > 0 else alpha (e**(x / alpha) - 1): like ELU, but smooth at 0 (Barron 2017)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.celu(x, self.alpha)


@spelled
class Hardtanh(Module):
    """y = min(max(x, min_val), max_val)"""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        self.min_val = real(self, "min_val", min_val)
        self.max_val = real(self, "max_val", max_val)

    def forward(self, x: Tensor) -> Tensor:
        return F.hardtanh(x, self.min_val, self.max_val)


@spelled
class Threshold(Module):
    """y = x if x > threshold else value"""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self.threshold = real(self, "threshold", threshold)
        self.value = real(self, "value", value)

    def forward(self, x: Tensor) -> Tensor:
        return F.threshold(x, self.threshold, self.value)


@spelled
class Softplus(Module):
    """y = ln(1 + e**(beta x)) / beta: a smooth relu; x itself where beta x is above threshold"""

    def __init__(self, beta: float = 1.0, threshold: float = math.inf) -> None:
        self.beta = real(self, "beta", beta)
        self.threshold = real(self, "threshold", threshold)

    def forward(self, x: Tensor) -> Tensor:
        return F.softplus(x, self.beta, self.threshold)


class Hardshrink(Shrink):
    """y = x if |x| > lambd else 0"""

    def forward(self, x: Tensor) -> Tensor:
        return F.hardshrink(x, self.lambd)


class Softshrink(Shrink):
    """y = x - lambd above lambd, x + lambd below -lambd, else 0"""

    def forward(self, x: Tensor) -> Tensor:
        return F.softshrink(x, self.lambd)


class Softmax(Along):
    """y = e**x / sum of e**x along the axis: positive numbers that sum to 1"""

    def forward(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.axis)


class LogSoftmax(Along):
    """y = ln softmax(x) along the axis"""

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, self.axis)


class Softmin(Along):
    """y = softmax(-x) along the axis"""

    def forward(self, x: Tensor) -> Tensor:
        return F.softmin(x, self.axis)


class GLU(Along):
    """y = a / (1 + e**-b), a and b the halves of x along the axis (Dauphin et al. 2017)"""

    def forward(self, x: Tensor) -> Tensor:
        return F.glu(x, self.axis)


@spelled
class GELU(Module):
    """y = x P(X <= x) for a standard normal X (Hendrycks & Gimpel 2016); approximate="tanh" uses
    the formula with tanh."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = checks.one_of("GELU(approximate=...)", approximate, ("none", "tanh"))

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.approximate)


@spelled
class PReLU(Module):
    """y = x if x > 0 else w x, with a learnt w (num_parameters): a single number, or one for each
    channel of x (N, C, ...) (He et al. 2015)"""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, *, dtype: DTypeLike = "float32"
    ) -> None:
        n = layout.positive(num_parameters, "PReLU(num_parameters=...)")
        start = checks.number("PReLU(init=...)", init)
        self.weight = Tensor.full((n,), start, dtype=dtype, requires_grad=True)

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)
