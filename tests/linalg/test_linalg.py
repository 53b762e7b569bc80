"""tutor.linalg: values by residuals and against NumPy, derivatives against PyTorch, errors, jit."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, jit, linalg, use_backend
from tutor.backends import registry
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.registry import Operand
from tutor.errors import (
    AxisError,
    DomainError,
    DTypeError,
    GraphError,
    KernelNotFound,
    OutOfRangeError,
    ShapeError,
    TutorError,
)
from tutor.testing import gradcheck

BACKENDS = ("python_ref", "simd_cpp")
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    x = draw(*shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


# How a matrix lies in memory.
LAYOUTS = {
    "plain": lambda a: Tensor(a),
    "transposed": lambda a: Tensor(np.ascontiguousarray(np.swapaxes(a, -1, -2))).mT,
    "sliced": lambda a: Tensor(np.repeat(np.repeat(a, 2, -1), 2, -2))[..., ::2, ::2],
    "reversed": lambda a: Tensor(np.ascontiguousarray(a[..., ::-1, ::-1])).flip((-1, -2)),
    "a part": lambda a: Tensor(np.pad(a, [(0, 0)] * (a.ndim - 2) + [(1, 2), (2, 1)]))[
        ..., 1:-2, 2:-1],
}  # fmt: skip
SQUARES = ((1, 1), (2, 2), (5, 5), (3, 4, 4), (2, 1, 3, 3), (0, 3, 3), (0, 0), (17, 17))
OTHERS = (*SQUARES, (4, 3), (3, 4), (7, 1), (1, 7), (2, 5, 2), (2, 2, 5), (0, 3), (3, 0), (9, 20))


def near(x: Any, y: Any, dtype: str, factor: float = 1.0) -> None:
    """Equal to within 50 n eps times the largest number, n the largest size."""
    x, y = (np.asarray(t.numpy() if isinstance(t, Tensor) else t) for t in (x, y))
    assert x.shape == y.shape
    n = max((1, *x.shape[-2:]))
    largest = max(1.0, np.abs(y).max(initial=0.0))
    assert (
        np.abs(x.astype("float64") - y).max(initial=0.0) <= 50 * n * EPS[dtype] * largest * factor
    )


@pytest.fixture(params=[(b, d) for b in BACKENDS for d in EPS], ids=lambda p: "-".join(p))
def dtype(request: pytest.FixtureRequest) -> Any:
    backend, name = request.param
    with use_backend(backend):
        yield name


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equations(dtype: str, layout: str) -> None:
    for shape in SQUARES:
        a, b = positive(*shape), draw(*shape[:-1], 3)
        x, y = (LAYOUTS[layout](t).cast(dtype) for t in (a, b))
        near(x @ linalg.solve(x, y), b, dtype)
        near(linalg.inv(x) @ x, np.broadcast_to(np.eye(shape[-1]), shape), dtype)
        wanted = np.linalg.slogdet(a)
        near(linalg.slogdet(x).sign, wanted[0], dtype)
        near(linalg.slogdet(x).logabsdet, wanted[1], dtype)
        near(linalg.det(x).numpy() / (wanted[0] * np.exp(wanted[1])), np.ones(shape[:-2]), dtype, 9)
        lower = linalg.cholesky(x)
        near(lower @ lower.mT, a, dtype)
        assert (lower == lower.tril()).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_factors(dtype: str, layout: str) -> None:
    for shape in OTHERS:
        a, (m, n) = draw(*shape), shape[-2:]
        x = LAYOUTS[layout](a).cast(dtype)
        for mode, k in (("reduced", min(m, n)), ("complete", m)):
            q, r = linalg.qr(x, mode)
            assert q.shape[-2:] == (m, k) and r.shape[-2:] == (k, n)
            near(q @ r, a, dtype)
            orthonormal(q, dtype)
            assert (r == r.triu()).all() and (r.diagonal(0, -2, -1) >= 0).all()
        for full in (False, True):
            u, s, vh = linalg.svd(x, full)
            k = min(m, n)
            assert u.shape[-1] == (m if full else k) and vh.shape[-2] == (n if full else k)
            near((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a, dtype)
            orthonormal(u, dtype)
            orthonormal(vh.mT, dtype)
            near(s, np.linalg.svd(a, compute_uv=False), dtype)
            upright(u[..., :k])


def orthonormal(q: Tensor, dtype: str) -> None:
    n = q.shape[-1]
    near(q.mT @ q, np.broadcast_to(np.eye(n), (*q.shape[:-2], n, n)), dtype)


def upright(v: Tensor) -> None:
    """The largest number of each column is positive."""
    a = v.numpy()
    if a.size:
        assert (np.take_along_axis(a, np.abs(a).argmax(-2, keepdims=True), -2) > 0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_eigenvalues(dtype: str, layout: str) -> None:
    for shape in SQUARES:
        a = draw(*shape)
        a = a + np.swapaxes(a, -1, -2)
        w, v = linalg.eigh(LAYOUTS[layout](a).cast(dtype))
        near((v * w.unsqueeze(-2)) @ v.mT, a, dtype)
        orthonormal(v, dtype)
        near(w, np.linalg.eigvalsh(a), dtype)
        assert (w[..., 1:] >= w[..., :-1]).all()
        upright(v)
        below = linalg.eigvalsh(Tensor(np.tril(a)).cast(dtype))  # the lower triangle is read
        near(below, w, dtype)


def test_the_same_numbers_on_both_backends() -> None:
    """Signs included: the rule for them leaves nothing open."""
    for shape in ((4, 4), (5, 3), (3, 5), (2, 6, 6)):
        a = Tensor(draw(*shape))
        square = a @ a.mT
        found = []
        for backend in BACKENDS:
            with use_backend(backend):
                found.append([*linalg.svd(a, False), *linalg.qr(a), *linalg.eigh(square)[:1]])
                if shape[-2] <= shape[-1]:
                    found[-1] += [*linalg.eigh(square), linalg.cholesky(square)]
        for x, y in zip(*found, strict=True):
            near(x, y, "float64", 20)


@pytest.mark.parametrize("backend", BACKENDS)
def test_hard_ones(backend: str) -> None:
    """Of low rank, with equal values, very large and very small."""
    with use_backend(backend):
        low = draw(6, 2) @ draw(2, 5)
        for a in (low, low.T, np.zeros((3, 2)), np.eye(4), np.ones((5, 5)), 1e150 * draw(3, 3),
                  1e-150 * draw(3, 3), np.diag([1.0, 1e-8, 1e-16])):  # fmt: skip
            u, s, vh = linalg.svd(Tensor(a))
            k, size = s.shape[0], max(float(s[0].item()), 1e-300)
            near((u[:, :k] * (s / size)) @ vh[:k], a / size, "float64")
            orthonormal(u, "float64")
            orthonormal(vh.mT, "float64")
            q, r = linalg.qr(Tensor(a))
            near(q @ (r / size), a / size, "float64")
            if a.shape[0] == a.shape[1]:
                w, v = linalg.eigh(Tensor((a + a.T) / size))
                near((v * w) @ v.T, (a + a.T) / size, "float64")
        assert linalg.matrix_rank(Tensor(low)).item() == 2
        assert linalg.matrix_rank(Tensor(np.zeros((2, 3, 3)))).tolist() == [0, 0]
        near(linalg.pinv(Tensor(low)), np.linalg.pinv(low), "float64", 100)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite(backend: str, bad: float) -> None:
    a = np.stack([np.eye(3), np.eye(3)])
    a[1, 0, 0] = bad
    with use_backend(backend):
        for found in (linalg.svd(Tensor(a), False), linalg.eigh(Tensor(a))):
            for t in found:
                assert t[0].isfinite().all() and t[1].isnan().all()
        if math.isnan(bad):
            with pytest.raises(DomainError):
                linalg.cholesky(Tensor(a))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.filterwarnings("error")
def test_what_overflows_is_infinite(backend: str) -> None:
    with use_backend(backend):
        large = Tensor.eye(20) * 1e30
        assert linalg.det(large).item() == math.inf
        assert abs(linalg.slogdet(large).logabsdet.item() - 20 * math.log(1e30)) < 1e-2


NAMES = {  # of NumPy's, by the call
    "matrix_norm(x)": "norm(x)", "matrix_norm(x, ord='nuc')": "norm(x, 'nuc')",
    **{f"matrix_norm(x, ord={o})": f"norm(x, {o})" for o in (1, -1, 2, -2, "inf", "-inf")},
    "matrix_power(x, 0)": "", "matrix_power(x, 1)": "", "matrix_power(x, 5)": "",
    "matrix_power(x, -2)": "", "cond(x)": "", "cond(x, 1)": "", "cond(x, -2)": "",
    "cond(x, 'fro')": "", "multi_dot([x, x[:, :2], x[:2]])": "", "multi_dot([x[0], x, x[0]])": "",
    **{f"norm(x, {o}, axis={a})": "" for o in (1, -1, "inf", "-inf", 2)
       for a in ((0, 1), (1, 0), (-2, -1))},
    **{f"norm(x * x[:, None], {o}, axis={a}, keepdims={k})": "" for o in (1, "inf")
       for a in ((0, 2), (2, 0), (1, 2), (0, 1)) for k in (False, True)},
    "norm(x)": "", "norm(x, 1)": "", "norm(x, axis=0)": "", "norm(x, axis=(0, 1))": "",
    "norm(x, 2, axis=(1, 0), keepdims=True)": "", "vector_norm(x, axis=1)": "norm(x, axis=1)",
    "lstsq(x[:, :2], x[0])[0]": "lstsq(x[:, :2], x[0], rcond=None)[0]",
    "lstsq(x[:, :2], x)[0]": "lstsq(x[:, :2], x, rcond=None)[0]",
    "lstsq(x[:, :2], x)[1]": "lstsq(x[:, :2], x, rcond=None)[1]",
    "lstsq(x[:2], x[:2])[0]": "lstsq(x[:2], x[:2], rcond=None)[0]",
    "lstsq(x[:, :2], x)[3]": "lstsq(x[:, :2], x, rcond=None)[3]",
    "pinv(x * x[:, None], r)": "", "pinv(x[0:2], 0.9)": "", "pinv(x, r[0])": "",
    "matrix_rank(x * x[:, None], r)": "matrix_rank(x * x[:, None], rtol=r)",
    "vecdot(x, x[::-1])": "", "vecdot(x, x[0], axis=0)": "", "vecdot(x[:, :2], x[:, 1:])": "",
    "cross(x, x[::-1])": "", "solve(x, x[0])": "", "trace(x, 1)": "trace(x, offset=1)",
}  # fmt: skip


@pytest.mark.parametrize("call", NAMES)
def test_numpys_answer(call: str) -> None:
    a = draw(3, 3, seed=5)
    r = np.array([0.9, 1e-9, 0.3])  # a tolerance for each matrix
    both = {"linalg": linalg, "np": np, "inf": math.inf}
    found = eval(f"linalg.{call}", {**both, "x": Tensor(a), "r": Tensor(r)})
    wanted = eval(f"np.linalg.{NAMES[call] or call}", {**both, "x": a, "r": r})
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-12)


# ---- derivatives ---------------------------------------------------------------------------------


def sym(f: Any) -> Any:
    return lambda x: f(x + x.mT)


def spd(f: Any) -> Any:
    return lambda x: f(x @ x.mT + x.mT @ x)


DERIVED: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "solve": (linalg.solve, ((3, 3), (3, 2))),
    "solve, one vector": (linalg.solve, ((3, 3), (3,))),
    "solve, stretched": (linalg.solve, ((3, 3), (2, 3, 2))),
    "solve, stretched the other way": (linalg.solve, ((2, 3, 3), (1, 3, 2))),
    "inv": (linalg.inv, ((2, 3, 3),)),
    "det": (linalg.det, ((2, 3, 3),)),
    "slogdet": (lambda x: linalg.slogdet(x).logabsdet, ((3, 3),)),
    "cholesky": (spd(linalg.cholesky), ((3, 3),)),
    "cholesky, upper": (spd(lambda x: linalg.cholesky(x, upper=True)), ((2, 2, 2),)),
    "qr": (linalg.qr, ((3, 3),)),
    "qr, tall": (linalg.qr, ((2, 4, 2),)),
    "qr, wide": (linalg.qr, ((2, 4),)),
    "eigh": (sym(linalg.eigh), ((3, 3),)),
    "eigvalsh": (sym(linalg.eigvalsh), ((2, 3, 3),)),
    "svd": (lambda x: linalg.svd(x, False), ((3, 3),)),
    "svd, tall": (lambda x: linalg.svd(x, False), ((4, 2),)),
    "svd, wide": (lambda x: linalg.svd(x, False), ((2, 2, 4),)),
    "svdvals": (linalg.svdvals, ((3, 4),)),
    "pinv": (linalg.pinv, ((4, 2),)),
    "pinv, wide": (linalg.pinv, ((2, 4),)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b).solution, ((4, 2), (4, 3))),
    "matrix_norm": (linalg.matrix_norm, ((2, 3, 2),)),
    "matrix_norm, nuc": (lambda x: linalg.matrix_norm(x, ord="nuc"), ((3, 2),)),
    "matrix_norm, 2": (lambda x: linalg.matrix_norm(x, ord=2), ((3, 2),)),
    "matrix_power": (lambda x: linalg.matrix_power(x, 3), ((3, 3),)),
    "matrix_power, negative": (lambda x: linalg.matrix_power(x, -2), ((2, 2),)),
    "multi_dot": (lambda x, y: linalg.multi_dot([x, y, x]), ((2, 3), (3, 2))),
    "cond": (linalg.cond, ((3, 3),)),
}  # fmt: skip


def weighed(z: Any) -> Any:
    """One number of all results, each number with a weight of its own."""
    parts = tuple(z) if isinstance(z, tuple) else (z,)
    total = 0
    for part in parts:
        weights = np.cos(np.arange(math.prod(part.shape))).reshape(tuple(part.shape))
        total = total + (part * part.new_tensor(weights) if hasattr(part, "new_tensor")
                         else part * Tensor(weights)).sum()  # fmt: skip
    return total


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradcheck(name: str, backend: str) -> None:
    f, shapes = DERIVED[name]
    with use_backend(backend):
        gradcheck(lambda *xs: weighed(f(*xs)), *[draw(*s, seed=i) for i, s in enumerate(shapes)])


def test_pytorchs_derivatives() -> None:
    """First and second order; PyTorch's signs brought to tutor's rule."""
    torch = pytest.importorskip("torch")

    def signs(x: Any) -> Any:
        return torch.sign(x.gather(-2, x.abs().argmax(-2, keepdim=True))).detach()

    def qr(x: Any) -> Any:
        q, r = torch.linalg.qr(x)
        s = torch.sign(r.diagonal(0, -2, -1)).detach()
        return q * s.unsqueeze(-2), r * s.unsqueeze(-1)

    def eigh(x: Any) -> Any:
        w, v = torch.linalg.eigh(x + x.mT)
        return w, v * signs(v)

    def svd(x: Any) -> Any:
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        return u * signs(u), s, vh * signs(u).mT

    theirs = {
        "solve": torch.linalg.solve, "inv": torch.linalg.inv, "det": torch.linalg.det,
        "slogdet": lambda x: torch.linalg.slogdet(x)[1], "cholesky": spd(torch.linalg.cholesky),
        **dict.fromkeys(("qr", "qr, tall", "qr, wide"), qr), "eigh": eigh,
        **dict.fromkeys(("svd", "svd, tall", "svd, wide"), svd),
        **dict.fromkeys(("pinv", "pinv, wide"), torch.linalg.pinv),
        "lstsq": lambda a, b: torch.linalg.lstsq(a, b).solution,
        "matrix_norm, nuc": lambda x: torch.linalg.matrix_norm(x, "nuc"),
        "matrix_norm, 2": lambda x: torch.linalg.matrix_norm(x, 2),
    }  # fmt: skip
    for name, g in theirs.items():
        f, shapes = DERIVED[name]
        arrays = [draw(*s, seed=i) for i, s in enumerate(shapes)]
        xs = [Tensor(a, requires_grad=True) for a in arrays]
        ts = [torch.tensor(a, requires_grad=True) for a in arrays]
        first = tutor.grad(weighed(f(*xs)), xs, create_graph=True)
        wanted = torch.autograd.grad(weighed(g(*ts)), ts, create_graph=True)
        second = tutor.grad(sum((t * t).sum() for t in first), xs, allow_unused=True)
        more = torch.autograd.grad(sum((t * t).sum() for t in wanted), ts, allow_unused=True)
        for x, t in zip((*first, *second), (*wanted, *more), strict=True):
            assert (x is None) == (t is None), name
            if x is not None and t is not None:
                y = t.detach().numpy()
                off = np.abs(x.detach().numpy() - y).max()
                assert off <= 1e-9 * max(1, np.abs(y).max()), name


def test_the_gradient_of_cholesky_is_symmetric() -> None:
    """As that of a function of symmetric matrices is: PyTorch's, without an x @ x.mT before it."""
    torch = pytest.importorskip("torch")
    for shape in ((3, 3), (2, 4, 4)):
        for upper in (False, True):
            a = Tensor(positive(*shape), requires_grad=True)
            b = torch.tensor(positive(*shape), requires_grad=True)
            weighed(linalg.cholesky(a, upper=upper)).backward()
            weighed(torch.linalg.cholesky(b, upper=upper)).backward()
            assert a.grad is not None and a.grad.allclose(a.grad.mT, rtol=1e-12)
            near(a.grad, b.grad, "float64")


