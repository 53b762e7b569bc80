"""The shape of the code base: who may import whom, how long a file may be, what is optional."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import copies
import pytest
import trunk

import course
import tutor
from tutor._util import lazy_imports
from tutor.backends.signatures import SIGNATURES

PACKAGE = Path(tutor.__file__).parent
COURSE = Path(course.__file__).parent
FILES = sorted([*PACKAGE.rglob("*.py"), *COURSE.rglob("*.py")])
MOST_ARROWS = 6.0  # of a module, on average
OPTIONAL = ("numpy", "matplotlib", "safetensors", "tqdm", "IPython", "nbformat", "nbclient",
            "einops", "onnx", "onnxruntime")  # fmt: skip

# The house, from the ground up. A room is a folder of tutor/ or a module beside them; it may import
# from its own floor and from those below. "" is `tutor` itself, which opens all doors.
FLOORS = (
    ("errors", "dtype", "_util", "_storage"),
    ("memory", "backends"),
    ("core",),
    ("random", "methods"),
    ("ops",),
    ("functions",),
    ("array_api", "autograd", "einops", "interop", "linalg"),
    ("amp", "data", "nn", "optim", "profiler", "programs", "testing", "viz"),
    ("distributed", "onnx", "training"),
    ("",),
    ("course", "lesson", "torch"),
    ("doctor",),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
BOXES = ("buffer", "tensor", "op", "engine")  # each stands on those before it


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def room(module: str) -> str:
    """`_storage` of tutor._storage.layout, `course` of course.judge."""
    package, _, inner = module.partition(".")
    return inner.partition(".")[0] if package == "tutor" else package


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache  # most files are asked for by several tests
def imports(path: Path) -> list[tuple[str, bool]]:
    """What a file imports, wherever in it, and whether as soon as it is imported itself."""
    tree = tree_of(path)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, at_once: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full, from tutor..."
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append((inner if inner in MODULES else str(node.module), at_once))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            words = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            found.extend((word, False) for word in words if word in MODULES)
        for child in ast.iter_child_nodes(node):
            visit(child, at_once and not isinstance(node, functions))

    visit(tree, True)
    return found


@functools.cache
def arrows() -> dict[str, set[str]]:
    """By module, those of ours that it imports. (No constant: all processes that share the tests
    collect them, and one of them runs these.)"""
    return {
        module: {name for name, _ in imports(path) if name in MODULES and name != module}
        for module, path in MODULES.items()
    }


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    for name in arrows()[module]:
        assert FLOOR[room(name)] <= FLOOR[room(module)], f"{module} imports {name}, a floor above"


def test_every_room_has_its_floor_and_every_floor_its_rooms() -> None:
    assert {room(module) for module in MODULES} == set(FLOOR)


def test_the_page_on_the_architecture_has_these_floors() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| floor | rooms |")[2].partition("\n\n")[0]
    floors: list[set[str]] = []
    for row in table.splitlines()[2:]:
        _, name, rooms, *_ = (cell.strip() for cell in row.split("|"))
        if name:
            floors.append(set())
        floors[-1] |= {"" if each == "tutor" else each for each in re.findall(r"`(\w+)`", rooms)}
    assert floors == [{*rooms} for rooms in reversed(FLOORS)]


@pytest.mark.parametrize("module", [module for module in MODULES if room(module) == "core"])
def test_a_box_stands_on_those_before_it(module: str) -> None:
    boxes = ["", *BOXES]
    box = (module.split(".") + [""])[2]
    below = {(name.split(".") + [""])[2] for name in arrows()[module] if room(name) == "core"}
    assert not box or all(boxes.index(other) <= boxes.index(box) for other in below), below


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A way along the arrows that ends where it began; none where there is no such way."""
    done: set[str] = set()
    for start in arrows:
        way, branches = [start], [iter(sorted(arrows[start]))]
        while way:
            step = next((name for name in branches[-1] if name not in done), None)
            if step is None:
                done.add(way.pop())
                branches.pop()
            elif step in way:
                return [*way[way.index(step) :], step]
            else:
                way.append(step)
                branches.append(iter(sorted(arrows[step])))
    return []


def test_no_import_comes_back_to_where_it_began() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert not circle(arrows()), "a circle of imports"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_nothing_is_there_for_type_checkers_alone(path: Path) -> None:
    """An import that only they see is an arrow, too: mostly one that points up."""
    names = {node.id for node in ast.walk(tree_of(path)) if hasattr(node, "id")}
    assert "TYPE_CHECKING" not in names


def test_there_are_few_arrows() -> None:
    """Each is something that a reader has to look up. The course is not counted."""
    counts = [len(names) for module, names in arrows().items() if room(module) != "course"]
    few = sum(counts) / len(counts)
    assert few <= MOST_ARROWS, f"a module imports {few:.2f} others on average, {sum(counts)} in all"


def test_the_registry_knows_no_backend_and_no_backend_the_core() -> None:
    for module, path in MODULES.items():
        names = {name for name, _ in imports(path)}
        if module.startswith("tutor.backends"):
            assert not any(name.startswith(("tutor.core", "tutor.ops")) for name in names), module
        if module == "tutor.backends.registry":
            assert not any("python_ref" in name or "simd_cpp" in name for name in names)
        if module.startswith("tutor.backends.simd_cpp"):
            assert not any("python_ref" in name for name in names)


