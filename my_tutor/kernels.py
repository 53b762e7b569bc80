"""Kernels: the loops over numbers."""

import math
import operator

from .buffer import FORMATS, LIMITS
from .registry import register
from .tensor import permute, transpose


# ---- 04.2, yours


def elementwise(f):
    """The kernel that puts f of the inputs' elements into each element of out."""

    def kernel(out, *ins):
        out.fill(list(map(f, *[x.values() for x in ins])))

    return kernel


# ---- chapter 4, given


def exp(x):
    """e ** x; what is too large is infinite"""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x):
    """ln x; minus infinity at 0, nan below"""
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def power(x, y):
    """x ** y; infinite where it is too large, and 0 ** -1; nan where it is not real"""
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf if x > 0 or y % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


PYTHON = {  # the kernels in plain Python, by name
    "add": elementwise(operator.add),
    "mul": elementwise(operator.mul),
    "neg": elementwise(operator.neg),
    "gt": elementwise(operator.gt),
    "relu": elementwise(lambda x: max(x, 0)),
    "exp": elementwise(exp),
    "log": elementwise(log),
    "pow": elementwise(power),
    "cast": elementwise(lambda x: x),
}


# ---- chapter 4, given, part 2


def parts(numbers, count):
    """The numbers in `count` parts of equal length."""
    n = len(numbers) // max(count, 1)
    return [numbers[i * n : i * n + n] for i in range(count)]


# ---- 04.8, yours


def reduction(f):
    """The kernel that puts f of each list of elements along `axis` into out."""

    def kernel(out, x, axis):
        kept = [a for a in range(len(x.shape)) if a not in axis]
        numbers = permute(x, [*kept, *axis]).values()
        out.fill([f(part) for part in parts(numbers, out.numel())])

    return kernel


# ---- chapter 4, given, part 3


def total(numbers):
    """The sum: of ints exact, of floats rounded once; infinite or nan where plain addition is"""
    if all(isinstance(x, int) for x in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def largest(numbers):
    """The largest of them; nan if there is one."""
    return math.nan if any(x != x for x in numbers) else max(numbers)


PYTHON["sum"] = reduction(total)
PYTHON["max"] = reduction(largest)


# ---- 04.9, yours


def matmul(out, x, y):
    """out_ij = sum_k x_ik * y_kj"""
    rows, columns = parts(x.values(), x.shape[0]), parts(transpose(y).values(), y.shape[1])
    out.fill([sum(map(operator.mul, row, column)) for row in rows for column in columns])


# ---- chapter 4, given, part 4

PYTHON["matmul"] = matmul


# ---- chapter 4b, given

NUMBERS = [dtype for dtype in FORMATS if dtype != "bool"]
NOT_FOR_ALL = {"neg": NUMBERS, "exp": LIMITS, "log": LIMITS, "pow": LIMITS}  # LIMITS has the floats


def register_python():
    """Enter the kernels in Python, each for the dtypes for which it has a meaning."""
    for name, kernel in PYTHON.items():
        register(name, kernel, dtypes=NOT_FOR_ALL.get(name, FORMATS))


register_python()


# ---- 04.6, yours


def lend(ndarray, t):
    """An array over the same bytes as t, walked in the same way."""
    size = t.buf.itemsize
    strides = tuple(s * size for s in t.strides)
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset * size, strides)
