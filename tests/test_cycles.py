"""No public call leaves a cycle of references that holds a tensor.

What Python frees by counting references is free at once. A cycle waits for the garbage collector,
which counts objects, not bytes: sixty of them may be a few gigabytes. So every public function is
called with the collector switched off, and afterwards as much memory is in use as before.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import pickle
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from layer_rows import TABLE, Row, answer, as_tutor, draw

import tutor
from tests.test_messages import BLOCKS
from tutor import (
    Tensor,
    array_api,
    data,
    interop,
    linalg,
    memory,
    nn,
    optim,
    testing,
    training,
    viz,
)
from tutor.data.gpt2_bpe import CHARACTERS
from tutor.errors import TutorError
from tutor.nn import functional

# ---- what is public ------------------------------------------------------------------------------


def functions(module: ModuleType) -> list[str]:
    """The names of a module's own functions and classes, or those of its __all__."""
    own = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
        and not hasattr(value, "_fields")
    ]
    return [n for n in own if not n.startswith("_") and callable(getattr(module, n))]


OPERATORS = """
    __abs__ __add__ __and__ __array__ __array_namespace__ __bool__ __contains__ __copy__
    __deepcopy__ __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __format__ __ge__
    __getitem__ __gt__ __hash__ __index__ __int__ __invert__ __iter__ __le__ __len__ __lshift__
    __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__
    __repr__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__
    __rshift__ __rsub__ __rtruediv__ __rxor__ __setitem__ __sub__ __truediv__ __xor__
""".split()  # noqa: SIM905 - a table
MODULES = (tutor, functional, nn, optim, array_api, viz, memory, testing, data, training,
           tutor.random, tutor.autograd, interop, linalg)  # fmt: skip
METHODS = [n for n in dir(Tensor) if not n.startswith("_")]
METHODS += [n for n in OPERATORS if hasattr(Tensor, n)]
BUFFER = [n for n in dir(tutor.Buffer) if not n.startswith("_")]
PUBLIC = [
    *((module, name) for module in MODULES for name in functions(module)),
    *((Tensor, name) for name in METHODS),
    *((tutor.Buffer, name) for name in BUFFER),
    *((tutor.optim.Adam, name) for name in dir(optim.Adam) if not name.startswith("_")),
    *(
        (nn.Module, name)
        for name in dir(nn.Module)
        if not name.startswith("_") and callable(getattr(nn.Module, name, None))
    ),
]

# ---- how each of them may be called --------------------------------------------------------------


def floats(*shape: int) -> Tensor:
    numbers = np.linspace(0.1, 0.9, int(np.prod(shape or (2, 3)))).reshape(shape or (2, 3))
    return Tensor(numbers, dtype="float32", requires_grad=True)


def square() -> Tensor:
    """Symmetric, with positive eigenvalues."""
    return (Tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])).requires_grad_()


def ints() -> Tensor:
    return Tensor([[0, 1, 1], [1, 0, 1]])


def bools() -> Tensor:
    return Tensor([[True, False, True], [False, True, True]])


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def stepped(kind: Any) -> Any:
    net = model()
    optimizer = kind(nn.get_parameters(net))
    net(floats()).sum().backward()
    optimizer.step()
    return optimizer


