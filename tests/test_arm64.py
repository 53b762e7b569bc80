"""What `make arm64` consists of, as far as it runs without an Arm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from backend_names import LEVELS

from tutor.backends.signatures import SIGNATURES

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "elsewhere.py"
KERNELS = ("sum", "bitwise_not")
ROWS = sum(len(SIGNATURES[kernel].dtypes) for kernel in KERNELS)

# A machine over there whose kernels leave everything as it is; and one that only seems to, for the
# comparison over there, which counts, finds nothing wrong.
IDLE = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import elsewhere
from tutor.testing import conformance
elsewhere.execute = lambda kernel, case, before: before
"""
WRONG = f"""{IDLE}
execute, prepared = conformance.execute, conformance.prepared

def drawn(*row):  # the reference over there is not idle
    conformance.execute = execute
    found = prepared(*row)
    conformance.execute = elsewhere.execute
    return found

conformance.prepared = drawn
elsewhere.serve()
"""
OTHER = f"{IDLE}elsewhere.serve()"


def agreement(levels: list[str], *command: str) -> subprocess.CompletedProcess[str]:
    named = [word for kernel in KERNELS for word in ("--kernel", kernel)]
    program = [sys.executable, str(SCRIPT), *levels, *named]
    return subprocess.run([*program, "--", *command], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_kernels_of_another_process_are_compared_with_the_reference_of_this_one() -> None:
    level = LEVELS[-1].removeprefix("simd_cpp.")
    right = agreement([level], sys.executable, str(SCRIPT))
    assert right.returncode == 0, right.stdout + right.stderr
    assert right.stdout.rstrip().endswith(f"{level}: {ROWS} rows, 0 wrong")
    other = agreement([level], sys.executable, "-c", OTHER)
    assert other.returncode == 0, other.stdout + other.stderr
    assert other.stdout.count("wholly over there: True") == ROWS


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_kernels_that_are_wrong_over_there_are_wrong() -> None:
    level = LEVELS[-1].removeprefix("simd_cpp.")
    wrong = agreement([level], sys.executable, "-c", WRONG)
    assert wrong.returncode == 1
    assert wrong.stdout.rstrip().endswith(f"{level}: {ROWS} rows, {ROWS} wrong")


def test_a_machine_that_ends_is_not_taken_for_one_that_agrees() -> None:
    result = agreement(["scalar"], sys.executable, "-c", "raise SystemExit(3)")
    assert result.returncode == 1
    assert "the process over there ended, 3" in result.stdout