@pytest.mark.parametrize("module", MODULES)
def test_optional_packages_are_imported_where_they_are_used(module: str) -> None:
    at_once = {name.split(".")[0] for name, now in imports(MODULES[module]) if now}
    registered = {"einops"} if module == "tutor.einops" else set()  # that import is what it is for
    assert at_once & set(OPTIONAL) == registered


def test_nothing_else_goes_by_the_name_of_tensor() -> None:
    """TensorBase and AnyTensor are written out: who reads `Tensor` knows which class it is."""
    aliases = [
        f"{path.relative_to(PACKAGE)}: {name.name}"
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname == "Tensor"
    ]
    assert not aliases


# ---- the fence around the trunk ------------------------------------------------------------------

TRUNK = 13_562  # lines at most; the aim is 11,000


def leaves(module: str) -> set[str]:
    """Modules outside of the trunk that `module` imports, or names in a string for importlib."""
    found = set(arrows()[module])
    for node in ast.walk(tree_of(MODULES[module])):
        if isinstance(node, ast.Constant) and str(node.value).startswith("tutor."):
            words = str(node.value).split(".")  # the module that it is, or is in
            names = (".".join(words[:count]) for count in range(len(words), 1, -1))
            found |= {*[name for name in names if name in MODULES][:1]}
    return {name for name in found if not trunk.is_trunk(name.partition(".")[2])}


@pytest.mark.parametrize("path", trunk.files(), ids=trunk.module_of)
def test_the_trunk_does_not_know_what_stands_on_it(path: Path) -> None:
    """It asks that by its hooks: tests/util/test_hooks.py."""
    assert not leaves(module_of(path))


def test_each_module_that_the_trunk_names_is_there() -> None:
    listed = {*trunk.MODULES, *trunk.ROOMS, *trunk.OUTSIDE}
    assert {f"tutor.{name}" for name in listed} <= {*MODULES}


def test_the_trunk_does_not_grow() -> None:
    assert trunk.lines(trunk.files()) <= TRUNK


# ---- what keeps it readable ----------------------------------------------------------------------


