"""No kernel reads or writes beside its operands, wherever they start and however long they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import guarded
import pytest
from backend_names import LEVELS

from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bool_, float16, float32, uint8

pytestmark = pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kernel", SIGNATURES)
def test_every_length_and_offset(kernel: str, level: str) -> None:
    """A Latin square: every length and every offset for each kernel, shared out to its dtypes."""
    dtypes, table = SIGNATURES[kernel].dtypes, registry.table(level)
    step = min(3, len(dtypes))
    for i, dtype in enumerate(dtypes):
        lengths = guarded.LENGTHS[i % step :: step]
        assert guarded.check(kernel, dtype, table, lengths, False) >= len(lengths) - 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [("add", float32), ("exp", float16), ("sum", float32), ("max", uint8), ("eq", float32),
     ("nonzero", bool_)],
)  # fmt: skip
def test_every_length_at_every_offset(kernel: str, dtype: DType, level: str) -> None:
    lengths = range(1, 131)
    offsets = 64 // min(dtype.itemsize, 1 if kernel in ("eq", "nonzero") else 8)
    count = guarded.check(kernel, dtype, registry.table(level), lengths, True)
    assert count == len(lengths) * offsets


@pytest.mark.parametrize("level", LEVELS)
def test_pages_that_cannot_be_touched(level: str) -> None:
    """In a process of its own: what reaches beyond the operand ends it."""
    ran = subprocess.run(
        [sys.executable, guarded.__file__, level.removeprefix("simd_cpp.")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr}"
    assert int(ran.stdout) > 30_000


# ---- the guards themselves -----------------------------------------------------------------------


def spoiled(change) -> registry.Table:
    """python_ref's `neg`, but what `change` does to its operands afterwards."""
    reference = registry.table("python_ref")["neg", float32]

    def run(out, x) -> None:
        reference(out, x)
        change(out, x)

    return {("neg", float32): run}


def touch(x, element: int) -> None:
    x.buf.raw[(x.offset + element) * 4] ^= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out, x: touch(out, -1), "in front"),
        (lambda out, x: touch(out, out.shape[0]), "behind"),
        (lambda out, x: touch(x, x.shape[0]), "behind"),
        (lambda out, x: touch(x, 0), "input 1 was written"),
        (lambda out, x: out.offset % 16 == 3 and touch(out, 0), "length"),
    ],
)
def test_the_guards_notice(change, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        guarded.check("neg", float32, spoiled(change), range(1, 40), False)


def test_the_pages_cannot_be_touched() -> None:
    """Reading one element too far kills the process, so a test that passes says something."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(guarded.__file__).parent)!r});"
        "import ctypes, guarded; island = guarded.Island(); end = island.address + guarded.ROOM;"
        "ctypes.string_at(end - 4, 4); print('inside', flush=True); ctypes.string_at(end - 4, 5)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stdout == "inside\n"
    assert ran.returncode != 0  # killed by a signal, or by a sanitizer that caught it
