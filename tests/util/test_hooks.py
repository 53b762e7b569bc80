"""The trunk works alone, and four hooks are the only places where it calls what stands on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import CellType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import pytest
import trunk

import tutor
from tutor._util.hooks import Hook
from tutor.backends import registry
from tutor.backends.signatures import OTHERS
from tutor.core.op import OPS

ROOT = Path(tutor.__file__).parents[1]
READABLE = {"TUTOR_NATIVE": "0", "TUTOR_BACKEND": "python_ref"}
HOOKS = {
    "steps": "backends.step",
    "memory": "_storage.device_memory",
    "ops": "core.op.catalogue",
    "reads": "_storage.bounds_checks",
}  # name on the page: the module where it stands


def run(code: str, path: Path, *options: str, **variables: str) -> str:
    """What a fresh interpreter prints, in which `tutor` is that below `path`. (An editable install
    would be found before it: the option -S leaves out all that is installed.)"""
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**os.environ, "PYTHONPATH": str(path), **variables},
        cwd=path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- the trunk works alone -----------------------------------------------------------------------

DOORS = """
from tutor import ops
from tutor.backends import python_ref, registry
from tutor.methods.tensor import Tensor
from tutor.random import manual_seed

registry.register_loader("python_ref", python_ref.table)
"""
EXCLUSIVE_OR = """
import sys, tutor
from tutor import Tensor
from tutor.backends.step import watch
from tutor.errors import TutorError

tutor.manual_seed(0)
x, y = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), Tensor([0, 1, 1, 0])
shapes = (2, 8), (8,), (8, 2), (2,)
w, b, v, c = parameters = [(Tensor.rand(*s) - 0.5).requires_grad_() for s in shapes]
for _ in range(200):
    loss = ((x @ w + b).relu() @ v + c).cross_entropy(y)
    for p in parameters:
        p.grad = None
    loss.backward()
    for p in parameters:
        p.buf.data -= 0.5 * p.grad.buf.data
print(loss.item() < 0.05, x.to("cpu") is x, str(x[1]), (x + 1).op)
seen = []
with watch(lambda step, go: (go(), seen.append(step))):
    x + x
for asked in (lambda: x.to("opencl"), lambda: seen[0].nbytes, x.numpy):
    try:
        asked()
    except TutorError as error:
        print(error.found)
"""


def test_the_trunk_trains_alone(tmp_path: Path) -> None:
    for file in trunk.files():
        to = tmp_path / "tutor" / file.relative_to(trunk.PACKAGE)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    (tmp_path / "tutor" / "__init__.py").write_text(DOORS, encoding="utf-8")
    said = run(EXCLUSIVE_OR, tmp_path, "-S", **READABLE).splitlines()
    assert said[0] == "True True Tensor([0., 1.]) None"
    assert said[1:] == [
        "no device but the host, 'cpu', is known here",
        "nothing here knows it",
        "nothing here knows it",
    ]
    assert run("import tutor; print(tutor.__file__)", tmp_path, "-S").startswith(str(tmp_path))


# ---- nothing from outside is in it, but in hooks and tables --------------------------------------

# Imports all of tutor, without its extension: a twin changes nothing but the speed.
EVERYTHING = """
import sys
sys.modules["tutor.backends.simd_cpp._simd"] = None
import contextlib, importlib, json, test_hooks, trunk
for path in sorted(trunk.PACKAGE.rglob("*.py")):
    module = trunk.module_of(path)
    if module not in ("", "__main__"):
        with contextlib.suppress(ImportError):  # of a package that is not here
            importlib.import_module(f"tutor.{module}")
"""


def outside(module: object) -> bool:
    """Is it the name of one of tutor's modules that are not in the trunk?"""
    package, _, inner = str(module).partition(".")
    return package == "tutor" and not trunk.is_trunk(inner)