def length(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_the_core_is_four_boxes() -> None:
    """A box is a file, or a folder."""
    boxes = {path.stem for path in (PACKAGE / "core").iterdir() if path.name != "__pycache__"}
    assert boxes == {"__init__", *BOXES}


# Where Buffer, TensorBase, Op and Engine are: what a reader of the boxes reads first.
MAIN = ("buffer/__init__", "tensor", "op/__init__", "engine/__init__", "engine/forward",
        "engine/backward")  # fmt: skip


def test_the_four_boxes_are_under_1000_lines() -> None:
    assert sum(length(PACKAGE / f"core/{name}.py") for name in MAIN) < 1000


def test_python_ref_has_about_ten_lines_for_each_kernel() -> None:
    """One with several results counts as so many, and the two of attention, each of several
    products with a softmax between, as two more; the gradients of recurrent layers, which walk
    back, as one more each. `fused` stands in backends/chains.py."""
    lines = sum(length(path) for path in (PACKAGE / "backends/python_ref").glob("*.py"))
    rows = [row for row in SIGNATURES.values() if row.name != "fused"]
    assert lines < 10 * (sum(row.results for row in rows) + 8)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_no_file_is_over_350_lines(path: Path) -> None:
    """Apart from a learner's whole library, which is generated, and from the texts of exercises."""
    assert length(path) <= 350 or path.parent.name in ("built", "exercises")


# ---- what is optional ----------------------------------------------------------------------------


def python(code: str, **variables: str) -> str:
    """What a fresh interpreter prints. `block(*names)` makes these modules impossible to import."""
    prelude = "import sys\ndef block(*names):\n    for name in names: sys.modules[name] = None\n"
    result = subprocess.run(
        [sys.executable, "-c", prelude + code],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize("name", OPTIONAL)
def test_import_tutor_leaves_optional_packages_alone(name: str) -> None:
    code = f"import tutor, tutor.nn, tutor.optim, tutor.testing; print({name!r} in sys.modules)"
    assert python(code) == "False"


# What `import tutor` may load: of its own rooms these, and of Python's what is listed, beside what
# Python itself has loaded and what `typing` brings. A new room, or a costly module, is loaded when
# it is first used: by a row in PLACES of tutor/__init__.py, or by an import inside of the function.
AT_ONCE = {"_storage", "_util", "backends", "core", "dtype", "errors", "functions", "memory",
           "methods", "ops", "random"}  # fmt: skip
LATER = {"tutor.backends.python_ref", "tutor.backends.costs", "tutor.methods.dlpack"}
OF_PYTHON = {"__future__", "array", "contextvars", "ctypes", "gc", "importlib", "math", "struct",
             "weakref", "zlib"}  # fmt: skip
OF_TYPING = {"collections", "copyreg", "enum", "functools", "genericpath", "os", "posixpath", "re",
             "stat", "warnings"}  # fmt: skip


def loaded(code: str, **variables: str) -> set[str]:
    """What `code` loads that `import typing` does not."""
    code = f"import typing; before = {{*sys.modules}}; {code}; print(*{{*sys.modules}} - before)"
    return {*python(code, **variables).split()}


def test_import_tutor_loads_little() -> None:
    modules = loaded("import tutor", TUTOR_DEBUG="", TUTOR_IMPORT="", TUTOR_BACKEND="")
    rooms = {room(name) for name in modules if name.startswith("tutor.")}
    assert rooms == AT_ONCE
    assert not {name for name in modules if any((name + ".").startswith(f"{x}.") for x in LATER)}
    others = {name.partition(".")[0] for name in modules if not name.startswith("tutor")}
    private = {name for name in others if name.startswith("_")} - OF_PYTHON  # their parts in C
    assert others - private <= OF_PYTHON | OF_TYPING


def test_what_is_loaded_later_is_there_when_it_is_asked_for() -> None:
    """Each public name by itself, in any order, and all of them at once by TUTOR_IMPORT=all."""
    names = sorted({*tutor.__all__} & {*lazy_imports.PLACES})
    assert {"jit", "lazy", "nn", "optim", "profile", "viz"} <= {*names}
    code = "x = getattr(tutor, name); print(x is getattr(tutor, name) is vars(tutor)[name])"
    assert copies.printed(code, names) == dict.fromkeys(names, "True")
    alone = f"import tutor; print(sorted({{*{names}}} - vars(tutor).keys()))"
    assert python(alone, TUTOR_IMPORT="all") == "[]"
    assert python(alone) == str(names)
    other = f"[n for n in {names} if vars(tutor)[n] is not tutor.__getattr__(n)]"
    assert python(f"import tutor; print({other})", TUTOR_IMPORT="all") == "[]"


def test_python_ref_is_a_backend_before_it_is_loaded() -> None:
    code = "import tutor; tutor.set_backend('python'); print((tutor.ones(2) + 1).tolist())"
    assert python(code) == "[2.0, 2.0]"


TRAIN = """
import course
import tutor
from tutor.backends.signatures import SIGNATURES
from tutor._util import lazy_imports
from tutor import Tensor, nn, optim
tutor.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
x, y = Tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]]), Tensor([0, 1, 1, 0])
adam = optim.Adam(nn.get_parameters(model), lr=0.05)
for _ in range(100):
    loss = model(x).cross_entropy(y)
    adam.zero_grad(); loss.backward(); adam.step()
from tutor._storage import memory
from tutor.backends import registry
print(registry.current(), memory.Memory.__name__, loss.item() < 0.1)
"""


def test_python_ref_needs_neither_numpy_nor_the_extension() -> None:
    block = f"block({', '.join(map(repr, OPTIONAL))}, 'tutor.backends.simd_cpp._simd')\n"
    assert python(block + TRAIN, TUTOR_BACKEND="") == "python_ref PythonMemory True"


def test_an_array_without_numpy_is_an_error_that_says_how_to_get_it() -> None:
    code = (
        "block('numpy')\nfrom tutor import Tensor\nfrom tutor.errors import MissingPackageError\n"
        "try: Tensor([1.0]).numpy()\n"
        "except ImportError as error: print(isinstance(error, MissingPackageError), error)"
    )
    said = python(code)
    assert said.startswith("True asked: ")
    assert 'pip install "tutorgrad[train]"' in said


def test_an_onnx_file_without_its_package_is_an_error_that_says_how_to_get_it() -> None:
    code = (
        "block('onnx')\nimport tutor\nfrom tutor.errors import MissingPackageError\n"
        "x = tutor.ones(1)\n"
        "for f in (lambda: tutor.onnx.load('f'), lambda: tutor.onnx.export(abs, x, 'f')):\n"
        "    try: f()\n"
        "    except ImportError as error: print(isinstance(error, MissingPackageError), error)"
    )
    assert python(code).count('pip install "tutorgrad[onnx]"') == 2


def test_training_needs_no_package(tmp_path: Path) -> None:
    block = f"block({', '.join(map(repr, OPTIONAL))}, 'tutor.backends.simd_cpp._simd')\n"
    args = ["--data", "digits", "--limit", "20", "--hidden", "4", "--epochs", "1"]
    run = f"import train_mnist\nsys.exit(train_mnist.main({[*args, '--out', str(tmp_path)]!r}))"
    assert "wrote " in python(block + run, TUTOR_BACKEND="")
    resume = ["--resume", str(tmp_path / "checkpoint.safetensors"), "--epochs", "2"]
    run = f"import train_mnist\nsys.exit(train_mnist.main({resume!r}))"
    assert "epoch 2: " in python(block + run, TUTOR_BACKEND="")


def test_python_ref_agrees_with_itself_without_the_extension() -> None:
    code = (
        "block('numpy', 'tutor.backends.simd_cpp._simd')\n"
        "from tutor.__main__ import main\n"
        "sys.exit(main(['conformance', 'python', '--kernel', 'matmul', '--kernel', 'cast']))"
    )
    assert "agrees" in python(code)
