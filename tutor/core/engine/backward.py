"""The Engine backward: from a result to the gradients of what it was computed from."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tutor._storage.array_like import is_tensor
from tutor._util import error_messages
from tutor._util.atomic import exchange
from tutor._util.typing import AnyTensor, TensorLike
from tutor.backends import transfers
from tutor.backends.devices import IN_USE
from tutor.core.engine.grad_mode import asking, walking
from tutor.core.op import OPS, Op, state_of

Hook = Callable[[Any], Any]
Ask = Callable[[Hook, AnyTensor], AnyTensor | None]  # calls the hook with the gradient
Share = tuple[AnyTensor, AnyTensor]  # an input, and its part of the gradient


class Backward:
    """What Engine inherits to walk the graph."""

    _unfold = staticmethod(lambda root: None)  # for create_graph: tutor/programs/backward.py

    def backward(self, root: AnyTensor, gradient: TensorLike | None = None,
                 retain_graph: bool | None = None, create_graph: bool = False) -> None:  # fmt: skip
        """Add d root / d leaf to `.grad` of every leaf that requires one.

        `gradient` is d (what you want) / d root; needed unless root holds one number, then 1.
        `create_graph` records the walk itself, for derivatives of derivatives. Without
        `retain_graph` (default: as create_graph) the graph is freed as the walk passes.

        `.grad` is set when the walk is done: where it ends in an exception, an interrupt for
        example, no `.grad` has changed; but the graph may be used up.
        """
        seed = self.seed(root, gradient)
        if create_graph:
            self._unfold(root)
        keep = create_graph if retain_graph is None else retain_graph
        how = keep, create_graph, asking(create_graph)
        walk = lambda: self.store(self.arrivals(root, seed, *how), seed)  # noqa: E731
        walking(create_graph, walk, stores=True)

    def arrivals(self, root: AnyTensor, gradient: AnyTensor, keep: bool, linked: bool,
                 ask: Ask | None) -> dict[AnyTensor, AnyTensor]:  # fmt: skip
        """What a walk brings to each tensor that is to have a `.grad`."""
        arrived: dict[AnyTensor, AnyTensor] = {}
        for node, g, _ in self.walk(root, self.order(root.op), gradient, keep, linked, ask):
            if not isinstance(node, Op):
                arrived[node] = g
            elif node.kept is not None and (kept := node.kept()) is not None:
                arrived[kept] = g
        return arrived

    def walk(self, root: AnyTensor, ops: list[Op], gradient: AnyTensor, keep: bool,
             linked: bool, ask: Ask | None, only: set[Op | AnyTensor] | None = None,
             ) -> Iterator[tuple[Op | AnyTensor, AnyTensor, list[Share]]]:  # fmt: skip
        """Each op with the gradient of its result and what it hands on; at last each leaf with its.

        To be gone through where recording is on if the walk is to be part of a graph (`linked`) and
        off if not. `ask(hook, g)` calls a hook; None calls none. With `only`, nothing is handed on
        to others than these ops and leaves. A leaf with hooks need not wait for the end: it follows
        the last op that reads it, so that its gradient can travel while the walk goes on.
        """
        pending = {root.op or root: gradient}  # for each op and leaf, what has come in so far
        last = {x: op for op in ops for x in op.inputs if getattr(x, "_hooks", None)}
        for op in ops:
            g = pending.pop(op, None)
            if g is None:  # its only reader had no gradient for it
                continue
            if op.hooks and ask:
                g = self._after(op.hooks, g, ask)
            if only is not None and not any((x.op or x) in only for x in op.inputs):
                yield op, g, []
                continue
            saved, version = op.saved, g.buf.version
            if saved is None:
                raise error_messages.freed(op)
            grads = op.backward(g, *(self._linked(op) if linked else saved))
            grads = grads if isinstance(grads, tuple) else (grads,)
            if g.buf.version != version:
                raise error_messages.gradient_changed(f"the backward of {type(op).__name__}")
            if len(grads) != len(op.needs):
                raise error_messages.wrong_count(op, len(grads))
            shares: list[Share] = []  # what op hands on to each input that wants a gradient
            for x, gx, needed in zip(op.inputs, grads, op.needs):  # noqa: B905 - just checked
                if needed and gx is not None:
                    if (gx.shape != x.shape or gx.buf.dtype is not x.buf.dtype
                            or gx.buf.device != x.buf.device):  # fmt: skip
                        gx = self._fit(op, x, gx)
                    shares.append((x, gx))
                    node = x.op or x
                    if only is None or node in only:
                        before = pending.get(node)
                        pending[node] = gx if before is None else before + gx
            yield op, g, shares
            for x, _ in shares:
                if ask and last.get(x) is op and x in pending:
                    yield x, self._after(getattr(x, "_hooks", ()), pending.pop(x), ask), []
            if not keep:  # let go of what was saved, and of the graph behind
                op.saved, op.inputs, op.states = None, (), ()
        for leaf, g in pending.items():
            hooks = getattr(leaf, "_hooks", None)
            yield leaf, self._after(hooks, g, ask) if hooks and ask else g, []

    @staticmethod
    def _after(hooks: Iterable[Hook], g: AnyTensor, ask: Ask) -> AnyTensor:
        """The gradient after each hook has seen it, and perhaps put another in its place."""
        for hook in tuple(hooks):
            version = g.buf.version
            other = ask(hook, g)
            if g.buf.version != version:
                raise error_messages.gradient_changed("a hook")
            if other is None:
                continue
            if getattr(other, "shape", None) != g.shape or other.dtype is not g.dtype:
                raise error_messages.hooks_result(g, other)
            g = other.copy()  # the hook may have kept its result, and change it later
        return g

    @staticmethod
    def hook(tensor: AnyTensor, hook: Hook) -> Callable[[], None]:
        """Show `hook` each gradient of `tensor` in a backward() until the result is called."""
        if not callable(hook):
            raise error_messages.no_hook(hook)
        if not tensor.requires_grad:
            raise error_messages.nothing_to_hook()
        if tensor.op is not None:
            hooks = tensor.op.hooks = tensor.op.hooks or []
        else:
            hooks = tensor._hooks = getattr(tensor, "_hooks", [])
        hooks.append(hook)
        return lambda: hooks.remove(hook) if hook in hooks else None

    def order(self, root: Op | None) -> list[Op]:
        """The recorded ops behind `root`, and it, newest first: each before all that it depends on.

        An op is always recorded after the ops that made its inputs, so sorting by serial number is
        a topological order. Raises GraphError, before anything has changed, where the graph was
        freed or a saved value was overwritten.
        """
        if root is None:
            return []
        found, unseen = {root}, [root]
        while unseen:
            op = unseen.pop()
            if op.saved is None:
                raise error_messages.freed(op)
            if op.states and op.states != tuple(map(state_of, op.saved or ())):
                raise error_messages.stale(op, state_of)
            for x in op.inputs:
                if x.op is not None and x.op not in found:
                    found.add(x.op)
                    unseen.append(x.op)
        return sorted(found, key=operator.attrgetter("serial"), reverse=True)

    @staticmethod
    def _linked(op: Op) -> tuple[AnyTensor, ...]:
        """What `op` saved. Its own output was kept without its op; a graph of the walk needs it."""
        saved = list(op.saved or ())
        for i, position in enumerate(op.save_positions):
            if position < 0:
                saved[i] = saved[i].alias()
                saved[i].op, saved[i].requires_grad = op, True
        return tuple(saved)

    @staticmethod
    def _fit(op: Op, x: AnyTensor, gx: AnyTensor) -> AnyTensor:
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
                raise error_messages.wrong_shape(op, x, gx)
            gx = summed if summed.shape == x.shape else summed.reshape(x.shape)
        if gx.buf.dtype is not x.buf.dtype:
            raise error_messages.wrong_dtype(op, x, gx)
        return gx if gx.buf.device == x.buf.device else moved(gx, x.buf.device)

    @staticmethod
    def owned(gradients: Iterable[AnyTensor], seed: AnyTensor) -> list[AnyTensor]:
        """The gradients, copied where two of them, or the caller's seed, would own the same memory:
        a later change in place of one would silently change the other."""
        owned, handed_out = [], {id(seed.buf)}
        for g in gradients:
            own = g.copy() if id(g.buf) in handed_out or 0 in g.strides else g
            handed_out.add(id(own.buf))
            owned.append(own)
        return owned

    def store(self, arrived: dict[AnyTensor, AnyTensor], seed: AnyTensor) -> None:
        """Add to the `.grad` of all tensors at once. If another thread has stored a gradient in the
        meantime, begin again, and add to that."""
        tensors, fresh, done = tuple(arrived), self.owned(arrived.values(), seed), False
        while not done:
            old = [t._grad for t in tensors]
            new = [g if o is None else o + g for o, g in zip(old, fresh, strict=True)]
            done = exchange(tensors, "_grad", old, new)

    @staticmethod
    def seed(root: AnyTensor, gradient: TensorLike | None) -> AnyTensor:
        """The gradient to begin with: the given one, or 1 for a single number."""
        if not getattr(root, "requires_grad", False):
            raise error_messages.no_graph()
        if gradient is None:
            if math.prod(root.shape) != 1:
                raise error_messages.several_numbers(root)
            one = root.wrap(1, root.buf.dtype, root.shape)
            return root.like(1) if IN_USE and root.buf.device != one.buf.device else one
        seed = gradient if is_tensor(gradient) else root.wrap(gradient, root.buf.dtype)
        if seed.shape != root.shape or seed.buf.dtype is not root.buf.dtype:
            raise error_messages.other_seed(root, seed)
        transfers.common("backward(gradient)", (root, seed))
        return seed if seed.buf.device == root.buf.device else moved(seed, root.buf.device)


def moved(x: AnyTensor, device: str) -> AnyTensor:
    """x on that device."""
    there: AnyTensor = OPS["transfer"](x, device=device).apply()
    return there
