"""NumPy's functions on Tensors: what they give, compared with the same call on arrays; gradients;
what is refused."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tutor
from tutor import Tensor, no_grad
from tutor.errors import DTypeError, GraphError, ShapeError
from tutor.interop import numpy_functions, numpy_protocol
from tutor.testing import gradcheck

A = np.array([[0.9, 0.2, 0.45], [0.3, 0.8, 0.65]])  # no two ratios of A and B are near an integer
B = np.array([[0.4, 0.7, 0.12]])


# ---- ufuncs --------------------------------------------------------------------------------------

ALL_UFUNCS = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
NOT_FLOATS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift")


def operands(name, dtype="float64"):
    """One or two arrays that the ufunc takes."""
    count = ALL_UFUNCS[name].nin
    if name in NOT_FLOATS:
        return [np.array([[5, 6, 7]]), np.array([1, 2, 3])][:count]
    if name == "arccosh":
        return [A + 1]
    if name == "matmul":
        return [A, A.T.copy()]
    return [A.astype(dtype), B.astype(dtype)][:count]


def same(found, wanted, rtol=1e-12):
    assert type(found) is Tensor
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype.name == wanted.dtype.name
    np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol)


@pytest.mark.parametrize("name", numpy_protocol.ELEMENTWISE)
def test_ufunc(name, backend):
    f, arrays = ALL_UFUNCS[name], operands(name)
    wanted = f(*arrays)
    same(f(*map(Tensor, arrays)), wanted)
    if f.nin == 2:
        same(f(Tensor(arrays[0]), arrays[1]), wanted)
        same(f(arrays[0], Tensor(arrays[1])), wanted)


def test_ufuncs_of_lists_and_numbers_beside_tensors():
    t = Tensor([1.0, 2.0])
    assert np.add([1, 2], t).tolist() == np.add(t, [1, 2]).tolist() == [2, 4]
    assert np.logical_and([1, 0], t).tolist() == np.logical_and(t, [1, 0]).tolist() == [True, False]
    assert np.multiply(2, t).dtype is np.multiply(t, 2.0).dtype is tutor.float32


DERIVED = [n for n in numpy_protocol.ELEMENTWISE if n not in NOT_FLOATS and n != "nextafter"
           and ALL_UFUNCS[n](*operands(n)).dtype == "float64"]  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
def test_gradients_flow_through_ufuncs(name):
    f, arrays = ALL_UFUNCS[name], operands(name)
    x = Tensor(arrays[0], requires_grad=True)
    assert f(x, *arrays[1:]).requires_grad
    gradcheck(f, *arrays)
    if len(arrays) == 2:
        gradcheck(lambda y: f(arrays[0], y), arrays[1])


def test_no_ufunc_is_forgotten():
    """What tutor has under any name is not left to NumPy."""
    left = ALL_UFUNCS.keys() - numpy_protocol.ELEMENTWISE.keys()
    assert left == {
        "bitwise_count", "cbrt", "deg2rad", "degrees", "divmod", "fabs", "float_power", "fmax",
        "fmin", "frexp", "gcd", "heaviside", "isnat", "lcm", "ldexp", "logaddexp2", "matvec",
        "modf", "rad2deg", "radians", "spacing", "vecmat",
    }  # fmt: skip


METHODS = {
    "add.reduce": lambda x: np.add.reduce(x),
    "add.reduce axis": lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True),
    "add.reduce all": lambda x: np.add.reduce(x, axis=None),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=-1),
    "minimum.reduce": lambda x: np.minimum.reduce(x),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x),
    "multiply.outer": lambda x: np.multiply.outer(x, x[0]),
    "subtract.outer": lambda x: np.subtract.outer([1.0, 2.0], x),
}


@pytest.mark.parametrize("call", METHODS.values(), ids=METHODS)
def test_methods_of_ufuncs(call):
    same(call(Tensor(A)), call(A))
    gradcheck(call, A)


def test_reductions_of_bools_and_what_only_numpy_has():
    t = Tensor([[True, False], [True, True]])
    same(np.logical_and.reduce(t, axis=1), [False, True])
    same(np.logical_or.reduce(t), [True, True])
    same(np.maximum.accumulate(Tensor([1.0, 3.0, 2.0])), np.float32([1, 3, 3]))
    same(np.add.reduce(Tensor(A), initial=10.0), np.add.reduce(A, initial=10.0))
    same(np.add.reduceat(Tensor([1, 2, 3]), [0, 2]), [3, 3])
    same(np.add(Tensor(A), B, dtype="float32"), np.add(A, B, dtype="float32"))
    same(np.add.reduce(Tensor(A), where=A > 0.5), np.add.reduce(A, where=A > 0.5))


@pytest.mark.parametrize("name", ["cbrt", "fabs", "deg2rad", "spacing"])
def test_what_tutor_has_not_numpy_computes(name):
    f, t = ALL_UFUNCS[name], Tensor(A, requires_grad=True)
    same(f(t.detach()), f(A))
    with no_grad():
        same(f(t), f(A))
    with pytest.raises(
        GraphError, match=rf"np\.{name} of a Tensor that requires grad\n.*\n.*detach"
    ):
        f(t)


def test_ufuncs_with_several_results():
    for mine, numpys in zip(np.divmod(Tensor(A), B), np.divmod(A, B), strict=True):
        same(mine, numpys)
    fraction, exponent = np.frexp(Tensor([8.0]))
    assert fraction.tolist() == [0.5] and exponent.tolist() == [4]


@pytest.mark.parametrize(
    "f",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.pow,
     operator.floordiv, operator.mod, operator.lt, operator.ge, operator.eq, operator.ne],
)  # fmt: skip
def test_operators_with_an_array_first(f):
    a, b = A[:, :2] + 1, A.T[:2, :] + 1
    same(f(a, Tensor(b)), f(a, b))
    if f is not operator.matmul:
        same(f(np.float32(2), Tensor(b)), f(np.float64(2), b))


def test_an_array_does_not_become_a_tensor_in_place():
    a, t = A.copy(), Tensor(A)
    for f in (operator.iadd, operator.imul, operator.itruediv, operator.isub):
        with pytest.raises(DTypeError, match=r"array \+= tensor\.numpy\(\)"):
            f(a, t)
    for call in (
        lambda: np.add(a, t, out=a),
        lambda: np.sin(a, out=t),
        lambda: np.sin(t, out=a),
        lambda: np.sum(t, axis=0, out=a),
        lambda: np.concatenate([t, t], out=a),
    ):
        with pytest.raises(DTypeError, match="out="):
            call()
    assert (a == A).all() and (t.numpy() == A).all()


WRITERS = {
    "add.at": lambda t: np.add.at(t, 0, 1.0),
    "copyto": lambda t: np.copyto(t, 1.0),
    "fill_diagonal": lambda t: np.fill_diagonal(t, 1.0),
    "put": lambda t: np.put(t, [0], 1.0),
    "putmask": lambda t: np.putmask(t, A > 0, 1.0),
    "place": lambda t: np.place(t, A > 0, [1.0]),
    "put_along_axis": lambda t: np.put_along_axis(t, np.array([[0], [0]]), 1.0, 1),
    "clip, by position": lambda t: np.clip(t, 0, 1, t),
}


@pytest.mark.parametrize("call", WRITERS.values(), ids=WRITERS)
def test_numpy_does_not_write_to_tensors(call):
    t = Tensor(A)
    with pytest.raises(DTypeError, match=r"t\[positions\] = values|out="):
        call(t)
    assert (t.numpy() == A).all()
    t.numpy()[0, 0] = 1.0  # what asks for the memory by name may write to it
    assert t[0, 0].item() == 1.0


class Other:
    """An array of a library that takes part in both protocols."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return f"other's {ufunc.__name__}"

    def __array_function__(self, function, types, args, options):
        return f"other's {function.__name__}"


