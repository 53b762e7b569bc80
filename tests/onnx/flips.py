"""Files with bits turned around: each is loaded and run, or refused by an error in three parts.

python tests/onnx/flips.py 2500       that many files, in a process that may take 4 GB
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import test_onnx as files

import tutor
from tutor.errors import TutorError

SECONDS, MEMORY, GROWTH = 20, 4 << 30, 400_000  # GROWTH: of the process while files are loaded, KB


def written(folder: Path) -> list[tuple[bytes, Any]]:
    """Files as an export writes them, and as others do; with what each takes."""
    found = []
    for model, x in files.MODELS.values():
        tutor.onnx.export(model, x, folder / "model.onnx")
        found.append(((folder / "model.onnx").read_bytes(), x))
    for nodes, initialisers in files.READ.values():
        made = files.model_of(*(nodes if isinstance(nodes, list) else [nodes]), **initialisers)
        found.append((made.SerializeToString(), files.X))
    return found


def turned(raw: bytes, rng: random.Random) -> bytes:
    """One bit, sometimes several, of the whole file or of its beginning, where its structure is."""
    flipped = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        end = len(flipped) if rng.random() < 0.5 else min(len(flipped), 600)
        flipped[rng.randrange(end)] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def late(*_: Any) -> None:
    raise SystemError(f"it takes longer than {SECONDS} seconds")


def flips(count: int, seed: int) -> Counter[str]:
    rng, found = random.Random(seed), Counter[str]()
    signal.signal(signal.SIGALRM, late)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "flipped.onnx"
        for i, (raw, x) in enumerate(written(Path(name)) * count):
            if i == count:
                break
            path.write_bytes(turned(raw, rng))
            signal.alarm(SECONDS)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                model = tutor.onnx.load(path)
                if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + GROWTH:
                    found["LARGE"] += 1
                model(x)
                how = "run"
            except TutorError as error:
                three = error.asked and error.found and error.do
                how = type(error).__name__ if three else f"BARE {error!r}"
            except BaseException as error:
                how = f"BARE {type(error).__name__}: {error}"
            finally:
                signal.alarm(0)
            found[how] += 1
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts = flips(int(sys.argv[1]), seed=int(sys.argv[2]) if sys.argv[2:] else 0)
    print(*(f"{number} {how}" for how, number in counts.most_common()), sep="\n")
    sys.exit(any(how.startswith(("BARE", "LARGE")) for how in counts))
