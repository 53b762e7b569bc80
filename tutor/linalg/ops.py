"""Ops on matrices, the last two axes of a Tensor, and their derivatives.

A kernel returns all its results for a matrix in one array, which tutor/linalg splits: [Q R] side by
side, [w; V] and [U; s; V] on top of each other. Sources of the derivatives: Giles 2008,
"Collected matrix derivative results for forward and reverse mode algorithmic differentiation";
Seeger, Hetzel, Dai, Meissner and Lawrence 2017, "Auto-differentiating linear algebra"; Townsend
2016, "Differentiating the singular value decomposition". They are written with Tensor operators, so
they are differentiable themselves. For equal eigenvalues (or singular values) the vectors are not
unique and have no derivative: a gradient that needs it is infinite or nan, never wrong; a gradient
of the values alone is still right.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tutor._storage import layout
from tutor.backends.transfers import common
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.errors import DTypeError, GraphError, ShapeError


class OfMatrices(Op, abstract=True):
    """One operand (..., m, n), floats of 32 or 64 bits; integers become float32."""

    promotes: ClassVar[int | None] = 0
    wants_float = True
    square: ClassVar[bool] = True

    def forward(self, x: Any, **params: Any) -> Any:
        if len(x.shape) < 2 or (self.square and x.shape[-1] != x.shape[-2]):
            raise ShapeError(
                f"{self.name} of shape {x.shape}",
                "that is no matrix" if len(x.shape) < 2 else "its matrices are not square",
                f"give (..., {'n, n' if self.square else 'm, n'})",
            )
        m, n = x.shape[-2:]
        return filled(self.name, (*x.shape[:-2], *self.size(m, n, **params)), x, **params)

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        """Rows and columns of the result."""
        return m, n


def filled(kernel: str, shape: tuple[int, ...], *ins: Any, **params: Any) -> Any:
    """The kernel's result for these operands, in a Tensor of that shape."""
    dtype = ins[0].dtype
    if dtype.itemsize < 4:
        raise DTypeError(
            f"{kernel} of {dtype.name}", "it has too few bits", "cast to float32 or float64"
        )
    device = common(kernel, ins)
    out = ins[0].over(Buffer.empty(math.prod(shape), dtype, device), shape)
    engine.call(kernel, dtype, out, *ins, **params)
    return out


def over(a: Any, b: Any) -> Any:
    """a / b, and 0 where both are 0: a derivative that no gradient uses does not matter."""
    return a / apply("where", (a == 0) * (b == 0), 1.0, b)


def between(values: Any) -> Any:
    """v_j - v_i for each i and j, and infinity for i = j, so that dividing by it gives 0 there."""
    n = values.shape[-1]
    apart = values.unsqueeze(-2) - values.unsqueeze(-1)
    return apart + type(values).full((n,), math.inf, dtype=values.dtype).diag_embed()


class Solve(Op):
    """X of A X = B, for A (..., n, n) and B (..., n, k); gB = A⁻ᵀ g, gA = -gB Xᵀ (Giles 2.3.1)"""

    promotes: ClassVar[int | None] = 0
    wants_float = True
    name, saves = "solve", ("a", "out")

    def forward(self, a: Any, b: Any) -> Any:
        fits = len(a.shape) > 1 and len(b.shape) > 1 and a.shape[-1] == a.shape[-2] == b.shape[-2]
        if not fits:
            raise ShapeError(
                f"solve of shapes {a.shape} and {b.shape}",
                "they do not fit: A is (..., n, n), B (..., n, k)",
                "A must be square and have as many rows as B; give a vector as x[:, None]",
            )
        lead = layout.broadcast_shapes("solve (leading axes)", a.shape[:-2], b.shape[:-2])
        ins = [t.detach().expand((*lead, *t.shape[-2:])) for t in (a, b)]
        return filled("solve", ins[1].shape, *ins)

    def backward(self, g: Any, a: Any, x: Any) -> Any:
        gb = apply("solve", a.mT, g)
        return summed(-gb @ x.mT, self.edges[0]), summed(gb, self.edges[1])


def summed(g: Any, x: Any) -> Any:
    """g summed over the leading axes that x was broadcast over."""
    extra = tuple(range(len(g.shape) - len(x.shape)))
    g = g.sum(extra) if extra else g
    stretched = tuple(i for i, n in enumerate(x.shape) if n == 1 and g.shape[i] != 1)
    return g.sum(stretched, keepdims=True) if stretched else g


class Det(OfMatrices):
    """det A; gA = g det(A) A⁻ᵀ (Giles 2.2.4), which requires a non-singular A"""

    name, saves = "det", ("x", "out")

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return 1, 1

    def backward(self, g: Any, x: Any, z: Any) -> Any:
        return g * z * inverse(x).mT


class SlogDet(OfMatrices):
    """[sign, ln |det A|]; gA = g A⁻ᵀ for the logarithm, none for the sign (Giles 2.2.4)"""

    name, saves = "slogdet", ("x",)

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return 1, 2

    def backward(self, g: Any, x: Any) -> Any:
        return g[..., 1:] * inverse(x).mT


def inverse(a: Any) -> Any:
    """A⁻¹: X of A X = I."""
    return apply("solve", a, type(a).eye(a.shape[-1], dtype=a.dtype, device=a.device))


