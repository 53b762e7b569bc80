"""The Engine backward: from a result to the gradients of the tensors it was computed from."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tutor._storage.array_like import is_tensor
from tutor._storage.bounds_checks import before_read
from tutor._storage.device_memory import common
from tutor._util import error_messages
from tutor._util.atomic import exchange
from tutor._util.typing import AnyTensor, TensorLike
from tutor.core.engine.grad_mode import asking, walking
from tutor.core.op import OPS, Op, state_of

Hook = Callable[[Any], Any]
Ask = Callable[[Hook, AnyTensor], AnyTensor | None]  # calls the hook with the gradient
Share = tuple[Any, AnyTensor]  # the edge to an input, and that input's part of the gradient


class Backward:
    """The part of Engine that walks the graph."""

    def backward(self, root: AnyTensor, gradient: TensorLike | None = None,
                 retain_graph: bool | None = None, create_graph: bool = False) -> None:  # fmt: skip
        """Add d root / d leaf to `.grad` of every leaf that requires one.

        `gradient` is d (objective) / d root, in root's shape and dtype. If root holds one number it
        may be omitted, and is 1. `create_graph` records the walk itself, for higher derivatives.
        Without `retain_graph` (default: as create_graph) the walk frees the graph as it goes.

        `.grad` is stored after the walk: if that ends in an exception, such as an interrupt, no
        `.grad` has changed, but part of the graph may have been freed.
        """
        seed = self.seed(root, gradient)
        if create_graph:
            before_read.graph(root)
        keep = create_graph if retain_graph is None else retain_graph
        how = keep, create_graph, asking(create_graph)
        walk = lambda: self.store(self.arrivals(root, seed, *how), seed)  # noqa: E731
        walking(create_graph, walk, stores=True)

    def arrivals(self, root: AnyTensor, gradient: AnyTensor, keep: bool, linked: bool,
                 ask: Ask | None) -> dict[AnyTensor, AnyTensor]:  # fmt: skip
        """The gradient that a walk computes for each tensor that is to have a `.grad`."""
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
        """Yields each op with the gradient of its result and its shares; last, leaves with theirs.

        Iterate with recording on if the walk is to become part of a graph (`linked`), otherwise
        off. `ask(hook, g)` calls a hook; with None, hooks are skipped. With `only`, gradients are
        passed on to these ops and leaves alone. A leaf with hooks comes right after the last op
        that reads it, so that its gradient can be sent off while the walk continues.
        """
        pending = {root.op or root: gradient}  # the gradient so far of each op and leaf
        last = {edge: op for op in ops for edge in op.edges if getattr(edge, "_hooks", None)}
        for op in ops:
            g = pending.pop(op, None)
            if g is None:  # its only reader had no gradient for it
                continue
            if op.hooks and ask:
                g = self._after(op.hooks, g, ask)
            if only is not None and only.isdisjoint(op.edges):
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
            shares: list[Share] = []  # what op passes on along each edge that needs a gradient
            for edge, gx, needed in zip(op.edges, grads, op.needs):  # noqa: B905 - just checked
                if needed and gx is not None:
                    if (gx.shape != edge.shape or gx.buf.dtype is not edge.dtype
                            or gx.buf.device != edge.device):  # fmt: skip
                        gx = self._fit(op, edge, gx)
                    shares.append((edge, gx))
                    if only is None or edge in only:
                        before = pending.get(edge)
                        pending[edge] = gx if before is None else before + gx
            yield op, g, shares
            for x, _ in shares:
                if ask and last.get(x) is op and x in pending:
                    yield x, self._after(getattr(x, "_hooks", ()), pending.pop(x), ask), []
            if not keep:  # free the saved values and the graph behind this op
                op.saved, op.edges, op.held, op.states = None, (), (), ()
        for leaf, g in pending.items():
            hooks = getattr(leaf, "_hooks", None)
            yield leaf, self._after(hooks, g, ask) if hooks and ask else g, []

    @staticmethod
    def _after(hooks: Iterable[Hook], g: AnyTensor, ask: Ask) -> AnyTensor:
        """The gradient after each hook has seen it, and perhaps replaced it."""
        for hook in tuple(hooks):
            version = g.buf.version
            other = ask(hook, g)
            if g.buf.version != version:
                raise error_messages.gradient_changed("a hook")
            if other is None:
                continue
            if getattr(other, "shape", None) != g.shape or other.dtype is not g.dtype:
                raise error_messages.hooks_result(g, other)
            g = other.copy()  # the hook may keep its result and change it later
        return g

    @staticmethod
    def hook(tensor: AnyTensor, hook: Hook) -> Callable[[], None]:
        """Call `hook(gradient)` in each backward() through `tensor`; returns its remover."""
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
        """`root` and the recorded ops behind it, newest first: each before its dependencies.

        An op is always recorded after the ops that made its inputs, so sorting by serial number
        gives a topological order. Raises GraphError, before anything has changed, if the graph was
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
            for edge in op.edges:
                if isinstance(edge, Op) and edge not in found:
                    found.add(edge)
                    unseen.append(edge)
        return sorted(found, key=operator.attrgetter("serial"), reverse=True)

    @staticmethod
    def _linked(op: Op) -> tuple[AnyTensor, ...]:
        """The values `op` saved. Its own output was saved detached; here it is linked to `op`."""
        saved = list(op.saved or ())
        for i, position in enumerate(op.save_positions):
            if position < 0:
                saved[i] = saved[i].alias()
                saved[i].op, saved[i].requires_grad = op, True
        return tuple(saved)

    @staticmethod
    def _fit(op: Op, x: Any, gx: AnyTensor) -> AnyTensor:
        """Undo broadcasting: the gradient of a stretched x is the sum over its copies."""
        if gx.shape != x.shape:
            extra = len(gx.shape) - len(x.shape)
            axes = tuple(
                a for a, n in enumerate(gx.shape) if a < extra or n != 1 == x.shape[a - extra]
            )
            summed = gx.sum(axis=axes) if axes else gx
            kept = tuple(n for axis, n in enumerate(x.shape, extra) if axis not in axes)
            if extra < 0 or summed.shape != kept:
                raise error_messages.wrong_shape(op, x, gx)
            gx = summed if summed.shape == x.shape else summed.reshape(x.shape)
        if gx.buf.dtype is not x.dtype:
            raise error_messages.wrong_dtype(op, x, gx)
        return gx if gx.buf.device == x.device else moved(gx, x.device)

    @staticmethod
    def owned(gradients: Iterable[AnyTensor], seed: AnyTensor) -> list[AnyTensor]:
        """The gradients, each with memory of its own. Those that share memory with another, or with
        the caller's seed, are copied: a later in-place change of one would change the other."""
        owned, handed_out = [], {id(seed.buf)}
        for g in gradients:
            own = g.copy() if id(g.buf) in handed_out or 0 in g.strides else g
            handed_out.add(id(own.buf))
            owned.append(own)
        return owned

    def store(self, arrived: dict[AnyTensor, AnyTensor], seed: AnyTensor) -> None:
        """Add to the `.grad` of all tensors atomically. If another thread has stored a gradient in
        the meantime, start again and add to that one."""
        tensors, fresh, done = tuple(arrived), self.owned(arrived.values(), seed), False
        while not done:
            old = [t._grad for t in tensors]
            new = [g if o is None else o + g for o, g in zip(old, fresh, strict=True)]
            done = exchange(tensors, "_grad", old, new)

    @staticmethod
    def seed(root: AnyTensor, gradient: TensorLike | None) -> AnyTensor:
        """The gradient of the root: `gradient`, or 1 if the root holds a single number."""
        if not getattr(root, "requires_grad", False):
            raise error_messages.no_graph()
        if gradient is None:
            if math.prod(root.shape) != 1:
                raise error_messages.several_numbers(root)
            one = root.wrap(1, root.buf.dtype, root.shape)
            return one if root.buf.device == one.buf.device else root.like(1)
        seed = gradient if is_tensor(gradient) else root.wrap(gradient, root.buf.dtype)
        if seed.shape != root.shape or seed.buf.dtype is not root.buf.dtype:
            raise error_messages.other_seed(root, seed)
        common("backward(gradient)", (root, seed))
        return seed if seed.buf.device == root.buf.device else moved(seed, root.buf.device)


def moved(x: AnyTensor, device: str) -> AnyTensor:
    """x on that device."""
    there: AnyTensor = OPS["transfer"](x, device=device).apply()
    return there