def test_other_libraries_are_asked():
    t = Tensor(A)
    assert np.add(t, Other()) == np.add(Other(), t) == "other's add"
    assert np.stack([t, Other()]) == np.stack([Other(), t]) == "other's stack"


def test_what_is_masked_stays_masked():
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    assert (masked + Tensor([1.0, 1.0])).tolist() == [2.0, None]


def test_a_ufunc_of_the_same_name_is_not_numpy_s():
    class Square:
        __name__ = "square"

        def __call__(self, x):
            return x + 100

    found = numpy_protocol.call_ufunc(Square(), "__call__", (Tensor([1.0]),), {})
    assert found.tolist() == [101.0]
    with pytest.raises(GraphError, match="asked: square of a Tensor that requires grad"):
        numpy_protocol.call_ufunc(Square(), "__call__", (Tensor([1.0], requires_grad=True),), {})


@pytest.mark.parametrize("wrong", [np.array([1j]), np.array(["a"]), np.array([None])])
def test_arrays_of_no_numbers_are_refused(wrong):
    for call in (operator.add, operator.mul):
        with pytest.raises(DTypeError):
            call(wrong, Tensor([1.0]))


def test_dtypes_as_numpy_sees_them():
    for dtype in tutor.DTYPES:
        if dtype is not tutor.bfloat16:
            assert np.zeros(2, dtype=dtype).dtype == dtype.name
    try:
        found = np.zeros(2, dtype=tutor.bfloat16).dtype
    except TypeError:  # NumPy has none
        return
    assert found.name == "bfloat16"  # unless ml_dtypes, which onnx brings, has told it of one


