"""The map of a call is the way that the call takes: Python's own tracer follows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
import call_map
from source_lines import Place, text_of

from tutor.profiler.listing import stored

ROOT = Path(__file__).parents[2]
FORWARD, IN_CPP, BACKWARD = call_map.maps(ROOT / "docs" / "architecture.md")

# Prints file and name of each function of tutor that is called, in order: of a + b, of backward().
TRACED = """
import sys
from pathlib import Path
import tutor
from tutor import Tensor

ROOT = str(Path(tutor.__file__).parents[1])

def seen(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(ROOT):
        print(Path(code.co_filename).relative_to(ROOT).as_posix(), code.co_qualname)

def traced(call):
    call()  # what is loaded by the first call is there
    sys.setprofile(seen)
    result = call()
    sys.setprofile(None)
    print("--")
    return result

a, b = Tensor([1.0], requires_grad=True), Tensor([[2.0], [3.0]])
traced(lambda: a + b)
traced(lambda: (a + b).sum().backward())
"""


@pytest.fixture(scope="module")
def ways() -> list[list[tuple[str, str]]]:
    env = {
        **os.environ,
        "TUTOR_NATIVE": "0",
        "TUTOR_BACKEND": "python_ref",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", TRACED], env=env, capture_output=True, text=True, check=True
    )
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    parts: list[list[tuple[str, str]]] = [[]]
    for line in lines:
        if line == ["--"]:
            parts.append([])
        else:
            parts[-1].append((line[0], line[1]))
    return parts


def met(place: Place, call: tuple[str, str]) -> bool:
    """Whether that call is of the function at the place, or of one that it has made."""
    file, name = call
    return file == place.file and (name == place.name or name.startswith(f"{place.name}.<locals>"))


@pytest.mark.parametrize(("way", "number"), [(FORWARD, 0), (BACKWARD, 1)], ids=("forward", "back"))
def test_the_map_is_the_way(
    way: list[call_map.Stop], number: int, ways: list[list[tuple[str, str]]]
) -> None:
    at = 0
    for stop in way:
        if stop.place.name == "Add":  # a class: it is made, and no function of its own is called
            continue
        calls = ways[number][at:]
        found = next((i for i, call in enumerate(calls) if met(stop.place, call)), None)
        assert found is not None, f"after {at} calls nobody calls {stop.place}"
        at += found + 1


def test_each_place_is_there() -> None:
    assert [len(way) for way in (FORWARD, IN_CPP, BACKWARD)] == [13, 3, 8]
    for stop in (*FORWARD, *IN_CPP, *BACKWARD):
        line = text_of(stop.place.file).splitlines()[stop.place.line - 1]
        assert stop.place.name.rpartition(".")[2] in line
    with pytest.raises(LookupError, match=r"has no 'Forward\.gone'"):
        _ = Place("tutor/core/engine/forward.py", "Forward.gone").line
    with pytest.raises(LookupError, match="has no 'KERNEL"):
        _ = Place("tutor/backends/simd_cpp/kernels/arithmetic.cpp", "KERNEL(gone").line


def test_the_way_ends_in_the_stored_instructions() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(add float32 .+?)\n```", page, re.DOTALL)
    assert shown == str(stored()["add", "float32", "avx512"])


def test_a_box_leads_to_its_line() -> None:
    text = call_map.drawn(FORWARD[:1], ["source/x.py.html#L-7"], "a way")
    assert '<a href="source/x.py.html#L-7">' in text and 'aria-label="a way"' in text
    assert f"tutor/methods/applied.py:{FORWARD[0].place.line}</code>" in text