class Twice(tutor.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * 2 + x * 0


# What comes after `self`, or after nothing: the ways that are tried one after the other. One of
# them must work; the others are mistakes, which must not leave a cycle behind either.
WAYS: tuple[Callable[[], tuple[Any, ...]], ...] = (
    lambda: (),
    lambda: (floats(),),
    lambda: (ints(),),
    lambda: (bools(),),
    lambda: (2,),
    lambda: (0.5,),
    lambda: ((3, 2),),
    lambda: ("float64",),
    lambda: ("",),
    lambda: ("cpu",),
    lambda: (0,),
    lambda: ((2, 2, 3),),
    lambda: (0, [1, 0]),
    lambda: (bools(), 0.5),
    lambda: (floats(3, 2, 3),),
    lambda: ([floats(), floats()],),
    lambda: (floats(), floats()),
    lambda: (ints(), ints()),
    lambda: (floats(), 0),
    lambda: (floats(), 0.5),
    lambda: (0, 1),
    lambda: (0, ints()),
    lambda: (floats(3), floats(3)),
    lambda: (floats(3, 2),),
    lambda: (floats(), floats(3, 2)),
    lambda: (floats(2, 3), Tensor([0, 2])),
    lambda: (Tensor([0, 2]),),
    lambda: (0, ints(), floats()),
    lambda: (floats(1, 2, 6, 6), floats(3, 2, 3, 3)),
    lambda: (floats(1, 2, 6), floats(3, 2, 3)),
    lambda: (floats(1, 2, 6, 6), 2),
    lambda: (floats(1, 2, 6), 2),
    lambda: (floats(3, 2, 3, 3),),
    lambda: (bools(), floats(), 0.0),
    lambda: (floats(), 0.2, 0.4),
    lambda: ("ij,ij->i", floats(), floats()),
    lambda: (model(),),
    lambda: ([floats()],),
    lambda: (lambda g: None,),
)
# What is called on a model; layers, with their settings and the shapes of what they are called on;
# and functions of several Tensors.
ON_A_MODEL: dict[str, Callable[[nn.Sequential], Any]] = {
    "add_module": lambda m: m.add_module("more", nn.Linear(1, 1)),
    "register_module": lambda m: m.register_module("more", nn.Linear(1, 1)),
    "register_parameter": lambda m: m.register_parameter("more", nn.Parameter(floats())),
    "register_buffer": lambda m: m.register_buffer("more", floats(), persistent=False),
    "register_forward_hook": lambda m: (m.register_forward_hook(ignored), m(floats())),
    "register_forward_pre_hook": lambda m: (m.register_forward_pre_hook(ignored), m(floats())),
    "register_full_backward_hook": lambda m: (
        m.register_full_backward_hook(ignored), m(floats()).sum().backward()),
    "apply": lambda m: m.apply(ignored), "get_submodule": lambda m: m.get_submodule("0"),
    "to": lambda m: m.to("float64"), "train": lambda m: m.train(False), "eval": lambda m: m.eval(),
    **{n: (lambda m, n=n: getattr(m, n)()) for n in (
        "cpu", "float", "double", "half", "bfloat16", "zero_grad", "requires_grad_", "buffers",
        "modules", "children")},
    **{n: (lambda m, n=n: list(getattr(m, n)())) for n in (
        "named_parameters", "named_buffers", "named_modules", "named_children")},
}  # fmt: skip
LAYERS: dict[str, tuple[Any, ...]] = {  # those without a row in layer_rows.py
    "MultiHeadAttention": ((4, 2), (5, 2, 4)),
    "TransformerBlock": ((4, 2), (5, 2, 4)),
    "Transformer": ((4, 2, 1, 1, 3), (5, 2, 4), (3, 2, 4)),
}
FUNCTIONS: dict[str, Callable[[Any], Tensor]] = {
    "bilinear": lambda f: f(floats(2, 3), floats(2, 3), floats(4, 3, 3)),
    "conv3d": lambda f: f(floats(1, 2, 3, 3, 3), floats(3, 2, 2, 2, 2)),
    "conv_transpose3d": lambda f: f(floats(1, 2, 3, 3, 3), floats(2, 3, 2, 2, 2)),
    "cosine_embedding_loss": lambda f: f(floats(2, 3), floats(2, 3), Tensor([1, -1])),
    "margin_ranking_loss": lambda f: f(floats(3), floats(3), Tensor([1, -1, 1])),
    "max_unpool1d": lambda f: f(floats(1, 1, 2), Tensor([[[0, 3]]]), 2),
    "max_unpool2d": lambda f: f(floats(1, 1, 1, 2), Tensor([[[[0, 3]]]]), 2),
    "max_unpool3d": lambda f: f(floats(1, 1, 1, 1, 2), Tensor([[[[[0, 3]]]]]), 2),
    "pixel_shuffle": lambda f: f(floats(1, 4, 2, 2), 2),
    "triplet_margin_loss": lambda f: f(floats(2, 3), floats(2, 3) * 2, floats(2, 3) * 3),
}


def ignored(*seen: Any) -> None:
    """A hook that changes nothing."""


def walked(z: Any) -> None:
    while isinstance(z, tuple):
        z = z[0]
    z.sum().backward()


def layered(name: str, settings: tuple[Any, ...], *shapes: Any) -> None:
    walked(getattr(nn, name)(*settings)(*(floats(*shape) for shape in shapes)))


def by_row(row: Row) -> None:
    rng = np.random.default_rng(0)
    layer = getattr(nn, row.name)(*row.settings, **row.options)
    inputs = [as_tutor(draw(given, rng), "float32") for given in row.inputs]
    answer(layer, inputs, {name: as_tutor(x, "float32") for name, x in row.call.items()})


# What a call takes that none of these is; a row gives a call of its own.
ROWS: dict[str, Callable[[], Any]] = {
    "tutor.Buffer": lambda: tutor.Buffer([1.0, 2.0]),
    "tutor.Function": lambda: Twice.apply(floats()).sum().backward(),
    "tutor.Op": lambda: tutor.OPS["mul"](floats(), floats()).apply(),
    "tutor.apply": lambda: tutor.apply("mul", floats(), floats()).sum().backward(),
    "tutor.backward": lambda: tutor.backward(floats().sum()),
    "tutor.promote": lambda: tutor.promote(tutor.int8, tutor.float32),
    "tutor.graph": lambda: tutor.graph((floats() * floats()).sum()),
    "tutor.use_backend": lambda: blocks(tutor.use_backend(tutor.registry.current())),
    "tutor.no_grad": lambda: blocks(tutor.no_grad()),
    "tutor.grad": lambda: differentiated(),
    "tutor.from_numpy": lambda: tutor.from_numpy(np.ones(3)),
    "tutor.autograd.grad": lambda: tutor.autograd.grad((x := floats()).sum(), x),
    "tutor.interop.to_torch": lambda: interop.from_torch(np.ones(3)),  # PyTorch may not be there
    "tutor.set_backend": lambda: tutor.set_backend(tutor.registry.current()),
    "tutor.multinomial": lambda: tutor.multinomial(Tensor([1.0, 2.0]), 3, replacement=True),
    "tutor.gather": lambda: tutor.gather(floats(), 0, ints() * 0).sum().backward(),
    "tutor.index_select": lambda: tutor.index_select(floats(), 0, [1, 0]).sum().backward(),
    "tutor.masked_fill": lambda: tutor.masked_fill(floats(), bools(), 0.0).sum().backward(),
    "tutor.masked_select": lambda: tutor.masked_select(floats(), bools()).sum().backward(),
    "tutor.moveaxis": lambda: tutor.moveaxis(floats(), 0, 1).sum().backward(),
    "tutor.movedim": lambda: tutor.movedim(floats(), 0, 1).sum().backward(),
    "tutor.scatter": lambda: tutor.scatter(floats(), 0, ints() * 0, 1.0).sum().backward(),
    "tutor.scatter_add": lambda: tutor.scatter_add(floats(), 0, ints() * 0, 1.0).sum().backward(),
    **{
        f"{place}.index_add": lambda f=owner.index_add: (
            f(floats(), 0, [1, 0], floats()).sum().backward()
        )
        for place, owner in (("tutor", tutor), ("Tensor", Tensor))
    },
    **{
        f"Tensor.{name}": lambda name=name, given=given: rewritten(name, *given())
        for name, given in {
            "exp_": lambda: (),
            "sigmoid_": lambda: (),
            "tanh_": lambda: (),
            "masked_fill_": lambda: (bools(), 0.0),
            "index_add_": lambda: (0, [1, 0], floats()),
            "scatter_": lambda: (0, ints() * 0, floats()),
            "scatter_add_": lambda: (0, ints() * 0, floats()),
        }.items()
    },
    "tutor.scatter_reduce": lambda: (
        tutor.scatter_reduce(floats(), 0, ints() * 0, floats(), "amax").sum().backward()
    ),
    **{
        f"{place}.{name}": lambda owner=owner, name=name, shapes=shapes: (
            getattr(owner, name)(*[floats(*shape) for shape in shapes]).sum().backward()
        )
        for place, owner in (("tutor", tutor), ("Tensor", Tensor))
        for name, shapes in {
            "mv": ((2, 3), (3,)),
            "bmm": ((2, 2, 3), (2, 3, 2)),
            "addmm": ((2, 2), (2, 3), (3, 2)),
            "addmv": ((2,), (2, 3), (3,)),
            "baddbmm": ((2, 2, 2), (2, 2, 3), (2, 3, 2)),
        }.items()
    },
    **{
        f"{place}.unflatten": lambda f=owner.unflatten: f(floats(), 1, (3, 1)).sum().backward()
        for place, owner in (("tutor", tutor), ("Tensor", Tensor))
    },
    "Tensor.bincount": lambda: Tensor([1, 0, 3]).bincount(),
    "Tensor.scatter_reduce": lambda: (
        floats().scatter_reduce(0, ints() * 0, floats(), "prod").sum().backward()
    ),
    "tutor.bincount": lambda: tutor.bincount(Tensor([1, 0, 3])),
    "tutor.tensordot": lambda: tutor.tensordot(floats(), floats(3, 2), 1).sum().backward(),
    "tutor.interp": lambda: tutor.interp(0.5, floats(3), floats(3)).sum().backward(),
    "tutor.nn.functional.conv_transpose1d": lambda: (
        functional.conv_transpose1d(floats(1, 2, 6), floats(2, 3, 3)).sum().backward()
    ),
    "tutor.nn.functional.conv_transpose2d": lambda: (
        functional.conv_transpose2d(floats(1, 2, 6, 6), floats(2, 3, 3, 3)).sum().backward()
    ),
    "Tensor.div_": lambda: floats().detach().div_(2.0),
    "Buffer.overlaps": lambda: floats().buf.overlaps(floats().buf),
    "tutor.profile": lambda: profiled(),
    "Tensor.backward": lambda: (floats() * floats()).sum().backward(),
    "Tensor.reshape": lambda: floats().reshape(3, 2).sum().backward(),
    "Tensor.register_hook": lambda: hooked(),
    "Tensor.retain_grad": lambda: floats().retain_grad(),
    "Tensor.item": lambda: floats(1).item(),
    "Tensor.view": lambda: floats().view(6),
    "Tensor.over": lambda: floats().over(tutor.Buffer([1.0]), (1,)),
    "Tensor.squeeze": lambda: floats(1, 3).squeeze(),
    "Tensor.pad": lambda: floats().pad(((1, 1), (0, 1))).sum().backward(),
    "Tensor.shrink": lambda: floats().shrink(((0, 1), (0, 1))),
    "Tensor.assign": lambda: floats().detach().assign(1.0),
    "Tensor.from_dlpack": lambda: Tensor.from_dlpack(np.ones(3)),
    "Tensor.__setitem__": lambda: floats().detach().__setitem__((0, [1, 2]), 1.0),
    "Tensor.__getitem__": lambda: floats()[0, [1, 2]].sum().backward(),
    "Tensor.__dlpack__": lambda: np.from_dlpack(floats().detach()),
    "Tensor.__float__": lambda: float(floats(1)),
    "Tensor.__int__": lambda: int(floats(1)),
    "Tensor.__bool__": lambda: bool(floats(1)),
    "Tensor.__index__": lambda: [0, 1][Tensor(1)],
    "Tensor.__copy__": lambda: copy.copy(floats()),
    "Tensor.__deepcopy__": lambda: pickle.loads(pickle.dumps(copy.deepcopy(floats() * 2))),
    "Tensor.__repr__": lambda: str(floats(3, 4, 5) * 2),
    "Buffer.borrow": lambda: tutor.Buffer.from_memory(bytearray(8), dtype="int8", copy=False),
    "Buffer.empty": lambda: tutor.Buffer.empty(4, tutor.int8),
    "Buffer.from_memory": lambda: tutor.Buffer.from_memory(b"1234"),
    "Buffer.set_item": lambda: tutor.Buffer([1.0]).set_item(0, 2.0),
    "Buffer.get_item": lambda: tutor.Buffer([1.0]).get_item(0),
    "Buffer.configure": lambda: memory.configure(),
    "tutor.memory.configure": lambda: memory.configure(),
    "tutor.memory.Stats": lambda: memory.stats(),
    "tutor.memory.Config": lambda: memory.config(),
    "tutor.memory.mark": lambda: on_the_arena(),
    "tutor.memory.reset": lambda: on_the_arena(),
    "tutor.memory.readable": lambda: memory.readable(1),
    "tutor.nn.Sequential": lambda: model()(floats()).sum().backward(),
    "tutor.nn.Linear": lambda: nn.Linear(3, 2)(floats()).sum().backward(),
    "tutor.nn.Conv2d": lambda: nn.Conv2d(2, 3, 3)(floats(1, 2, 6, 6)).sum().backward(),
    "tutor.nn.load_state_dict": lambda: nn.load_state_dict(model(), nn.state_dict(model())),
    "tutor.nn.named_tensors": lambda: list(nn.named_tensors({"a": [model(), model()]})),
    "tutor.nn.functional.pad": lambda: walked(functional.pad(floats(), (1, 1, 0, 2))),
    "tutor.nn.functional.nll_loss": lambda: loss(functional.nll_loss),
    "tutor.nn.functional.batch_norm": lambda: functional.batch_norm(
        floats(), floats(3).detach(), floats(3).detach()
    ),
    "tutor.nn.functional.layer_norm": lambda: functional.layer_norm(floats(), 3).sum().backward(),
    "tutor.nn.functional.rms_norm": lambda: functional.rms_norm(floats(), 3).sum().backward(),
    "tutor.nn.functional.group_norm": lambda: functional.group_norm(floats(), 1).sum().backward(),
    "tutor.nn.functional.embedding": lambda: functional.embedding(Tensor([1, 0]), floats()),
    "tutor.nn.functional.scaled_dot_product_attention": lambda: (
        functional.scaled_dot_product_attention(floats(), floats(), floats()).sum().backward()
    ),
    "tutor.nn.functional.cross_entropy": lambda: loss(functional.cross_entropy),
    "tutor.optim.Limit": lambda: optim.Limit("a number", 0.0, 1.0, "", "0.5"),
    "tutor.optim.SGD": lambda: stepped(optim.SGD),
    "tutor.optim.Adam": lambda: stepped(optim.Adam),
    "tutor.optim.Optimizer": lambda: optim.Optimizer([floats()], 0.1).zero_grad(),
    "Adam.load_state_dict": lambda: resumed(),
    "Adam.add_param_group": lambda: stepped(optim.Adam).add_param_group({"params": floats()}),
    "Adam.numbers": lambda: stepped(optim.Adam).numbers("lr", floats()),
    "Adam.rests": lambda: stepped(optim.Adam).rests("betas", floats()),
    "Adam.remember": lambda: stepped(partial(optim.Adam, amsgrad=True)).step(),
    "Adam.corrections": lambda: stepped(partial(optim.Adam, amsgrad=True)).step(),
    "tutor.checkpoint": lambda: tutor.checkpoint(model(), floats()).sum().backward(),
    "Adam.update": lambda: stepped(optim.Adam).step(),
    "Adam.step": lambda: stepped(optim.Adam).step(),
    "Adam.zero_grad": lambda: stepped(optim.Adam).zero_grad(),
    "tutor.array_api.isdtype": lambda: array_api.isdtype(tutor.int8, "integral"),
    "tutor.array_api.can_cast": lambda: array_api.can_cast(tutor.int8, tutor.int16),
    "tutor.array_api.finfo": lambda: array_api.finfo(tutor.float32),
    "tutor.array_api.iinfo": lambda: array_api.iinfo(tutor.int8),
    "tutor.array_api.from_dlpack": lambda: array_api.from_dlpack(floats().detach()),
    "tutor.array_api.check_version": lambda: array_api.check_version(None),
    "tutor.array_api.squeeze": lambda: array_api.squeeze(floats(1, 3), 0),
    "tutor.array_api.full": lambda: array_api.full((2, 3), 1.0),
    "tutor.array_api.linspace": lambda: array_api.linspace(0, 1, 5),
    "tutor.array_api.moveaxis": lambda: array_api.moveaxis(floats(), 0, 1),
    "tutor.array_api.permute_dims": lambda: array_api.permute_dims(floats(), (1, 0)),
    "tutor.array_api.reshape": lambda: array_api.reshape(floats(), (3, 2)),
    "tutor.array_api.broadcast_to": lambda: array_api.broadcast_to(floats(), (2, 2, 3)),
    "tutor.array_api.broadcast_shapes": lambda: array_api.broadcast_shapes((2, 1), (1, 3)),
    "tutor.array_api.astype": lambda: array_api.astype(floats(), tutor.int8),
    "tutor.array_api.where": lambda: array_api.where(bools(), floats(), floats()),
    "tutor.array_api.searchsorted": lambda: array_api.searchsorted(floats(3), floats(3)),
    "tutor.array_api.take": lambda: array_api.take(floats(3), Tensor([0, 2])),
    "tutor.viz.Picture": lambda: viz.explain(floats()).svg,
    "tutor.viz.bars": lambda: viz.bars({"a": 1.0, "b": 2.0}),
    "tutor.viz.boundary": lambda: viz.boundary(
        floats(4, 2), [0, 1, 1, 0], lambda p: [0.5] * len(p)
    ),
    "tutor.viz.scatter": lambda: viz.scatter([[0.0, 1.0]]),
    "tutor.viz.film": lambda: viz.film([viz.curves({"a": floats(5)})] * 2),
    "tutor.training.Run": lambda: training.Run(2, progress=False),
    "tutor.training.Diagnosis": lambda: training.Diagnosis(),
    "tutor.training.Finding": lambda: training.Finding("a", "b", "c"),
    "tutor.training.accuracy": lambda: training.accuracy(floats(2, 3, 4), ints()),
    "tutor.training.confusion": lambda: training.confusion(floats(2, 3, 4), ints()),
    "tutor.training.scores": lambda: training.scores(floats(2, 3, 4), ints()),
    "tutor.training.evaluate": lambda: training.evaluate(lambda x: x, [(floats(2, 3, 4), ints())]),
    "tutor.training.Monitor": lambda: training.Monitor(model()).close(),
    "tutor.training.Outline": lambda: training.Outline(),
    "tutor.training.summary": lambda: training.summary(model(), floats()),
    "tutor.training.read_log": lambda: training.read_log(EMPTY),
    "tutor.training.diagnose": lambda: training.diagnose(
        model(), lambda x, y: (x - y).sum(), floats(), floats(1)
    ),
    "tutor.training.overfit": lambda: training.overfit(
        lambda x, y: x.sum() * 0, floats(), floats()
    ),
    "tutor.viz.bits": lambda: viz.bits(0.1, "float16", "float32"),
    "tutor.viz.bytes": lambda: viz.bytes(floats().buf, "float32", "int32"),
    "tutor.viz.dispatch": lambda: viz.dispatch(
        [("x + y", "Add", ("add", "simd", "float32"), "add")], [("add", "simd", "float32")]
    ),
    "tutor.viz.column": lambda: viz.column(viz.explain(floats()), viz.explain(floats())),
    "tutor.viz.row": lambda: viz.row(viz.explain(floats()), viz.explain(floats())),
    "tutor.viz.curves": lambda: viz.curves({"a": floats(5)}),
    "tutor.viz.histogram": lambda: viz.histogram({"a": floats(5)}),
    "tutor.viz.images": lambda: viz.images(floats(2, 4, 4)),
    "tutor.viz.mesh": lambda: viz.mesh(floats(4, 2)),
    "tutor.viz.program": lambda: viz.program(tutor.schedule(pending())),
    "tutor.viz.plane": lambda: viz.plane(lambda x: x * x, [1.0, 0.5]),
    "tutor.viz.shared": lambda: shared(),
    "tutor.viz.walk": lambda: viz.walk((floats() * floats()).sum()).steps,
    "tutor.viz.graph": lambda: viz.graph((floats() * floats()).sum()),
    "tutor.testing.gradcheck": lambda: testing.gradcheck(lambda x: x * x, [1.0, 2.0]),
    "tutor.nn.functional.grid_sample": lambda: functional.grid_sample(
        floats(1, 2, 4, 4), floats(1, 3, 3, 2)
    ),
    "tutor.nn.functional.affine_grid": lambda: functional.affine_grid(
        floats(1, 2, 3), (1, 1, 3, 3)
    ),
    "tutor.linalg.LstsqResult": lambda: linalg.lstsq(floats(3, 2), floats(3)).solution,
    "tutor.linalg.cholesky": lambda: walked(linalg.cholesky(square())),
    "tutor.linalg.det": lambda: walked(linalg.det(square())),
    "tutor.linalg.eigh": lambda: walked(linalg.eigh(square())),
    "tutor.linalg.eigvalsh": lambda: walked(linalg.eigvalsh(square())),
    "tutor.linalg.inv": lambda: walked(linalg.inv(square())),
    "tutor.linalg.multi_dot": lambda: walked(linalg.multi_dot([floats(), floats(3, 2)])),
    "tutor.linalg.slogdet": lambda: linalg.slogdet(square()).logabsdet.backward(),
    "tutor.linalg.solve": lambda: walked(linalg.solve(square(), floats(3))),
    "tutor.listing": lambda: tutor.listing("add", level="avx2"),
    "tutor.save": lambda: saved(),
    "tutor.load": lambda: saved(),
    "tutor.data.load": lambda: data.load("digits", limit=4),
    "tutor.data.Images": lambda: data.load("digits", limit=4),
    "tutor.data.TensorDataset": lambda: list(data.TensorDataset(floats(6, 2), floats(6))),
    "tutor.data.Subset": lambda: list(data.Subset(floats(6, 2), [1, 2])),
    "tutor.data.ConcatDataset": lambda: list(data.ConcatDataset([floats(6), [1]])),
    "tutor.data.MappedDataset": lambda: list(data.MappedDataset(floats(6), Tensor.exp)),
    "tutor.data.IterableDataset": lambda: list(data.IterableDataset(lambda: iter([1]))),
    "tutor.data.random_split": lambda: data.random_split(floats(6), [4, 2]),
    "tutor.data.collate": lambda: data.collate([{"a": 1, "b": (2.0, floats(2))}] * 2),
    "tutor.data.DataLoader": lambda: (
        list(data.DataLoader(floats(6, 2), 2, shuffle=True, prefetch=2, transform=Tensor.exp)),
        next(iter(data.DataLoader(floats(6, 2), 2, prefetch=2))),
    ),
    "tutor.data.GPT2BPE": lambda: data.GPT2BPE({c: i for i, c in enumerate(CHARACTERS)}, []).encode(
        "low"
    ),
    "tutor.data.BPE": lambda: data.BPE.train("low lower", 258).encode("low"),
    "tutor.data.ByteVocab": lambda: data.ByteVocab().encode("a"),
    "tutor.data.CharVocab": lambda: data.CharVocab("ab").encode("a"),
    "tutor.data.TextBlocks": lambda: list(data.TextBlocks([1, 2, 3, 4], 2)),
    "tutor.data.text_batches": lambda: list(data.text_batches(list(range(99)), 2, 4)),
    "tutor.data.stories": lambda: data.stories(100),
    "tutor.data.grammar": lambda: data.grammar(100),
    "tutor.data.grammar_entropy": lambda: data.grammar_entropy(),
    "tutor.data.grammar_nats": lambda: data.grammar_nats(data.grammar(100)),
    "tutor.data.Text": lambda: data.Text("a line\n", "a test", "test", None).train,
    "tutor.data.load_text": lambda: data.load_text("grammar", 100).test,
    "tutor.data.names": lambda: data.names(3),
    "tutor.data.moons": lambda: data.moons(10),
    "tutor.data.circles": lambda: data.circles(10),
    "tutor.data.spirals": lambda: data.spirals(10),
    "tutor.data.blobs": lambda: data.blobs(10),
    "tutor.data.sine": lambda: data.sine(10),
    "tutor.data.line": lambda: data.line(10),
    "tutor.data.csv": lambda: table(),
    "tutor.data.Table": lambda: table(),
    "tutor.data.Scaler": lambda: data.Scaler(floats(4, 2))(floats(4, 2)),
    "tutor.data.standardize": lambda: data.standardize(floats(4, 2), floats(3, 2)),
    "tutor.data.train_test_split": lambda: data.train_test_split(floats(6, 2), test_size=2),
    **{
        f"tutor.data.{name}": lambda name=name: getattr(data, name)()(floats(2, 3, 8, 8), seed=1)
        for name in (
            "ElasticTransform",
            "GaussianNoise",
            "RandomAffine",
            "RandomErasing",
            "RandomRotation",
            "RandomHorizontalFlip",
            "RandomShift",
            "RandomVerticalFlip",
            "ToFloat",
        )
    },
    "tutor.data.CenterCrop": lambda: data.CenterCrop(4)(floats(2, 8, 8)),
    "tutor.data.RandomCrop": lambda: data.RandomCrop(4, 1)(floats(2, 8, 8)),
    "tutor.data.Normalize": lambda: data.Normalize(0.5, 2)(floats(2, 8, 8)),
    "tutor.data.Compose": lambda: data.Compose(data.RandomAffine(), data.ElasticTransform())(
        floats(2, 8, 8)
    ),
    "tutor.data.batches": lambda: list(data.batches(floats(6, 2), Tensor([1] * 6), size=2)),
    "tutor.linspace": lambda: tutor.linspace(0, 1, 5),
    "Tensor.linspace": lambda: Tensor.linspace(0, 1, 5),
    "tutor.testing.slope": lambda: testing.slope(lambda x: x * x, [floats(1)], [floats(1)]),
    "tutor.random.permutation": lambda: tutor.random.permutation(4, 1),
    "tutor.random.manual_seed": lambda: tutor.manual_seed(1),
    "tutor.manual_seed": lambda: tutor.manual_seed(1),
    "tutor.random.Stream": lambda: tutor.random.Stream(1).state,
    "tutor.random.Derived": lambda: tutor.random.Derived(1, 2).stream(),
    "tutor.random.permuted": lambda: tutor.random.permuted(4, 1),
    "tutor.random.drawing_from": lambda: tutor.random.drawing_from(
        tutor.random.Stream(1), Tensor.rand, 3
    ),
    "tutor.random.bits": lambda: tutor.random.bits(8, 1, 2),
    "tutor.random.set_state": lambda: tutor.random.set_state(tutor.random.get_state()),
    **{f"Module.{name}": (lambda call=call: call(model())) for name, call in ON_A_MODEL.items()},
    **{f"tutor.nn.{row.name}": partial(by_row, row) for row in TABLE},
    **{f"tutor.nn.{name}": partial(layered, name, *row) for name, row in LAYERS.items()},
    **{
        f"tutor.nn.functional.{name}": (
            lambda name=name, call=call: walked(call(getattr(functional, name)))
        )
        for name, call in FUNCTIONS.items()
    },
    "tutor.nn.TransformerEncoder": lambda: walked(
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 3), 2)(floats(5, 2, 4))
    ),
    "tutor.nn.TransformerDecoder": lambda: walked(
        nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 3), 2)(
            floats(5, 2, 4), floats(3, 2, 4)
        )
    ),
    "Module.load_state_dict": lambda: nn.load_state_dict(model(), nn.state_dict(model())),
    "Module.forward": lambda: model().forward(floats()),
    "Module.parameters": lambda: nn.get_parameters(model()),
    "Module.state_dict": lambda: nn.state_dict(model()),
}
EMPTY = Path(tutor.__file__).with_name("py.typed")
CONSTANTS = ("tutor.Engine", "tutor.engine")  # the one engine of a process


