"""Runs one program text twice: with `torch` bound to PyTorch, and to tutor.torch.

Only its import lines change, and in them only the package: `import torch.nn as nn` becomes
`import tutor.torch.nn as nn`.
"""

from __future__ import annotations

import re
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tutor import torch as wing

IMPORTS = (
    (r"^import torch$", "import tutor.torch as torch"),
    (r"^import torch\.(\S+) as (\w+)$", r"import tutor.torch.\1 as \2"),
    (r"^from torch(\S*) import", r"from tutor.torch\1 import"),
)


def translated(text: str) -> str:
    """The program for tutor.torch."""
    lines = []
    for line in text.splitlines():
        for pattern, instead in IMPORTS:
            line, count = re.subn(pattern, instead, line)
            if count:
                break
        lines.append(line)
    return "\n".join(lines)


def namespace(text: str, name: str) -> dict[str, Any]:
    """What the program defines."""
    module = sys.modules[name] = ModuleType(name)  # a dataclass looks its module up
    exec(compile(text, name, "exec"), vars(module))
    return vars(module)


def weights(model: Any) -> Any:
    return model if isinstance(model, dict) else model.state_dict()


def give(state: Any, model: Any) -> None:
    """Overwrite the numbers of a model of tutor.torch with those of PyTorch's."""
    own = weights(model)
    assert list(own) == list(state), (list(own), list(state))
    with wing.no_grad():
        for name, t in state.items():
            own[name].copy_(wing.from_numpy(t.detach().numpy().copy()))


def losses(text: str, name: str) -> tuple[list[float], list[float]]:
    """The numbers that the program gives with either library, from the same weights."""
    ours = translated(text)
    assert "import torch" not in ours.replace("tutor.torch as torch", "")
    theirs, here = namespace(text, f"{name}_in_pytorch"), namespace(ours, f"{name}_here")
    torch.manual_seed(0)
    first = theirs["build"]()
    wing.manual_seed(0)
    second = here["build"]()
    models = first if isinstance(first, tuple) else (first,)
    others = second if isinstance(second, tuple) else (second,)
    for model, other in zip(models, others, strict=True):
        give(weights(model), other)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for so few numbers, several only wait for each other
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="torch")  # no accelerator to pin memory for
            wanted = theirs["train"](first)
    finally:
        torch.set_num_threads(threads)
    return wanted, here["train"](second)


def check(text: str, name: str, near: float) -> None:
    """The same numbers, to `near`; and they move."""
    wanted, found = losses(text, name)
    assert len(found) == len(wanted)
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)
    assert np.ptp(wanted) > 1e-3, "it has not learnt anything"
