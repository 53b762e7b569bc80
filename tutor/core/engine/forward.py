"""The Engine forward: run an Op, remember it, write in place."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

from tutor import dtype as dtypes
from tutor.backends import registry
from tutor.core.buffer import Buffer
from tutor.core.op import OPS, Op
from tutor.core.tensor import TensorBase as Tensor
from tutor.dtype import DType
from tutor.errors import DTypeError
from tutor.ground import border, refusals
from tutor.ground.literals import is_number, is_tensor
from tutor.ground.recording import is_grad_enabled
from tutor.ground.typing import TensorLike

_serials = itertools.count()
_requires_grad = operator.attrgetter("requires_grad")
walk_of = operator.attrgetter("buf", "shape", "strides", "offset")


class Forward:
    """What Engine inherits to run Ops."""

    def run(self, op: Op) -> Any:
        """Execute `op` and return its result."""
        launch: registry.Launcher | None = registry.in_use().launchers.get(op.name)
        if launch is not None and (out := launch(*op.inputs, **op.params)) is not None:
            return self.remember(op, out) if out.requires_grad else out
        if op.promotes is not None:
            self.bring_together(op)
        inputs = op.inputs
        if op.kernel is None:
            out = op.forward(*inputs, **op.params)
        else:
            shape, dtype = op.infer(*inputs, **op.params)
            out = inputs[0].over(Buffer.empty(math.prod(shape), dtype), shape)
            ins = op.operands(shape, *inputs) if op.rearranges else inputs
            params = {n: op.params[n] for n in op.kernel_params} if op.kernel_params else {}
            registry.kernel(op.kernel, inputs[op.key].buf.dtype)(out, *ins, **params)
        for x in inputs:
            if x.requires_grad:
                return self.remember(op, out)
        return out

    def remember(self, op: Op, out: Tensor, recorded: bool | None = None) -> Tensor:
        """Make `op` the node of the graph that `out` came from, if a graph is wanted: `recorded`
        says so, or else the mode."""
        graph = op.differentiable and out.buf.dtype.kind == "float"
        graph = graph and (is_grad_enabled() if recorded is None else recorded)
        if graph:
            try:
                needs = tuple(map(_requires_grad, op.inputs))
            except AttributeError:  # a launcher takes numbers as they are; a graph is of Tensors
                dtype, shape = out.buf.dtype, out.shape
                given = [x if hasattr(x, "over") else out.wrap(x, dtype, shape) for x in op.inputs]
                op.inputs, needs = tuple(given), tuple(map(_requires_grad, given))
            op.record(out, needs, next(_serials))
            out.op = op
        out.requires_grad = graph
        return out

    def call(self, kernel: str, dtype: DType, out: Tensor, *ins: Tensor, **params: Any) -> None:
        """Run one kernel by its name, for an op that has several."""
        registry.kernel(kernel, dtype)(out, *ins, **params)

    def write(self, target: Tensor, value: TensorLike) -> None:
        """`target[...] = value` in place, cast and stretched to fit; no graph sees it."""
        self.check_writable(target)
        source: Any = value
        if not is_tensor(value):  # a number must fit, an array is cast
            source = target.wrap(value, target.buf.dtype if is_number(value) else None)
        border.check(source, "a value to be written into a Tensor")
        if walk_of(source) == walk_of(target):  # itself: `t[0] += 1` ends with t[0] = t[0]
            return
        if source.buf.overlaps(target.buf):  # read all before writing any
            source = source.copy()
        source = source.alias().cast(target.buf.dtype).expand(target.shape)
        target.buf.touch()
        self.call("copy", target.buf.dtype, target, source)

    def run_into(self, op: Op, target: Tensor) -> None:
        """Execute `op`, elementwise, and write its result to `target`, whose shape it has."""
        self.check_writable(target)
        dtype, inputs = target.buf.dtype, op.inputs
        # Straight into it, where no number is needed after it was overwritten. (Not integers: a
        # kernel may refuse one in the middle, as a division does 0.)
        if dtype.is_float and inputs[op.key].buf.dtype is dtype and all(
            walk_of(x) == walk_of(target) or not x.buf.overlaps(target.buf) for x in inputs
        ):  # fmt: skip
            target.buf.touch()
            self.call(op.kernel, dtype, target, *op.operands(target.shape, *inputs))
        else:
            self.write(target, op.apply())

    @staticmethod
    def check_writable(target: Tensor) -> None:
        """Raise where two elements are one number in memory, or the memory is read-only."""
        border.check_writable(target, "to write into a Tensor")
        if target.buf.raw.readonly:
            raise refusals.read_only(target)

    def bring_together(self, op: Op) -> None:
        """Make Tensors of the operands that are none, and give those from `promotes` on one dtype.

        A Python number is weak: it takes the dtype beside it. An array or list keeps the one it
        would have alone. Casting is an op, so gradients find their way back through it.
        """
        inputs, first = op.inputs, op.promotes or 0
        try:  # most often there is nothing to do
            dtype = inputs[first].buf.dtype
            for x in inputs[first:]:
                if x.buf.dtype is not dtype:
                    break
            else:
                if (dtype.kind == "float" or not op.wants_float) and inputs[0].buf is not None:
                    return
        except AttributeError:  # a number, a list, an array
            pass
        like = next((x for x in inputs if hasattr(x, "over")), None)
        if like is None:
            kinds = ", ".join(type(x).__name__ for x in inputs)
            raise DTypeError(f"{op.name} of {kinds}", "none is a Tensor", "write Tensor(...)")
        given = [x if is_number(x) or hasattr(x, "over") else like.wrap(x) for x in inputs]
        dtype = dtypes.common(x if is_number(x) else x.buf.dtype for x in given[first:])
        if op.wants_float and dtype is not None and not dtype.is_float:
            dtype = dtypes.float32
        for i, x in enumerate(given):
            wanted = dtype if i >= first else None
            if is_number(x):
                given[i] = like.wrap(x, wanted)
            elif wanted is not None and x.buf.dtype is not wanted:
                given[i] = OPS["cast"](x, dtype=wanted).apply()
        op.inputs = tuple(given)

    # ---- backward --------------------------------------------------------------------------------