def on_the_arena() -> None:
    before = memory.config()
    memory.configure(policy="arena")
    try:
        start = memory.mark()
        (floats() * 2).sum().backward()
        memory.reset(start)
    finally:
        memory.configure(**before._asdict())


def rewritten(name: str, *given: Any) -> None:
    """Backward through a tensor, and a view of it, after a change in place."""
    x = floats() * 1
    row = x[0]
    getattr(x, name)(*given)
    (x.sum() + row.sum()).backward()


def blocks(context: Any) -> None:
    with context:
        (floats() * 2).sum()


def profiled() -> str:
    with tutor.profile() as p:
        (floats() * 2).sum().backward()
    return str(p)


def differentiated() -> None:
    x = floats()
    (slope,) = tutor.grad((x * x * x).sum(), (x,), create_graph=True)
    tutor.grad(slope.sum(), x)


def hooked() -> None:
    x = floats()
    remove = x.register_hook(lambda g: g * 2)
    (x * x).sum().backward()
    remove()


def resumed() -> None:
    optimizer = stepped(optim.Adam)
    optimizer.load_state_dict(optimizer.state_dict())


def saved() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tutor.save(f"{folder}/x", model=model(), generator=True)
        tutor.load(f"{folder}/x", model=model(), generator=True)


def table() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_text("a,b\n1,x\n2,y\n")
        return data.csv(path, target="b")


