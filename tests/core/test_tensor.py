"""Tensor: construction, what goes out, text, copies, names."""

import copy
import pickle
from array import array

import numpy as np
import pytest

import tutor
from tutor import Buffer, Tensor
from tutor.core.tensor import TensorBase
from tutor.errors import DomainError, DTypeError, ShapeError


def test_ways_to_make_one(backend):
    assert Tensor.zeros(2, 3).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert Tensor.ones((2,), dtype="int8").tolist() == [1, 1]
    assert Tensor.full((2, 2), 7).tolist() == [[7, 7], [7, 7]]
    assert Tensor.full((2, 2), 7).dtype is tutor.int64
    assert Tensor.full((), 2.5, dtype="float16").item() == 2.5
    assert Tensor.full((2,), 2**63 + 1, dtype="uint64").tolist() == [2**63 + 1] * 2
    assert Tensor.zeros_like(Tensor([1, 2])).dtype is tutor.int64
    assert Tensor.ones_like(Tensor([1.0]), requires_grad=True).requires_grad
    assert Tensor.arange(3).tolist() == [0, 1, 2]
    assert Tensor.arange(1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert Tensor.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert Tensor.arange(0).shape == (0,)
    assert Tensor.eye(2).tolist() == [[1, 0], [0, 1]]
    assert Tensor.zeros(()).shape == ()
    assert tutor.zeros(2).shape == (2,)
    assert Tensor(Buffer([1, 2, 3, 4]), (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert Tensor(Buffer([1, 2, 3, 4]), (2,), (2,), 1).tolist() == [2, 4]
    assert Tensor([1, 2, 3, 4], (2, 2)).shape == (2, 2)
    assert Tensor(array("d", [1, 2])).dtype is tutor.float64
    assert Tensor([Tensor([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert Tensor([1], device="CPU").device == "cpu"


def test_random_numbers_depend_on_the_seed_alone(backend):
    tutor.manual_seed(7)
    first = [Tensor.rand(3, 5), Tensor.randn(1000), Tensor.glorot_uniform(20, 30)]
    tutor.manual_seed(7)
    again = [Tensor.rand(3, 5), Tensor.randn(1000), Tensor.glorot_uniform(20, 30)]
    assert [t.tolist() for t in first] == [t.tolist() for t in again]
    assert Tensor.rand(3, 5).tolist() != first[0].tolist()
    u, n, w = (t.numpy() for t in first)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(n.mean()) < 0.15
    assert abs(n.std() - 1) < 0.1
    bound = (6 / 50) ** 0.5
    assert np.abs(w).max() <= bound
    assert np.abs(w).max() > 0.9 * bound


def test_random_numbers_are_the_same_on_every_backend(backend):
    def draw():
        tutor.manual_seed(3)
        return [Tensor.rand(7).tolist(), Tensor.randn(7, dtype="float64").tolist()]

    here = draw()
    with tutor.use_backend("python_ref"):
        assert here == draw()


def test_permutations():
    p = tutor.random.permutation(100, seed=1)
    assert sorted(p) == list(range(100))
    assert p == tutor.random.permutation(100, seed=1)
    assert p != tutor.random.permutation(100, seed=1, round=1)
    assert p != tutor.random.permutation(100, seed=2)


def test_out_to_python():
    t = Tensor([[1.5, 2.0]])
    assert t[0, 0].item() == 1.5
    assert float(t[0, 1]) == 2.0
    assert int(t[0, 0]) == 1
    assert [10, 20, 30][Tensor(1)] == 20
    assert [row.tolist() for row in t.T] == [[1.5], [2.0]]
    assert len(t) == 1
    assert bool(Tensor([0.0])) is False
    assert f"{t[0, 0]:.1f}" == "1.5"
    assert t.numel() == 2
    with pytest.raises(DTypeError):
        [10, 20][Tensor(1.0)]


def test_numpy_shares_memory_whatever_the_strides():
    t = Tensor.arange(24).reshape(2, 3, 4)
    for view in (t, t.T, t[1, ::-1, 1:3], t[:, None], t[0, 0, 0], t[:0]):
        assert np.array_equal(view.numpy(), np.array(view.tolist()).reshape(view.shape))
    t[1, ::-1].numpy()[0, 0] = -5
    assert t[1, 2, 0].item() == -5
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    for d in tutor.DTYPES:
        if d is not tutor.bfloat16:
            assert Tensor([1], dtype=d).numpy().dtype == d.name
    with pytest.raises(DTypeError, match="float32"):
        Tensor([1.0], dtype="bfloat16").numpy()


def test_the_source_is_copied():
    source = np.zeros(3, dtype=np.float32)
    t = Tensor(source)
    source[:] = 1
    assert t.tolist() == [0, 0, 0]
    s = Tensor(t)
    s[0] = 9
    assert t.tolist() == [0, 0, 0]


def test_copies_keep_data_and_wish_for_a_gradient():
    t = Tensor([[1.0, 2.0]], requires_grad=True)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), copy.deepcopy(t * 2)):
        assert other.requires_grad
        assert other.is_leaf
        assert other.buf is not t.buf


def test_text():
    assert repr(Tensor([[1.0, 2.0], [3.0, 4.0]])) == "Tensor([[1., 2.],\n        [3., 4.]])"
    assert repr(Tensor([1, -20])) == "Tensor([  1, -20])"
    assert repr(Tensor([0.5, float("nan")])) == "Tensor([0.5000,    nan])"
    assert repr(Tensor(1.0, requires_grad=True)) == "Tensor(1., requires_grad=True)"
    assert repr(Tensor([1], dtype="uint8")) == "Tensor([1], dtype=tutor.uint8)"
    assert repr(Tensor([1e10, 1.0])) == "Tensor([1.0000e+10, 1.0000e+00])"
    assert repr(Tensor(1.0, requires_grad=True) * 2) == "Tensor(2., op=Mul)"
    assert repr(Tensor([True, False])) == "Tensor([ True, False])"
    long = repr(Tensor.zeros(100, 100))
    assert "..." in long
    assert len(long) < 700


def test_as_a_key_a_tensor_is_itself():
    a, b = Tensor([1]), Tensor([1])
    assert {a: "a", b: "b"}[a] == "a"


def test_only_the_cpu():
    with pytest.raises(DomainError, match="cpu"):
        Tensor([1], device="gpu")


def test_a_dtype_beside_a_buffer_must_be_the_buffer_s():
    with pytest.raises(DTypeError, match="cast"):
        Tensor(Buffer([1, 2]), dtype="float32")
    with pytest.raises(ShapeError):
        Tensor(Buffer([1, 2]), (3,))


# ---- the class, floor by floor -------------------------------------------------------------------


def test_the_floors_of_a_tensor():
    """Each class inherits the one below and nothing else; the page of the room names them."""
    floors = Tensor.__mro__[: Tensor.__mro__.index(TensorBase)]
    assert all(len(floor.__bases__) == 1 and not vars(floor)["__slots__"] for floor in floors)
    named = [f"`{floor.__name__}` ({floor.__module__.split('.')[-1]}.py)" for floor in floors]
    assert all(name in tutor.methods.__doc__ for name in named)


def test_every_result_is_a_tensor_whatever_was_calculated_with():
    class Mine(Tensor):
        __slots__ = ()

    assert TensorBase.public is Tensor
    x = Mine([[1.0, 2.0]], requires_grad=True)
    for y in (x + 1, 1 - x, x.T, x[0], x.sum(), x.alias(), x.like(3), x.wrap(2), x.wrap([1, 2]),
              x.exp(), x @ x.T, x.cast("float64"), x.split(1)[0]):  # fmt: skip
        assert type(y) is Tensor
    (x * x).sum().backward()
    assert type(x.grad) is Tensor and x.grad.tolist() == [[2.0, 4.0]]
