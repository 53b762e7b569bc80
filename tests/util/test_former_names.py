"""A renamed module is found under its former name, and is one module under both."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import copies
import pytest

import tutor
from tutor._util.former_names import FORMER, SHORT

CODE = f"""
import warnings, importlib
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    module = importlib.import_module(name)
present = {FORMER}[name]
assert module is importlib.import_module(present)
assert module.__spec__.name == module.__name__ == present
print(*{{str(w.message).partition(";")[0] for w in caught}})
"""


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """What comes of each former name, where it is the first that is asked for."""
    return copies.printed(CODE, FORMER)


@pytest.mark.parametrize("former", FORMER)
def test_a_former_name_imports_the_present_module_and_says_so(
    former: str, found: dict[str, str]
) -> None:
    said = found[former]
    assert f"{former} is now {FORMER[former]}" in said and "Error" not in said, said


def test_what_is_inside_of_a_renamed_package_is_found_by_its_former_name() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        former = importlib.import_module("tutor.exchange.pytorch")
    assert "tutor.exchange.pytorch is now tutor.interop.pytorch" in str(caught[-1].message)
    assert former is importlib.import_module("tutor.interop.pytorch")


def test_dist_is_a_short_name_for_distributed_without_a_warning() -> None:
    import tutor.dist.collectives
    from tutor.dist import DataParallel

    assert SHORT == {"tutor.dist": "tutor.distributed"}
    assert tutor.dist is tutor.distributed
    assert DataParallel is tutor.distributed.DataParallel
    assert tutor.dist.collectives is importlib.import_module("tutor.distributed.collectives")


def test_a_name_that_never_was_is_an_error_as_before() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tutor\.exchanges"):
        importlib.import_module("tutor.exchanges")


def test_what_a_former_version_left_in_its_folder_is_not_taken_for_a_package() -> None:
    """A folder tutor/dist without an __init__.py is a namespace package to Python."""
    left = Path(tutor.__file__).parent / "dist"
    is_new = not left.exists()
    left.mkdir(exist_ok=True)
    try:
        code = "import tutor.dist; print(tutor.dist.DataParallel.__name__)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        )
    finally:
        if is_new:
            left.rmdir()
    assert done.stdout == "DataParallel\n"
