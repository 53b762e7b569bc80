"""The classes and functions that the Engine's native twin works with.

The Engine in Python (tutor/core/engine) is complete and defines the behaviour. If the C++ extension
was built, its `apply` and `run` replace the Engine's and do the same in a tenth of the time. Calls
that they refuse go to the Engine in Python, which reports the error.
`TUTOR_NATIVE=0` keeps the Engine in Python. tests/ops/test_native_engine.py checks that both agree.

Everything that C++ knows about Python is listed here: names of slots, functions, and the methods of
ops that have a twin in C++, so that it need not call them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import bounds_checks
from tutor._storage.device_memory import CPU
from tutor._util import error_messages
from tutor.backends import registry, simd_cpp, step
from tutor.core.buffer import Buffer
from tutor.core.engine import casting, engine, forward
from tutor.core.engine.grad_mode import is_grad_enabled, recording
from tutor.core.op import OPS, Op, edges
from tutor.methods.tensor import Tensor
from tutor.ops import elementwise, indexing, matmul, movement, reduce, window

# Methods of ops that have a twin in C++, and the twin's name there (engine/info.hpp). If a class
# overrides one of them, its own method is called.
VIEWS = {
    movement.Reshape.layout: "reshape", movement.Unsqueeze.layout: "unsqueeze",
    movement.Squeeze.layout: "squeeze", movement.Permute.layout: "permute",
    movement.Transpose.layout: "transpose", movement.Expand.layout: "expand",
    movement.Index.layout: "index", movement.Diagonal.layout: "diagonal",
    window.Windows.layout: "windows",
}  # fmt: skip
SETTLES = {
    Op.settle: "never", reduce.Along.settle: "scalar", matmul.MatMul.settle: "vectors",
    elementwise.OfBools.settle: "bools", indexing.Indexed.settle: "indices",
    indexing.Gather.settle: "indices", indexing.Scattering.settle: "indices",
    indexing.IndexSelect.settle: "indices", movement.Cat.settle: "axes",
    movement.Index.settle: "key",
}  # fmt: skip


def plan(cls: type[Op]) -> dict[str, Any] | None:
    """The declarations of an Op class; None if it is constructed or run in its own way."""
    own_rule = cls.kernel is not None and cls.infers
    if cls.apply is not Op.apply or cls.__init__ is not Op.__init__ or own_rule:
        return None
    view = "none"
    if cls.kernel is None and cls.forward is movement.Place.forward:
        view = "place"
    elif cls.kernel is None and cls.is_view and cls.forward is Op.forward:
        view = VIEWS.get(cls.layout, "own")
    return {
        "blank": cls(),
        "kernel": cls.kernel,
        "view": view,
        "settle": SETTLES.get(cls.settle, "always"),
        "casts": casting.RULES.get(cls.name),
        "promotes": cls.promotes,
        "wants_float": cls.wants_float,
        "differentiable": cls.differentiable,
        "chooses": cls.kernel is not None and cls.signature.work == "chooses",
        "finishes": cls.kernel is not None and cls.finishes,
        "keeps_dims": cls.finish is reduce.ReductionOp.finish,
        "accepts": cls.accepts,
        "defaults": dict(cls.defaults),
        "required": tuple(cls.required),
        "least": cls.least,
        "most": 2**31 - 1 if cls.most is None else cls.most,
        "saves": cls.save_positions,
        "wants": cls.save_wants,
    }


def things() -> dict[str, Any]:
    """Everything that C++ receives."""
    buf = Buffer.empty(0, dtypes.float32)
    blank = Tensor(buf).over(buf, ())
    table = dtypes.TABLE
    numbers = (False, 0, 0.0)
    return {
        "tensor": blank,
        "tensor_slots": (
            "buf", "shape", "strides", "offset", "_grad", "op", "requires_grad", "_hooks", "_base",
        ),
        "buffer": buf,
        "buffer_slots": ("dtype", "version", "rewritten"),
        "node": Op(),
        "node_slots": (
            "_edges", "params", "saved", "states", "serial", "needs", "shape", "dtype", "device",
            "result", "held", "kept", "hooks",
        ),
        "dtypes": table,
        "meeting": tuple(tuple(dtypes.promote(a, b).index for b in table) for a in table),
        "beside": tuple(tuple(dtypes.of_number(n, d).index for d in table) for n in numbers),
        "catalogue": OPS,
        "plan": plan,
        "serials": forward.serials,
        "recording": recording.variable,
        "is_recording": is_grad_enabled,
        "keeping": edges.keeping.variable,
        "is_keeping": edges.is_kept,
        "nothing": edges.nothing(),
        "host": CPU,
        "constant_edge": edges.Constant(),
        "constant_edge_slots": ("shape", "dtype", "device", "result"),
        "backend": registry.variable,
        "in_use": registry.Backend(None),
        "in_use_slots": ("kernels",),
        "kernels_of": "kernels",
        "lookup": registry.kernel,
        "watches": step.WATCHES,
        "mode": step.mode.variable,
        "casting": casting.CASTING,
        "cast_operands": casting.operands,
        "emit": step.emit,
        "step": step.Step,
        "constant": blank.wrap,
        "no_params": MappingProxyType({}),
        **{name: name for name in ("settle", "forward", "finish", "backward", "touch")},
        "check_all": bounds_checks.check_all,
        "after": engine._after,
        "linked": engine._linked,
        "fit": engine._fit,
        "freed": error_messages.freed,
        "changed": lambda op: error_messages.gradient_changed(
            f"the backward of {type(op).__name__}"
        ),
        "wrong_count": error_messages.wrong_count,
    }  # fmt: skip


def hand_over() -> None:
    """Give `things` to C++, if the extension was built."""
    simd_cpp.take_over(things())
