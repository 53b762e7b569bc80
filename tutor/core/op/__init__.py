"""Op: one operation, forward and backward in one class.

    class Mul(Op):
        \"\"\"z = x * y\"\"\"
        kernel, promotes, saves = "mul", 0, ("x", "y")

        def backward(self, g, x, y):
            return g * y, g * x

An Op says *what* is computed. `kernel` names a row of the kernel table; the row's form determines
shape and dtype of the result. `saves` lists the values that backward needs. *How* and *where* it
runs is the Engine's business: `Mul(x, y).apply()` hands the Op over, and so does `x * y`. Creating
an Op computes and checks nothing: all of that happens when it runs.

A recorded Op is a node of the graph: `edges` lead to what made its operands, `saved` are the values
for backward. Nothing else is kept (edges.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, cast

from tutor._util import error_messages
from tutor._util.typing import AnyTensor
from tutor.backends.shape_rules import Form, Rule
from tutor.backends.signatures import Signature, dtype_of
from tutor.core.op import catalogue
from tutor.core.op.edges import Edges, edge_to, inputs_of, is_kept, saved_as_wanted
from tutor.dtype import DType

Gradients: TypeAlias = AnyTensor | tuple[AnyTensor | None, ...] | None
Shape = tuple[int, ...]
OPS: dict[str, type[Op]] = catalogue.OPS  # every Op class by its name

# The state of a saved value: its memory, the version of that memory, and its layout.
state_of = attrgetter("buf", "buf.version", "shape", "strides", "offset")


class Outside(weakref.ref[Any]):
    """From a view to its root that is in no graph: changes up to `serial` came before the view."""

    __slots__ = ("serial",)
    serial: int

    def __new__(cls, root: Any, serial: int) -> Outside:
        self = super().__new__(cls, root)
        self.serial = serial
        return self


class Op(Edges):
    """`Op(*tensors, **params)`: tensors are positional, parameters are keyword-only.

    A subclass may define:

    - `kernel`: a name in signatures.py. A view has a `layout` instead of a kernel; an op that needs
      several kernels calls them in its own `forward`.
    - `name`: in the catalogue; by default the kernel's, else the class's in snake case.
    - `takes`: names of the operands; by default those of its `infer`, `layout` or `forward`, else
      x, and y.
    - `saves`: names of operands, and "out", whose values `backward` gets after the gradient.
    - `saved_for`: {"x": "y"} if the saved x only serves y's gradient: without one it is not saved,
      and `backward` gets a Tensor of no numbers in its place.
    - `promotes`: operands from this position on are cast to a common dtype; None: none are.
    - `wants_float`: integer operands become float32 first.
    - `defaults`: optional parameters and their defaults.
    - `infer(self, *inputs, **params) -> (shape, dtype)`: if the form's rule does not fit the op.
    - `settle(self)`: normalizes operands and parameters first.
    - `backward(self, g, *saved)`: one gradient per input, or None for an input without one. Written
      with Tensor operators, so it can be differentiated again. `self.needs` says which are wanted.
    - `gradcheck`: set to False to skip the comparison of the first backward with the forward, which
      is made for every class outside the library (tutor/functions/doubt.py).
    """

    name: ClassVar[str]
    kernel: ClassVar[Any] = None  # its name
    takes: ClassVar[tuple[str, ...]] = ()
    saves: ClassVar[tuple[str, ...]] = ()
    saved_for: ClassVar[Mapping[str, str]] = {}
    promotes: ClassVar[int | None] = None
    wants_float: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {}
    gradcheck: ClassVar[bool] = True

    wrong_dtype = error_messages.wrong_operand  # the error for an operand of another dtype
    # Derived from these when the class is created; catalogue.read explains each.
    signature: ClassVar[Signature]
    form: ClassVar[Form]
    kernel_params: ClassVar[tuple[str, ...]] = ()
    accepts: ClassVar[frozenset[str] | None] = None
    required: ClassVar[frozenset[str]] = frozenset()
    checked: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[int] = 0
    most: ClassVar[int | None] = None
    key: ClassVar[int] = 0
    save_positions: ClassVar[tuple[int, ...]] = ()
    save_wants: ClassVar[tuple[int, ...]] = ()
    pick: ClassVar[Any]
    settles: ClassVar[bool] = False
    infers: ClassVar[bool] = False
    is_view: ClassVar[bool] = False
    finishes: ClassVar[bool] = False
    differentiable: ClassVar[bool] = False
    execute: ClassVar[Callable[[Op], Any]]  # runs an Op: set by the Engine

    __slots__ = (
        "device", "dtype", "held", "hooks", "kept", "needs", "params", "result", "saved", "serial",
        "shape", "states",
    )  # fmt: skip

    def __init_subclass__(cls, abstract: bool = False) -> None:
        super().__init_subclass__()
        catalogue.read(cls, Op, abstract)

    def __init__(self, *inputs: Any, **params: Any) -> None:
        self.edges = inputs
        self.params = params
        self.saved: tuple[Any, ...] | None = None  # () or more once recorded, None again when freed

    def apply(self) -> Any:
        """Run the Op and return its result, which remembers this Op if a gradient may be wanted."""
        return Op.execute(self)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The operands; those of a recorded Op as far as their numbers still exist (edges.py)."""
        return self.edges if self.saved is None else inputs_of(self)

    @inputs.setter
    def inputs(self, operands: tuple[Any, ...]) -> None:
        self.edges = operands

    # ---- called by the Engine, in this order -----------------------------------------------------

    def settle(self) -> Any:
        """Called first: normalize `inputs` and `params` for the rules below. If it returns a
        Tensor, computed by other ops, that is the result and nothing else is called."""
        return None

    def infer(self, *inputs: Any, **params: Any) -> tuple[Shape, DType]:
        """Shape and dtype of the result, from the kernel's form."""
        dtype = inputs[self.key].buf.dtype
        types, rule = self.signature.types, cast(Rule, self.form.rule)
        for i, x in enumerate(inputs if self.promotes != 0 else ()):  # 0: dtypes are equal by now
            wanted = dtype_of(types[min(i + 1, len(types) - 1)], dtype)
            if wanted is not None and x.buf.dtype is not wanted:
                raise self.wrong_dtype(i, wanted)
        shape = rule(self.signature, self.name, [x.shape for x in inputs], params)
        return shape, dtype_of(types[0], dtype) or params["dtype"]

    def layout(self, *inputs: Any, **params: Any) -> tuple[Shape, Shape, int] | None:
        """For a view: its shape, strides and offset over x's Buffer; None if no strides can express
        it, in which case x is copied first."""
        raise NotImplementedError(f"{type(self).__name__} has neither a kernel nor a layout")

    def forward(self, *inputs: Any, **params: Any) -> Any:
        """The result of an op without a kernel. A view's result shares its operand's Buffer."""
        x: Any = inputs[0]
        while (found := self.layout(x, **params)) is None:
            x = OPS["copy"](x).apply()
            self.inputs = (x,)
        view = x.over(x.buf, *found)
        root = x._base() if x._base else None
        root = x if root is None else root
        outside = x.buf.rewritten and not root.requires_grad  # x may be a detached one
        view._base = Outside(root, x.buf.rewritten) if outside else weakref.ref(root)
        return view

    def finish(self, out: Any) -> Any:
        """The result to return, made from the Tensor that the kernel has filled."""
        return out

    def backward(self, g: Any, /, *saved: Any) -> Gradients:
        """The gradients of the inputs, given `g`, the gradient of the result."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    # ---- as a node of the graph ------------------------------------------------------------------

    def record(self, out: Any, needs: tuple[bool, ...], serial: int) -> None:
        """Become the node that made `out`. A later op has a higher `serial`, so sorting by it puts
        every op after the ops it depends on."""
        self.needs, self.serial, operands = needs, serial, self.edges
        self.shape, self.dtype, self.device = out.shape, out.buf.dtype, out.buf.device
        self.result: weakref.ref[AnyTensor] | None = weakref.ref(out)  # while somebody has it
        self.kept: weakref.ref[AnyTensor] | None = None  # the output, if it retains its gradient
        self.hooks: list[Any] | None = None  # called with the output's gradient
        # The output is saved as an alias without its op: `out -> op -> out` would be a cycle, and a
        # graph should be freed as soon as the last reference to it is gone.
        self.saved = ()
        self.states: tuple[tuple[Any, ...], ...] = ()  # of the saved values, to detect stale ones
        if at := self.save_positions:
            saved = self.pick((*operands, out.alias()) if -1 in at else operands)
            self.saved = saved_as_wanted(self, saved if len(at) > 1 else (saved,), needs)
            self.states = tuple(map(state_of, self.saved))
        self.edges = tuple(map(edge_to, operands))
        self.held: tuple[Any, ...] = operands if is_kept() else ()

    def __repr__(self) -> str:
        parts = [f"{tuple(x.shape)}" for x in self.edges if hasattr(x, "shape")]
        given = {n: v for n, v in self.params.items() if v is not self.defaults.get(n, self)}
        parts += [f"{name}={value}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(parts)})"
