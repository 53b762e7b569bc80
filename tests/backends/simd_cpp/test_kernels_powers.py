"""x**2 and x**1 go a way of their own in the kernel, and leave what the way of all powers does."""

from __future__ import annotations

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.dtype import DType, bfloat16, float16, float32, float64

pytestmark = pytest.mark.usefixtures("backend")
FLOATS = [float16, bfloat16, float32, float64]
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0, 3e38, 1e-30, -1e-45]


def numbers(dtype: DType) -> Tensor:
    tutor.manual_seed(0)
    return tutor.concatenate([Tensor(SPECIAL), tutor.randn(1025) * 30]).to(dtype)


def is_same(a: Tensor, b: Tensor) -> bool:
    """To the bit; of float64, for which the reference asks the C library, to the last place."""
    if a.dtype is float64:
        one, other = np.nan_to_num(a.numpy()), np.nan_to_num(b.numpy())
        np.testing.assert_array_max_ulp(one, other, maxulp=1)
        return (np.isnan(a.numpy()) == np.isnan(b.numpy())).all()
    return [float(n).hex() for n in a.tolist()] == [float(n).hex() for n in b.tolist()]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_a_square_is_the_product_and_the_first_power_is_the_number(dtype: DType) -> None:
    x = numbers(dtype)
    for two in (2, Tensor(2.0), tutor.full(x.shape, 2.0)):
        assert is_same(x ** (two.to(dtype) if isinstance(two, Tensor) else two), x * x)
    assert is_same(x**1, x)
    strided = tutor.stack([x, x], 1)[:, 0]
    assert is_same(strided**2, x * x) and is_same(x[::-1] ** 1, x[::-1])


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_no_power_depends_on_the_exponents_beside_it(dtype: DType) -> None:
    """A register may have several exponents in it, and the last one of a row is half empty."""
    x = numbers(dtype)
    exponents = [2.0, 1.0, -0.5, 3.0]
    y = Tensor([exponents[i % 4] for i in range(len(x))], dtype=dtype)
    mixed = (x**y).tolist()
    for i, exponent in enumerate(exponents):
        alike = (x ** tutor.full(x.shape, exponent).to(dtype)).tolist()
        assert list(map(float.hex, mixed[i::4])) == list(map(float.hex, alike[i::4]))
    for count in range(1, 18):
        assert list(map(float.hex, (x[-count:] ** 2).tolist())) == [
            float.hex(n) for n in (x**2).tolist()[-count:]
        ]


def test_a_fused_mean_squared_error_and_its_gradient() -> None:
    x = tutor.randn(5, 37, requires_grad=True)
    y = tutor.randn(5, 37)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = ((x - y) ** 2).mean()
        return loss, tutor.grad(loss, [x])[0]

    for _ in range(4):
        loss, slope = step(x, y)
    wanted = (x - y).numpy()
    assert loss.item() == pytest.approx((wanted**2).mean(), rel=1e-5)
    np.testing.assert_allclose(slope.numpy(), 2 * wanted / wanted.size, rtol=1e-5)