@pytest.mark.parametrize(
    ("sizes", "fewest"),
    [  # Cormen et al., section 14.2; two orders of three; vectors at an end
        ((30, 35, 15, 5, 10, 20, 25), 15125),
        ((10, 100, 5, 50), 7500),
        ((50, 5, 100, 10), 7500),
        ((1, 8, 9, 2, 7), 104),
    ],
)
def test_multi_dot_takes_the_fewest_multiplications(sizes: tuple[int, ...], fewest: int) -> None:
    found: list[int] = []

    def note(step: Any, go: Any) -> None:
        if step.kernel == "matmul":
            found.append(math.prod(step.ins[0].shape) * step.ins[1].shape[-1])
        go()

    arrays = [draw(m, n, seed=m + n) for m, n in itertools.pairwise(sizes)]
    with tutor.watch(note):
        z = linalg.multi_dot([Tensor(a) for a in arrays])
    assert sum(found) == fewest
    near(z / 1e3, np.linalg.multi_dot(arrays) / 1e3, "float64", 100)


def test_singular_values_alone_are_those_of_the_whole() -> None:
    """And their kernel computes no vectors."""
    steps: list[str] = []

    def note(step: Any, go: Any) -> None:
        steps.append(step.kernel)
        go()

    for shape in ((4, 3), (3, 5), (2, 3, 3), (0, 3), (3, 0)):
        for backend in BACKENDS:
            with use_backend(backend):
                x = Tensor(draw(*shape) if 0 not in shape else np.zeros(shape))
                steps.clear()
                with tutor.watch(note):
                    alone = linalg.svdvals(x)
                assert "svd" not in steps and "svdvals" in steps
                assert alone.allclose(linalg.svd(x).S, rtol=1e-12, atol=1e-12)
    assert linalg.svdvals(Tensor([[math.nan, 1.0], [0.0, 1.0]])).isnan().all()


