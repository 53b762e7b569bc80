"""The four boxes. Read them in this order: buffer, tensor, op, engine."""

from tutor.core.buffer import Buffer
from tutor.core.engine import Engine
from tutor.core.op import Op
from tutor.core.tensor import TensorBase

__all__ = ["Buffer", "Engine", "Op", "TensorBase"]
