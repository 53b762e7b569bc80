"""Renamed modules: a former name still imports, with a warning that gives the present one.

    import tutor.watching.profiler
    # DeprecationWarning: tutor.watching.profiler is now tutor.profiler.profile

Listed are only names that users may have written; they work for one release. `tutor.dist` is not a
former name but a short one, for `tutor.distributed`, and gives no warning.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

FORMER = {
    "tutor.backends.cases": "tutor.testing.cases",
    "tutor.backends.conformance": "tutor.testing.conformance",
    "tutor.backends.forms": "tutor.backends.shape_rules",
    "tutor.backends.matrices.agreement": "tutor.testing.matrices",
    "tutor.data.corpus": "tutor.data.sets.corpus",
    "tutor.data.digits": "tutor.data.sets.digits",
    "tutor.data.fashion_mnist": "tutor.data.sets.fashion_mnist",
    "tutor.data.made_up": "tutor.data.sets.made_up",
    "tutor.data.mnist": "tutor.data.sets.mnist",
    "tutor.data.sentences": "tutor.data.sets.sentences",
    "tutor.data.toy": "tutor.data.sets.toy",
    "tutor.dist.rounds": "tutor.distributed.reduction",
    "tutor.dist.walks": "tutor.distributed.ddp_hooks",
    "tutor.exchange": "tutor.interop",
    "tutor.ops.twin": "tutor.ops.native",
    "tutor.programs.promises": "tutor.programs.lazy_buffers",
    "tutor.watching": "tutor.profiler",
    "tutor.watching.profiler": "tutor.profiler.profile",
}
SHORT = {"tutor.dist": "tutor.distributed"}
LONGEST_FIRST = sorted([*FORMER, *SHORT], key=len, reverse=True)


class Finder:
    """The first entry of sys.meta_path. Last would be too late: where a former version was run from
    the same folder, it left `tutor/dist/__pycache__` behind, which Python takes for a package."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A spec for a former or short name, and for a module inside of such a package."""
        if not name.startswith("tutor."):
            return None
        for known in LONGEST_FIRST:
            if name == known or name.startswith(f"{known}."):
                present = (FORMER.get(known) or SHORT[known]) + name[len(known) :]
                if known in FORMER:
                    text = f"{name} is now {present}; the former name goes with the next release"
                    warnings.warn(text, DeprecationWarning, stacklevel=2)
                return ModuleSpec(name, Loader(present))  # type: ignore[arg-type]
        return None


class Loader:
    """Imports a module by its present name: under both names it is one module."""

    def __init__(self, present: str) -> None:
        self.present = present
        self.spec: Any = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.present)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # in whose place the import system has put the former name's


def install() -> None:
    """Have Python ask for former names first."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
