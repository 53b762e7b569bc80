"""What a type checker knows of tutor: the public surface speaks of Tensors, and of no Any."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import FunctionType

import pytest

import tutor
import tutor.array_api
import tutor.data
import tutor.functions.custom
import tutor.linalg
import tutor.nn
import tutor.optim
import tutor.testing
import tutor.viz
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it

api = pytest.importorskip("mypy.api")

ROOT = Path(__file__).parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]

PROGRAM = """\
from typing import Any, assert_type
import array
import tutor
from tutor import Tensor, data, nn, optim
from tutor.core.op import Op
from tutor.nn import functional as F

x, w = Tensor([[1.0, 2.0]], requires_grad=True), Tensor.ones(2, 3)

# what a Tensor is made of
Tensor([[1, 2], [3, 4]]); Tensor((1.0, True)); Tensor(range(3)); Tensor(array.array("f", [1.0]))
Tensor([x, w[0]]); Tensor(3, dtype="float64"); Tensor(3, dtype=float); Tensor(3, dtype=tutor.int8)
assert_type(Tensor.zeros(2), Tensor)
assert_type(Tensor.zeros((2, 3), requires_grad=True), Tensor)
assert_type(Tensor.zeros_like(x, dtype="int8"), Tensor)
assert_type(Tensor.full((2, 3), 1.5), Tensor)
assert_type(Tensor.arange(0, 5), Tensor)
assert_type(Tensor.randn(2, 3, dtype="float64"), Tensor)
assert_type(tutor.bernoulli([0.5, 0.5]), Tensor)
assert_type(tutor.randint(0, 6, (2, 3)), Tensor)
assert_type(tutor.tensor([1.0], dtype=tutor.float), Tensor)
assert_type(tutor.autograd.grad(x.sum(), x), tuple[Tensor | None, ...])

# operators
assert_type(x + 1, Tensor)
assert_type(2 * x, Tensor)
assert_type([1.0, 2.0] - x, Tensor)
assert_type(-x, Tensor)
assert_type(x @ w, Tensor)
assert_type(x**2 / 3 // 2 % 2, Tensor)
assert_type(x < 2, Tensor)
assert_type(x == 2, Tensor)
assert_type(x != w, Tensor)
assert_type(x[0], Tensor)
assert_type(x[0, ..., None, ::2], Tensor)
assert_type(x[x > 1], Tensor)
assert_type(x[[0, 0]], Tensor)
assert_type(len(x), int)
assert_type([row for row in x], list[Tensor])
x.detach()[0] = 1.0
x.detach()[:, 1] = [2.0]
y = x.detach()
y += 1
assert_type(y, Tensor)

# methods and attributes
assert_type(x.sum(axis=0), Tensor)
assert_type(x.sum((0, 1), keepdims=True), Tensor)
assert_type(x.max(axis=1), Tensor)
assert_type(x.exp().relu(), Tensor)
assert_type(x.T, Tensor)
assert_type(x.grad, Tensor | None)
assert_type(x.shape, tuple[int, ...])
assert_type(x.ndim, int)
assert_type(x.requires_grad, bool)
assert_type(x.reshape(2, -1), Tensor)
assert_type(x.reshape((2, -1)).permute(1, 0).expand(2, 2), Tensor)
assert_type(x.where(1.0, [2.0]), Tensor)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(x.topk(1), tuple[Tensor, Tensor])
assert_type(x.allclose([1.0, 2.0]), bool)
assert_type(x.cast("float64").add_(1.0), Tensor)
assert_type(x.is_floating_point(), bool)

# functions
assert_type(tutor.sqrt(x), Tensor)
assert_type(tutor.sqrt([1.0, 4.0]), Tensor)
assert_type(tutor.maximum(x, 2), Tensor)
assert_type(tutor.sum(x, axis=0), Tensor)
assert_type(tutor.stack([x, x]), Tensor)
assert_type(tutor.cat([x, x], axis=1), Tensor)
assert_type(tutor.einsum("ij,jk->ik", x, w), Tensor)

# gradients
loss = (x @ w).sum()
assert_type(loss.backward(), None)
assert_type(tutor.grad(loss, x), Tensor)
assert_type(tutor.grad(loss, (x,)), tuple[Tensor, ...])
assert_type(tutor.grad(loss, [x, w]), tuple[Tensor, ...])
assert_type(tutor.grad(loss, x, allow_unused=True), Tensor | None)


class Cube(Op):
    saves = ("x",)

    def forward(self, x: Tensor) -> Tensor:
        return x * x * x

    def backward(self, g: Tensor, x: Tensor) -> Tensor:
        return g * 3 * x * x


assert_type(tutor.apply("cube", x), Tensor)
assert_type(tutor.apply("sub", 1.0, x), Tensor)
cubed: Tensor = Cube(x).apply()


@tutor.no_grad()
def halved(t: Tensor) -> Tensor:
    return t / 2


assert_type(halved(x), Tensor)


# models, losses, optimizers
class Model(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).relu()


model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), Model(), tutor.sqrt, lambda t: t * 2)
assert_type(nn.Linear(2, 3)(x), Tensor)
assert_type(nn.Conv2d(1, 2, 3, padding="same")(x), Tensor)
assert_type(nn.MaxPool2d(2)(x), Tensor)
assert_type(nn.Flatten()(x), Tensor)
assert_type(Model()(x), Tensor)
assert_type(model(x), Tensor)
assert_type(model.parameters(), list[Tensor])
assert_type(nn.get_parameters(model), list[Tensor])
assert_type(F.mse_loss(model(x), [[1.0, 2.0, 3.0]]), Tensor)
assert_type(F.cross_entropy(model(x), Tensor([1]), label_smoothing=0.1), Tensor)
assert_type(F.relu(x), Tensor)
assert_type(F.conv2d(x, w, stride=(1, 2)), Tensor)
adam = optim.Adam(model.parameters(), lr=0.01)
assert_type(adam.step(), None)
assert_type(adam.step(lambda: 3.0), float)
assert_type(optim.clip_grad_norm_(adam.params, 1.0), Tensor)
assert_type(optim.lr_scheduler.StepLR(adam, 10).get_last_lr(), list[float])
with tutor.autocast("bfloat16"):
    assert_type(tutor.amp.GradScaler().scale(loss), Tensor)
