"""PyTorch's own list of its operations, called with its own samples as PyTorch is called.

    python tests/torch_wing/torch_sweep.py             counts: by name, without a difference
    python tests/torch_wing/torch_sweep.py gather var  only these: what differs, what is refused

Each result is compared: its class, shape, dtype, numbers, and the gradients of its sum. DIFFERENT
says where PyTorch's answer is another, and why.
"""

from __future__ import annotations

import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

import tutor
import tutor.torch as wing
from tutor.errors import TutorError
from tutor.torch.carrier import tag

DIFFERENT = {
    "argsort": "positions of equal numbers: PyTorch's sort is not stable unless asked",
    "kthvalue": "the position among equal numbers",
    "linalg.matrix_power": "the power 0 of a matrix has no gradient here, 0 there",
    "linalg.qr": "the signs of Q's columns",
    "linalg.slogdet": "the sign, a constant, has no gradient here, 0 there",
    "logcumsumexp": "PyTorch's gradient has three digits in float32",
    "mode": "the position among equal numbers",
    "nn.functional.ctc_loss": "the gradient of what no log_softmax made: PyTorch's supposes one",
    "nn.functional.hinge_embedding_loss": "targets other than 1 and -1",
    "nn.functional.max_unpool1d": "which of several numbers for one place counts",
    "nn.functional.max_unpool2d": "which of several numbers for one place counts",
    "nn.functional.max_unpool3d": "which of several numbers for one place counts",
    "nn.functional.scaled_dot_product_attention": "dropout_p draws other numbers",
    "qr": "the signs of Q's columns",
    "sort": "positions of equal numbers: PyTorch's sort is not stable unless asked",
    "topk": "the positions among equal numbers",
}
RANDOM = {
    "bernoulli", "cauchy", "dropout", "dropout2d", "empty", "empty_like", "exponential",
    "gumbel_softmax", "multinomial", "new_empty", "normal", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "uniform",
}  # fmt: skip
SWAPPED = {"einsum", "where"}  # PyTorch's list gives x before the condition, the equation
DTYPES = (torch.float32, torch.int64, torch.bool)
NAMES = {getattr(torch, d.name): d for d in tutor.dtype.TABLE if hasattr(torch, d.name)}


def operations() -> list[Any]:
    """PyTorch's list. It imports a package for its own tests, which stands empty here."""
    if "expecttest" not in sys.modules:
        stand_in: Any = ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


class NotHereError(Exception):
    """A sample that tutor cannot hold: complex numbers, another layout, a function of PyTorch's."""


