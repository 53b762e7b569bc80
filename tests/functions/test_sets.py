"""Places in order, membership, lines through points, triangles: NumPy's answers."""

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    rising, sought = [1.0, 2.0, 2.0, 5.0], [[0.0, 2.0, 5.0], [9.0, 1.0, 3.0]]
    found = tutor.searchsorted(rising, sought, side=side)
    assert found.tolist() == np.searchsorted(rising, sought, side).tolist()


@pytest.mark.parametrize("right", [False, True])
def test_bucketize(right):
    bounds, x = [1.0, 2.0, 5.0], [[0.0, 1.0, 1.5], [2.0, 5.0, 9.0]]
    found = tutor.bucketize(Tensor(x), Tensor(bounds), right)
    assert found.tolist() == np.digitize(x, bounds, right=not right).tolist()
    assert tutor.bucketize([3], [1, 2, 5]).tolist() == [2]


def test_isin():
    for x, test in (([[1, 2], [3, 4]], [2, 9, 4]), ([1.0, np.nan], [np.nan, 1.0]), ([1, 2], [])):
        assert tutor.isin(x, test).tolist() == np.isin(x, test).tolist()


def test_interp():
    xp, fp = [0.0, 1.0, 3.0], [1.0, 5.0, -3.0]
    x = [[-1.0, 0.0, 0.25], [1.0, 2.5, 9.0]]
    found = tutor.interp(Tensor(x), Tensor(xp), Tensor(fp))
    np.testing.assert_allclose(found.numpy(), np.interp(x, xp, fp), rtol=1e-6)
    inside = np.array([0.25, 2.5])
    gradcheck(lambda x, f: tutor.interp(x, Tensor(xp, dtype="float64"), f), inside, np.array(fp))


def test_triangles():
    for n, m, k in ((3, 3, 0), (3, 4, 1), (4, 2, -1)):
        for ours, numpys in ((tutor.tril_indices, np.tril_indices),
                             (tutor.triu_indices, np.triu_indices)):  # fmt: skip
            found = ours(n, m, k)
            assert [t.tolist() for t in found] == [t.tolist() for t in numpys(n, k, m)]