def test_equal_eigenvalues_have_a_derivative_and_their_vectors_have_none() -> None:
    x = Tensor.eye(3, dtype="float64").requires_grad_()
    linalg.eigvalsh(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == np.eye(3).tolist()
    x.grad = None
    linalg.svdvals(x).sum().backward()
    assert x.grad is not None and x.grad.allclose(Tensor.eye(3, dtype="float64"))
    x.grad = None
    linalg.eigh(x).eigenvectors[0].sum().backward()
    assert x.grad is not None and not x.grad.isfinite().all()


# ---- errors --------------------------------------------------------------------------------------

X = Tensor(draw(3, 3))
SINGULAR = Tensor([[1.0, 2.0], [2.0, 4.0]])
MISTAKES: dict[str, tuple[type[TutorError], Any]] = {
    "solve of a singular matrix": (DomainError, lambda: linalg.solve(SINGULAR, SINGULAR)),
    "inv of a singular matrix": (DomainError, lambda: linalg.inv(Tensor.zeros(3, 3))),
    "cholesky of one that is not positive": (DomainError, lambda: linalg.cholesky(-X @ X.T)),
    "a vector": (ShapeError, lambda: linalg.svd(X[0])),
    "not square": (ShapeError, lambda: linalg.eigh(X[:2])),
    "det of one that is not square": (ShapeError, lambda: linalg.det(X[:2])),
    "no Tensor": (DTypeError, lambda: linalg.inv([[1.0]])),
    "half precision": (DTypeError, lambda: linalg.inv(X.half())),
    "shapes of solve": (ShapeError, lambda: linalg.solve(X, X[:2])),
    "shapes of lstsq": (ShapeError, lambda: linalg.lstsq(X, X[:2])),
    "a mode of qr": (DomainError, lambda: linalg.qr(X, "raw")),
    "a norm": (DomainError, lambda: linalg.matrix_norm(X, ord=3)),
    "a tolerance": (DomainError, lambda: linalg.pinv(X, -1.0)),
    "tolerances": (ShapeError, lambda: linalg.pinv(X, Tensor([0.1, 0.2]))),
    "vectors of two lengths": (ShapeError, lambda: linalg.vecdot(X, X[:, :1])),
    "vectors along an axis": (ShapeError, lambda: linalg.vecdot(X[:2], X[0], axis=0)),
    "no vector": (AxisError, lambda: linalg.vecdot(X, Tensor(1.0))),
    "one matrix": (ShapeError, lambda: linalg.multi_dot([X])),
    "a power": (TutorError, lambda: linalg.matrix_power(X, 0.5)),
    "an unknown keyword": (TutorError, lambda: linalg.svd(X, full=True)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_in_three_parts(name: str, backend: str) -> None:
    kind, call = MISTAKES[name]
    with use_backend(backend), pytest.raises(kind) as caught:
        call()
    assert caught.value.asked and caught.value.found and caught.value.do


def test_gradients_that_there_are_not() -> None:
    x = Tensor(draw(4, 2), requires_grad=True)
    with pytest.raises(GraphError, match="complete"):
        linalg.qr(x, "complete").Q.sum().backward()
    y = SINGULAR.detach().requires_grad_()
    with pytest.raises(DomainError, match="singular"):
        linalg.det(y).backward()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kernel", MATRICES)
def test_no_kernel_reads_or_writes_beyond_its_memory(kernel: str, backend: str) -> None:
    row = MATRICES[kernel]
    f = registry.lookup(kernel, backend, tutor.float32)
    short = Operand(tutor.Buffer([1.0] * 8), (3, 3), (3, 1), 0)
    whole = Operand(tutor.Buffer([1.0] * 30), (3, 3), (3, 1), 0)
    for at in range(len(row.types)):
        operands = [short if i == at else whole for i in range(len(row.types))]
        with pytest.raises(OutOfRangeError):
            f(*operands, **({"columns": 3} if row.params else {}))


def test_a_backend_without_these_kernels_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._tables, "bare", {})
    monkeypatch.setitem(registry._devices, "bare", "cpu")
    with use_backend("bare"), pytest.raises(KernelNotFound, match=r"(?s)solve.*python_ref"):
        linalg.solve(X, X)


def test_without_numpy_the_error_says_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with use_backend("simd"), pytest.raises(KernelNotFound, match="python"):
        linalg.inv(X)
    with use_backend("python"):
        assert linalg.inv(X).shape == (3, 3)


# ---- recorded ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_recorded_call_has_the_same_bits(backend: str) -> None:
    def f(x: Tensor) -> Any:
        y = x.detach().requires_grad_()
        s = y @ y.mT + Tensor.eye(3, dtype="float64")
        z = (linalg.solve(s, y).sum() + linalg.eigh(s).eigenvectors[0, 0]
             + linalg.svd(y).S.sum() + linalg.slogdet(s).logabsdet + linalg.qr(y).R.sum()
             + linalg.cholesky(s).sum() + linalg.det(s))  # fmt: skip
        z.backward()
        return z.detach(), y.grad

    with use_backend(backend):
        recorded = jit(f)
        for seed in range(4):
            x = Tensor(draw(3, 3, seed=seed))
            for a, b in zip(f(x), recorded(x), strict=True):
                assert bytes(a.contiguous().buf.raw) == bytes(b.contiguous().buf.raw)


def test_every_kernel_is_in_both_tables() -> None:
    for backend in BACKENDS:
        for row in MATRICES.values():
            for dtype in row.dtypes:
                assert registry.lookup(row.name, backend, dtype)
            with pytest.raises(DTypeError):
                registry.lookup(row.name, backend, tutor.float16)
