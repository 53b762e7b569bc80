"""Run one long step of `make`, and say all the time what is being done and how far it is.

    python .ci/step.py "what it is" COMMAND [ARGUMENT ...]

What the command prints is not shown, but read: one line says what it is at. If it fails, the end of
what it printed is shown. The exit code is the command's.
"""

from __future__ import annotations

import collections
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable

# A line of pip, scikit-build-core, ninja, make or Sphinx, and what it means. The last one counts.
STAGES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"^\s*Collecting ([\w.-]+)", lambda m: f"fetching {m[1]}"),
    (r"^\s*Installing build dependencies", lambda m: "fetching what the build needs"),
    (r"^\s*Installing backend dependencies", lambda m: "fetching what the build needs"),
    (r"Configuring CMake", lambda m: "looking at the compiler"),
    (r"^\s*\[\s*(\d+)/(\d+)\]", lambda m: f"compiling, {m[1]} of {m[2]} files"),
    (r"^\s*\[\s*(\d+)%\]", lambda m: f"compiling, {m[1]}%"),
    (r"^\s*Installing collected packages", lambda m: "installing"),
    (r"^(reading sources|writing output)\S*\s*\[\s*(\d+)%\]", lambda m: f"{m[1]}, {m[2]}%"),
    (r"^\s*(?:Executing notebook|.*: Executing).*?([\w.-]+)\W*$", lambda m: f"running {m[1]}"),
)
EVERY = 15.0  # seconds between two lines where there is no terminal
SHOWN = 60  # lines of the end of a command that fails


class Step:
    """What is known of the command so far, and how it is shown."""

    def __init__(self, title: str) -> None:
        self.title, self.stage, self.start = title, "begins", time.monotonic()
        self.terminal, self.said, self.last = sys.stdout.isatty(), "", 0.0

    def see(self, line: str) -> None:
        for pattern, meaning in STAGES:
            if match := re.search(pattern, line):
                self.stage = meaning(match)

    def show(self) -> None:
        """On a terminal one line that changes; else a line now and then."""
        seconds = time.monotonic() - self.start
        text = f"== {self.title}: {self.stage}"
        if self.terminal:
            print(f"\r\033[K{text} ({seconds:.0f} s)", end="", flush=True)
        elif seconds - self.last >= EVERY:
            self.last = seconds
            print(f"{text} ({seconds:.0f} s)", flush=True)

    def end(self, code: int) -> None:
        how, again = "done" if code == 0 else "FAILED", "\r\033[K" if self.terminal else ""
        seconds = time.monotonic() - self.start
        print(f"{again}== {self.title}: {how} after {seconds:.0f} s", flush=True)


def run(title: str, command: list[str]) -> int:
    step, log = Step(title), collections.deque[str](maxlen=SHOWN)
    if not step.terminal:
        print(f"== {title}", flush=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(0.5):
                step.show()

        clock = threading.Thread(target=tick, daemon=True)
        clock.start()
        try:
            for line in process.stdout or ():
                log.append(line)
                step.see(line)
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            code = 130
        finally:
            ended.set()
            clock.join()
        step.end(code)
        if code not in (0, 130):
            sys.stdout.writelines(log)
    return code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