def parts(x: Any) -> list[tuple[str, Any]]:
    """What an object of the trunk, or a container, holds."""
    if isinstance(x, dict | MappingProxyType):
        return [(f"[{key!s:.40}]", value) for key, value in x.items()]
    if isinstance(x, list | tuple | set | frozenset):
        return [("[...]", value) for value in x]
    if isinstance(x, FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if cell != CellType()]
        return [("(...)", value) for value in (*cells, *(x.__defaults__ or ()))]
    if isinstance(x, classmethod | staticmethod):
        return [("", x.__func__)]
    if isinstance(x, type) or str(type(x).__module__).startswith("tutor."):
        slots = [name for cls in type(x).__mro__ for name in vars(cls).get("__slots__", ())]
        held = {**getattr(x, "__dict__", {}), **{name: getattr(x, name, None) for name in slots}}
        return [(f".{name}", value) for name, value in held.items()]
    return []


def guests(*known: object) -> list[str]:
    """Where the trunk holds something from outside of it, except for hooks and for `known`."""
    found, seen = [], {id(x) for x in known}
    unseen = [
        (f"{name}.{key}", value)
        for name, module in sys.modules.items()
        if name.startswith("tutor.") and not outside(name)
        for key, value in vars(module).items()
        if value is not sys.modules.get(f"{name}.{key}")  # a package has its modules
    ]
    while unseen:
        where, x = unseen.pop()
        if id(x) in seen or isinstance(x, Hook):
            continue
        seen.add(id(x))
        kind = x if isinstance(x, type | FunctionType) else type(x)
        if outside(x.__name__ if isinstance(x, ModuleType) else kind.__module__):
            found.append(where)
        elif not isinstance(x, ModuleType):
            unseen += [(where + part, value) for part, value in parts(x)]
    return found


def tables() -> tuple[object, ...]:
    """What the trunk looks up by name, and others add to."""
    return OPS, OTHERS, registry._tables, registry._loaders, registry._more, registry._everywhere


def asked(code: str) -> Any:
    path = os.pathsep.join(map(str, (Path(__file__).parent, ROOT / "tests", ROOT)))
    return json.loads(run(EVERYTHING + code, ROOT, PYTHONPATH=path))


def test_all_that_is_not_the_trunk_hangs_on_its_hooks_or_is_in_a_table() -> None:
    assert asked("print(json.dumps(test_hooks.guests(*test_hooks.tables())))") == []


def test_anything_else_would_be_found() -> None:
    """A function of a module, a list of a class, a closure in an object's attribute; a table."""
    planted = """
from tutor import viz
from tutor._storage import layout
from tutor.core.engine import engine
from tutor.methods.tensor import Tensor
def around(inner): return lambda: inner
layout.planted, Tensor.planted, engine.planted = viz.graph, [viz.axes], around(viz.charts)
print(json.dumps(test_hooks.guests()))
"""
    found = asked(planted)
    planted_in = {where.partition("planted")[0][-7:] for where in found if "planted" in where}
    assert planted_in == {"layout.", "Tensor.", "engine."}
    assert any(where.endswith("OPS[cholesky]") for where in found)


def test_a_hook_takes_an_answer_to_what_it_asks_only() -> None:
    class Asks(Hook):
        what = staticmethod(lambda: 1)

    hook = Asks()
    hook.provide(what=lambda: 2)
    assert (hook.what(), Asks().what()) == (2, 1)
    with pytest.raises(AttributeError, match="whom"):
        hook.provide(whom=print)


def test_there_are_four_hooks_each_marked_and_on_the_page() -> None:
    modules = [cls.__module__ for cls in Hook.__subclasses__() if cls.__module__[:6] == "tutor."]
    assert sorted(modules) == sorted(f"tutor.{module}" for module in HOOKS.values())
    marked = [
        trunk.module_of(path)
        for path in trunk.PACKAGE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# ---- hook: ")
    ]
    assert sorted(marked) == sorted(HOOKS.values())
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page.partition("| hook | where it stands |")[2].partition("\n\n")[0].splitlines()[2:]
    table = dict(re.findall(r"^\| (\w+) \| `tutor/([\w/]+)\.py`", row)[0] for row in rows)
    assert {name: module.replace("/", ".") for name, module in table.items()} == HOOKS
