"""Changes in place: the numbers are overwritten, and a graph, if there is one, follows.

`write` and `run_into` change numbers alone: that is what happens under no_grad(). In a graph, the
changed tensor becomes the result of one more op (`change`, `become`, `put`):

    y = w * 2
    y += w              # y.op is an Add now, whose first edge leads to the Mul
    y[0] = 5.0          # y.op is a Put, whose first edge leads to the Add

What the graph had saved of the old numbers is stale, and a backward() that needs it says so.

Memory is shared by views. A view knows the tensor it was taken from, its *root* (`_base`, weakly),
and a change of the view becomes one of the root: z = root, then z's part = the view's new numbers.
Views are not told. A view that is older than the latest such change of its memory
(`Buffer.rewritten`, the serial of that op) is taken again from the root when an op reads it. So
does PyTorch (CopySlices, and views whose grad_fn is made again).
"""

from __future__ import annotations

import operator
import weakref
from typing import Any

from tutor._storage import bounds_checks
from tutor._storage.array_like import is_number, is_tensor
from tutor._storage.device_memory import common, is_constant
from tutor._storage.layout import contiguous_strides
from tutor._util import error_messages
from tutor._util.typing import TensorLike
from tutor.core.engine.forward import Forward, serials
from tutor.core.op import OPS, Op, state_of
from tutor.core.tensor import TensorBase

walk_of = operator.attrgetter("buf", "shape", "strides", "offset")


def root_of(x: Any) -> Any:
    """The tensor of which x is a view; x itself if it is none, or if that tensor is gone."""
    root = x._base() if x._base else None
    return x if root is None else root


def former(x: Any) -> Any:
    """x as the graph knows it now, as an operand of the op that is about to replace it."""
    before = x.alias()
    before.op, before.requires_grad = x.op, x.requires_grad
    return before


