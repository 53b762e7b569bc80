"""Tensors beside Python's numbers and NumPy's scalars and arrays, and as Python objects."""

from __future__ import annotations

import copy
import datetime
import decimal
import operator
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import tutor
from tutor import Tensor, nn, optim
from tutor._storage.memory import PythonHolder
from tutor.dtype import DEFAULTS
from tutor.errors import (
    DomainError,
    DTypeError,
    NumberRangeError,
    ScalarError,
    ShapeError,
    TutorError,
)
from tutor.nn import checkpoint

NUMPYS = [d for d in tutor.DTYPES if d.name != "bfloat16"]
BITS = [d for d in NUMPYS if not d.is_float]
INTEGERS = [d for d in NUMPYS if d.is_integer]
NUMBERS = [d for d in NUMPYS if d.kind != "bool"]


# Every operator that takes two: the dtypes it takes.
OPERATORS = {
    operator.add: NUMPYS, operator.sub: NUMBERS, operator.mul: NUMPYS, operator.truediv: NUMPYS,
    operator.floordiv: NUMBERS, operator.mod: NUMBERS, operator.pow: NUMBERS,
    operator.matmul: NUMPYS, operator.and_: BITS, operator.or_: BITS, operator.xor: BITS,
    operator.lshift: INTEGERS, operator.rshift: INTEGERS, operator.lt: NUMPYS, operator.le: NUMPYS,
    operator.gt: NUMPYS, operator.ge: NUMPYS, operator.eq: NUMPYS, operator.ne: NUMPYS,
}  # fmt: skip
GRADIENTS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod)
of_operators = pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)


def result_dtype(f, a, b):
    """The dtype promised for `f` of two strong operands."""
    if f.__name__ in ("lt", "le", "gt", "ge", "eq", "ne"):
        return tutor.bool
    dtype = tutor.promote(a, b)
    return tutor.float32 if f is operator.truediv and not dtype.is_float else dtype


def same(t, a, dtype, rtol=0.0):
    assert type(t) is Tensor
    assert t.dtype is dtype
    assert t.shape == np.shape(a)
    np.testing.assert_allclose(t.numpy(), np.asarray(a).astype(dtype.name), rtol=rtol)


def rtol_of(dtype):
    return {"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}.get(dtype.name, 0)


# ---- operators -----------------------------------------------------------------------------------

A, B = np.array([[1, 3], [2, 1]]), np.array([[2, 1], [1, 3]])


@of_operators
@pytest.mark.parametrize("other", NUMPYS, ids=lambda d: d.name)
@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: d.name)
def test_arrays_on_either_side(f, dtype, other):
    a, b = A.astype(dtype.name), B.astype(other.name)
    common = tutor.promote(dtype, other)
    if common not in OPERATORS[f]:
        for call in (lambda: f(Tensor(a), b), lambda: f(a, Tensor(b))):
            with pytest.raises(TutorError):
                call()
        return
    wide = common if common is not tutor.bool or f is not operator.truediv else tutor.float32
    expected = f(a.astype(wide.name), b.astype(wide.name))  # NumPy 2 gives int8 + bool its own way
    dtype = result_dtype(f, dtype, other)
    for t in (f(Tensor(a), b), f(a, Tensor(b)), f(Tensor(a), Tensor(b))):
        same(t, expected, dtype, rtol_of(dtype))


@of_operators
@pytest.mark.parametrize("other", NUMPYS, ids=lambda d: d.name)
def test_numpy_s_scalars_are_as_strong_as_arrays(f, other):
    if f is operator.matmul:
        return
    scalar = np.dtype(other.name).type(1)
    weak = isinstance(scalar, float)  # float64 is a subclass of Python's float, and taken for one
    for dtype in (tutor.uint8, tutor.int32, tutor.float32):
        common = tutor.promote(dtype, tutor.float32 if weak and not dtype.is_float else
                               dtype if weak else other)  # fmt: skip
        common = tutor.float32 if weak else common
        if common not in OPERATORS[f]:
            continue
        t = Tensor([1, 2, 3], dtype=dtype)
        a = t.numpy().astype(common.name)
        one = np.dtype(common.name).type(1)
        wanted = result_dtype(f, common, common)
        same(f(t, scalar), f(a, one), wanted, rtol_of(wanted))
        same(f(scalar, t), f(one, a), wanted, rtol_of(wanted))


