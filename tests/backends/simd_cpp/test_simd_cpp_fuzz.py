"""A short run of the fuzzer: `make fuzz` runs a long one."""

import os
import subprocess
import sys
from pathlib import Path

FUZZER = Path(__file__).parents[1] / "fuzz.py"


def test_a_few_thousand_calls_end_neither_the_process_nor_a_guard_byte():
    result = subprocess.run(
        [sys.executable, str(FUZZER), "--calls", "20000", "--seed", "1"],
        env={**os.environ, "PYTHONPATH": str(FUZZER.parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("20000 calls:")
    assert "done" in result.stdout
    assert "ShapeError" in result.stdout
