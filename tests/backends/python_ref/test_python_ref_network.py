"""The reference's norms, attention, recurrent layers and dropout, and their gradients, against
NumPy's arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import cell, numpy_type, operand, view

from tutor.backends import registry
from tutor.backends.registry import Operand
from tutor.dtype import DType, float32, float64, uint32, uint64

KERNELS = registry.table("python_ref")
rng = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def blank(*shape: int, dtype: DType = float64) -> Operand:
    return operand(np.full(shape, 7, numpy_type(dtype)), "sliced", dtype)


def results(name: str, shapes: list[tuple[int, ...]], *ins: Any, **params: Any) -> list[np.ndarray]:
    """What the kernel writes: out, then the last inputs, of these shapes."""
    out, *rest = (blank(*shape) for shape in shapes)
    KERNELS[name, float64](out, *map(operand, ins), *rest, **params)
    return [view(x) for x in (out, *rest)]


def slopes(f: Any, at: list[np.ndarray], g: np.ndarray) -> list[np.ndarray]:
    """The gradients of sum g f(*at), by difference quotients."""
    found = []
    for i, x in enumerate(at):
        slope = np.zeros_like(x)
        for place in np.ndindex(*x.shape):
            steps = []
            for h in (1e-6, -1e-6):
                moved = [a.copy() for a in at]
                moved[i][place] += h
                steps.append((f(*moved) * g).sum())
            slope[place] = (steps[0] - steps[1]) / 2e-6
        found.append(slope)
    return found


def normed(axes: Any, centred: bool = True) -> Any:
    def norm(x: np.ndarray, w: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
        away = x - x.mean(axes, keepdims=True) if centred else x
        along = (slice(None), None) if axes == (0, 2) else ...
        w, b = (t[along] if isinstance(t, np.ndarray) else t for t in (w, b))
        return away / np.sqrt((away * away).mean(axes, keepdims=True) + 0.1) * w + b

    return norm


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "batch_norm"])
def test_norms(name: str) -> None:
    channels, centred = name == "batch_norm", name != "rms_norm"
    x, axes = drawn(2, 3, 4), (0, 2) if channels else -1
    affine = [drawn(3 if channels else 4) for _ in range(1 + centred)]
    f, g = normed(axes, centred), drawn(2, 3, 4)
    moments = [x.mean((0, 2)), x.var((0, 2))] if channels else []
    found = results(name, [x.shape, *[m.shape for m in moments]], x, *affine, eps=0.1)
    for ours, theirs in zip(found, [f(x, *affine), *moments], strict=True):
        np.testing.assert_allclose(ours, theirs)
    shapes = [t.shape for t in (x, *affine)]
    grads = results(f"{name}_grad", shapes, g, x, affine[0], *moments, eps=0.1)
    for ours, theirs in zip(grads, slopes(f, [x, *affine], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


def test_group_norm() -> None:
    """5 channels in 2 groups: 3 and 2."""
    x, affine, g = drawn(2, 5, 4), [drawn(5) for _ in range(2)], drawn(2, 5, 4)

    def f(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        parts = []
        for part in (x[:, :3], x[:, 3:]):
            away = part - part.mean((1, 2), keepdims=True)
            parts.append(away / np.sqrt((away * away).mean((1, 2), keepdims=True) + 0.1))
        return np.concatenate(parts, 1) * w[:, None] + b[:, None]

    params = {"eps": 0.1, "groups": 2}
    (found,) = results("group_norm", [x.shape], x, *affine, **params)
    np.testing.assert_allclose(found, f(x, *affine))
    shapes = [t.shape for t in (x, *affine)]
    grads = results("group_norm_grad", shapes, g, x, affine[0], **params)
    for ours, theirs in zip(grads, slopes(f, [x, *affine], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v, mask, g = (
        drawn(2, 3, 4),
        drawn(2, 5, 4),
        drawn(2, 5, 2),
        drawn(2, 3, 5),
        drawn(2, 3, 2),
    )
    mask[0, 1] = -np.inf  # a row that sees nothing

    def scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
        s = 0.5 * q @ k.swapaxes(1, 2) + mask
        return np.where(np.tri(3, 5) > 0, s, -np.inf) if causal else s

    def f(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        e = np.exp(scores(q, k))
        return e / np.where(e.sum(-1) > 0, e.sum(-1), 1)[..., None] @ v

    given = {"scale": 0.5, "causal": causal}
    z, logs = results("attention", [(2, 3, 2), (2, 3)], q, k, v, mask, **given)
    np.testing.assert_allclose(z, f(q, k, v), 1e-12, 1e-15)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logs, np.log(np.exp(scores(q, k)).sum(-1)))
    grads = results(
        "attention_grad", [q.shape, k.shape, v.shape], g, q, k, v, mask, z, logs, **given
    )
    for ours, theirs in zip(grads, slopes(f, [q, k, v], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("relu", [False, True])
def test_rnn(relu: bool) -> None:
    wx, u, start, g = drawn(3, 2, 4), drawn(4, 4), drawn(2, 4), drawn(3, 2, 4)

    def f(wx: np.ndarray, u: np.ndarray, h: np.ndarray) -> np.ndarray:
        found = []
        for x in wx:
            a = x + h @ u.T
            h = np.maximum(a, 0) if relu else np.tanh(a)
            found.append(h)
        return np.stack(found)

    (z,) = results("rnn", [g.shape], wx, u, start, relu=relu)
    np.testing.assert_allclose(z, f(wx, u, start))
    found = results("rnn_grad", [wx.shape, start.shape], g, u, z, relu=relu)
    for ours, theirs in zip(found, slopes(lambda x, h: f(x, u, h), [wx, start], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_lstm(kept: int) -> None:
    wx, u, start, g = drawn(3, 2, 4, 5), drawn(4, 5, 5), drawn(2, 2, 5), drawn(2, 3, 2, 5)
    gates: list[np.ndarray] = []

    def f(wx: np.ndarray, start: np.ndarray) -> np.ndarray:
        (h, c), found = start, []
        gates.clear()
        for x in wx:
            a = [x[:, k] + h @ u[k].T for k in range(4)]
            i, f, g, o = sigmoid(a[0]), sigmoid(a[1]), np.tanh(a[2]), sigmoid(a[3])
            c = f * c + i * g
            h = o * np.tanh(c)
            found.append((h, c))
            gates.append(np.stack([i, f, g, o], 1))
        return np.stack(found, 1)

    z, inside = results("lstm", [g.shape, (kept, 2, 4, 5)], wx, u, start)
    np.testing.assert_allclose(z, f(wx, start))
    np.testing.assert_allclose(inside, np.stack(gates)[3 - kept :])
    whole = np.stack(gates)
    found = results("lstm_grad", [wx.shape, start.shape], g, u, start, z, whole)
    for ours, theirs in zip(found, slopes(f, [wx, start], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


def test_gru() -> None:
    wx, u, b, start = drawn(3, 2, 3, 4), drawn(3, 4, 4), drawn(3, 4), drawn(2, 4)
    g, gates = drawn(3, 2, 4), []

    def f(wx: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
        found = []
        gates.clear()
        for x in wx:
            a = [h @ u[k].T + b[k] for k in range(3)]
            r, z = sigmoid(x[:, 0] + a[0]), sigmoid(x[:, 1] + a[1])
            n = np.tanh(x[:, 2] + r * a[2])
            h = (1 - z) * n + z * h
            found.append(h)
            gates.append(np.stack([r, z, a[2], n], 1))
        return np.stack(found)

    z, inside = results("gru", [g.shape, (3, 2, 4, 4)], wx, u, b, start)
    np.testing.assert_allclose(z, f(wx, b, start))
    np.testing.assert_allclose(inside, np.stack(gates))
    dwx, da, dstart = results("gru_grad", [wx.shape, wx.shape, start.shape], g, u, start, z, inside)
    found = (dwx, da.sum((0, 1)), dstart)
    for ours, theirs in zip(found, slopes(f, [wx, b, start], g), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)


def test_dropout() -> None:
    x, words = drawn(11).astype("f"), operand(np.zeros(11, np.uint32), dtype=uint32)
    KERNELS["random_bits", uint32](words, cell(3, uint64), cell(5, uint64), blocks=3)
    out, counter = blank(11, dtype=float32), cell(5, uint64)
    KERNELS["dropout", float32](
        out, cell(3, uint64), counter, operand(x), blocks=3, scale=2.0, threshold=2**31
    )
    assert view(counter) == 8
    assert 0 < (view(out) == 0).sum() < 11
    np.testing.assert_array_equal(view(out), np.where(view(words) >= 2**31, 2 * x, 0))
