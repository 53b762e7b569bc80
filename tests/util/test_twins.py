"""Where there is native code, it has taken its place before anybody could bind the readable one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tutor.backends import simd_cpp

CODE = """
from tutor import engine
from tutor._util import twins
from tutor.core.engine import apply
from tutor.methods.operators import apply as bound
from tutor.methods import inplace
from tutor._util.context_settings import Within
print(apply is bound, inplace.change is twins.change)
block = Within.__enter__, Within.__exit__
print(*[type(x).__name__ for x in (apply, engine.run, twins.change, *block)])
"""


def printed(native: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={**os.environ, "TUTOR_NATIVE": native},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.parametrize("native", ["0", "1"])
def test_everybody_has_bound_the_same(native: str) -> None:
    assert printed(native)[0] == "True True"


def test_without_twins_all_of_it_is_python() -> None:
    assert printed("0")[1] == "function method function function function"


def test_with_twins_none_of_it_is() -> None:
    if simd_cpp._native is None:
        pytest.skip("the extension was not built")
    assert "function" not in printed("1")[1].split()
