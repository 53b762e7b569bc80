"""The block sizes of simd_cpp, read from its sources: a small parser of `constexpr` numbers."""

from __future__ import annotations

import re
from pathlib import Path

from tutor.backends import simd_cpp

SOURCES = Path(simd_cpp.__file__).parent
# A line that declares numbers: everything between the type and the semicolon.
DECLARATION = re.compile(
    r"^\s*(?:static )?constexpr (?:int|int64_t|size_t) (\w+ = [^;{]+(?:, \w+ = [^;{]+)*);",
    re.MULTILINE,
)
ITEM = re.compile(r"(\w+) = ((?:[^,()]|\([^()]*\))+)")


def values(text: str, known: dict[str, list[int]]) -> list[int]:
    """What an expression of integers may stand for: it may name others, and the size of a float."""
    text = re.sub(r"\w+::", "", text)
    text = re.sub(r"int64_t\{(\d+)\}|(?:size_t|int64_t)\((\d+)\)", r"\1\2", text)
    found: list[dict[str, int]] = [{}]
    for name in set(re.findall(r"[A-Za-z_]\w*", text.replace("sizeof(F)", "SIZE"))):
        options = [4, 8] if name == "SIZE" else known.get(name, [])
        found = [{**one, name: option} for one in found for option in options]
    text = text.replace("sizeof(F)", "SIZE").replace("/", "//")
    text = re.sub(r"(.+?) \? (.+?) : (.+)", r"(\2 if \1 else \3)", text)
    return sorted({eval(text, {"__builtins__": {}}, one) for one in found})


def read() -> dict[str, list[int]]:
    """{"scan.cpp:GRAIN": [16384], ...}: each constant, and what it is on some level, for
    floats of some size. What depends on the registers' width or on templates is empty."""
    found: dict[str, list[int]] = {}
    shared: dict[str, list[int]] = {}
    paths = [*SOURCES.rglob("*.hpp"), *SOURCES.rglob("*.cpp")]
    for path in sorted(
        paths, key=lambda path: (path.suffix != ".hpp", path.name != "packing.hpp", str(path))
    ):
        own: dict[str, list[int]] = {}
        for declared in DECLARATION.findall(path.read_text(encoding="utf-8")):
            for name, text in ITEM.findall(declared):
                here = values(text, {**shared, **own})
                own[name] = sorted({*own.get(name, []), *here})
        for name, options in own.items():
            found[f"{path.name}:{name}"] = options
        if path.suffix == ".hpp":
            shared |= own
    return found
