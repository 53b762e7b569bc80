"""Initial weights: each function fills a Tensor in place and returns it.

A signal keeps its size through many layers if each layer preserves its variance. That requires
weights of variance 1 / fan_in forwards and 1 / fan_out backwards, times the gain for the activation
that follows. fan_in is the number of inputs an output sees, fan_out the number of outputs an input
reaches: for a weight (out, in, *window), in and out times the size of the window.

    >>> from tutor import Tensor, nn
    >>> nn.init.constant_(Tensor.zeros(2), 0.5)
    Tensor([0.5000, 0.5000])
"""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import stack

GAINS = {
    "linear": 1.0, "identity": 1.0, "sigmoid": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0,
    "conv_transpose1d": 1.0, "conv_transpose2d": 1.0, "conv_transpose3d": 1.0,
    "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75,
}  # fmt: skip
MODES = ("fan_in", "fan_out")


@spelled
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The scale of the layer before this activation that preserves the variance: sqrt(2) for relu,
    which halves it, sqrt(2 / (1 + param**2)) for leaky_relu with slope param (0.01), 5/3 for tanh,
    3/4 for selu, else 1 (He et al. 2015; LeCun et al. 1998, "Efficient BackProp")."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else checks.number("calculate_gain(param=...)", param)
        return math.sqrt(2 / (1 + slope * slope))
    return GAINS[checks.one_of("calculate_gain(nonlinearity=...)", nonlinearity, GAINS)]


def fans(name: str, tensor: Tensor) -> tuple[int, int]:
    """fan_in and fan_out of a weight."""
    shape = floats(name, tensor).shape
    if len(shape) < 2:
        raise ShapeError(f"{name} of shape {shape}", "fewer than 2 axes", "give (out, in, ...)")
    places = math.prod(shape[2:])
    return shape[1] * places, shape[0] * places


def floats(name: str, tensor: Tensor) -> Tensor:
    if not checks.tensor(f"{name}(tensor)", tensor).dtype.is_float:
        raise DTypeError(
            f"{name} of {tensor.dtype.name}", "weights are no whole numbers", "use a float dtype"
        )
    return tensor


def finite(name: str, x: float) -> float:
    if not math.isfinite(checks.number(name, x)):
        raise DomainError(name, f"{x}", "give a finite number")
    return float(x)


@spelled
@no_grad
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform from a to b."""
    low, high = finite("uniform_(a=...)", a), finite("uniform_(b=...)", b)
    if low > high:
        raise DomainError(f"uniform_({a=}, {b=})", "no number is between", "give a below b")
    x = Tensor.rand(floats("uniform_", tensor).shape, dtype=tensor.dtype, device=tensor.device)
    return tensor.assign(x * (high - low) + low)


@spelled
@no_grad
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal, with this mean and standard deviation."""
    mean, std = finite("normal_(mean=...)", mean), checks.number("normal_(std=...)", std, 0)
    x = Tensor.randn(floats("normal_", tensor).shape, dtype=tensor.dtype, device=tensor.device)
    return tensor.assign(x * finite("normal_(std=...)", std) + mean)


@spelled
@no_grad
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Normal, truncated to a ... b: mean + std z, z = sqrt(2) erfinv(u), u uniform from
    2 P(X < a) - 1 to 2 P(X < b) - 1; erfinv by Newton's method. DomainError if a >= b, std <= 0."""
    mean, std = finite("trunc_normal_(mean=...)", mean), finite("trunc_normal_(std=...)", std)
    low, high = finite("trunc_normal_(a=...)", a), finite("trunc_normal_(b=...)", b)
    if low >= high or std <= 0:
        raise DomainError(
            f"trunc_normal_({std=}, {a=}, {b=})", "no number is left", "give a below b, std above 0"
        )
    first, last = (math.erf((x - mean) / std / math.sqrt(2)) for x in (low, high))
    shape = floats("trunc_normal_", tensor).shape
    u = Tensor.rand(shape, dtype="float64", device=tensor.device)
    z = inverse_erf(u * (last - first) + first) * (math.sqrt(2) * std) + mean
    return tensor.assign(z.clip(low, high))


def inverse_erf(y: Tensor) -> Tensor:
    """x with erf(x) = y. From a start within 0.002 (Winitzki 2008), two Newton steps
    x - (erf(x) - y) / erf'(x), with erf'(x) = 2 / sqrt(pi) e**-x**2, reach 1e-12 for |y| below
    0.99; y is first clipped to the |y| where x is 5."""
    y = y.clip(-math.erf(5.0), math.erf(5.0))
    logs, a = (1 - y * y).log(), 0.147
    first = logs * 0.5 + 2 / (math.pi * a)
    x = ((first * first - logs * (1 / a)).sqrt() - first).sqrt() * y.sign()
    for _ in range(3):
        x = x - (x.erf() - y) * (x * x).exp() * (math.sqrt(math.pi) / 2)
    return x