assert_type(tutor.checkpoint(model, x), Tensor)
assert_type(adam.params, list[Tensor])

# data
digits = data.load("digits", limit=10)
assert_type(digits.train_images, Tensor)
for images, labels in data.batches(digits.train_images, digits.train_labels, size=5):
    assert_type((images, labels), tuple[Tensor, Tensor])
loader = data.DataLoader((images, labels), 2, shuffle=True, prefetch=2)
assert_type(len(loader), int)
assert_type(data.TensorDataset(images)[0], tuple[Tensor, ...])
text = data.load_text("grammar", limit=500)
assert_type(text, data.Text)
assert_type((text.train, text.entropy), tuple[str, float | None])
assert_type(data.grammar_nats(data.grammar(100)), float)
"""

MISTAKES = {  # what must not pass: each with the words of the error
    "x.sum(3, 4, 5)": "Too many positional arguments",
    "x.exp(1)": "Too many arguments",
    "x + None": "incompatible type",
    "x.relu().item().no_such": "no attribute",
    "x.no_such()": "no attribute",
    "Tensor(None)": "incompatible type",
    "Tensor.zeros(2, requires_grad=1.5)": "incompatible type",
    "x.reshape('two')": "incompatible type",
    "tutor.sqrt(x, 2)": "Too many arguments",
    "tutor.grad(loss, 3)": "No overload variant",
    "nn.Linear('2', 3)": "incompatible type",
    "nn.Sequential(3)": "incompatible type",
    "model(x).no_such": "no attribute",
    "F.mse_loss(x, None)": "incompatible type",
    "optim.SGD(x, learning_rate=1)": "Unexpected keyword",
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What mypy, strict, says of PROGRAM with all MISTAKES after it, by line. What it has found of
    tutor is kept where `make lint` keeps it: finding it again takes half a minute."""
    folder = tmp_path_factory.mktemp("types")
    program = folder / "program.py"
    program.write_text(PROGRAM + "\n".join(MISTAKES))
    said, trouble, _ = api.run(
        [str(program), "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary",
         "--cache-dir", str(ROOT / ".mypy_cache"), "--hide-error-context"]
    )  # fmt: skip
    assert not trouble
    found: dict[int, str] = {}
    for line in said.splitlines():
        match = re.fullmatch(r".*program\.py:(\d+): error: (.*)", line)
        if match:
            found.setdefault(int(match[1]), match[2])
        else:  # nothing is wrong elsewhere
            assert "error:" not in line, line
    return found


FIRST = PROGRAM.count("\n") + 1


def test_what_is_right_has_the_types_that_it_should(errors: dict[int, str]) -> None:
    lines = PROGRAM.splitlines()
    wrong = [f"{lines[n - 1]}: {said}" for n, said in errors.items() if n < FIRST]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("at", range(len(MISTAKES)), ids=list(MISTAKES))
def test_a_mistake_is_an_error(errors: dict[int, str], at: int) -> None:
    assert list(MISTAKES.values())[at] in errors.get(FIRST + at, "no error")


# ---- what is public ------------------------------------------------------------------------------

MODULES = (tutor, tutor.nn, F, tutor.optim, tutor.data, tutor.testing, tutor.viz, tutor.array_api,
           tutor.functions.custom, tutor.linalg)  # fmt: skip