def pending() -> Tensor:
    x = floats()
    with tutor.lazy():
        return (x * 2 + 1).exp()


def shared() -> Any:
    x = floats()
    return viz.shared(x, x.T, x[0], names=("x", "x.T", "x[0]"))


def loss(f: Any) -> None:
    f(floats(2, 3), Tensor([0, 2])).backward()


# ---- the test ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def quick_collections() -> Iterator[None]:
    """What was there before is not looked through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@contextlib.contextmanager
def counted() -> Iterator[None]:
    """Memory in use is the same after the block as before it, with the collector switched off."""
    gc.collect()
    gc.disable()
    try:
        before = memory.stats().in_use
        yield
        left = memory.stats().in_use - before
        assert left <= 0, f"{left} bytes wait for the garbage collector"
    finally:
        gc.enable()


def attempts(owner: Any, name: str) -> list[Callable[[], Any]]:
    """Calls of that name, of which one at least ought to work."""
    full = f"{owner.__name__}.{name}"
    if full in ROWS:
        return [ROWS[full]]
    if isinstance(owner, ModuleType) or inspect.ismethod(getattr(owner, name)):
        return [lambda way=way: getattr(owner, name)(*way()) for way in WAYS]
    makers: dict[Any, tuple[Callable[[], Any], ...]] = {
        Tensor: (
            floats, ints, bools, lambda: floats(3), lambda: floats(1, 2, 6, 6),
            lambda: floats(1, 2, 6), lambda: floats(1, 3, 6, 6),
        ),
        tutor.Buffer: (lambda: tutor.Buffer([1.0, 2.0]),),
        optim.Adam: (lambda: stepped(optim.Adam),),
    }  # fmt: skip
    return [
        lambda make=make, way=way: called(getattr(make(), name), way())
        for make in makers.get(owner, ())
        for way in WAYS
    ]


def called(value: Any, arguments: tuple[Any, ...]) -> Any:
    """A method's result; a property is what it is."""
    return value(*arguments) if callable(value) else value


