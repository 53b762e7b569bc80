"""Op: one operation, forward and backward in one class.

    class Mul(Op):
        \"\"\"z = x * y\"\"\"
        kernel, promotes, saves = "mul", 0, ("x", "y")

        def backward(self, g, x, y):
            return g * y, g * x

An Op says *what* is computed. `kernel` names the row of the kernel table that does it; from the
row's form follow shape and dtype of the result. `saves` is what backward needs. *How* and *where*
it runs is the Engine's business: `Mul(x, y).apply()` hands it over, and so does `x * y`. Making an
Op does nothing: whatever there is to do, to check or to find out is done when it runs.

A recorded Op is a node of the graph: `inputs` are its edges, `saved` what it keeps for backward.
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
from tutor.core.op.edges import Edges
from tutor.dtype import DType
from tutor.errors import DTypeError

Gradients: TypeAlias = AnyTensor | tuple[AnyTensor | None, ...] | None

Shape = tuple[int, ...]
OPS: dict[str, type[Op]] = catalogue.OPS  # every Op class by its name

# What a saved value was: its memory, how often that had been changed, and how it was walked.
state_of = attrgetter("buf", "buf.version", "shape", "strides", "offset")


class Op(Edges):
    """`Op(*tensors, **params)`: tensors are positional, parameters are keyword-only.

    What a subclass may state:

    - `kernel`: a name in signatures.py. A view has none, it has a `layout` instead; an op that
      needs several kernels has none either, and calls them in its own `forward`.
    - `name`: in the catalogue; by default the kernel's, else the class's in lower case.
    - `takes`: names of the operands; by default those of its `infer`, `layout` or `forward`, else
      x, and y.
    - `saves`: names among the operands, and "out", that `backward` gets after the gradient.
    - `promotes`: the operands from this position on are brought to one dtype; None: as they are.
    - `wants_float`: integer operands become float32 first.
    - `defaults`: parameters that may be left out.
    - `infer(self, *inputs, **params) -> (shape, dtype)`: where the form's rule is not the op's.
    - `settle(self)`: what is to be done to operands and parameters first.
    - `backward(self, g, *saved)`: one gradient per input, None where there is none. It is written
      with Tensor operators, so it can be differentiated again. `self.needs` says which are wanted.
    - `gradcheck`: False, and the first backward is not compared with the forward, as it is for each
      class that is not the library's own (tutor/functions/doubt.py).
    """

    name: ClassVar[str]
    kernel: ClassVar[Any] = None  # its name
    takes: ClassVar[tuple[str, ...]] = ()
    saves: ClassVar[tuple[str, ...]] = ()
    promotes: ClassVar[int | None] = None
    wants_float: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {}
    gradcheck: ClassVar[bool] = True

    # What follows from that is found out when the class is made: the kernel's row, with its form
    # and its parameters; which parameters there may be (None: any), must be, and are checked by
    # their names; the fewest and the most operands (None: any number); the operand whose dtype
    # selects the kernel; the positions of what is saved among the inputs (-1 is the output), and a
    # function that picks it; which of the methods below the op has of its own.
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
    pick: ClassVar[Any]
    settles: ClassVar[bool] = False
    infers: ClassVar[bool] = False
    is_view: ClassVar[bool] = False
    finishes: ClassVar[bool] = False
    differentiable: ClassVar[bool] = False
    execute: ClassVar[Callable[[Op], Any]]  # how an Op is run: the Engine puts itself here
    _doubt: ClassVar[Callable[[], None]] = lambda: None  # doubt.py puts itself here

    __slots__ = (
        "hooks", "kept", "needs", "params", "saved", "serial", "shape", "states",
    )  # fmt: skip

    def __init_subclass__(cls, abstract: bool = False) -> None:
        super().__init_subclass__()
        catalogue.read(cls, Op, abstract)
        if not abstract:
            cls._doubt()

    def __init__(self, *inputs: Any, **params: Any) -> None:
        self.inputs = inputs
        self.params = params
        self.saved: tuple[Any, ...] | None = None  # () or more once recorded, None again when freed

    def apply(self) -> Any:
        """Run it: the resulting Tensor, which remembers this Op if a gradient may be wanted."""
        return Op.execute(self)

    # ---- what the Engine asks, in this order -----------------------------------------------------

    def settle(self) -> Any:
        """Called first: put `inputs` and `params` into the form that the rules below expect. If it
        returns a Tensor, made by other ops, that is the result, and nothing else is done."""
        return None

    def infer(self, *inputs: Any, **params: Any) -> tuple[Shape, DType]:
        """Shape and dtype of the result, by the form of the kernel."""
        dtype = inputs[self.key].buf.dtype
        types, rule = self.signature.types, cast(Rule, self.form.rule)
        if self.promotes != 0:  # else they are of one dtype
            for i, x in enumerate(inputs):
                wanted = dtype_of(types[min(i + 1, len(types) - 1)], dtype)
                if wanted is not None and x.buf.dtype is not wanted:
                    raise self.wrong_dtype(i, wanted)
        shape = rule(self.signature, self.name, [x.shape for x in inputs], params)
        return shape, dtype_of(types[0], dtype) or params["dtype"]

    def layout(self, *inputs: Any, **params: Any) -> tuple[Shape, Shape, int] | None:
        """For a view: shape, strides and offset by which it walks x's Buffer; None where no strides
        can do it, so that the view must be one of a copy."""
        raise NotImplementedError(f"{type(self).__name__} has neither a kernel nor a layout")

    def forward(self, *inputs: Any, **params: Any) -> Any:
        """The result of an op without a kernel. That of a view walks the Buffer of its operand."""
        x: Any = inputs[0]
        while (found := self.layout(x, **params)) is None:
            x = OPS["copy"](x).apply()
            self.inputs = (x,)
        return x.over(x.buf, *found)

    def finish(self, out: Any) -> Any:
        """The result as it is handed out, over what the kernel has filled."""
        return out

    def backward(self, g: Any, /, *saved: Any) -> Gradients:
        """The gradients of the inputs, given `g`, the gradient of the result."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def wrong_dtype(self, i: int, wanted: DType) -> DTypeError:
        """The error for input i, which is not of the dtype that the kernel wants there."""
        return error_messages.wrong_operand(self, i, wanted)

    # ---- as a node of the graph ------------------------------------------------------------------

    def record(self, out: Any, needs: tuple[bool, ...], serial: int) -> None:
        """Become the node that made `out`. A later op has a higher `serial`, so sorting by it puts
        every op after the ops it depends on."""
        self.needs, self.serial, self.shape = needs, serial, out.shape
        self.kept: weakref.ref[AnyTensor] | None = None  # the output, if it is to keep its gradient
        self.hooks: list[Any] | None = None  # they see the output's gradient
        # The output is saved as an alias without its op: `out -> op -> out` would be a cycle, and
        # graphs are to be freed the moment the last name for them goes.
        self.saved = ()
        self.states: tuple[tuple[Any, ...], ...] = ()  # of what was saved, to know what is stale
        if at := self.save_positions:
            saved = self.pick((*self.inputs, out.alias()) if -1 in at else self.inputs)
            self.saved = saved if len(at) > 1 else (saved,)
            self.states = tuple(map(state_of, self.saved))

    def __repr__(self) -> str:
        parts = [f"{tuple(x.shape)}" for x in self.inputs if hasattr(x, "shape")]
        given = {n: v for n, v in self.params.items() if v is not self.defaults.get(n, self)}
        parts += [f"{name}={value}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(parts)})"
