"""The Engine forward: run an Op and remember it."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from tutor import dtype as dtypes
from tutor._storage.array_like import is_number, is_tensor
from tutor._storage.device_memory import common
from tutor._util import error_messages
from tutor._util.typing import Walked
from tutor.backends.shape_rules import counted_axis
from tutor.backends.step import NONE, Step, emit
from tutor.core.buffer import Buffer
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import OPS, Op
from tutor.core.op.catalogue import check_parameters, on_op
from tutor.core.tensor import TensorBase
from tutor.dtype import DType

serials = itertools.count()
rewritten = operator.attrgetter("buf.rewritten")


class Forward:
    """The part of Engine that runs Ops."""

    renew: Callable[..., None]  # takes outdated views again: writing.py

    def run(self, op: Op) -> Any:
        """Execute `op` and return its result: prepare, emit, remember."""
        error_messages.check_operands(op)
        if on_op.casts:
            op.inputs = on_op.operands(op)
        self.bring_together(op)
        if op.params or op.defaults or op.required:
            op.params = {**op.defaults, **op.params}
            check_parameters(op)
        if op.settles and (done := op.settle()) is not None:
            return done
        if op.promotes is None:
            error_messages.check_tensors(op, op.inputs)
        if op.kernel is None:
            return self.remember(op, op.forward(*op.inputs, **op.params))
        step: Any = self.prepare(op)
        emit(step)
        return self.remember(op, op.finish(step.out) if op.finishes else step.out)

    def prepare(self, op: Op) -> Step:
        """The kernel call for `op`: its result, inferred and allocated, and its inputs with the
        strides by which the kernel walks them."""
        inputs, form = op.inputs, op.form
        if "axis" in op.kernel_params:
            shapes = [x.shape for x in inputs]
            op.params["axis"] = counted_axis(op.signature.form, op.params["axis"], shapes)
        shape, dtype = op.infer(*inputs, **op.params)
        device = common(op.name, inputs)
        out = inputs[0].over(Buffer.empty(math.prod(shape), dtype, device), shape)
        ins = inputs if form.walks is None else form.walks(shape, inputs, op.params)
        params = {n: op.params[n] for n in op.kernel_params} if op.kernel_params else NONE
        return Step(op.kernel, inputs[op.key].buf.dtype, out, ins, params)

    def remember(self, op: Op, out: TensorBase) -> TensorBase:
        """Make `op` the graph node of `out`, if a graph is wanted."""
        inputs = op.inputs  # for the observers; a recorded op has edges instead
        if any(map(rewritten, inputs)) and is_grad_enabled():
            self.renew(*inputs)
        needs = tuple([x.requires_grad for x in inputs])
        if True in needs:
            graph = op.differentiable and out.buf.dtype.is_float and is_grad_enabled()
            if graph:
                op.record(out, needs, next(serials))
                out.op = op
            out.requires_grad = graph
        for observer in on_op.observers:
            observer(op, out)
        return out

    def call(self, kernel: str, dtype: DType, out: Walked, *ins: Walked, **params: Any) -> None:
        """Run one kernel by name, for an op that has several."""
        emit(Step(kernel, dtype, out, ins, params))

    def bring_together(self, op: Op) -> None:
        """Turn all operands into Tensors, and promote those from `promotes` on to one dtype.

        A Python number is weakly typed: it takes the dtype of the other operands. An array or list
        has the dtype it would have alone. Casting is an op, so gradients flow back through it.
        """
        inputs, first = op.inputs, op.promotes
        if first is None:
            return
        if all(map(is_tensor, inputs)):  # the usual case: nothing to do
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