@of_operators
@pytest.mark.parametrize("dtype", [*NUMPYS, tutor.bfloat16], ids=lambda d: d.name)
def test_python_s_numbers_are_weak(f, dtype):
    if f is operator.matmul:
        return
    for number in (True, 2, 2.0):
        beside = tutor.dtype.of_number(number, dtype)
        if not (beside in OPERATORS[f] or (beside is tutor.bfloat16 and f in GRADIENTS)):
            continue
        t = Tensor([1, 1, 0 if dtype is tutor.bool else 3], dtype=dtype)
        wanted = result_dtype(f, beside, beside)
        inner = tutor.float32 if beside is tutor.bfloat16 else wanted
        a = np.array(t.tolist()).astype((beside if beside is not tutor.bfloat16 else inner).name)
        n = a.dtype.type(number)
        with np.errstate(all="ignore"):
            pairs = [(f(t, number), lambda a=a, n=n: f(a, n))]
            if not (f in (operator.floordiv, operator.mod) and 0 in t.tolist()):
                pairs.append((f(number, t), lambda a=a, n=n: f(n, a)))
            for z, numpys in pairs:
                assert type(z) is Tensor
                assert z.dtype is wanted
                rtol = 8e-3 if beside is tutor.bfloat16 else rtol_of(wanted) or 1e-7
                np.testing.assert_allclose(z.tolist(), numpys(), rtol=rtol)


def test_numbers_take_the_dtype_beside_them():
    assert {type(n): tutor.dtype.of_number(n) for n in (True, 1, 1.0)} == DEFAULTS
    assert (Tensor([1], dtype="uint8") + 1.5).dtype is tutor.float32
    assert (True + Tensor([1], dtype="int8")).dtype is tutor.int8
    with pytest.raises(NumberRangeError):
        Tensor([1], dtype="int8") + 300
    assert (2 ** Tensor([1.0, 3.0])).tolist() == [2, 8]
    assert (1 / Tensor([2, 4])).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("f", GRADIENTS, ids=lambda f: f.__name__)
def test_gradients_beside_arrays(f):
    values, others = [1.5, 2.5, 3.5], np.array([2.0, 3.0, 4.0])
    for partner in (others, others.astype("float32"), others.tolist(), np.float32(2), 2, 2.0):
        constant = Tensor(partner, dtype="float64").expand(3)
        for call, plain in ((lambda t, p: f(t, p), lambda t, c: f(t, c)),
                            (lambda t, p: f(p, t), lambda t, c: f(c, t))):  # fmt: skip
            x, y = (Tensor(values, dtype="float64", requires_grad=True) for _ in range(2))
            call(x, partner).sum().backward()
            plain(y, constant).sum().backward()
            assert x.grad.dtype is tutor.float64
            assert x.grad.tolist() == pytest.approx(y.grad.tolist())
    w = Tensor([[1.0, 2.0]], dtype="float64", requires_grad=True)
    (np.ones((3, 1)) @ w).sum().backward()
    assert w.grad.tolist() == [[3, 3]]


def test_in_place_operators_take_arrays_and_leave_arrays_alone():
    a, t = np.array([1.0, 2.0]), Tensor([1.0, 2.0])
    before = t
    t *= a
    t += 1
    assert t is before
    assert (t.tolist(), t.dtype) == ([2, 5], tutor.float32)
    with pytest.raises(TypeError):  # an array cannot become a Tensor in place
        a += t
    assert a.tolist() == [1, 2]


# ---- arrays --------------------------------------------------------------------------------------


