"""Run a program of rank_programs.py on ranks, and read what each of them has found."""

import json
import subprocess
import sys
from pathlib import Path

from started import environment

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("rank_programs.py")
SECONDS = 60  # that any of them may take, on a machine that is busy


def launched(ranks, *program, launcher=None, **variables):
    """The finished process of so many ranks of `program`."""
    command = launcher or [sys.executable, "-m", "tutor", "ranks", str(ranks)]
    return subprocess.run(
        [*command, *map(str, program)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def results(ranks, name, launcher=None, **variables):
    """What the function of that name has returned, on each rank in order."""
    done = launched(ranks, PROGRAMS, name, launcher=launcher, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        who, is_result, result = line.partition("RESULT ")
        if is_result:
            rank = who.strip("[] \t").removeprefix("rank ")
            found[int(rank) if rank else len(found)] = json.loads(result)
    assert sorted(found) == list(range(ranks)), done.stdout + done.stderr
    return [found[rank] for rank in range(ranks)]
