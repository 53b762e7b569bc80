"""The reference is whole: each public name has formula, shapes, errors and an example that runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
import members
import reference

import tutor
from tutor import OPS, Tensor, nn, viz
from tutor.backends.registry import backends, use_backend

PAGES = reference.pages()


def test_every_public_name_has_an_entry_with_an_example() -> None:
    assert not reference.missing(), "\n".join(reference.missing())
    assert len(reference.public()) > 880


def test_methods_that_people_call_are_demanded() -> None:
    public = set(reference.public())
    assert {
        "nn.Module.to", "nn.ModuleList.append", "nn.Embedding.from_pretrained", "Buffer.touch",
        "Function.apply", "Function.save_for_backward", "Engine.hook",
        "optim.Optimizer.step", "optim.lr_scheduler.LRScheduler.at", "data.BPE.load",
        "training.Run.is_best", "amp.GradScaler.update", "random.Stream.state", "profile.rows",
    } <= public  # fmt: skip
    assert not {
        "nn.Linear.forward", "nn.Linear.to", "optim.LBFGS.step", "nn.LSTM.along",
        "data.Subset.rows", "Engine.walk", "nn.ModuleList.checked",
    } & public  # fmt: skip
    found = {name: reference.resolve(name) for name in public}
    classes = [what for what in found.values() if isinstance(what, type)]
    assert not members.strange(classes)


def test_the_rule_of_methods() -> None:
    class Layer(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return self.mixed(x)

        def mixed(self, x: Tensor) -> Tensor:
            return x

        @classmethod
        def from_file(cls) -> Layer:
            return cls()

    class Alone:
        value = 1

        def used(self) -> None: ...
        def _kept(self) -> None: ...
        @property
        def size(self) -> int:
            return 1

    class Below(Alone):
        def used(self) -> None: ...
        def more(self) -> None: ...

    for cls in (Layer, Alone, Below):
        cls.__module__ = "tutor.nn.made_up"
    layers = members.demanded({"Layer": Layer, "Module": nn.Module})
    assert [name for name in layers if name.startswith("Layer.")] == ["Layer.from_file"]
    assert "Module.to" in layers
    # Where the class above is public, too, that one's are told there; else under the first name.
    assert members.demanded({"Below": Below, "Alone": Alone}) == ["Alone.used", "Alone.size"]
    assert members.demanded({"Below": Below}) == ["Below.more", "Below.used", "Below.size"]


@pytest.mark.crossed("backend")
@pytest.mark.parametrize("backend", [b for b in ("python_ref", "simd_cpp") if b in backends()])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(
    page: Path, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    can_run = [one for one in reference.entries(page) if not reference.wanting(one)]
    with use_backend(backend):
        found = [said for one in can_run if (said := reference.run(one)[0])]
    assert not found, "".join(found)
    assert can_run


def test_what_an_example_adds_is_gone_after_it() -> None:
    before = backends()
    page = reference.FOLDER / "functions.md"
    named = {one.names[0]: one for one in reference.entries(page)}
    for name in ("Op", "registry.register", "registry.extend"):
        assert not reference.run(named[name])[0]
    assert backends() == before
    assert "fourth" not in OPS


# Python's own names of operators, as somebody writes them.
WRITTEN = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "neg": "-x", "abs": "abs(x)", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^", "invert": "~", "lshift": "<<",
    "rshift": ">>",
}  # fmt: skip
PROTOCOLS = {  # said elsewhere: indexing, numbers, iteration, other libraries
    "array", "array_function", "array_namespace", "array_ufunc", "bool", "contains", "dlpack",
    "dlpack_device", "float", "getitem", "index", "int", "iter", "len", "pos", "setitem",
}  # fmt: skip


def test_every_operator_is_told() -> None:
    page = (reference.FOLDER / "tensor.md").read_text(encoding="utf-8")
    line = page.partition("The operators are these methods:")[2].partition("\n\n")[0]
    own = {n for c in Tensor.__mro__[:-1] for n, v in vars(c).items() if callable(v)}
    names = {n.strip("_") for n in own if n.startswith("__") and hasattr(Tensor, n)}
    names -= {n.strip("_") for n in dir(type("Empty", (), {}))} - set(WRITTEN)
    told = set(WRITTEN) | PROTOCOLS
    kinds = {*told, *(f"r{n}" for n in WRITTEN), *(f"i{n}" for n in WRITTEN)}
    assert names <= kinds, names - kinds
    told_as = re.findall(r"`([^`]+)`", line)
    symbols = {symbol for code in told_as for symbol in code.split(" ")}
    assert set(WRITTEN.values()) <= symbols, set(WRITTEN.values()) - symbols


def test_a_picture_is_what_the_last_line_gives() -> None:
    page = reference.FOLDER / "viz.md"
    drawn = [one for one in reference.entries(page) if "<Picture" in one.example]
    assert len(drawn) > 15
    assert isinstance(reference.run(drawn[0])[1], viz.Picture)


def test_a_method_is_told_below_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    head = "## A\n\n**Shapes.** None. **Errors.** None.\n\n"
    page.write_text(
        head + "```{entry} Buffer.empty\n>>> 1\n1\n```\n```{entry} Buffer\n>>> 1\n1\n```\n"
        "```{entry} Buffer.nbytes\n>>> 1\n1\n```\n"
    )
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    monkeypatch.setattr(reference, "public", list)
    assert reference.missing() == ["page.md:5: Buffer.empty does not stand below Buffer"]
    assert reference.resolve("Buffer.empty").__func__ is tutor.Buffer.empty.__func__


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n## Powers\n\n**Shapes.** As x.\n\n"
        "```{entry} Tensor.exp, Tensor.log\n:raises: nothing\n>>> 1 + 1\n3\n```\n\n"
        "```{entry} Tensor.gone\n```\n\n```{entry} Tensor.exp\n>>> 2\n2\n```\n"
    )
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    monkeypatch.setattr(reference, "public", lambda: ["Tensor.exp", "Tensor.log", "Tensor.sin"])
    assert reference.missing() == [
        "page.md: Powers has no **Errors.**",
        "page.md:13: Tensor.gone has no example",
        "page.md:13: there is no tutor.Tensor.gone",
        "page.md:16: Tensor.exp has an entry already, in page.md",
        "tutor.Tensor.sin has no entry in docs/reference/",
    ]
    first, *_ = reference.entries(page)
    assert first.names == ("Tensor.exp", "Tensor.log") and first.raises == "nothing"
    assert "Expected:\n    3\nGot:\n    2" in reference.run(first)[0]