# ---- other functions -----------------------------------------------------------------------------

CALLS = [  # an expression of x, an array or a Tensor
    "np.all(x > 0.25, axis=1)", "np.any(x > 0.85, axis=0)", "np.any(x)",
    "np.argmax(x, axis=1)", "np.argmin(x)", "np.argsort(x)", "np.argsort(x, axis=None)",
    "np.count_nonzero(x > 0.5)", "np.count_nonzero(x > 0.5, axis=0)",
    "np.cumprod(x)", "np.cumsum(x, 1)", "np.diff(x)", "np.diff(x, 2, axis=1)", "np.max(x)",
    "np.amax(x, axis=0)", "np.max(x, axis=(0, 1), keepdims=True)", "np.mean(x)", "np.mean(x, 0)",
    "np.min(x, axis=-1, keepdims=True)", "np.amin(x)", "np.nonzero(x > 0.5)", "np.prod(x, axis=0)",
    "np.sort(x)", "np.sort(x, axis=0)", "np.sort(x, axis=None)", "np.std(x)",
    "np.std(x, axis=0, ddof=1)", "np.std(x, correction=1)", "np.sum(x)", "np.sum(x, axis=0)",
    "np.sum(x, 1, keepdims=True)", "np.sum(x, axis=0, out=None)", "np.sum(x, dtype='float64')",
    "np.var(x, axis=1)", "np.var(x, ddof=1)", "np.linalg.norm(x)", "np.linalg.norm(x, axis=1)",
    "np.linalg.norm(x[0], 3)", "np.linalg.norm(x, 1, axis=0, keepdims=True)",
    "np.clip(x, 0.25, 0.75)", "np.clip(x, a_min=None, a_max=0.75)", "np.clip(x, min=0.25)",
    "np.clip(B, 0.15, x)",
    "np.imag(x)", "np.real(x)", "np.round(x * 10)", "np.around(x * 10)",
    "np.where(x > 0.5, x, 0.0)", "np.where(A > 0.5, x, B)", "np.where(x > 0.5)",
    "np.broadcast_to(x, (2, 2, 3))", "np.concatenate([x, A])", "np.concatenate((x, x), axis=1)",
    "np.concatenate([x, B], axis=None)", "np.concat([A, x])", "np.copy(x)", "np.diagonal(x)",
    "np.diagonal(x, 1)", "np.expand_dims(x, 0)", "np.expand_dims(x, (0, -1))", "np.flip(x)",
    "np.flip(x, axis=1)", "np.hstack([x, A])", "np.hstack([x[0], A[0]])",
    "np.moveaxis(x[None], 0, -1)", "np.ravel(x)", "np.repeat(x, 2)", "np.repeat(x, 2, axis=0)",
    "np.repeat(x, [1, 0, 2], axis=1)", "np.reshape(x, (3, 2))", "np.reshape(x, -1)",
    "np.roll(x, 1)", "np.roll(x, 1, axis=1)", "np.split(x, 3, axis=1)", "np.split(x, [1, 2], 1)",
    "np.split(x, [-1, 9], axis=1)", "np.squeeze(x[None])", "np.stack([x, A])",
    "np.stack([x, x], axis=-1)", "np.swapaxes(x, 0, 1)", "np.take(x, [2, 0])",
    "np.take(x, [2, 0], axis=1)", "np.tile(x, 2)", "np.tile(x, (2, 1))", "np.trace(x)",
    "np.transpose(x)", "np.transpose(x[None], (2, 0, 1))", "np.permute_dims(x[None], (2, 0, 1))",
    "np.tril(x)", "np.triu(x, 1)", "np.vstack([x, B])", "np.vstack([x[0], A[0]])",
    "np.dot(x, A.T)", "np.dot(A.T, x)", "np.dot(x, 2.0)", "np.dot(x, B[0])",
    "np.dot(x, np.stack([A.T, A.T]))", "np.einsum('ij,kj->ik', x, A)", "np.outer(x, B)",
    "np.tensordot(x, A, axes=((1,), (1,)))", "np.tensordot(x, A)",
    "np.empty_like(x) * 0.0", "np.full_like(x, 3.0)", "np.ones_like(x)", "np.zeros_like(x)",
]  # fmt: skip
PLAIN = ["np.ndim(x)", "np.shape(x)", "np.size(x)", "np.size(x, 1)"]


