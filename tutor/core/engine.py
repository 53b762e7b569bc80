"""Engine: runs an Op, keeps the graph, walks it backward.

Forward, `run`: bring the operands together, infer the result, take a Buffer, look the kernel up,
let it fill the Buffer, and remember the Op if somebody may ask for a gradient.

Backward, `backward`: visit the recorded Ops newest first, hand each the gradient of its result,
and pass on what it returns, until only leaves are left. No formula is known here.
"""

from __future__ import annotations

import itertools
import math
import operator
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from tutor import border
from tutor import dtype as dtypes
from tutor.backends import registry
from tutor.core.buffer import Buffer
from tutor.core.op import OPS, Op, version_of
from tutor.dtype import DType
from tutor.errors import DTypeError, GraphError, ShapeError, unknown
from tutor.literals import is_number
from tutor.recording import no_grad, recording, thread

Tensor = Any  # the box above this one; the Engine only uses what a Tensor offers
Hook = Callable[[Tensor], Any]
_serials = itertools.count()
_serial, _requires_grad = map(operator.attrgetter, ("serial", "requires_grad"))
_leaf_hooks: dict[int, list[Hook]] = {}  # by the id of the leaf, for as long as it lives


class Engine:
    """The one `engine` of a process."""

    def run(self, op: Op) -> Tensor:
        """Execute `op` and return its result."""
        launch = registry.launchers.get(op.name)
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

    def remember(self, op: Op, out: Tensor) -> Tensor:
        """Make `op` the node of the graph that `out` came from, if a graph is wanted."""
        graph = op.differentiable and thread.recording and out.buf.dtype.kind == "float"
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

    def write(self, target: Tensor, value: Tensor) -> None:
        """`target[...] = value` in place, cast and stretched to fit; no graph sees it."""
        border.check_writable(target, "t[...] = value")
        with no_grad():
            if not hasattr(value, "over"):  # a number must fit, an array is cast
                value = target.wrap(value, target.buf.dtype if is_number(value) else None)
            if value.buf is target.buf:  # they may overlap: read all before writing any
                value = value.copy()
            border.check(value, "t[...] = value, the value")
            value = value.cast(target.buf.dtype).expand(target.shape)
        self.call("copy", target.buf.dtype, target, value)
        target.buf.touch()

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
                given[i] = apply("cast", x, dtype=wanted)
        op.inputs = tuple(given)

    # ---- backward --------------------------------------------------------------------------------

    def backward(
        self,
        root: Tensor,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
    ) -> None:
        """Add d root / d leaf to `.grad` of every leaf that requires one.

        `gradient` is d (what you want) / d root; needed unless root holds one number, then 1.
        `create_graph` records the walk itself, for derivatives of derivatives. Without
        `retain_graph` (default: as create_graph) the graph is freed as the walk passes.
        """
        keep = create_graph if retain_graph is None else retain_graph
        seed = self._seed(root, gradient)
        handed_out = {id(seed.buf)}
        pending = {root.op or root: seed}  # for each op, and for each leaf, what has come in so far
        with recording(create_graph):
            for op in self.order(root.op) if root.op else ():
                g = pending.pop(op, None)
                if g is None:  # its only reader had no gradient for it
                    continue
                if op.hooks:
                    g = self._after(op.hooks, g)
                if op.kept is not None and (kept := op.kept()) is not None:
                    self._store(kept, g, handed_out)
                grads = op.backward(g, *(self._linked(op) if create_graph else op.saved or ()))
                grads = grads if isinstance(grads, tuple) else (grads,)
                if len(grads) != len(op.needs):
                    raise GraphError(
                        f"the gradients of {type(op).__name__} for {len(op.needs)} inputs",
                        f"its backward returned {len(grads)}",
                        "return one for each input, None where there is none",
                    )
                for x, gx, needed in zip(op.inputs, grads, op.needs):  # noqa: B905 - just checked
                    if needed and gx is not None:
                        if gx.shape != x.shape or gx.buf.dtype is not x.buf.dtype:
                            gx = self._fit(op, x, gx)
                        before = pending.get(node := x.op or x)
                        pending[node] = gx if before is None else before + gx
                if not keep:  # let go of what was saved, and of the graph behind
                    op.saved, op.inputs = None, ()
            for leaf, g in pending.items():
                hooks = _leaf_hooks.get(id(leaf))
                self._store(leaf, self._after(hooks, g) if hooks else g, handed_out)

    @staticmethod
    def _after(hooks: Iterable[Hook], g: Tensor) -> Tensor:
        """The gradient after each hook has seen it, and perhaps put another in its place."""
        for hook in tuple(hooks):
            other = hook(g)
            if other is not None and (
                getattr(other, "shape", None) != g.shape or other.dtype is not g.dtype
            ):
                raise GraphError(
                    f"a hook on the gradient of shape {g.shape}, {g.dtype.name}",
                    f"it returned {other!r:.60}",
                    "return a Tensor of the same shape and dtype, or None to change nothing",
                )
            g = g if other is None else other
        return g

    @staticmethod
    def hook(tensor: Tensor, hook: Hook) -> Callable[[], None]:
        """Show `hook` each gradient of `tensor` that a backward() arrives at. Calling what is
        returned ends that."""
        if not tensor.requires_grad:
            raise GraphError(
                "a hook on a tensor that does not require grad",
                "no gradient will ever come by",
                "call requires_grad_() first, or hook a tensor that is computed from one",
            )
        if tensor.op is not None:
            hooks = tensor.op.hooks = tensor.op.hooks or []
        else:
            if id(tensor) not in _leaf_hooks:
                weakref.finalize(tensor, _leaf_hooks.pop, id(tensor), None)
            hooks = _leaf_hooks.setdefault(id(tensor), [])
        hooks.append(hook)
        return lambda: hooks.remove(hook) if hook in hooks else None

    def order(self, root: Op) -> list[Op]:
        """The recorded ops behind `root`, newest first: each before all that it depends on.

        An op is always recorded after the ops that made its inputs, so sorting by serial number is
        a topological order. Raises GraphError, before anything has changed, where the graph was
        freed or a saved value was overwritten.
        """
        found, unseen = {root}, [root]
        while unseen:
            op = unseen.pop()
            if op.saved is None:
                raise GraphError(
                    f"backward() through {type(op).__name__}",
                    "an earlier backward() has freed what it saved",
                    "compute the result anew before each backward(); if you do want to walk one"
                    " graph twice, give the first call retain_graph=True (it keeps the memory)",
                )
            if op.versions and op.versions != tuple(map(version_of, op.saved)):
                self._refuse_stale(op)
            for x in op.inputs:
                if x.op is not None and x.op not in found:
                    found.add(x.op)
                    unseen.append(x.op)
        return sorted(found, key=_serial, reverse=True)

    @staticmethod
    def _refuse_stale(op: Op) -> None:
        for name, t, version in zip(op.saves, op.saved or (), op.versions, strict=True):
            if t.buf.version != version:
                file, line = t.buf.changed_at or ("?", 0)
                raise GraphError(
                    f"backward() through {type(op).__name__}, which saved its {name!r}"
                    f" (shape {t.shape}) for the derivative",
                    f"that value was changed in place afterwards, in {file}, line {line}",
                    "write x = x + 1 instead of changing x, change a x.copy(), or make the change"
                    " after backward()",
                )

    @staticmethod
    def _linked(op: Op) -> tuple[Tensor, ...]:
        """What `op` saved. Its own output was kept without its op; a graph of the walk needs it."""
        saved = list(op.saved or ())
        for i, position in enumerate(op.save_positions):
            if position < 0:
                saved[i] = saved[i].alias()
                saved[i].op, saved[i].requires_grad = op, True
        return tuple(saved)

    @staticmethod
    def _fit(op: Op, x: Tensor, gx: Tensor) -> Tensor:
        """Undo broadcasting: where x was stretched, its gradient is the sum over the copies."""
        if gx.shape != x.shape:
            extra = len(gx.shape) - len(x.shape)
            axes = tuple(
                axis
                for axis, size in enumerate(gx.shape)
                if axis < extra or (size != 1 and x.shape[axis - extra] == 1)
            )
            summed = gx.sum(axis=axes) if axes else gx
            kept = tuple(n for axis, n in enumerate(x.shape, extra) if axis not in axes)
            if extra < 0 or summed.shape != kept:
                raise ShapeError(
                    f"the gradient of {type(op).__name__} for an input of shape {x.shape}",
                    f"its backward returned shape {gx.shape}",
                    "return a gradient of the input's shape, or of the shape it was stretched to",
                )
            gx = summed if summed.shape == x.shape else summed.reshape(x.shape)
        if gx.buf.dtype is not x.buf.dtype:
            raise DTypeError(
                f"the gradient of {type(op).__name__} for an input of {x.buf.dtype.name}",
                f"its backward returned {gx.buf.dtype.name}",
                "cast it to the input's dtype",
            )
        return gx

    @staticmethod
    def _store(leaf: Tensor, g: Tensor, handed_out: set[int]) -> None:
        """Add `g` to leaf.grad. No two tensors may own the same memory: a later change in place of
        one gradient would silently change the other."""
        if leaf.grad is not None:
            leaf.grad = leaf.grad + g
            return
        if id(g.buf) in handed_out or 0 in g.strides:
            g = g.copy()
        handed_out.add(id(g.buf))
        leaf.grad = g

    @staticmethod
    def _seed(root: Tensor, gradient: Any) -> Tensor:
        if not root.requires_grad:
            raise GraphError(
                "backward() from a tensor that does not require grad",
                "no input it was computed from requires grad, or it was computed under no_grad()",
                "write Tensor(..., requires_grad=True) for what you want the gradient of",
            )
        if gradient is None:
            if math.prod(root.shape) != 1:
                raise GraphError(
                    f"backward() from a tensor of shape {root.shape}",
                    "a gradient exists of one number, this holds " + str(math.prod(root.shape)),
                    "reduce it first (.sum() or .mean()), or pass gradient= of the same shape",
                )
            return root.wrap(1, root.buf.dtype, root.shape)
        gradient = gradient if hasattr(gradient, "over") else root.wrap(gradient, root.buf.dtype)
        if gradient.shape != root.shape or gradient.buf.dtype is not root.buf.dtype:
            raise ShapeError(
                f"backward(gradient=...) from shape {root.shape}, {root.buf.dtype.name}",
                f"the gradient has shape {gradient.shape}, {gradient.buf.dtype.name}",
                "give a gradient of the same shape and dtype",
            )
        return gradient


engine = Engine()
Op.execute = staticmethod(engine.run)


def apply(name: str, *inputs: Any, **params: Any) -> Tensor:
    """Run the op of that name from the catalogue: `apply("mul", x, y)` is `Mul(x, y).apply()`.

    Where the backend has a launcher for it and the operands are alike, that one call is all.
    """
    launch = registry.launchers.get(name)
    if launch is None or params or (out := launch(*inputs)) is None:
        op = OPS.get(name)
        if op is None:
            raise unknown("the op", name, OPS, "tutor.OPS")
        try:
            return op(*inputs, **params).apply()
        except Exception:
            border.check_all(inputs, name)  # was it for an operand that was tampered with?
            raise
    if out.requires_grad:
        if thread.recording:
            return engine.remember(OPS[name](*inputs), out)
        out.requires_grad = False
    return out


def backward(root: Tensor, gradient: Any = None, **options: Any) -> None:
    """`backward(loss)`: the same as `loss.backward()`; see `Engine.backward`."""
    engine.backward(root, gradient, **options)
