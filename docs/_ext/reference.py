"""The reference: for each public name its signature, its docstring, and an example that runs.

What a name computes stands in its docstring, beside the code. An example of it would there be
longer than most functions are; so the examples are the text of the pages in `docs/reference/`,
which also say in what order somebody looks for a name, and what shapes and errors the names of
one section have in common:

    ```{entry} Tensor.exp, Tensor.expm1
    :shape: that of x
    :raises: DTypeError for complex numbers
    >>> Tensor([0.0, 1.0]).exp()
    Tensor([1.0000, 2.7183])
    ```

becomes the signature of each of these names, what their docstrings say, and the example; where
that ends in a picture, the picture, too. The two lines in front of it are there only where a name
has a shape or an error that its section does not tell. A public name without an entry, an entry
without an example and a section without its shapes or errors fail the build, and
tests/docs/test_reference.py.
"""

from __future__ import annotations

import builtins
import contextlib
import doctest
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import members

import tutor
from tutor.backends import registry

FOLDER = Path(__file__).parents[1] / "reference"
BLOCK = re.compile(r"^```\{entry\} (?P<names>.+)\n(?P<body>(?:.*\n)*?)```$", re.MULTILINE)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
OPTION = re.compile(r"^:(shape|raises): (.+(?:\n(?!>>>|:).+)*)\n?", re.MULTILINE)
SAID = ("**Shapes.**", "**Errors.**")  # what a section says of all its names

# Where public names are. Of a module with an `__all__` those in it, else those it defines.
MODULES = (
    "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "optim", "optim.lr_scheduler",
    "data", "linalg", "viz", "training", "amp", "autograd", "testing", "memory", "random",
    "errors", "onnx", "registry", "dist",
)  # fmt: skip
# Written for their neighbours; the underscore that says so elsewhere would be on every line there.
INNER = {
    "nn.init": {"finite", "floats", "gained", "inverse_erf", "orthonormal", "spread"},
    "nn.utils.rnn": {"lengths_of", "whole_sizes"},
    "optim": {"BETAS", "EPS", "Group", "Limit", "MOMENTUM", "RATE", "SHARE"},
    "random": {"T", "drawing_from", "permuted", "redirected", "say_seed"},
    "errors": {"unknown"},
    "dist": {"LEAVES"},
    "registry": {"Backend", "Operand"},
}


class Entry(NamedTuple):
    names: tuple[str, ...]
    shape: str
    raises: str
    example: str
    page: Path
    line: int
    section: str


def entries(page: Path) -> Iterator[Entry]:
    """The entries of a page, in order."""
    text = page.read_text(encoding="utf-8")
    heads = [(found.start(), found[1]) for found in SECTION.finditer(text)]
    for found in BLOCK.finditer(text):
        section = next((head for at, head in reversed(heads) if at < found.start()), "")
        line = text.count("\n", 0, found.start()) + 1
        yield entry(found["names"], found["body"], page, line, section)


def entry(names: str, body: str, page: Path, line: int, section: str = "") -> Entry:
    said = {what: " ".join(text.split()) for what, text in OPTION.findall(body)}
    example = OPTION.sub("", body).strip("\n")
    return Entry(tuple(name.strip() for name in names.split(",")), said.get("shape", ""),
                 said.get("raises", ""), example, page, line, section)  # fmt: skip


def pages() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


def untold(page: Path) -> list[str]:
    """The sections of a page that have entries, and do not say what shapes or errors they have."""
    text = page.read_text(encoding="utf-8")
    _, *parts = SECTION.split(text)
    return [
        f"{page.name}: {head} has no {words}"
        for head, part in zip(parts[::2], parts[1::2], strict=True)
        for words in SAID
        if BLOCK.search(part) and words not in part
    ]


# ---- what is public ------------------------------------------------------------------------------


def resolve(name: str) -> Any:
    """What a name stands for, as `nn.functional.relu` does for tutor.nn.functional.relu."""
    found, last = holder(name), name.rpartition(".")[2]
    return inspect.getattr_static(found, last) if members.is_method(found) else getattr(found, last)


def holder(name: str) -> Any:
    """What a name stands in: tutor.nn for `nn.relu`, tutor.nn.Module for `nn.Module.to`."""
    found: Any = tutor
    for room in name.split(".")[:-1]:
        found = getattr(found, room)
    return found


def unwrapped(found: Any) -> Any:
    """The function that was written, without what stands in front of it for keywords."""
    return inspect.unwrap(getattr(found, "__func__", found))


def public() -> list[str]:
    """Each public name once: those of Tensor first, then those of the package and its rooms, then
    the methods of the classes there. A name for what another one stands for, too, is left out, and
    so are methods as functions."""
    names = [f"Tensor.{name}" for name in dir(tutor.Tensor) if name[0] != "_" and name != "public"]
    known = {id(unwrapped(resolve(name))) for name in names}
    names += [name for name in tutor.__all__ if name not in tutor.functions.__all__]
    for room in MODULES:
        if room == "onnx" and not is_there("onnx"):
            continue
        module: Any = importlib.import_module(
            "tutor.backends.registry" if room == "registry" else f"tutor.{room}"
        )
        own = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items()
            if name[0] != "_" and getattr(value, "__module__", None) == module.__name__
        ]  # fmt: skip
        names += [f"{room}.{name}" for name in own if name not in INNER.get(room, ())]
    found = []
    for name in [*names, *members.demanded(classes(names))]:
        what = unwrapped(resolve(name))
        if isinstance(what, ModuleType):
            continue
        if name.startswith("Tensor.") or id(what) not in known:
            known.add(id(what))
            found.append(name)
    return found