class Writing(Forward):
    """The part of Engine that changes tensors in place."""

    def write(self, target: TensorBase, value: TensorLike) -> None:
        """`target[...] = value` in place, cast and broadcast to fit. No graph follows."""
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
        if source.buf.device != target.buf.device and not is_constant(source):
            source = OPS["transfer"](source, device=target.buf.device).apply()
        while len(source.shape) > len(target.shape) and source.shape[0] == 1:  # as in NumPy
            source = source[0]
        source = source.expand(target.shape)
        target.buf.touch()
        self.call("copy", target.buf.dtype, target, source)

    def run_into(self, op: Op, target: TensorBase) -> None:
        """Execute the elementwise `op` and write its result to `target`, which has its shape."""
        self.check_writable(target)
        common(op.name, op.inputs)
        if self.fits_into(op, target):
            target.buf.touch()
            walks = op.form.walks or (lambda _shape, ins, _params: ins)
            ins = walks(target.shape, op.inputs, op.params)
            self.call(op.kernel, target.buf.dtype, target, *ins)
        else:
            self.write(target, op.apply())

    @staticmethod
    def fits_into(op: Op, target: TensorBase) -> bool:
        """Can the kernel write straight into target, without overwriting a number that it has yet
        to read? (Floats only: an integer kernel may fail halfway, as division by 0 does.)"""
        dtype = target.buf.dtype
        return dtype.is_float and op.inputs[op.key].buf.dtype is dtype and all(
            walk_of(x) == walk_of(target) or not x.buf.overlaps(target.buf) for x in op.inputs
        )  # fmt: skip

    @staticmethod
    def check_writable(target: TensorBase) -> None:
        """Raise if two elements share one place in memory, or if the memory is read-only."""
        bounds_checks.check_writable(target, "to write into a Tensor")
        if getattr(target.buf.memory, "readonly", False):
            raise error_messages.read_only(target)

    # ---- followed by a graph -----------------------------------------------------------------

    def change(self, op: Op, x: TensorBase, what: str) -> None:
        """Make x, the first operand of this elementwise op, its result."""
        self.check_rewritable(x, what)
        if op.inputs[0] is x:  # and no cast of it
            op.inputs = (former(x), *op.inputs[1:])
        kept = [op.inputs[i] for i in op.save_positions if i >= 0]
        if root_of(x) is x and all(y.buf is not x.buf for y in kept) and self.fits_into(op, x):
            self.run_into(op, x)
            op.record(x, tuple([y.requires_grad for y in op.inputs]), next(serials))
            self._link(x, op)
        else:
            self.become(x, op.apply(), what)

    def become(self, x: TensorBase, value: TensorBase, what: str) -> None:
        """Overwrite x with `value`, computed from it; in the graph, x takes the place of `value`.
        Values of x that the last op saved are copied first, since x is about to lose them."""
        self.check_rewritable(x, what)
        if value.dtype is not x.dtype:
            value = OPS["cast"](value, dtype=x.dtype).apply()
        op = value.op
        if op is not None and any(y.buf is x.buf for y in op.saved):
            op.saved = tuple([_copied(y) if y.buf is x.buf else y for y in op.saved])
            op.states = tuple(map(state_of, op.saved))
        if op is None or op.is_view or op.result() is not value or root_of(x) is not x:
            self.put(x, x, value, what)
            return
        self.write(x, value.detach())
        op.result = weakref.ref(x)
        self._link(x, op)

    def put(self, x: TensorBase, part: TensorBase, value: TensorBase, what: str) -> None:
        """`part[...] = value`, where `part` is x or a view of it, and `value` has its shape."""
        self.check_rewritable(x, what, as_parts=True)
        root = root_of(x)
        op = OPS["put"](former(root), value, **_part(part, root))
        self.write(part, value.detach())
        op.record(root, tuple([y.requires_grad for y in op.inputs]), next(serials))
        self._link(root, op)

    def check_rewritable(self, x: TensorBase, what: str, as_parts: bool = False) -> None:
        """GraphError if x is a leaf or a view of one, or if a part of it is to change and its root
        is not laid out row by row, as `put` and `strided` expect."""
        self.check_writable(x)
        root = root_of(x)
        if root.op is None and root.requires_grad:
            raise error_messages.leaf_in_place(root is x, what)
        self.renew(x)
        if as_parts or root is not x:
            _check_rows(root, what)

    def renew(self, *xs: TensorBase) -> None:
        """Take each view again from its root if the root has been changed since."""
        for x in xs:
            taken = x.op.serial if x.op else getattr(x._base, "serial", 0)
            if x._base is None or taken >= x.buf.rewritten:
                continue
            root = x._base()
            if root is None:
                raise error_messages.root_is_gone(x)
            if root.requires_grad:
                _check_rows(root, "a view")
                op = OPS["strided"](root, **_part(x, root))
                op.record(x, (True,), next(serials))
                x.op, x.requires_grad = op, True

    @staticmethod
    def _link(x: TensorBase, op: Op) -> None:
        """`op` has made the numbers that x has now."""
        if x.op is not None and x.op.kept is not None and x.op.kept() is x:  # retain_grad()
            op.kept, x.op.kept = x.op.kept, None
        x.op, x.requires_grad = op, True
        x.buf.rewritten = op.serial


def _part(x: TensorBase, root: TensorBase) -> dict[str, Any]:
    """Where x is in its root: the parameters of `strided` and `put`."""
    return {"sizes": x.shape, "strides": x.strides, "start": x.offset - root.offset}


def _check_rows(root: TensorBase, what: str) -> None:
    if root.strides != contiguous_strides(root.shape):
        raise error_messages.scattered_root(root, what)


def _copied(x: Any) -> Any:
    """x with memory of its own, at the same place in the graph."""
    other = former(x)
    other.buf = OPS["copy"](x.detach()).apply().buf
    other.strides, other.offset = contiguous_strides(x.shape), 0
    return other
