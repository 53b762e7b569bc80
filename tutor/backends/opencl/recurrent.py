"""Recurrent layers and their gradients: a launch for each place, a work-item for each unit of each
sequence, which computes the sums of its own gates.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.opencl.handwritten import Body, Kernel

UNIT = "const int64_t i = at / h, j = at % h;\n"
SIGMOID = """
static inline X_t squashed(X_t a) {
    const X_t e = exp(a < 0 ? a : -a);
    return (a < 0 ? e : 1) / (1 + e);
}
"""


def sums(gates: int, first: str) -> str:
    """a[q] = first + U h of each gate."""
    return f"""
    X_t a[{gates}];
    for (int q = 0; q < {gates}; q++) {{
        X_t sum = 0;
        for (int64_t k = 0; k < h; k++) {{
            const X_t past = t ? LOAD_X(z[((t - 1) * n + i) * h + k]) : LOAD_X(start[i * h + k]);
            sum += LOAD_X(u[(q * h + j) * h + k]) * past;
        }}
        a[q] = {first} + sum;
    }}
"""


def slopes(gates: int, da: str) -> str:
    """dh, and the sum of U over `da` of the next place, which was the one before in this walk."""
    return f"""
    X_t past = 0;
    for (int q = 0; q < {gates} && t < l - 1; q++)
        for (int64_t k = 0; k < h; k++)
            past += LOAD_X({da}[(((t + 1) * n + i) * {gates} + q) * h + k])
                * LOAD_X(u[(q * h + k) * h + j]);
"""


RNN = Body("rnn(X *z, const X *wx, const X *u, const X *start, relu, t, n, h)",
    UNIT + sums(1, "LOAD_X(wx[(t * n + i) * h + j])") + """
    z[(t * n + i) * h + j] = STORE_X(relu ? (a[0] <= 0 ? 0 : a[0]) : tanh(a[0]));
""")  # fmt: skip

RNN_GRAD = Body(
    "rnn_grad(X *dx, X *dstart, const X *g, const X *u, const X *z, relu, t, l, n, h)",
    UNIT + slopes(1, "dx") + """
    if (t < 0) {
        dstart[at] = STORE_X(past);
    } else {
        const X_t y = LOAD_X(z[t * n * h + at]), d = LOAD_X(g[t * n * h + at]) + past;
        dx[t * n * h + at] = STORE_X(relu ? (y > 0 ? d : 0) : d * ((1 - y) * (1 + y)));
    }
""")  # fmt: skip

LSTM = Body("lstm(X *z, X *gates, const X *wx, const X *u, const X *start, t, kept, l, n, h)",
    UNIT + sums(4, "LOAD_X(wx[((t * n + i) * 4 + q) * h + j])") + """
    const int64_t cells = (l + t) * n * h + at;
    const X_t c = t ? LOAD_X(z[cells - n * h]) : LOAD_X(start[n * h + at]);
    const X_t in = squashed(a[0]), f = squashed(a[1]), g = tanh(a[2]), o = squashed(a[3]);
    const X_t now = f * c + in * g;
    z[cells] = STORE_X(now);
    z[t * n * h + at] = STORE_X(o * tanh(now));
    const int64_t to = (((t < kept ? t : kept - 1) * n + i) * 4) * h + j;
    if (kept) {
        gates[to] = STORE_X(in);
        gates[to + h] = STORE_X(f);
        gates[to + 2 * h] = STORE_X(g);
        gates[to + 3 * h] = STORE_X(o);
    }