def ours(value: Any) -> Any:
    """The same value for tutor.torch."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in NAMES or value.layout != torch.strided:
            raise NotHereError
        t = tag(tutor.interop.from_torch(value.detach().clone().contiguous()))
        return t.requires_grad_() if value.requires_grad else t
    if isinstance(value, torch.dtype):
        if value not in NAMES:
            raise NotHereError
        return NAMES[value]
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(ours(inner) for inner in value)
    if isinstance(value, dict):
        return {key: ours(inner) for key, inner in value.items()}
    if isinstance(value, (complex, torch.Generator)) or callable(value):
        raise NotHereError
    if isinstance(value, torch.Size):
        return wing.Size(value)
    return str(value) if isinstance(value, (torch.device, torch.layout)) else value


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [item for inner in value for item in flat(inner)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [value]


def numbers(t: Any) -> Any:
    return t.detach().double().numpy()


def difference(theirs: Any, here: Any) -> str | None:
    """What differs between two results."""
    a, b = flat(theirs), flat(here)
    if len(a) != len(b):
        return f"{len(a)} results, here {len(b)}"
    for x, y in zip(a, b, strict=True):
        if not isinstance(x, torch.Tensor):
            if isinstance(x, (bool, int, float)) and x != y:
                return f"{x}, here {y}"
            continue
        if not isinstance(y, wing.Tensor):
            return f"a tensor, here {type(y).__name__}"
        if tuple(x.shape) != tuple(y.shape) or NAMES.get(x.dtype) is not y.dtype:
            return f"{x.dtype} {tuple(x.shape)}, here {y.dtype} {tuple(y.shape)}"
        if not np.allclose(numbers(x), numbers(y), rtol=1e-4, atol=3e-5, equal_nan=True):
            return f"{numbers(x).ravel()[:4]}, here {numbers(y).ravel()[:4]}"
    return None


def slopes(library: Any, result: Any, given: Any, tensor: type) -> tuple[Any, ...]:
    """The gradients of the sum of the results; zeros where there is none."""
    outs = [t for t in flat(result) if isinstance(t, tensor) and t.requires_grad]
    leaves = [t for t in flat(given) if isinstance(t, tensor) and t.requires_grad]
    if not outs or not leaves:
        return ()
    total = sum((t.sum() for t in outs[1:]), outs[0].sum())
    found = library.autograd.grad(total, leaves, allow_unused=True)
    return tuple(
        library.zeros_like(x.detach()) if g is None else g.detach() + 0 * x.detach()
        for x, g in zip(leaves, found, strict=True)
    )


class Found(NamedTuple):
    """What came of the samples of one operation."""

    compared: int
    different: list[str]
    refused: Counter[str]


def function_of(op: Any) -> Any:
    """Our function or method of that name; None if there is none."""
    found: Any = wing
    for part in op.name.split("."):
        found = getattr(found, part, None)
    if not callable(found) or isinstance(found, tutor.dtype.DType):
        found = getattr(wing.Tensor, op.name, None)
        found = found.fget if isinstance(found, property) else found
    return found


def samples(op: Any, limit: int) -> Iterator[tuple[Any, bool]]:
    for dtype in DTYPES:
        if dtype in op.dtypes:
            slope = dtype is torch.float32 and op.supports_autograd
            try:
                drawn = list(op.sample_inputs("cpu", dtype, requires_grad=slope))
            except (RuntimeError, NotImplementedError):
                continue
            yield from ((sample, slope) for sample in drawn[:limit])


def compared(op: Any, function: Any, limit: int = 12) -> Found:
    """Call both with each sample."""
    count, different, refused = 0, [], Counter[str]()
    for sample, slope in samples(op, limit):
        given = (sample.input, *sample.args)
        try:
            here, options = ours(given), ours(dict(sample.kwargs))
        except NotHereError:
            continue
        here = (here[1], here[0], *here[2:]) if op.name in SWAPPED else here
        wanted = op.op(*given, **sample.kwargs)
        try:
            found = function(*here, **options)
        except TutorError as error:
            refused[str(error).replace("\n", "; ")[:200]] += 1
            continue
        count += 1
        if op.name.rpartition(".")[2] in RANDOM:
            continue
        what = difference(wanted, found)
        if what is None and slope:
            theirs = slopes(torch, wanted, (given, sample.kwargs), torch.Tensor)
            mine = slopes(wing, found, (ours_first(op, here), options), wing.Tensor)
            what = difference(theirs, mine)
            what = what and f"gradient: {what}"
        if what is not None:
            different.append(what)
    return Found(count, different, refused)


def ours_first(op: Any, here: tuple[Any, ...]) -> tuple[Any, ...]:
    return (here[1], here[0], *here[2:]) if op.name in SWAPPED else here


def key_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def main() -> None:
    only, counts = set(sys.argv[1:]), Counter[str]()
    for op in operations():
        if only and op.name not in only:
            continue
        counts["entries"] += 1
        function = function_of(op)
        if function is None:
            continue
        counts["by name"] += 1
        found = compared(op, function)
        different = bool(found.different)
        counts["without a difference"] += bool(found.compared) and not different
        counts["different, in the table"] += different and op.name in DIFFERENT
        if different and op.name not in DIFFERENT:
            counts["different in silence"] += 1
            print(key_of(op), found.different[0])
        if only:
            print(key_of(op), found)
    print("; ".join(f"{count} {name}" for name, count in counts.items()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
