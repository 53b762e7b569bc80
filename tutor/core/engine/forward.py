"""The Engine forward: run an Op, remember it, write in place."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import bounds_checks
from tutor._storage.array_like import is_number, is_tensor
from tutor._util import error_messages
from tutor._util.typing import TensorLike, Walked
from tutor.backends import parameters, transfers
from tutor.backends.shape_rules import counted_axis
from tutor.backends.step import NONE, Step, emit
from tutor.core.buffer import Buffer
from tutor.core.engine.casting import CASTING, RULES, operands
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import OPS, Op
from tutor.core.tensor import TensorBase
from tutor.dtype import DType

serials = itertools.count()
walk_of = operator.attrgetter("buf", "shape", "strides", "offset")


class Forward:
    """What Engine inherits to run Ops."""

    def run(self, op: Op) -> Any:
        """Execute `op` and return its result: prepare, emit, remember."""
        error_messages.check_operands(op)
        if CASTING and op.name in RULES:
            op.inputs = operands(RULES[op.name], op.inputs)
        self.bring_together(op)
        if op.params or op.defaults or op.required:
            op.params = {**op.defaults, **op.params}
            parameters.check(op)
        if op.settles and (done := op.settle()) is not None:
            return done
        if op.promotes is None:
            error_messages.check_tensors(op, op.inputs)
        if op.kernel is None:
            return self.remember(op, op.forward(*op.inputs, **op.params))
        step = self.prepare(op)
        emit(step)
        out: Any = step.out
        return self.remember(op, op.finish(out) if op.finishes else out)

    def prepare(self, op: Op) -> Step:
        """The kernel call that does it: the result inferred and given a Buffer, the inputs as the
        kernel is to walk them."""
        inputs, form = op.inputs, op.form
        if "axis" in op.kernel_params:
            shapes = [x.shape for x in inputs]
            op.params["axis"] = counted_axis(op.signature.form, op.params["axis"], shapes)
        shape, dtype = op.infer(*inputs, **op.params)
        device = transfers.common(op.name, inputs)
        out = inputs[0].over(Buffer.empty(math.prod(shape), dtype, device), shape)
        ins = inputs if form.walks is None else form.walks(shape, inputs, op.params)
        params = {n: op.params[n] for n in op.kernel_params} if op.kernel_params else NONE
        return Step(op.kernel, inputs[op.key].buf.dtype, out, ins, params)

    def remember(self, op: Op, out: TensorBase) -> TensorBase:
        """Make `op` the node of the graph that `out` came from, if a graph is wanted."""
        needs = tuple([x.requires_grad for x in op.inputs])
        if True in needs:
            graph = op.differentiable and out.buf.dtype.is_float and is_grad_enabled()
            if graph:
                op.record(out, needs, next(serials))
                out.op = op
            out.requires_grad = graph
        return out

    def call(self, kernel: str, dtype: DType, out: Walked, *ins: Walked, **params: Any) -> None:
        """Run one kernel by its name, for an op that has several."""
        emit(Step(kernel, dtype, out, ins, params))

    def write(self, target: TensorBase, value: TensorLike) -> None:
        """`target[...] = value` in place, cast and stretched to fit; no graph sees it."""
        self.check_writable(target)
        source: Any = value
        if not is_tensor(value):  # a number must fit, an array is cast
            source = target.wrap(value, target.buf.dtype if is_number(value) else None)
        bounds_checks.fits(source, "a value to be written into a Tensor")
        if walk_of(source) == walk_of(target):  # itself: `t[0] += 1` ends with t[0] = t[0]
            return
        if source.buf.overlaps(target.buf):  # read all before writing any
            source = source.copy()
        source = source.alias().cast(target.buf.dtype)
        if source.buf.device != target.buf.device and not transfers.is_constant(source):
            source = OPS["transfer"](source, device=target.buf.device).apply()
        source = source.expand(target.shape)
        target.buf.touch()
        self.call("copy", target.buf.dtype, target, source)

    def run_into(self, op: Op, target: TensorBase) -> None:
        """Execute `op`, elementwise, and write its result to `target`, whose shape it has."""
        self.check_writable(target)
        dtype, inputs = target.buf.dtype, op.inputs
        transfers.common(op.name, inputs)
        # Straight into it, unless a number is needed after it was overwritten. (Not integers: a
        # kernel may refuse one halfway, as a division refuses 0.)
        if dtype.is_float and inputs[op.key].buf.dtype is dtype and all(
            walk_of(x) == walk_of(target) or not x.buf.overlaps(target.buf) for x in inputs
        ):  # fmt: skip
            target.buf.touch()
            walks = op.form.walks or (lambda _shape, ins, _params: ins)
            self.call(op.kernel, dtype, target, *walks(target.shape, inputs, op.params))
        else:
            self.write(target, op.apply())

    @staticmethod
    def check_writable(target: TensorBase) -> None:
        """Raise where two elements are one number in memory, or the memory is read-only."""
        bounds_checks.check_writable(target, "to write into a Tensor")
        if getattr(target.buf.memory, "readonly", False):
            raise error_messages.read_only(target)

    def bring_together(self, op: Op) -> None:
        """Make Tensors of the operands that are none, and give those from `promotes` on one dtype.

        A Python number is weak: it takes the dtype beside it. An array or list keeps the one it
        would have alone. Casting is an op, so gradients find their way back through it.
        """
        inputs, first = op.inputs, op.promotes
        if first is None:
            return
        if all(map(is_tensor, inputs)):  # most often there is nothing to do
            found = {x.buf.dtype for x in inputs[first:]}
            if len(found) == 1 and (not op.wants_float or found.pop().is_float):
                return
        like = next((x for x in inputs if is_tensor(x)), None)
        if like is None:
            raise error_messages.no_tensor(op)
        given: list[Any] = [x if is_number(x) or is_tensor(x) else like.wrap(x) for x in inputs]
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
