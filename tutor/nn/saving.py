"""Saving a whole training run in one file: `tutor.save` and `tutor.load`.

    tutor.save("run.safetensors", model=model, optimizer=adam, loader=loader, generator=True)
    tutor.load("run.safetensors", model=model, optimizer=adam, loader=loader, generator=True)

The file is a checkpoint (tutor.nn.checkpoint: safetensors, written whole or not at all, with a
checksum). The Tensors are named by their paths, "model.0.weight", so any program that reads the
format finds them. Their structure, and all other data, are JSON among the notes. Nothing in such a
file is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike
from tutor.errors import DataError, DTypeError, TutorError
from tutor.methods.tensor import Tensor
from tutor.nn import checkpoint
from tutor.nn.module import load_state_dict, state_dict
from tutor.nn.parts import callable_value

PLAIN = (Tensor, Mapping, list, tuple, str, int, float, type(None))  # already data
STATE = "tutor.state"  # the note with the structure
GIVE = "give Tensors, numbers, texts, None, lists, tuples and dicts of these, or what has a state"


@spelled
def save(path: str | Path, state: Any = None, /, **parts: Any) -> None:
    """Write `parts` (or one `state`, say a dict of Tensors) to `path`, whole or not at all.

    A part is a model (any object that holds Tensors), an optimizer, a schedule, a DataLoader or
    anything else that has a `state_dict()`; or plain data: Tensors, numbers, texts, None, and
    lists, tuples and dicts of these, however deep. `generator=True` saves the state of the
    process's random numbers. DataError if the file cannot be written (an old file is then kept),
    DTypeError for values that no such file can hold.
    """
    check_name("tutor.save", path)
    if (state is None) == (not parts):
        raise DTypeError(
            f"tutor.save to {path}",
            "a state, and parts by name" if parts else "nothing to save",
            "give parts by name, as in tutor.save(path, model=model), or one state",
        )
    tensors: dict[str, Tensor] = {}
    named = {name: taken(name, part) for name, part in parts.items()} if parts else state
    try:
        note = json.dumps(packed(named, "", tensors))
    except RecursionError as error:
        raise DataError(f"to save to {path}", "a state that is nested too deep, or holds itself",
                        "save it in flat parts")  from error  # fmt: skip
    checkpoint.save(path, tensors, {STATE: note})


@spelled
def load(path: str | Path, /, *, device: DeviceLike | None = None, **parts: Any) -> Any:
    """The contents of a file that `save` wrote: a dict of the parts (a state for each object), or
    the single state. For another program's file, a dict of its Tensors.

    Parts passed by name are also filled: a model, an optimizer, a DataLoader, any object with
    `load_state_dict`, and with `generator=True` the process's random numbers. All of them continue
    exactly from there; if one does not fit, all stay as they were: DataError. DataError also for a
    file that is not a checkpoint, is truncated, or was altered. Filled parts stay on their devices;
    everything else is loaded to `device`, by default the device of `tutor.device`.
    """
    check_name("tutor.load", path)
    tensors, notes = checkpoint.load(path, device=device)
    found: Any = tensors
    if STATE in notes:
        try:
            found = unpacked(json.loads(notes[STATE]), tensors)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"to load {path}", f"its note {STATE} is no such state ({error!r:.80})",
                            "give a file that tutor.save has written")  from error  # fmt: skip
    if missing := [name for name in parts if not isinstance(found, dict) or name not in found]:
        there = ", ".join(found) if isinstance(found, dict) else checks.said(found)
        raise DataError(
            f"to load {', '.join(missing)} from {path}",
            f"in the file: {there or 'nothing'}",
            "leave out what is not there, or give the file that has it",
        )
    fill(parts, found)
    return found


def check_name(asked: str, path: object) -> None:
    """Check that it can be a file's name, and is not the data to save."""
    if not isinstance(path, (str, Path)) or "\0" in str(path):
        found = f"its first argument is {checks.said(path)}"
        do = f"give the name of the file first: {asked}(path, model=model)"
        raise DTypeError(asked, found, do)


def fill(parts: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Load its state into each of the parts, or, if one does not accept it, into none."""
    before: list[tuple[str, Any]] = []
    try:
        for name, part in parts.items():
            kept: dict[str, Tensor] = {}
            tree = packed(taken(name, part), "", kept)
            copies = {n: t.detach().copy() for n, t in kept.items()}
            before.append((name, unpacked(tree, copies)))
            put(name, part, states[name])
    except (TutorError, KeyError, TypeError, ValueError, AttributeError) as error:
        for other, state in before:
            put(other, parts[other], state)
        if isinstance(error, TutorError):
            raise
        raise DataError(f"to load a state into {name}", f"{type(error).__name__}: {error}",
                        "load what was saved from the same kind of object") from error  # fmt: skip


def taken(name: str, part: Any) -> Any:
    """The state of a part: its own state, or its Tensors by name, or itself if it is data."""
    if name == "generator" and part is True:
        return random.get_state()
    if isinstance(part, random.Stream):
        return part.state
    if isinstance(part, PLAIN):
        return part
    if hasattr(part, "state_dict"):
        return part.state_dict()
    if hasattr(part, "__array__"):
        return Tensor(part)
    found = state_dict(part) if hasattr(part, "__dict__") and not callable_value(part) else {}
    if not found:
        raise DTypeError(f"to save {name}", f"{checks.said(part)} holds no Tensor", GIVE)
    return found


def put(name: str, part: Any, state: Any) -> None:
    """Load a state that `taken` returned."""
    if name == "generator" and part is True:
        random.set_state(state)
    elif isinstance(part, random.Stream):
        seed, counter = state
        part.state = seed, counter
    elif hasattr(part, "load_state_dict"):
        part.load_state_dict(state)
    elif isinstance(part, PLAIN):
        raise DTypeError(f"to load {name}", f"{checks.said(part)} cannot be filled",
                         "take it from the dict that tutor.load returns")  # fmt: skip
    else:
        load_state_dict(part, state)


def tensors_of(**parts: Any) -> dict[str, Tensor]:
    """The Tensors that `save` would write, by their names in the file."""
    tensors: dict[str, Tensor] = {}
    packed({name: taken(name, part) for name, part in parts.items()}, "", tensors)
    return tensors


# ---- a state as JSON, and its Tensors by name ----------------------------------------------------


def packed(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """JSON for `value`; each Tensor in it is added to `tensors`, by its path.

    A dict becomes {"dict": [[key, value], ...]}, a tuple {"tuple": [...]}, a Tensor
    {"tensor": name}; lists, texts, numbers and None are themselves in JSON.
    """
    if isinstance(value, Tensor):
        name = path or "tensor"
        while name in tensors:  # {"a.b": t, "a": {"b": u}}
            name += "'"
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, Mapping):
        if wrong := [key for key in value if type(key) not in (str, int)]:
            raise DTypeError(f"to save {path or 'a state'}", f"the key {wrong[0]!r:.60} of a dict",
                             "use texts or whole numbers as keys")  # fmt: skip
        return {"dict": [[k, packed(v, below(path, k), tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        items = [packed(v, below(path, i), tensors) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return packed(taken(path or "a state", value), path, tensors)


def below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def unpacked(tree: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The value that `packed` turned into `tree`."""
    if isinstance(tree, list):
        return [unpacked(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, held),) = tree.items()
    if kind == "tensor":
        return tensors[held]
    if kind == "tuple":
        return tuple(unpacked(item, tensors) for item in held)
    if kind == "dict":
        return {key: unpacked(item, tensors) for key, item in held}
    raise ValueError(f"a {kind!r}")
