"""Which methods and properties of the public classes have an entry in the reference: a rule.

Those of Tensor are all told of, in reference.py. Of the other public classes, and of those that
they inherit from, a method or property that is written in Python is demanded, under the name of the
class that has it (`nn.Module.to`) or, where that is not public, of the first one that inherits it
(`nn.ModuleList.append`), but

- one that a class above has, too: what it does is told there (`forward` of every layer, `step` of
  LBFGS), unless it is called in another way (`Function.apply`, on the class);
- of a class that is used as the public one above it (a layer, an optimizer, a schedule, a
  transform, a data set) what it has beside that one's: its parts, save for other ways to make it
  (`nn.Embedding.from_pretrained`);
- INNER: what is written for a neighbour inside of tutor.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

from tutor._storage.memory import PythonHolder

KINDS = (FunctionType, classmethod, staticmethod, property, cached_property)
# Used in other ways than the public class above them, too.
OF_THEIR_OWN = {"Function", "ModuleDict", "Row", "profile"}
INNER = {
    "Average": {"share"},
    "Backward": {"arrivals", "order", "owned", "seed", "store", "walk"},
    "DataLoader": {"streams"},
    "Forward": {"bring_together", "prepare", "remember"},
    "Writing": {
        "become",
        "change",
        "check_rewritable",
        "check_writable",
        "fits_into",
        "put",
        "renew",
        "run_into",
    },
    "GPT2BPE": {"split"},
    "KVCache": {"write"},
    "LRScheduler": {"write"},
    "ModuleDict": {"named_parts"},
    "Op": {"execute", "record", "wrong_dtype"},
    "Optimizer": {"kept", "narrow"},
    "PythonHolder": {"address", "device", "raw"},
    "Row": {"at", "checked", "named_parts"},
    "Within": {"block", "ended", "innermost"},
}


def is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "tutor"


def same_kind(one: Any, other: Any) -> bool:
    """Whether both are called in the same way: on an object, or on the class."""
    return isinstance(one, (classmethod, staticmethod)) == isinstance(
        other, (classmethod, staticmethod)
    )


def written(cls: type, public: set[type]) -> Iterator[str]:
    """The methods and properties that are demanded because of this class, whoever inherits them."""
    above = [base for base in cls.__mro__[1:] if is_ours(base)]
    as_that = cls.__name__ not in OF_THEIR_OWN and bool(public.intersection(above))
    for name, found in vars(cls).items():
        if name[0] == "_" or not isinstance(found, KINDS):
            continue
        told = any(name in vars(base) and same_kind(found, vars(base)[name]) for base in above)
        part = as_that and not isinstance(found, classmethod)
        if not (told or part or name in INNER.get(cls.__name__, ())):
            yield name


def demanded(classes: dict[str, type]) -> list[str]:
    """The names of the methods of these public classes, each once: `nn.Module.to`."""
    named = {cls: name for name, cls in reversed(classes.items())}
    found: dict[str, None] = {}
    seen: set[type] = set()
    for name, cls in classes.items():
        for base in cls.__mro__:
            if is_ours(base) and base not in seen:
                seen.add(base)
                names = written(base, set(named))
                found |= dict.fromkeys(f"{named.get(base, name)}.{method}" for method in names)
    return list(found)


def strange(classes: Iterable[type]) -> list[str]:
    """What INNER and OF_THEIR_OWN say of nobody: nothing, when they are right."""
    there = {base.__name__: base for cls in classes for base in cls.__mro__}
    there["PythonHolder"] = PythonHolder  # which Buffer inherits where nothing is compiled
    lines = [f"there is no class {name}" for name in sorted({*INNER, *OF_THEIR_OWN} - {*there})]
    return lines + [
        f"{name} has no {method}"
        for name, methods in INNER.items()
        for method in sorted(methods)
        if name in there and not isinstance(vars(there[name]).get(method), KINDS)
    ]


def is_method(holder: Any) -> bool:
    """Whether what a name stands in, `nn.Module` of `nn.Module.to`, is a class."""
    return inspect.isclass(holder) and not issubclass(holder, BaseException)
