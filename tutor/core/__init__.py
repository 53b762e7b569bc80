"""The four boxes, to be read in this order: buffer, op, engine, tensor."""

from tutor.core.buffer import Buffer
from tutor.core.engine import Engine
from tutor.core.op import Op
from tutor.core.tensor import Tensor

__all__ = ["Buffer", "Engine", "Op", "Tensor"]
