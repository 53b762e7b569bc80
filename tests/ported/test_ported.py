"""Programs in PyTorch's idiom: one text, run by PyTorch and, with other imports, by tutor.

Each program has `build()`, a model or a dict of parameters, and `train(model)`, which gives a list
of numbers. Both begin with the same weights, and must give the same numbers. PORTED says which
lines change beside the imports, and to what; docs/porting.md shows the table, and this file holds
the page to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"
pytest.importorskip("scipy")

import tutor  # noqa: E402

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "porting.md"
PROGRAMS = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("test_"))
IMPORTS = {
    r"^import torch$": "import tutor as torch",
    r"^from torch\.utils\.data import": "from tutor.data import",
    r"^(import|from) torch\b": r"\1 tutor",
}


class Port(NamedTuple):
    """Lines that change, beside the imports; how near the numbers are, relative and absolute."""

    lines: dict[str, str] = {}  # noqa: RUF012 - never changed
    near: float = 2e-3


PORTED = {
    "batchnorm": Port({"unbiased=True": "correction=1"}),
    "cnn": Port({'torch.device("cuda" if torch.cuda.is_available() else "cpu")': '"cpu"'}),
}


def translated(text: str, lines: dict[str, str]) -> tuple[str, int, int]:
    """The program for tutor, how many of its lines import, and how many others changed."""
    found, imports, changed = [], 0, 0
    for line in text.splitlines():
        new = line
        for pattern, instead in IMPORTS.items():
            if new == line:
                new = re.sub(pattern, instead, line)
        imports += new != line
        for old, instead in lines.items():
            if old in new:
                new, changed = new.replace(old, instead), changed + 1
        found.append(new)
    return "\n".join(found), imports, changed


def program(text: str, name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def state_of(model: Any) -> dict[str, Any]:
    return model if isinstance(model, dict) else model.state_dict()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_numbers_of_pytorch(name: str) -> None:
    text, port = (HERE / f"{name}.py").read_text(), PORTED.get(name, Port())
    ours, imports, changed = translated(text, port.lines)
    assert imports >= 1 and changed == len(port.lines), "a line of PORTED is not there"
    assert "import torch" not in ours
    torch.manual_seed(0)
    theirs, here = program(text, f"{name} in PyTorch"), program(ours, f"{name} in tutor")
    first, second = theirs["build"](), here["build"]()
    tutor.nn.load_state_dict(second, {n: t.detach() for n, t in state_of(first).items()})
    wanted, found = theirs["train"](first), here["train"](second)
    assert len(found) == len(wanted)
    np.testing.assert_allclose(found, wanted, rtol=port.near, atol=port.near)
    assert np.ptp(wanted) > 0.05 or name == "lbfgs_scipy", "it has not learnt anything"


def test_there_are_ten() -> None:
    assert len(PROGRAMS) == 10 and PORTED.keys() <= set(PROGRAMS)


NEEDS = {
    "batchnorm": "gradients by hand beside autograd's, `retain_grad`, `p.data`",
    "cnn": "DataLoader, BatchNorm2d, StepLR, clipping, evaluation",
    "hessian": "double backward, `linalg.solve`, float64",
    "lbfgs_scipy": "SciPy's L-BFGS on `parameters_to_vector`",
    "moons": "micrograd's moons, hinge loss, updates by hand",
    "names_lstm": "Embedding, LSTM with a state, `ignore_index`",
    "pinn": "a network's second derivative within a loss",
    "transformer": "attention by hand, a mask as a buffer, AdamW, sampling",
    "vae": "TensorDataset, the reparametrisation trick, a KL term",
    "wgan_gp": "a gradient penalty: double backward through a critic",
}


def row(name: str) -> str:
    """Of the table: how many lines a program has, and how many change."""
    text = (HERE / f"{name}.py").read_text()
    _, imports, changed = translated(text, PORTED.get(name, Port()).lines)
    lines = sum(bool(line.strip()) for line in text.splitlines())
    return f"| `{name}.py` | {NEEDS[name]} | {lines} | {imports} | {changed} |"


def test_the_page_says_how_many_lines_change() -> None:
    table = re.findall(r"^\| `\w+\.py` .*$", PAGE.read_text(), re.MULTILINE)
    assert table == [row(name) for name in PROGRAMS]
