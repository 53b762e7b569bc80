"""Runs a line of idiom_lines.py with either library, and says what came out in plain data."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from idiom_lines import NAMES

import tutor
import tutor.torch as wing

SAME, REFUSED, OTHER = "the same", "refused with help", "different"


def names(library: Any) -> dict[str, Any]:
    data = library.utils.data
    found = {
        "torch": library, "nn": library.nn, "F": library.nn.functional, "np": np, "copy": copy,
        "D": library.distributions, "OrderedDict": OrderedDict, "DataLoader": data.DataLoader,
        "TensorDataset": data.TensorDataset, "__name__": "idioms_of_a_user",
    }  # fmt: skip
    exec(NAMES, found)
    return found


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, numbers), containers of those as tuples; the rest as it is."""
    if isinstance(value, (torch.Tensor, tutor.Tensor)):
        dtype = str(value.dtype).rpartition(".")[2]
        return (dtype, tuple(value.shape), value.detach().double().numpy())
    if isinstance(value, (torch.dtype, tutor.dtype.DType)):
        return str(value).rpartition(".")[2]
    if isinstance(value, (torch.device, wing.device)):
        return f"the device {value}"
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    return value


def result(library: Any, line: str) -> Any:
    """What the line gives, in plain data; or the error."""
    *statements, last = line.split("; ")
    if (
        last.startswith("with ")
        or last.endswith("= 1")
        or " = " in last.split("(")[0]
        or last.split(" ")[1:2] == ["+="]
    ):
        statements, last = [*statements, last], "None"
    found = names(library)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec("; ".join(statements), found)
            value = plain(eval(last, found))
    except Exception as error:
        return error
    if isinstance(value, tuple) and any(type(t) is tutor.Tensor for t in value):
        return TypeError("a tutor.Tensor")
    return value


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        same = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape
        return same and bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-5, equal_nan=True))
    return bool(a == b)


def outcome(line: str) -> tuple[str, Any, Any]:
    """Whether both agree, and what each gave."""
    theirs, ours = result(torch, line), result(wing, line)
    if isinstance(ours, tutor.errors.TutorError) or (
        isinstance(ours, AttributeError) and isinstance(theirs, AttributeError)
    ):
        return REFUSED, theirs, ours
    if isinstance(theirs, Exception) and isinstance(ours, type(theirs)):
        return SAME, theirs, ours
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return OTHER, theirs, ours
    return (SAME if alike(theirs, ours) else OTHER), theirs, ours