# Where a public function may say Any: it is no Tensor, or not for certain.
NO_TENSOR = {
    "apply params", "Op.* inputs", "Op.* params", "Op.backward saved",
    # Tensors, whose class is built on the Engine; what `apply` gives, its overloads say
    "Forward.run return", "apply return", "Op.apply return", "Op.forward return", "Op.backward g",
    "*.record out", "Op.settle return", "Op.finish *", "Op.inputs return", "Op.wrong_dtype *",
    "*.call params", "Function.apply params",  # a subclass names its own, of any kind
    # bool, int or float, as the dtype says
    "Buffer.__getitem__ return", "Buffer.__iter__ return", "Buffer.tolist return",
    "Tensor.tolist return",  # a number, or lists as deep as there are axes
    "Tensor.numpy return",  # of a package that may be missing
    "Tensor.from_dlpack x", "from_dlpack x", "Tensor.to_device stream",  # any library's
    "Tensor.__array_namespace__ return", "Tensor.__array__ *", "Tensor.__array_ufunc__ *",
    "Tensor.__array_function__ *", "Tensor.__reduce_ex__ *", "Buffer.__reduce__ return",
    "Tensor.__dlpack__ *", "Operators.__eq__ *", "Operators.__ne__ *",  # as protocols have it
    "use_backend.__call__ *", "set_grad_enabled.__call__ *",  # decorators
    "Module.* inputs", "Module.__call__ options",  # what forward takes
    "Module.modules return", "Module.named_modules return",  # any object may be
    "Module.children return", "Module.named_children return", "Module.get_submodule return",  # a
    "Module.add_module module", "Module.apply fn", "named_modules return", "ModuleDict.* *",  # part
    "ModuleList.__init__ modules", "Sequential.__getitem__ return",
    "Row.* *", "ParameterList.checked *",  # of a model
    "Buffer.over memory",  # a Memory, or the promise of one
    # they find out whether it is a number
    "Limit.checked *", "*.__setattr__ value",
    "Optimizer.__new__ *", "Optimizer.__getattr__ return",  # settings
    "Step.__getattr__ return",  # its annotations say what each is
    "Optimizer.defaults return", "Optimizer.state_dict return", "LBFGS.state_dict return",
    "*.load_state_dict state",
    "*.add_param_group param_group", "Group.__*item__ *",  # Tensors, and settings
    "checkpoint inputs", "checkpoint params",  # what the function takes
    "graph *", "walk *",  # a Tensor, or an object of a class of the reader's own
    "jit function", "jit return", "program p",  # any function; a Program of its floor, or above
    "__getattr__ return",  # a module
    "save parts", "save state", "load parts", "load return",  # Tensors, and what JSON knows
    "scatter points", "scatter lines",  # by name, or alone
    # samples and batches, of any kind: what the user's data set is made of
    "collate *", "*Dataset.* *", "Subset.* *", "random_split dataset", "DataLoader.* *",
    "standardize return",  # Tensors, and the Scaler

    "isdtype kind", "result_type arrays_and_dtypes", "tensordot axes",
    "__array_namespace_info__.* *",  # as the standard has it
}  # fmt: skip


def public(owner: object, prefix: str, seen: set[object]) -> Iterator[tuple[str, FunctionType]]:
    """The public functions of a module, and the methods of its public classes."""
    for name in getattr(owner, "__all__", ()) if owner is tutor else ():
        getattr(owner, name)  # some are loaded when they are first asked for
    for name, found in list(vars(owner).items()):
        if name.startswith("_") and not name.endswith("__"):
            continue
        found = getattr(found, "__func__", getattr(found, "fget", found))
        if isinstance(found, FunctionType):
            found = inspect.unwrap(found)
            if found.__module__.startswith("tutor.") and found not in seen:
                seen.add(found)
                yield prefix + name, found
        elif isinstance(found, type) and not prefix:
            for kind in found.__mro__:
                if kind.__module__.startswith("tutor.") and kind not in seen:
                    seen.add(kind)
                    yield from public(kind, f"{kind.__name__}.", seen)


def test_no_public_function_says_any_where_a_tensor_is_meant() -> None:
    seen: set[object] = set()
    functions = [item for module in MODULES for item in public(module, "", seen)]
    assert len(functions) > 500
    said = [
        f"{name} {part}"
        for name, function in functions
        for part, words in inspect.get_annotations(function).items()
        if re.search(r"\bAny\b", str(words))
    ]
    untyped = [
        name
        for name, function in functions
        if "return" not in function.__annotations__ and function.__code__.co_name != "<lambda>"
    ]
    beyond = [at for at in said if not any(fnmatchcase(at, known) for known in NO_TENSOR)]
    assert not beyond and not untyped, (beyond, untyped)
    twin = (
        {"apply params", "apply return"} if inspect.isbuiltin(tutor.apply) else set()
    )  # it is written in C++
    used = NO_TENSOR - twin
    unused = [known for known in used if not any(fnmatchcase(at, known) for at in said)]
    assert not unused, f"these say no Any any more: {unused}"


def test_every_module_is_checked() -> None:
    """mypy looks at the whole package, but for the solutions: they are part of a chapter's text."""
    assert CONFIG["strict"] is True
    assert {"tutor", "course", "benchmarks", "train_mnist.py"} <= set(CONFIG["files"])
    left_out = [
        path
        for folder in ("tutor", "course", "benchmarks")
        for path in ROOT.glob(f"{folder}/**/*.py")
        if any(
            re.search(pattern, path.relative_to(ROOT).as_posix()) for pattern in CONFIG["exclude"]
        )
    ]
    assert set(left_out) == set(ROOT.glob("course/solutions/*.py"))
    for override in CONFIG["overrides"]:
        assert not override.get("ignore_errors"), override