@spelled
@no_grad
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every number to val."""
    checks.tensor("constant_(tensor)", tensor)
    number = checks.number("constant_(val)", val)
    return tensor.assign(tensor.wrap(number, tensor.dtype))


@spelled
def zeros_(tensor: Tensor) -> Tensor:
    """Set every number to 0."""
    return constant_(tensor, 0)


@spelled
def ones_(tensor: Tensor) -> Tensor:
    """Set every number to 1."""
    return constant_(tensor, 1)


@spelled
@no_grad
def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, else 0: a layer that passes its inputs through."""
    if floats("eye_", tensor).ndim != 2:
        raise ShapeError(f"eye_ of {tensor.shape}", "it is no matrix", "give 2 axes")
    return tensor.assign(Tensor.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@spelled
@no_grad
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """1 in the middle of the window where output and input are the same channel of a group, else 0:
    a convolution that passes its channels through. For weights (out, in, *window), 3 to 5 axes."""
    shape, groups = floats("dirac_", tensor).shape, layout.positive(groups, "dirac_(groups=...)")
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ShapeError(
            f"dirac_ of {shape}, {groups=}", "it is no weight of a convolution with such groups",
            "give (out, in, *window), out a multiple of groups",
        )  # fmt: skip
    tensor.assign(0)
    middle, outputs = tuple(n // 2 for n in shape[2:]), shape[0] // groups
    view = tensor.detach()
    for group in range(groups):
        for channel in range(min(outputs, shape[1])):
            view[(group * outputs + channel, channel, *middle)] = 1
    return tensor


@spelled
def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform in +-gain sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010, equation 16). Its
    variance, for gain 1, is 2 / (fan_in + fan_out), a compromise between forwards and backwards."""
    found = sum(fans("xavier_uniform_", tensor))
    bound = gained("xavier_uniform_", gain) * math.sqrt(6 / max(found, 1))
    return uniform_(tensor, -bound, bound)


@spelled
def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, variance gain**2 * 2 / (fan_in + fan_out) (Glorot & Bengio 2010)."""
    found = sum(fans("xavier_normal_", tensor))
    return normal_(tensor, 0.0, gained("xavier_normal_", gain) * math.sqrt(2 / max(found, 1)))


def gained(name: str, gain: float) -> float:
    return abs(finite(f"{name}(gain=...)", gain))


def spread(name: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """gain / sqrt(fan): the standard deviation of He et al."""
    fan = fans(name, tensor)[MODES.index(checks.one_of(f"{name}(mode=...)", mode, MODES))]
    gain = calculate_gain(nonlinearity, finite(f"{name}(a=...)", a))
    return gain / math.sqrt(max(fan, 1))


@spelled
def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform in +-gain sqrt(3 / fan), with the gain for a leaky_relu of slope a (or for another
    `nonlinearity`) (He et al. 2015, "Delving deep into rectifiers")."""
    bound = math.sqrt(3) * spread("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


@spelled
def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal, variance gain**2 / fan (He et al. 2015): see kaiming_uniform_."""
    return normal_(tensor, 0.0, spread("kaiming_normal_", tensor, a, mode, nonlinearity))


@spelled
@no_grad
def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """gain Q, with orthonormal rows (or columns, if there are more rows), which preserves lengths
    (Saxe, McClelland & Ganguli 2014). A weight (out, ...) is treated as a matrix (out, rest).

    Q is that of the QR decomposition of normal numbers, each column with the sign that makes R's
    diagonal positive, so that every rotation is equally likely (Mezzadri 2007).
    """
    gain = finite("orthogonal_(gain=...)", gain)
    fans("orthogonal_", tensor)
    rows = tensor.shape[0]
    columns = tensor.numel() // max(rows, 1)
    shape = max(rows, columns), min(rows, columns)
    x = Tensor.randn(shape, dtype="float64", device=tensor.device)
    if not x.numel():
        return tensor
    q = orthonormal(x)
    return tensor.assign((q if rows >= columns else q.T).reshape(tensor.shape) * gain)


def orthonormal(x: Tensor) -> Tensor:
    """Gram-Schmidt: subtract from each column its projections on the columns before it, then scale
    it to length 1. Twice, for accuracy. R's diagonal consists of these lengths, so is positive."""
    done: list[Tensor] = []
    for j in range(x.shape[1]):
        v = x[:, j]
        for _ in range(2 if done else 0):
            q = stack(done)
            v = v - q.T @ (q @ v)
        done.append(v / (v * v).sum().sqrt())
    return stack(done).T


@spelled
@no_grad
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Normal, but in each column a fraction `sparsity` of random rows is 0 (Martens 2010)."""
    share = checks.number("sparse_(sparsity=...)", sparsity, 0, 1, nan=False)
    if floats("sparse_", tensor).ndim != 2:
        raise ShapeError(f"sparse_ of {tensor.shape}", "it is no matrix", "give 2 axes")
    rows = tensor.shape[0]
    normal_(tensor, 0.0, std)
    order = Tensor.rand(tensor.shape, dtype="float64", device=tensor.device).argsort(0).argsort(0)
    return tensor.assign(tensor.detach().masked_fill(order < math.ceil(share * rows), 0.0))