def parts(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("call", CALLS)
def test_function(call, backend):
    f = eval(f"lambda x: {call}")
    for mine, numpys in zip(parts(f(Tensor(A))), parts(f(A)), strict=True):
        if call.startswith("np.empty_like"):
            assert mine.shape == numpys.shape
        else:
            same(mine, numpys)


def test_functions_that_ask_about_a_tensor():
    t = Tensor(A, requires_grad=True)
    for call in PLAIN:
        f = eval(f"lambda x: {call}")
        assert f(t) == f(A)
        assert type(f(t)) is type(f(A))


def test_every_function_has_its_row():
    shown = {c.removeprefix("np.").partition("(")[0] for c in (*CALLS, *PLAIN)}
    assert numpy_functions.FUNCTIONS.keys() <= shown


LEVEL = ("all", "any", "argmax", "argmin", "argsort", "count_nonzero", "nonzero", "around", "round",
         "imag", "empty_like", "full_like", "ones_like", "zeros_like")  # fmt: skip


@pytest.mark.parametrize(
    "call", [c for c in CALLS if c[3:].partition("(")[0] not in LEVEL and "where(x > 0.5)" not in c]
)
def test_gradients_flow_through(call):
    f = eval(f"lambda x: {call}")
    gradcheck(lambda x: sum((part * part).sum() for part in parts(f(x))), A)


def test_what_only_numpy_has():
    t = Tensor(A, requires_grad=True)
    plain = t.detach()
    for call in ("np.median(x)", "np.percentile(x, 30)", "np.sum(x, where=A > 0.5)",
                 "np.linalg.inv(x[:, :2])", "np.histogram(x)", "np.interp(x, [0, 1], [1, 2])",
                 "np.linalg.norm(x, 'fro')", "np.linalg.norm(x, 2)", "np.linalg.norm(x, 1)",
                 "np.round(x, 1)", "np.unique(x)", "np.atleast_3d(x)"):  # fmt: skip
        f = eval(f"lambda x: {call}")
        for mine, numpys in zip(parts(f(plain)), parts(f(A)), strict=True):
            assert type(mine) is type(numpys)
            np.testing.assert_allclose(mine, numpys, rtol=1e-12)
        with pytest.raises(GraphError, match=r"np\.[a-z0-9_.]+ of a Tensor that requires grad"):
            f(t)
        with no_grad():
            f(t)


def test_answers_that_have_no_derivative_are_given():
    t = Tensor(A, requires_grad=True)
    assert np.allclose(t, A) is True and np.array_equal(t, A) is True
    assert np.isclose(t, A).all()
    assert np.searchsorted([0.0, 0.5], t).tolist() == np.searchsorted([0.0, 0.5], A).tolist()
    assert np.array_repr(t) == np.array_repr(A)
    assert np.result_type(t, np.float32) == "float64"
    assert np.shares_memory(t, t.numpy()) and np.iscomplexobj(t) is False
    np.testing.assert_allclose(t, A)


def test_arrays_like_a_tensor_are_tensors():
    t = Tensor([1.0])
    for found in (np.zeros(3, like=t), np.asarray([1, 2], like=t), np.arange(3, like=t)):
        assert type(found) is Tensor


def test_parts_of_one_size():
    for wrong in (2, 0, -1):
        with pytest.raises(ShapeError, match=r"np\.split"):
            np.split(Tensor([1.0, 2.0, 3.0]), wrong)
    assert [p.shape for p in np.split(Tensor.zeros(0, 2), 2)] == [(0, 2), (0, 2)]


def test_lengths_of_single_numbers_are_type_errors():
    """As NumPy has it: callers catch TypeError to find out whether it is a single number."""
    for number in (np.array(1.0), Tensor(1.0)):
        with pytest.raises(TypeError):
            len(number)
        with pytest.raises(TypeError):
            iter(number) and list(number)
