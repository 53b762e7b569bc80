"""Other dtypes and sizes by PyTorch's names, and closeness."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.errors import AxisError, DeviceError, DomainError, DTypeError, ShapeError

pytestmark = pytest.mark.usefixtures("backend")
nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32"), ("double", "float64"),
     ("int", "int32"), ("long", "int64"), ("bool", "bool")],
)  # fmt: skip
def test_dtypes_by_method(name, dtype):
    x = Tensor([0.0, 1.5, -2.5], requires_grad=True)
    y = getattr(x, name)()
    assert y.dtype is tutor.dtype.of(dtype)
    assert y.tolist() == x.cast(dtype).tolist()
    assert y.requires_grad == y.dtype.is_float


def test_to():
    x = Tensor([1.5, 2.0])
    assert x.to("float64").dtype is x.to(tutor.float64).dtype is tutor.float64
    assert x.to(float).dtype is tutor.float32
    assert x.to(Tensor([1])).dtype is x.type_as(Tensor([1])).dtype is tutor.int64
    for same in (x.to("cpu"), x.cpu(), x.to("float32"), x.realize()):
        assert same is x
    with pytest.raises(DeviceError, match="no device of the kind 'tpu'"):
        x.to("tpu:0")
    with pytest.raises(DTypeError, match="no Tensor"):
        x.type_as("float32")
    assert x.is_floating_point() and not Tensor([1]).is_floating_point()


def test_size_is_a_number_and_a_method():
    x = Tensor.zeros(2, 3, 4)
    assert x.size == 24 and isinstance(x.size, int) and hash(x.size) == hash(24)
    assert x.size() == (2, 3, 4) and x.size(0) == 2 and x.size(-1) == x.size(dim=2) == 4
    assert type(x.size + 1) is int and f"{x.size:3d}|{x.size}" == " 24|24" and repr(x.size) == "24"
    assert json.dumps({"n": x.size}) == '{"n": 24}' and [0] * x.size == [0] * 24
    for plain in (copy.copy(x.size), copy.deepcopy(x.size), pickle.loads(pickle.dumps(x.size))):
        assert type(plain) is int and plain == 24
    assert np.arange(x.size).shape == (24,)
    assert Tensor(1.0).size == 1 and Tensor(1.0).size() == () and Tensor([]).size == 0
    with pytest.raises(AxisError):
        x.size(3)


def test_shapes_of_others():
    x, y = Tensor.arange(6), Tensor.zeros(2, 3)
    assert x.reshape_as(y).shape == x.view_as(y).shape == (2, 3)
    assert Tensor([[1], [2]]).expand_as(y).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert (y.dim(), y.ndimension(), y.ndim) == (2, 2, 2)
    assert y.t().shape == (3, 2) and x.t() is not None and x.t().shape == (6,)
    with pytest.raises(ShapeError, match="mT"):
        Tensor.zeros(2, 3, 4).t()
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    (x.t() * Tensor([[3.0], [4.0]])).sum().backward()
    assert x.grad.tolist() == [[3.0, 4.0]]


CLOSE = [
    (1.0, 1.0), (1.0, 1.0 + 1e-5), (1.0, 1.0 + 1.2e-5), (1.0 + 1.2e-5, 1.0), (0.0, 1e-8),
    (0.0, 1.1e-8), (inf, inf), (inf, -inf), (inf, 1.0), (1.0, inf), (-inf, -inf),
    (nan, nan), (nan, 1.0), (1e300, 1e300 * (1 + 1e-6)), (-0.0, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_closeness_is_numpy_s(dtype, equal_nan):
    with np.errstate(over="ignore", invalid="ignore"):
        x, y = (np.array(side).astype(dtype) for side in zip(*CLOSE, strict=True))
        wanted = np.isclose(x, y, equal_nan=equal_nan)
    assert Tensor(x).isclose(Tensor(y), equal_nan=equal_nan).tolist() == wanted.tolist()
    assert tutor.isclose(x, y, equal_nan=equal_nan).tolist() == wanted.tolist()


def test_closeness_of_other_numbers():
    assert Tensor([1, 2], dtype="uint8").isclose(Tensor([2, 1], dtype="uint8"), atol=1).all().item()
    assert not Tensor([1, 255], dtype="uint8").allclose(Tensor([1, 0], dtype="uint8"))
    assert Tensor([2**62]).allclose(2**62) and Tensor([True]).allclose(True)
    assert Tensor([0.1], dtype="float64").allclose(0.1, rtol=0, atol=0)  # a number is weak
    assert Tensor([1.0, 2.0]).allclose([1.0, 2.0]) is True
    assert Tensor([]).allclose([]) and not Tensor([1.0]).allclose([1.0, 2.0])
    assert Tensor([1000.0], dtype="float16").allclose(1001.0, rtol=2e-3)
    assert not Tensor([1.0], requires_grad=True).isclose(1.0).requires_grad
    for wrong in ({"rtol": -1}, {"atol": nan}):
        with pytest.raises(DomainError):
            Tensor([1.0]).isclose(1.0, **wrong)


def test_comparisons_by_name():
    x = Tensor([1.0, 2.0, 3.0])
    assert [getattr(x, n)(2).tolist() for n in ("eq", "ne", "lt", "le", "gt", "ge")] == [
        [False, True, False], [True, False, True], [True, False, False],
        [True, True, False], [False, False, True], [False, True, True],
    ]  # fmt: skip
