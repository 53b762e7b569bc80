"""Recurrent layers along all places of a sequence, each one op, and one kernel each way.

wx (l, n, gates, h) is W x + b of every place, u (gates, h, h) the weight of the state, `start` the
state before the first place. A place is a sequence of one, so cells are the same ops.

The gradient's kernel walks back from the last place, and writes that of wx, from which those of u
and the biases follow: one product, and one sum, over all places. `composed` is the same layer, made
of other ops: the definition to read, and what gradients that will be differentiated again go
through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tutor._storage.device_memory import common
from tutor.backends.shape_rules import RULES
from tutor.backends.signatures import SIGNATURES
from tutor.core.engine import engine
from tutor.core.engine.forward import serials
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import Op
from tutor.ops.movement import stack
from tutor.ops.norm import empty


class Layer(Op, abstract=True):
    """A recurrent layer. Its states are (l, n, h), or (s, l, n, h) if there are s of them."""

    promotes = 0
    inner: ClassVar[int] = 0  # numbers of each unit that the gradient's kernel reads: `gates`
    gates: Any = None

    def run(self, *inputs: Any, **params: Any) -> Any:
        """The states, by the kernel of the op's name."""
        common(self.name, inputs)
        shape = RULES[self.name](SIGNATURES[self.name], self.name, [x.shape for x in inputs], {})
        wx, out = inputs[0], empty(inputs[0], shape)
        places, n, h = shape[-3:]
        if self.inner:
            wanted = is_grad_enabled() and any(x.requires_grad for x in inputs)
            self.gates = empty(wx, (places if wanted else min(places, 1), n, self.inner, h))
        given = () if self.gates is None else (self.gates,)
        engine.call(self.name, wx.buf.dtype, out, *inputs, *given, **params)
        return out

    def composed(self, *inputs: Any) -> Any:
        """The same result, by other ops."""
        raise NotImplementedError

    def again(self, g: Any, *inputs: Any) -> tuple[Any, ...]:
        """The gradients of the composed form, as part of a graph: it runs once more, and the ops of
        this run alone are walked back."""
        began = next(serials)
        out = self.composed(*inputs)
        arrived = {
            node: part
            for node, part, _ in engine.walk(out, since(out.op, began), g, True, True, None)
        }
        return tuple([arrived.get(x.op or x) if x.requires_grad else None for x in inputs])

    def of_weight(self, da: Any, h: Any, start: Any) -> Any:
        """The gradient of u, given that of U h at each place (l, n, gates * h)."""
        du = da[0].T @ start
        if da.shape[0] > 1:
            rows = (-1, da.shape[-1])
            du = du + da[1:].reshape(rows).T @ h[:-1].reshape((-1, h.shape[-1]))
        return du


def since(op: Op, began: int) -> list[Op]:
    """`op` and the ops before it back to the one of serial number `began`, newest first."""
    found, unseen = {op}, [op]
    while unseen:
        for edge in unseen.pop().edges:
            if isinstance(edge, Op) and edge.serial > began and edge not in found:
                found.add(edge)
                unseen.append(edge)
    return sorted(found, key=lambda op: op.serial, reverse=True)


def steps(wx: Any) -> Iterator[Any]:
    """The places of wx, one after another."""
    for place in wx.split(1):
        yield place.squeeze(0)


class RNN(Layer):
    """h_t = tanh(wx_t + U h_(t-1)), or relu(...), for wx (l, n, h), u (h, h), start (n, h) ->
    h of each place, (l, n, h)"""

    saves = ("wx", "u", "start", "out")
    defaults = {"relu": False}  # noqa: RUF012 - never changed

    def forward(self, wx, u, start, *, relu):
        return self.run(wx, u, start, relu=bool(relu))

    def backward(self, g, wx, u, start, h):
        if is_grad_enabled():
            return self.again(g, wx, u, start)
        dwx, dstart = empty(g, wx.shape), empty(g, start.shape)
        engine.call("rnn_grad", g.buf.dtype, dwx, g, u, h, dstart,
                    relu=bool(self.params["relu"]))  # fmt: skip
        return dwx, self.of_weight(dwx, h, start) if self.needs[1] else None, dstart

    def composed(self, wx, u, start):
        h, found = start, []
        for x in steps(wx):
            a = x + h @ u.T
            h = a.relu() if self.params["relu"] else a.tanh()
            found.append(h)
        return stack(found)


class LSTM(Layer):
    """i, f, o = sigmoid(a), g = tanh(a) with a = wx_t + U h_(t-1); c_t = f c_(t-1) + i g, h_t = o
    tanh(c_t); for wx (l, n, 4, h), u (4, h, h), start (2, n, h) -> h and c, (2, l, n, h)"""

    saves, inner = ("wx", "u", "start", "out"), 4

    def forward(self, wx, u, start):
        return self.run(wx, u, start)

    def backward(self, g, wx, u, start, z):
        if is_grad_enabled():
            return self.again(g, wx, u, start)
        dwx, dstart = empty(g, wx.shape), empty(g, start.shape)
        engine.call("lstm_grad", g.buf.dtype, dwx, g, u, start, z, self.gates, dstart)
        if not self.needs[1]:
            return dwx, None, dstart
        da = dwx.reshape((*wx.shape[:2], -1))
        return dwx, self.of_weight(da, z[0], start[0]).reshape(u.shape), dstart

    def composed(self, wx, u, start):
        (h, c), found = (start[0], start[1]), []
        for x in steps(wx):
            i, f, g, o = [x[:, k] + h @ u[k].T for k in range(4)]
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            found.append((h, c))
        return stack([stack(part) for part in zip(*found, strict=True)])


class GRU(Layer):
    """r, z = sigmoid(wx_t + a), n = tanh(wx_t + r a) with a = U h_(t-1) + b; h_t = n + z (h_(t-1) -
    n); for wx (l, n, 3, h), u (3, h, h), b (3, h), start (n, h) -> h of each place, (l, n, h)"""

    saves, inner = ("wx", "u", "b", "start", "out"), 4

    def forward(self, wx, u, b, start):
        return self.run(wx, u, b, start)

    def backward(self, g, wx, u, b, start, h):
        if is_grad_enabled():
            return self.again(g, wx, u, b, start)
        dwx, da, dstart = empty(g, wx.shape), empty(g, wx.shape), empty(g, start.shape)
        engine.call("gru_grad", g.buf.dtype, dwx, g, u, start, h, self.gates, da, dstart)
        rows = da.reshape((*wx.shape[:2], -1))
        du = self.of_weight(rows, h, start).reshape(u.shape) if self.needs[1] else None
        return dwx, du, da.sum((0, 1)) if self.needs[2] else None, dstart

    def composed(self, wx, u, b, start):
        h, found = start, []
        for x in steps(wx):
            r, z, n = [h @ u[k].T + b[k] for k in range(3)]
            r, z = (x[:, 0] + r).sigmoid(), (x[:, 1] + z).sigmoid()
            n = (x[:, 2] + r * n).tanh()
            h = n + z * (h - n)
            found.append(h)
        return stack(found)
