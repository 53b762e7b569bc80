"""Copying to another device."""

from __future__ import annotations

import math

from tutor._storage.device_memory import CPU, devices
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op


class Transfer(Op):
    """z = x, in its own memory on another device; the gradient returns to x's device"""

    def settle(self):
        self.params["device"] = devices.of(self.params["device"])

    def forward(self, x, *, device):
        if x.buf.device != CPU and math.prod(x.shape) < len(x.buf):
            x = x.copy()  # transfer only the part of the Buffer that x uses
        out = x.over(Buffer.empty(math.prod(x.shape), x.buf.dtype, device), x.shape)
        engine.call("transfer", x.buf.dtype, out, x)
        return out

    def backward(self, g):
        return apply("transfer", g, device=self.edges[0].device)