class Cholesky(OfMatrices):
    """L of L Lᵀ = A; gA = L⁻ᵀ P L⁻¹, symmetrized, with P = the lower triangle of Lᵀ gL, its
    diagonal halved (equivalent to Giles 2.2.6)"""

    name, saves = "cholesky", ("out",)

    def backward(self, g: Any, lower: Any) -> Any:
        p = lower.mT @ g.tril()
        p = p.tril() - p.diagonal(0, -2, -1).diag_embed() * 0.5
        half = apply("solve", lower.mT, p)  # L⁻ᵀ P
        s = apply("solve", lower.mT, half.mT).mT  # L⁻ᵀ P L⁻¹
        return (s + s.mT) * 0.5


class QR(OfMatrices):
    """[Q R] of A = Q R. With M = R gRᵀ - gQᵀ Q, S the symmetric matrix of M's lower triangle:
    gA = (gQ + Q S) R⁻ᵀ if A has at least as many rows as columns (Seeger et al., section 4.3). For
    a wide A = [X Y] only X is decomposed, and the right part of R is Qᵀ Y."""

    name, saves, square = "qr", ("x", "out"), False

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return m, params["columns"] + n

    def backward(self, g: Any, x: Any, z: Any) -> Any:
        (m, n), k = x.shape[-2:], self.params["columns"]
        if k > n:
            raise GraphError(
                "the gradient of a complete QR of more rows than columns",
                f"{k - n} columns of Q are any that complete the others",
                'use mode="reduced", where m > n',
            )
        q, r, gq, gr = z[..., :k], z[..., :k, k:], g[..., :k], g[..., :k, k:]
        if m < n:
            gq = gq + x[..., m:] @ gr[..., m:].mT
            right = q @ gr[..., m:]
            return apply("cat", tall(q, r[..., :m], gq, gr[..., :m]), right, axis=-1)
        return tall(q, r, gq, gr)


def tall(q: Any, r: Any, gq: Any, gr: Any) -> Any:
    m = r @ gr.triu().mT - gq.mT @ q
    symmetric = m.tril() + m.tril(-1).mT
    return apply("solve", r, (gq + q @ symmetric).mT).mT


class Eigh(OfMatrices):
    """[w; V] of A = V diag(w) Vᵀ; gA = V (diag(gw) + (Vᵀ gV) / (w_j - w_i)) Vᵀ (Giles 2.2.5)"""

    name, saves = "eigh", ("out",)

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return n + 1, n

    def backward(self, g: Any, z: Any) -> Any:
        w, v, gw, gv = z[..., 0, :], z[..., 1:, :], g[..., 0, :], g[..., 1:, :]
        inner = gw.diag_embed() + over(v.mT @ gv, between(w))
        return v @ inner @ v.mT


class SVD(OfMatrices):
    """[U; s; V] of A = U diag(s) Vᵀ; with F_ij = 1 / (s_j² - s_i²), J = F (Uᵀ gU - gUᵀ U) and K =
    F (Vᵀ gV - gVᵀ V), element by element: gA = U (J S + S K + diag(gs)) Vᵀ
    + (I - U Uᵀ) gU S⁻¹ Vᵀ + U S⁻¹ gVᵀ (I - V Vᵀ) (Townsend 2016)"""

    name, saves, square = "svd", ("out",), False

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return m + 1 + n, min(m, n)

    def backward(self, g: Any, z: Any) -> Any:
        m, n = self.edges[0].shape[-2:]
        (u, s, v), (gu, gs, gv) = (
            (t[..., :m, :], t[..., m, :], t[..., m + 1 :, :]) for t in (z, g)
        )
        row = s.unsqueeze(-2)
        apart = between(s * s)
        ju, kv = u.mT @ gu, v.mT @ gv
        j, k = (over(t - t.mT, apart) for t in (ju, kv))
        inner = j * row + s.unsqueeze(-1) * k + gs.diag_embed()
        z = u @ inner @ v.mT
        if m > n:
            z = z + over(gu - u @ ju, row) @ v.mT
        if n > m:
            z = z + u @ over(gv - v @ kv, row).mT
        return z


class SVDVals(OfMatrices):
    """[s] of A = U diag(s) Vᵀ: gA = U diag(g) Vᵀ. U and V are computed only for the gradient."""

    name, saves, square = "svdvals", ("x",), False

    def size(self, m: int, n: int, **params: Any) -> tuple[int, int]:
        return 1, min(m, n)

    def backward(self, g: Any, x: Any) -> Any:
        m, z = x.shape[-2], apply("svd", x)
        return (z[..., :m, :] * g) @ z[..., m + 1 :, :].mT


class PInv(Op):
    """P = A⁺ = V diag(1/s) Uᵀ, over the s above `rtol` times the largest; for a fixed rank
    gA = -Pᵀ g Pᵀ + (I - A P) gᵀ P Pᵀ + Pᵀ P gᵀ (I - P A) (Golub and Pereyra 1973)"""

    promotes: ClassVar[int | None] = 0
    wants_float = True
    name, saves = "pinv", ("a", "out")

    def forward(self, a: Any, *, rtol: Any) -> Any:
        m = a.shape[-2] if len(a.shape) > 1 else 0
        z = apply("svd", a.detach())
        u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
        if not s.shape[-1]:
            return a.mT.copy()
        counts = s > s.amax(-1, keepdims=True) * rtol
        inverse = apply("where", counts, 1 / apply("where", counts, s, 1.0), 0.0)
        return (v * inverse.unsqueeze(-2)) @ u.mT

    def backward(self, g: Any, a: Any, p: Any) -> Any:
        pt, gt = p.mT, g.mT
        return -(pt @ g @ pt) + (gt - a @ (p @ gt)) @ p @ pt + pt @ p @ (gt - (gt @ p) @ a)