def classes(names: list[str]) -> dict[str, type]:
    """The classes among public names, save for Tensor and the errors."""
    found = {name: resolve(name) for name in names if not name.startswith("Tensor.")}
    return {
        name: what
        for name, what in found.items()
        if inspect.isclass(what) and not issubclass(what, (tutor.Tensor, BaseException))
    }


def also(name: str) -> list[str]:
    """The functions that are this method of Tensor."""
    if not name.startswith("Tensor."):
        return []
    method, functional = name.removeprefix("Tensor."), tutor.nn.functional
    found = [f"tutor.{method}"] if method in tutor.functions.__all__ else []
    for room, where in (("tutor", tutor), ("tutor.nn.functional", functional)):
        if method not in where.__all__ or f"{room}.{method}" in found:
            continue
        if unwrapped(getattr(where, method)) is unwrapped(resolve(name)):
            found.append(f"{room}.{method}")
    return found


def missing() -> list[str]:
    """What is not as it must be, a line each: nothing, when the reference is whole."""
    wanted = public()
    found: list[str] = []
    told: dict[str, str] = {}  # name -> the page that has its entry
    same: set[int] = set()  # what those names stand for
    for page in pages():
        found += untold(page)
        for one in entries(page):
            where = f"{page.name}:{one.line}"
            if ">>>" not in one.example:
                found.append(f"{where}: {', '.join(one.names)} has no example")
            for name in one.names:
                if name in told:
                    found.append(f"{where}: {name} has an entry already, in {told[name]}")
                told[name] = page.name
                try:
                    same.add(id(unwrapped(resolve(name))))
                except AttributeError:
                    found.append(f"{where}: there is no tutor.{name}")
                    continue
                of = name.rpartition(".")[0]
                above = told.get(of) == page.name or of == "Tensor"  # which has a page of its own
                if members.is_method(holder(name)) and not above:
                    found.append(f"{where}: {name} does not stand below {of}")
    for name in wanted:
        what = unwrapped(resolve(name))
        if name not in told and (name.startswith("Tensor.") or id(what) not in same):
            found.append(f"tutor.{name} has no entry in docs/reference/")
        if (callable(what) or isinstance(what, property)) and not inspect.getdoc(resolve(name)):
            found.append(f"tutor.{name} has no docstring")
    return found


# ---- examples ------------------------------------------------------------------------------------


def namespace() -> dict[str, Any]:
    """What every example may use without an import."""
    names: dict[str, Any] = {"tutor": tutor, "Tensor": tutor.Tensor}
    rooms = ("nn", "optim", "data", "linalg", "viz", "training", "onnx")
    return names | {room: getattr(tutor, room) for room in rooms} | {"F": tutor.nn.functional}


def wanting(one: Entry) -> str:
    """The package that an example needs, and that is not installed; "" for none."""
    wanted = {"numpy": "import numpy" in one.example, "onnx": one.names[0].startswith("onnx.")}
    return next((package for package, on in wanted.items() if on and not is_there(package)), "")


def is_there(package: str) -> bool:
    """Whether it is installed; a folder of that name, as tests/onnx is, is none."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """The ops and backends that an example adds are gone after it. (What tutor itself adds, since
    the example was the first to ask for one of its rooms, stays.)"""
    tables = [v for n, v in vars(registry).items() if n[0] == "_" and type(v) is dict]
    ops, backends = {*tutor.OPS}, [{*table} for table in tables]
    try:
        yield
    finally:
        for name in {*tutor.OPS} - ops:
            if not tutor.OPS[name].__module__.startswith("tutor."):
                del tutor.OPS[name]
        for table, before in zip(tables, backends, strict=True):
            for name in {*table} - before - {"python_ref", "simd_cpp"}:
                del table[name]


class Runner(doctest.DocTestRunner):
    """Runs an example, and keeps what it showed last, as an interpreter keeps `_`."""

    shown: Any = None

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        self.shown = vars(builtins).get("_")


def told() -> list[str]:
    """The full names of all that has an entry, in order."""
    return [f"tutor.{name}" for page in pages() for one in entries(page) for name in one.names]


def run(one: Entry) -> tuple[str, Any]:
    """What is wrong with an example ("" where it does what it says), and what its last line gave,
    where Python would have shown it."""
    test = doctest.DocTestParser().get_doctest(
        one.example + "\n", namespace(), ", ".join(one.names), str(one.page), one.line
    )
    said: list[str] = []
    tutor.manual_seed(0)
    runner = Runner(verbose=False)
    with undone():
        runner.run(test, out=said.append)
    return "".join(said), runner.shown
