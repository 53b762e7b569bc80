"""The shape of the code base: who may import whom, how long a file may be, what is optional."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import course
import tutor
from tutor.backends.signatures import SIGNATURES

PACKAGE = Path(tutor.__file__).parent
COURSE = Path(course.__file__).parent
FILES = sorted([*PACKAGE.rglob("*.py"), *COURSE.rglob("*.py")])
OPTIONAL = ("numpy", "matplotlib", "safetensors", "tqdm", "IPython", "nbformat", "nbclient",
            "einops")  # fmt: skip

# A module may import from its own line and from the lines before it; modules of one package are
# written with a dot behind it. Longer names count first: tutor.core.op before tutor.core.
ORDER = (
    ("errors",),
    ("dtype", "ground.spelling", "ground.typing"),
    ("ground", "exchange", "watching"),  # these files hold a line each
    ("backends.memory",),
    (
        "ground.atomic",
        "ground.bits",
        "ground.blocks",
        "methods.dlpack",
        "ground.files",
        "ground.interpreter",
        "ground.keys",
        "ground.layout",
        "ground.literals",
    ),
    ("ground.checks", "methods.printing", "ground.recording", "ground.refusals"),
    ("backends.signatures",),
    ("backends.forms",),
    ("backends.registry",),
    ("backends.step",),
    ("backends.simd_cpp",),
    ("ground.border", "memory"),
    ("watching.debug",),
    ("backends.python_ref",),
    ("backends.cases",),
    ("backends.conformance", "backends"),
    ("ground.arithmetic", "ground.catalogue"),
    ("core.buffer",),
    ("core.op",),
    ("core.engine",),
    ("functions.gradients", "random"),
    ("methods.create", "methods.interop", "methods.selection", "methods.windows"),
    ("methods",),
    ("core.tensor",),
    ("core", "ops"),
    ("functions.einsum", "exchange.array_info", "functions.sets", "functions.sampling"),
    ("functions",),
    ("array_api", "functions.custom", "watching.profiler", "nn", "optim", "data", "viz", "testing"),
    ("exchange.numpy_functions", "einops"),
    ("exchange.numpy_protocol",),
    ("linalg",),
    ("",),
    ("course",),
    ("__main__",),
)
RANK = {
    name if name == "course" else f"tutor.{name}".rstrip("."): rank
    for rank, names in enumerate(ORDER)
    for name in names
}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def rank(module: str) -> int:
    """The line of ORDER that a module stands on. `tutor` itself is above all others."""
    name = module
    while name not in RANK:
        name = name.rpartition(".")[0]
    return RANK[name] if name != "tutor" or module == "tutor" else len(ORDER)


def imports(path: Path) -> list[tuple[str, bool]]:
    """What a file imports, and whether it does so as soon as it is imported itself."""
    tree = ast.parse(path.read_text())
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
        typing_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not typing_only:
            for child in ast.iter_child_nodes(node):
                visit(child, at_once and not isinstance(node, functions))

    visit(tree, True)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    for name, _ in imports(MODULES[module]):
        if name.split(".")[0] in ("tutor", "course") and not (name + ".").startswith(module + "."):
            assert rank(name) <= rank(module), f"{module} imports {name}, which is built on it"


def test_every_module_has_its_place() -> None:
    unplaced = [module for module in MODULES if rank(module) == len(ORDER)]
    assert not unplaced, "add a line to ORDER for these"


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


# ---- what keeps it readable ----------------------------------------------------------------------


def length(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_the_core_is_four_boxes() -> None:
    """A box is a file, or a folder."""
    boxes = {path.stem for path in (PACKAGE / "core").iterdir() if path.name != "__pycache__"}
    assert boxes == {"__init__", "buffer", "tensor", "op", "engine"}


def test_the_four_boxes_are_under_1000_lines() -> None:
    assert sum(length(path) for path in (PACKAGE / "core").rglob("*.py")) < 1000


def test_python_ref_has_about_ten_lines_for_each_kernel() -> None:
    lines = sum(length(path) for path in (PACKAGE / "backends/python_ref").glob("*.py"))
    assert lines < 10 * (len(SIGNATURES) + 1)


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


TRAIN = """
import course
import tutor
from tutor.backends.signatures import SIGNATURES
from tutor import Tensor, nn, optim
tutor.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
x, y = Tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]]), Tensor([0, 1, 1, 0])
adam = optim.Adam(nn.get_parameters(model), lr=0.05)
for _ in range(100):
    loss = model(x).cross_entropy(y)
    adam.zero_grad(); loss.backward(); adam.step()
from tutor.backends import memory, registry
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