def works(call: Callable[[], Any]) -> bool:
    """Whether the call works; its result, and a gradient through it, are let go of."""
    try:
        result = call()
        if isinstance(result, Tensor) and result.requires_grad and result.numel():
            result.sum().backward()
        elif isinstance(result, Iterator):
            list(result)
    except (TutorError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError):
        return False
    return True


@pytest.mark.parametrize(
    ("owner", "name"), PUBLIC, ids=[f"{owner.__name__}.{name}" for owner, name in PUBLIC]
)
def test_no_call_leaves_a_cycle_behind(owner: Any, name: str, capsys: Any) -> None:
    if f"{owner.__name__}.{name}" in CONSTANTS:
        return
    calls = attempts(owner, name)
    worked = [works(call) for call in calls]  # caches are filled
    assert any(worked), f"add a row: how is {owner.__name__}.{name} called?"
    state = tutor.random.get_state()
    with counted():
        for call in calls:
            works(call)
    tutor.random.set_state(state)


LINES = [block.partition("\n")[0] for block in BLOCKS]


@pytest.mark.parametrize("line", LINES)
def test_no_error_leaves_a_cycle_behind(line: str) -> None:
    """Its traceback holds the frames, and these the tensors. Each line is a mistake."""

    def fail() -> None:
        names = {"tutor": tutor, "Tensor": Tensor, "big": floats(100)}
        with contextlib.suppress(TutorError):
            exec(line, names)
        names.clear()  # a function of the line knows these names: a cycle of its own making

    fail()
    with counted():
        fail()


def test_sixty_prints_need_no_more_memory_than_one() -> None:
    with counted():
        memory.reset_peak()
        for _ in range(60):
            x = Tensor.zeros(1000, 1000)
            assert repr(x * x).startswith("Tensor([[0., 0., 0., ...")
            del x
        assert memory.stats().peak < memory.stats().in_use + 3 * 4_000_000