""", SIGMOID)  # fmt: skip

LSTM_GRAD = Body(
    "lstm_grad(X *dx, X *dstart, A *carry, const X *g, const X *u, const X *start, const X *z, "
    "const X *gates, t, l, n, h)",
    UNIT + slopes(4, "dx") + """
    if (t < 0) {
        dstart[at] = STORE_X(past);
        dstart[n * h + at] = STORE_X(t < l - 1 ? carry[at] : 0);
    } else {
        const int64_t cells = (l + t) * n * h + at, first = ((t * n + i) * 4) * h + j;
        const X_t in = LOAD_X(gates[first]), f = LOAD_X(gates[first + h]);
        const X_t s = LOAD_X(gates[first + 2 * h]), o = LOAD_X(gates[first + 3 * h]);
        const X_t before = t ? LOAD_X(z[cells - n * h]) : LOAD_X(start[n * h + at]);
        const X_t c = tanh(LOAD_X(z[cells])), dh = LOAD_X(g[t * n * h + at]) + past;
        const X_t dc = (t < l - 1 ? carry[at] : 0) + LOAD_X(g[cells])
            + dh * o * ((1 - c) * (1 + c));
        dx[first] = STORE_X(dc * s * (in * (1 - in)));
        dx[first + h] = STORE_X(dc * before * (f * (1 - f)));
        dx[first + 2 * h] = STORE_X(dc * in * ((1 - s) * (1 + s)));
        dx[first + 3 * h] = STORE_X(dh * c * (o * (1 - o)));
        carry[at] = dc * f;
    }
""")  # fmt: skip

GRU = Body(
    "gru(X *z, X *gates, const X *wx, const X *u, const X *b, const X *start, t, kept, n, h)",
    UNIT + sums(3, "LOAD_X(b[q * h + j])") + """
    const int64_t first = ((t * n + i) * 3) * h + j;
    const X_t before = t ? LOAD_X(z[(t - 1) * n * h + at]) : LOAD_X(start[at]);
    const X_t r = squashed(LOAD_X(wx[first]) + a[0]), s = squashed(LOAD_X(wx[first + h]) + a[1]);
    const X_t m = tanh(LOAD_X(wx[first + 2 * h]) + r * a[2]);
    z[t * n * h + at] = STORE_X(m + s * (before - m));
    const int64_t to = (((t < kept ? t : kept - 1) * n + i) * 4) * h + j;
    if (kept) {
        gates[to] = STORE_X(r);
        gates[to + h] = STORE_X(s);
        gates[to + 2 * h] = STORE_X(a[2]);
        gates[to + 3 * h] = STORE_X(m);
    }
""", SIGMOID)  # fmt: skip

GRU_GRAD = Body(
    "gru_grad(X *dx, X *da, X *dstart, A *carry, const X *g, const X *u, const X *start, "
    "const X *z, const X *gates, t, l, n, h)",
    UNIT + slopes(3, "da") + """
    if (t < 0) {
        dstart[at] = STORE_X(past + (t < l - 1 ? carry[at] : 0));
    } else {
        const int64_t from = ((t * n + i) * 4) * h + j, first = ((t * n + i) * 3) * h + j;
        const X_t r = LOAD_X(gates[from]), s = LOAD_X(gates[from + h]);
        const X_t a = LOAD_X(gates[from + 2 * h]), m = LOAD_X(gates[from + 3 * h]);
        const X_t before = t ? LOAD_X(z[(t - 1) * n * h + at]) : LOAD_X(start[at]);
        const X_t dh = LOAD_X(g[t * n * h + at]) + past + (t < l - 1 ? carry[at] : 0);
        const X_t dm = dh * (1 - s) * ((1 - m) * (1 + m)), dr = dm * a * (r * (1 - r));
        const X_t ds = dh * (before - m) * (s * (1 - s));
        dx[first] = da[first] = STORE_X(dr);
        dx[first + h] = da[first + h] = STORE_X(ds);
        dx[first + 2 * h] = STORE_X(dm);
        da[first + 2 * h] = STORE_X(dm * r);
        carry[at] = dh * s;
    }