@given(hnp.arrays("int32", hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
def test_arrays_there_and_back(a):
    t = Tensor(a)
    assert t.numpy().dtype == a.dtype
    assert np.array_equal(t.numpy(), a)
    assert np.array_equal(t.T.numpy(), a.T)
    assert Tensor(a.T).tolist() == a.T.tolist()


@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: d.name)
def test_numpy_shares_whatever_the_strides(dtype):
    t = Tensor.zeros(2, 3, 4, dtype=dtype)
    views = (t, t.T, t[::-1, 1, ::2], t[1:, :, ::-1], t[1, 2, 3], t[0].expand(5, 3, 4))
    for value, view in enumerate(views):
        a = view.numpy()
        assert a.shape == view.shape
        if dtype is not tutor.bool and value:
            t[...] = value
            assert (a == value).all()
        if a.flags.writeable and value < 5:
            a[...] = 1
            assert (np.array(view.tolist()) == 1).all()
            t[...] = 0
    assert np.shares_memory(t.numpy(), t.T.numpy())


def test_array_protocol():
    t = Tensor([[1.5, 2.5]])
    assert np.shares_memory(np.asarray(t), t.numpy())
    assert not np.shares_memory(np.array(t), t.numpy())
    assert np.asarray(t, dtype="float64").dtype == "float64"
    assert np.shares_memory(np.asarray(t, copy=False), t.numpy())
    assert np.shares_memory(np.asarray(t, dtype="float32", copy=False), t.numpy())
    with pytest.raises(DomainError, match="copy"):
        np.asarray(t, dtype="float64", copy=False)
    assert np.array(t, dtype="int8", copy=True).tolist() == [[1, 2]]
    assert np.stack([t, t]).shape == (2, 1, 2)


def test_numpy_has_no_bfloat16():
    t = Tensor([[1.5, 2.0]], dtype="bfloat16")
    for call in (t.numpy, lambda: np.asarray(t)):
        with pytest.raises(DTypeError, match=r'cast\("float32"\)') as caught:
            call()
        assert str(caught.value).count("\n") == 2
    assert t.cast("float32").numpy().tolist() == t.tolist() == [[1.5, 2.0]]
    assert t[0, 0].item() == 1.5
    assert "bfloat16" in repr(t)
    assert pickle.loads(pickle.dumps(t)).dtype is tutor.bfloat16


@pytest.mark.skipif(
    issubclass(tutor.Buffer, PythonHolder) and sys.version_info < (3, 12),
    reason="Python classes export the buffer protocol from 3.12 on",
)
@pytest.mark.parametrize("dtype", NUMPYS, ids=lambda d: d.name)
def test_a_buffer_is_a_buffer(dtype):
    t = Tensor([0, 1, 1], dtype=dtype)
    view = memoryview(t.buf)
    assert (view.format, view.nbytes) == (dtype.format, 3 * dtype.itemsize)
    assert np.frombuffer(t.buf, dtype.name).tolist() == [0, 1, 1]
    assert bytes(t.buf) == t.numpy().tobytes()
    assert Tensor(memoryview(t.numpy())).dtype is dtype
    t[0] = 1
    assert np.asarray(view)[0] == 1


# ---- copies --------------------------------------------------------------------------------------


def copies(x):
    return copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("dtype", tutor.DTYPES, ids=lambda d: d.name)
def test_copies_are_whole_and_apart(dtype):
    t = Tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    for view in (t, t.T, t[:, ::-2], t[0, 1], t[:0], t[:1].expand(3, 3)):
        for other in copies(view):
            assert other.tolist() == view.tolist()
            assert other.shape == view.shape
            assert other.strides == view.strides
            assert other.dtype is dtype
        shallow, *deep = copies(view)
        assert shallow.buf is t.buf
        assert not any(other.buf is t.buf for other in deep)


class Named(Tensor):
    """Slots and a __dict__ of its own."""

    __slots__ = ("__dict__", "unit")


def test_copies_of_a_subclass_keep_class_attributes_and_gradient():
    x = Named([1.0, 2.0], requires_grad=True)
    x.unit, x.tags = ["m"], {"a": 1}
    (x * x).sum().backward()
    for other in (*copies(x), *(pickle.loads(pickle.dumps(x, n)) for n in range(6))):
        assert type(other) is Named
        assert (other.unit, other.tags) == (["m"], {"a": 1})
        assert other.grad.tolist() == [2, 4]
        assert other.requires_grad
    shallow, deep, pickled = copies(x)
    assert shallow.unit is x.unit
    assert shallow.grad is x.grad
    for other in (deep, pickled):
        assert other.unit is not x.unit
        assert other.grad.buf is not x.grad.buf
        (other * 3).sum().backward()
        assert other.grad.tolist() == [5, 7]
    assert x.grad.tolist() == [2, 4]


def test_views_of_one_buffer_stay_views_of_one_buffer():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    pair = {"all": x, "column": x[:, 1], "turned": x.T}
    for other in (copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert other["all"].buf is other["column"].buf is other["turned"].buf
        other["column"][0] = 9.0
        assert other["turned"].tolist() == [[1, 3], [9, 4]]
    assert x.tolist() == [[1, 2], [3, 4]]
    shallow = copy.copy(x)
    shallow[0, 0] = 7.0
    assert x[0, 0].item() == 7


def test_a_copied_model_trains_on_its_own():
    pair = Net(), Tensor([[1.0, -2.0]])
    optimizer = optim.Adam(nn.get_parameters(pair[0]), lr=0.1)
    before = [p.tolist() for p in nn.get_parameters(pair[0])]
    for net, x, its in (
        copy.deepcopy((*pair, optimizer)),
        pickle.loads(pickle.dumps((*pair, optimizer))),
    ):
        assert its.params[0] is nn.get_parameters(net)[0]
        first = None
        for _ in range(5):
            its.zero_grad()
            loss = (net(x) - 1.0).square().sum()
            loss.backward()
            its.step()
            first = first or loss.item()
        assert loss.item() < first
        assert [p.tolist() for p in nn.get_parameters(pair[0])] == before
        assert all(p.grad is None for p in nn.get_parameters(pair[0]))


def test_copies_inside_a_graph_are_leaves():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    for other in (*copies(y), *copies(x)):
        assert other.is_leaf
        assert other.requires_grad
        assert other.op is None
        assert other.grad is None
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert not any(other.requires_grad for other in copies(x.detach()))


class Net:
    def __init__(self):
        self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 2)
        self.tied = self.first.weight

    def __call__(self, x):
        return self.second(self.first(x).relu())


def test_copies_of_models():
    net, x = Net(), Tensor([[1.0, -2.0]])
    expected = net(x).tolist()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other(x).tolist() == expected
        assert other.tied is other.first.weight
        assert len(nn.get_parameters(other)) == len(nn.get_parameters(net)) == 4
        other.first.weight.assign(other.first.weight.detach() + 1)
        other(x).sum().backward()
        assert other.tied.grad is not None
    assert net(x).tolist() == expected
    assert net.tied.grad is None


def test_a_state_survives_the_file_and_no_pickle_is_in_it(tmp_path):
    pytest.importorskip("safetensors")
    state = nn.state_dict(Net())
    state |= {d.name: Tensor([[0, 1], [1, 1]], dtype=d).T for d in checkpoint_dtypes()}
    state["scalar"], state["empty"] = Tensor(2.5), Tensor.zeros(0, 3)
    path = tmp_path / "net.safetensors"
    checkpoint.save(path, state, {"epoch": "3"})
    assert b"pickle" not in path.read_bytes()
    assert int.from_bytes(path.read_bytes()[:8], "little") < path.stat().st_size
    loaded, notes = checkpoint.load(path)
    assert notes == {"epoch": "3"}
    assert loaded.keys() == state.keys()
    for name, t in state.items():
        assert loaded[name].dtype is t.dtype
        assert loaded[name].shape == t.shape
        assert loaded[name].tolist() == t.tolist()


def checkpoint_dtypes():
    return [tutor.dtype.of(name) for name in checkpoint.CODES.values() if name != "bfloat16"]


# ---- as a Python object --------------------------------------------------------------------------


def test_length_and_iteration():
    t = Tensor([[1, 2], [3, 4], [5, 6]])
    assert len(t) == 3
    assert [row.tolist() for row in t] == t.tolist()
    assert [row.tolist() for row in reversed(t)] == t.tolist()[::-1]
    first, *rest = t
    assert first.tolist() == [1, 2] and len(rest) == 2
    assert list(Tensor([])) == []
    for call in (len, iter, list):
        with pytest.raises(ShapeError):
            call(Tensor(1.0))
    x = Tensor([1.0, 2.0], requires_grad=True)
    sum(n * n for n in x).backward()
    assert x.grad.tolist() == [2, 4]


def test_membership():
    t = Tensor([[1, 2], [3, 4]])
    assert 3 in t and 5 not in t and 2.0 in t
    assert Tensor([3, 4]) in t
    assert 1 not in Tensor([])
    assert float("nan") not in Tensor([float("nan")])


def test_one_number_is_yes_or_no_and_more_are_neither():
    assert bool(Tensor(2)) and bool(Tensor([[0.5]])) and not Tensor([0]) and not Tensor(False)
    for t in (Tensor([1, 2]), Tensor([]), Tensor([[True], [True]])):
        with pytest.raises(ShapeError, match="numbers"):
            bool(t)


@pytest.mark.parametrize("dtype", tutor.DTYPES, ids=lambda d: d.name)
def test_as_numbers(dtype):
    t = Tensor([[1]], dtype=dtype)
    kind = {"float": float, "bool": bool}.get(dtype.kind, int)
    assert type(t.item()) is kind
    assert float(t) == 1.0 and int(t) == 1 and complex(t) == 1
    assert type(float(t)) is float and type(int(t)) is int
    if dtype.is_integer:
        assert ["a", "b"][t] == "b" and operator.index(t) == 1 and hex(t) == "0x1"
    else:
        with pytest.raises(DTypeError, match="integer"):
            operator.index(t)
    for call in (float, int, Tensor.item):
        with pytest.raises(ShapeError):
            call(Tensor([1, 1], dtype=dtype))


def test_format():
    assert f"{Tensor(2.5):.2f}|{Tensor([7]):>4}|{Tensor([[3]]):04d}" == "2.50|   7|0003"
    assert f"{Tensor([1, 2])}" == str(Tensor([1, 2])) == repr(Tensor([1, 2])) == "Tensor([1, 2])"
    with pytest.raises(ShapeError):
        f"{Tensor([1, 2]):.2f}"


@pytest.mark.parametrize("dtype", tutor.DTYPES, ids=lambda d: d.name)
def test_text_says_the_dtype_where_the_numbers_do_not(dtype):
    text = repr(Tensor([0, 1], dtype=dtype))
    assert (f"dtype=tutor.{dtype.name}" in text) == (dtype.name not in ("float32", "int64", "bool"))


def test_text_says_what_the_graph_knows():
    x = Tensor([1.0], requires_grad=True)
    assert repr(x) == "Tensor([1.], requires_grad=True)"
    assert repr(x + 1) == "Tensor([2.], op=Add)"
    assert repr((x + 1).detach()) == "Tensor([2.])"
    assert repr(Tensor.zeros(0, 3)) == "Tensor([], shape=(0, 3))"


def test_what_is_no_number_is_refused():
    t = Tensor([1.0])
    for wrong in ("1", None, 1j, object(), np.array(["a"])):
        for f in (operator.add, operator.mul):
            with pytest.raises(DTypeError) as caught:
                f(t, wrong)
            assert str(caught.value).count("\n") == 2


# ---- what holds no numbers -----------------------------------------------------------------------


class Anything:
    def __eq__(self, other):
        return "asked"

    __hash__ = None


def test_equality_beside_what_holds_no_numbers_is_pythons(backend):
    t = Tensor([1.0, 2.0])
    for other in (None, "a", object(), len, {1: 2}, {1}):
        assert (t == other) is False
        assert (t != other) is True
        assert (other == t) is False
        assert other not in t
    assert (t == Anything()) == "asked"
    assert t in [None, t]
    for other in ([1.0, 3.0], (1.0, 3.0), np.array([1, 3]), Tensor([1, 3]), range(1, 3)):
        assert (t == other).shape == (2,)
    for other in (["a"], 1j, np.array(["a"]), [None]):  # numbers are meant, but are none
        with pytest.raises(DTypeError):
            operator.eq(t, other)
    assert len({t, Tensor([1.0])}) == 2


def test_len_of_a_single_number_is_a_type_error_as_callers_expect():
    t = Tensor(1.0)
    for call in (len, list, iter, tuple, lambda t: np.atleast_1d(len(t))):
        with pytest.raises(TypeError) as caught:
            call(t)
        assert isinstance(caught.value, ShapeError)
        assert isinstance(caught.value, ScalarError)
        assert str(caught.value).count("\n") == 2


def nested(depth):
    data = 1.0
    for _ in range(depth):
        data = [data]
    return data


class ItsOwnList:
    def tolist(self):
        return self


@pytest.mark.parametrize(
    "data",
    [
        {1}, {1: 2}, (n for n in [1]), object(), ItsOwnList(), [ItsOwnList()], None, "1", 1j,
        [[1], "1"],
        np.array(["2020"], dtype="M8[s]"), np.array([1], dtype=object), np.array(["a"]),
        np.zeros(2, dtype=[("a", "f4")]), np.arange(3, dtype=">f4"), np.longdouble(1),
        memoryview(b"ab").cast("c"), np.array([1j]), decimal.Decimal(1), [datetime.date.today()],
    ],
    ids=lambda data: re.sub(" at 0x.*", "", f"{type(data).__name__} {data!r:.25}"),  # no addresses
)  # fmt: skip
def test_what_is_no_number_is_refused_in_three_parts(data):
    for call in (Tensor, tutor.Buffer, lambda data: Tensor([1.0]).assign(data)):
        with pytest.raises(DTypeError) as caught:
            call(data)
        assert str(caught.value).count("\n") == 2


def test_lists_may_be_as_deep_as_a_tensor_has_axes():
    assert Tensor(nested(16)).shape == (1,) * 16
    endless = []
    endless.append(endless)
    both = [1.0, [2.0]]
    both[1].append(both)
    arrays = np.ones((1,) * 17), memoryview(np.ones((1,) * 17)), [np.ones((1,) * 16)]
    for data in (nested(17), nested(500), nested(5000), endless, both, [endless] * 2, *arrays):
        with pytest.raises(ShapeError, match="16") as caught:
            Tensor(data)
        assert str(caught.value).count("\n") == 2


SUBINTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
{before}
code = '''
import sys
sys.path[:0] = {path!r}
try:
    import tutor
except ImportError as error:
    print(type(error).__name__, str(error).count(chr(10)), "main" in str(error), flush=True)
'''
interpreters.run_string(interpreters.create(), code)
import tutor
print((tutor.Tensor([1.0]) + 1).tolist(), flush=True)
"""


@pytest.mark.parametrize(
    "before", ["", "import tutor", "sys.modules['tutor.backends.simd_cpp._simd'] = None"]
)
def test_import_in_another_interpreter_is_an_import_error(before):
    code = SUBINTERPRETER.format(before=before, path=[str(Path(tutor.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(tutor.__file__).parents[1], env={**os.environ, "TUTOR_BACKEND": ""},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["InterpreterError 2 True", "[2.0]"], done.stderr
