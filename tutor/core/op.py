"""Op: one operation, forward and backward in one class.

    class Mul(Op):
        \"\"\"z = x * y\"\"\"
        kernel, infer, saves = "mul", broadcast, ("x", "y")

        def backward(self, g, x, y):
            return g * y, g * x

An Op says *what* is computed. `kernel` names the row of the kernel table that does it, `infer` is
the rule for shape and dtype of the result, `saves` what backward needs. *How* and *where* it runs
is the Engine's business: `Mul(x, y).apply()` hands it over, and so does `x * y`.

A recorded Op is a node of the graph: `inputs` are its edges, `saved` what it keeps for backward.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, TypeAlias

from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType
from tutor.ground.typing import AnyTensor as Tensor

Gradients: TypeAlias = Tensor | tuple[Tensor | None, ...] | None

Shape = tuple[int, ...]

# What a saved value was: its memory, how often that had been changed, and how it was walked.
state_of = attrgetter("buf", "buf.version", "shape", "strides", "offset")
OPS: dict[str, type[Op]] = {}  # the catalogue: every Op class by its name


class Op:
    """`Op(*tensors, **params)`: tensors are positional, parameters are keyword-only.

    What a subclass may state:

    - `kernel`: a name in signatures.py. A view has none, it has a `layout` instead; an op that
      needs several kernels has none either, and calls them in its own `forward`.
    - `infer(self, *inputs, **params) -> (shape, dtype)`: the result's, or a ShapeError.
    - `name`: in the catalogue; by default the kernel's, else the class's in lower case.
    - `saves`: names among infer's operands, and "out", that `backward` gets after the gradient.
    - `promotes`: the operands from this position on are brought to one dtype; None: as they are.
    - `wants_float`: integer operands become float32 first.
    - `backward(self, g, *saved)`: one gradient per input, None where there is none. It is written
      with Tensor operators, so it can be differentiated again. `self.needs` says which are wanted.
    """

    name: ClassVar[str]
    kernel: ClassVar[Any] = None  # its name
    kernel_params: ClassVar[tuple[str, ...]] = ()
    saves: ClassVar[tuple[str, ...]] = ()
    save_positions: ClassVar[tuple[int, ...]] = ()  # of `saves` among the inputs; -1 is the output
    pick: ClassVar[Any]  # of the inputs and the output, what stands at these positions
    promotes: ClassVar[int | None] = None
    wants_float: ClassVar[bool] = False
    key: ClassVar[int] = 0  # the operand under whose dtype the kernel is looked up
    rearranges: ClassVar[bool] = False  # has it `operands` of its own?
    differentiable: ClassVar[bool] = False
    execute: ClassVar[Callable[[Op], Any]]  # how an Op is run: the Engine puts itself here

    __slots__ = (
        "hooks", "inputs", "kept", "needs", "params", "saved", "serial", "shape", "states",
    )  # fmt: skip

    def __init_subclass__(cls, abstract: bool = False) -> None:
        super().__init_subclass__()
        cls.differentiable = cls.backward is not Op.backward
        cls.rearranges = cls.operands is not Op.operands
        cls.key = cls.promotes or 0
        if abstract:
            return
        if "name" not in cls.__dict__:
            cls.name = cls.kernel or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        taken = OPS.get(cls.name)
        if taken is not None and (taken.__module__, taken.__name__) != (
            cls.__module__,
            cls.__name__,
        ):
            raise TypeError(f"op {cls.name!r} is {taken}; give {cls.__name__} a `name` of its own")
        if cls.kernel is not None:
            cls.kernel_params = SIGNATURES[cls.kernel].params
        rule = cls.infer if cls.layout is Op.layout else cls.layout
        code = rule.__code__
        operands = code.co_varnames[1 : code.co_argcount]
        unknown = set(cls.saves) - {*operands, "out"}
        if unknown:
            raise TypeError(f"{cls.__name__} saves {unknown}, its operands are {operands}")
        cls.save_positions = tuple(-1 if n == "out" else operands.index(n) for n in cls.saves)
        cls.pick = itemgetter(*cls.save_positions) if cls.saves else None
        OPS[cls.name] = cls

    def __init__(self, *inputs: Any, **params: Any) -> None:
        self.inputs = inputs
        self.params = params
        self.saved: tuple[Any, ...] | None = None  # () or more once recorded, None again when freed

    def apply(self) -> Any:
        """Run it: the resulting Tensor, which remembers this Op if a gradient may be wanted."""
        return Op.execute(self)

    def infer(self, *inputs: Any, **params: Any) -> tuple[Shape, DType]:
        """Shape and dtype of the result."""
        raise NotImplementedError(f"{type(self).__name__} states no rule for shape and dtype")

    def layout(self, *inputs: Any, **params: Any) -> tuple[Shape, Shape, int]:
        """For a view: shape, strides and offset at which it walks x's Buffer."""
        raise NotImplementedError(f"{type(self).__name__} has neither a kernel nor a layout")

    def forward(self, *inputs: Any, **params: Any) -> Any:
        """The result, for an op without a kernel; a view's walks the Buffer of its operand."""
        x: Tensor = inputs[0]
        return x.over(x.buf, *self.layout(*inputs, **params))

    def operands(self, shape: Shape, *inputs: Any) -> tuple[Any, ...]:
        """The inputs as the kernel is to walk them, given the result's shape."""
        return inputs

    def backward(self, g: Any, /, *saved: Any) -> Gradients:
        """The gradients of the inputs, given `g`, the gradient of the result."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    # ---- as a node of the graph ------------------------------------------------------------------

    def record(self, out: Any, needs: tuple[bool, ...], serial: int) -> None:
        """Become the node that made `out`. A later op has a higher `serial`, so sorting by it puts
        every op after the ops it depends on."""
        self.needs, self.serial, self.shape = needs, serial, out.shape
        self.kept: weakref.ref[Tensor] | None = None  # the output, if it is to keep its gradient
        self.hooks: list[Callable[[Tensor], Tensor | None]] | None = (
            None  # they see the output's gradient
        )
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
        parts += [f"{name}={value}" for name, value in self.params.items()]
        return f"{type(self).__name__}({', '.join(parts)})"