""")  # fmt: skip


class PlaceByPlace(Kernel):
    """One launch for each place, on contiguous results that are copied to their places."""

    def each(self, body: Body, places: range, n: int, h: int, *rest: Any) -> None:
        """`rest`: the arguments of a launch, with None where the place's number belongs."""
        for t in places if n * h else ():
            self.run(body, n * h, *[t if x is None else x for x in rest], n, h)

    def fresh_for(self, *outs: Any) -> list[Any]:
        return [self.fresh(x.shape) for x in outs]

    def leave(self, outs: Any, found: Any) -> None:
        for out, x in zip(outs, found, strict=True):
            if math.prod(out.shape):
                self.copy(out, x)


class Rnn(PlaceByPlace):
    """`kernel(out, wx, u, start, relu=)`"""

    def __call__(self, out: Any, wx: Any, u: Any, start: Any, *, relu: bool) -> None:
        wx, u, start = self.dense(wx, u, start)
        (z,), (places, n, h) = self.fresh_for(out), out.shape
        self.each(RNN, range(places), n, h, z, wx, u, start, int(relu), None)
        self.leave((out,), (z,))


class RnnGrad(PlaceByPlace):
    """`kernel(out, g, u, z, dstart, relu=)`"""

    def __call__(self, out: Any, g: Any, u: Any, z: Any, dstart: Any, *, relu: bool) -> None:
        g, u, z = self.dense(g, u, z)
        outs, (places, n, h) = (out, dstart), out.shape
        found = self.fresh_for(*outs)
        walk = range(places - 1, -2, -1)
        self.each(RNN_GRAD, walk, n, h, *found, g, u, z, int(relu), None, places)
        self.leave(outs, found)


class Lstm(PlaceByPlace):
    """`kernel(out, wx, u, start, gates)`"""

    def __call__(self, out: Any, wx: Any, u: Any, start: Any, gates: Any) -> None:
        given = self.dense(wx, u, start)
        outs, (_, places, n, h) = (out, gates), out.shape
        found, kept = self.fresh_for(*outs), gates.shape[0]
        self.each(LSTM, range(places), n, h, *found, *given, None, kept, places)
        self.leave(outs, found)


class LstmGrad(PlaceByPlace):
    """`kernel(out, g, u, start, z, gates, dstart)`"""

    def __call__(
        self, out: Any, g: Any, u: Any, start: Any, z: Any, gates: Any, dstart: Any
    ) -> None:
        given = self.dense(g, u, start, z, gates)
        outs, (places, n, _, h) = (out, dstart), out.shape
        found, carry = self.fresh_for(*outs), self.fresh((n, h), self.acc)
        walk = range(places - 1, -2, -1)
        self.each(LSTM_GRAD, walk, n, h, *found, carry, *given, None, places)
        self.leave(outs, found)


class Gru(PlaceByPlace):
    """`kernel(out, wx, u, b, start, gates)`"""

    def __call__(self, out: Any, wx: Any, u: Any, b: Any, start: Any, gates: Any) -> None:
        given = self.dense(wx, u, b, start)
        outs, (places, n, h) = (out, gates), out.shape
        found, kept = self.fresh_for(*outs), gates.shape[0]
        self.each(GRU, range(places), n, h, *found, *given, None, kept)
        self.leave(outs, found)


class GruGrad(PlaceByPlace):
    """`kernel(out, g, u, start, z, gates, da, dstart)`"""

    def __call__(
        self, out: Any, g: Any, u: Any, start: Any, z: Any, gates: Any, da: Any, dstart: Any
    ) -> None:
        given = self.dense(g, u, start, z, gates)
        outs, (places, n, _, h) = (out, da, dstart), out.shape
        found, carry = self.fresh_for(*outs), self.fresh((n, h), self.acc)
        walk = range(places - 1, -2, -1)
        self.each(GRU_GRAD, walk, n, h, *found, carry, *given, None, places)
        self.leave(outs, found)


KERNELS = {
    "rnn": Rnn, "rnn_grad": RnnGrad, "lstm": Lstm, "lstm_grad": LstmGrad, "gru": Gru,
    "gru_grad": GruGrad,
}  # fmt: skip
