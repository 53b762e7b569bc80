"""The catalogue of ops, one file per family. Importing a family fills `tutor.core.op.OPS`.

Every class is also an attribute here: `tutor.ops.Mul`, `from tutor.ops import MatMul, ReLU`.
"""

from tutor.core.op import OPS
from tutor.ops import (  # noqa: F401 - each enters its classes into OPS
    attention,
    bitwise,
    dropout,
    elementwise,
    functions,
    fused,
    gelu,
    indexing,
    matmul,
    movement,
    norm,
    recurrent,
    reduce,
    scan,
    smooth,
    strided,
    transfer,
    window,
)

classes = {op.__name__: op for op in OPS.values()}
globals().update(classes)
__all__ = sorted(classes)
