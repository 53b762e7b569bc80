"""Processes of the report that run what was handed in, and what they may say.

A child that runs a file has a pipe for what happens in it: which answer is judged now, and what
does not pass. No pass is read from there. An answer is judged in a child of that child, which has
no descriptor at all; when the check is over it forks once more, which leaves the answer's threads
behind, and only that process opens the FIFO on which verdicts are read. Its name cannot be guessed,
and its folder not be listed, so an answer does not find it by looking. One verdict is taken for
each answer that is judged, of the id that is judged; where two come, none counts. The same check
must refuse a bare object, or else something has changed it.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from typing import Any

from course.exercise import Exercise, Question
from course.guard import Output, quiet
from course.judging import judged
from course.sandbox import die_with_parent
from course.verdict import PASSED

LEAVE = os._exit  # which is replaced while an answer runs
NONE = "Python ended, or ran on and on, when this was called"
CHANGED = "the check passes what cannot be right: something that was handed in has changed it"
SPOKEN = "more than one verdict came for this answer: something else has spoken in its place"

Finding = dict[str, Any]
Say = Callable[[Finding], None]


class Ledger:
    """What a child has said: findings, of these ids alone, and the verdicts that came beside."""

    def __init__(self, ids: Collection[str], fifo: int) -> None:
        self.ids, self.fifo = ids, fifo
        self.found: list[Finding] = []
        self.judging = ""  # the id that is judged now
        self.ended = False

    def take(self, said: Finding) -> None:
        """Note what came through the pipe."""
        id = said.get("id")
        if "end" in said:
            self.ended = True
        elif isinstance(said.get("at"), int):
            self.found.append({"at": said["at"]})
        elif not isinstance(id, str) or id not in self.ids:
            return  # it is about another file
        elif "judging" in said:
            self._verdicts()  # what was written before is about nothing
            self.judging = id
        elif "judged" in said:
            if id == self.judging:
                self.found.append(self._judged(id))
            self.judging = ""
        elif said.get("kind") not in PASSED:
            self.found.append({"id": id, "kind": said.get("kind"), "text": said.get("text")})

    def _verdicts(self) -> list[Finding]:
        """What the FIFO has now."""
        data = b""
        while select.select([self.fifo], [], [], 0)[0]:
            data += os.read(self.fifo, 1 << 16)
            if len(data) > 1 << 20:
                break
        return [found for line in data.split(b"\n") if (found := finding(line)) is not None]

    def _judged(self, id: str) -> Finding:
        said = self._verdicts()
        if len(said) > 1:
            return {"id": id, "kind": "raised", "text": SPOKEN}
        if not said or said[0].get("id") != id:
            return {"id": id, "kind": "raised", "text": NONE}
        return {"id": id, "kind": said[0].get("kind"), "text": said[0].get("text")}


def in_child(
    function: Callable[[Say, str], None], seconds: float, ids: Collection[str]
) -> tuple[list[Finding], bool]:
    """What function(say, fifo) says of these ids in a process of its own, and whether it came to
    its end. `seconds` are allowed from one finding to the next."""
    with tempfile.TemporaryDirectory(prefix="v", ignore_cleanup_errors=True) as folder:
        path = f"{folder}/{secrets.token_hex(16)}"
        os.mkfifo(path, 0o600)
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        os.chmod(folder, 0o300)  # no listing
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            _close_but(writing)
            _run(lambda say: function(say, path), writing)
        os.close(writing)
        ledger = Ledger(ids, fifo)
        try:
            _listen(ledger, reading, seconds)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(fifo)
            os.chmod(folder, 0o700)  # whoever removes it has to list it
    return ledger.found, ledger.ended


def _listen(ledger: Ledger, reading: int, seconds: float) -> None:
    rest, until = b"", time.monotonic() + seconds
    while not ledger.ended:
        ready, _, _ = select.select([reading], [], [], max(until - time.monotonic(), 0))
        part = os.read(reading, 1 << 16) if ready else b""
        if not part:
            return
        *lines, rest = (rest + part).split(b"\n")
        for said in filter(None, map(finding, lines)):
            until = time.monotonic() + seconds
            ledger.take(said)


def _run(function: Callable[[Say], None], writing: int) -> None:
    """The whole life of a child."""
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:

        def say(said: Finding) -> None:
            pipe.write(json.dumps(said) + "\n")
            pipe.flush()

        try:
            function(say)
            say({"end": True})
        except BaseException:
            LEAVE(1)
    LEAVE(0)


def _close_but(kept: int) -> None:
    """Close the descriptors of others, which are none of a child's business."""
    die_with_parent()
    os.closerange(3, kept)
    os.closerange(max(kept, 2) + 1, 256)


def finding(line: bytes) -> Finding | None:
    """A line of a child; None where it is not of the form, for a child may write anything."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# ---- judging one answer --------------------------------------------------------------------------


def judge_in_child(entry: Exercise | Question, answer: Any, say: Say, fifo: str) -> None:
    """Have an answer judged in a child; who started this process reads the verdict."""
    say({"judging": True, "id": entry.id})
    whole = 5 + 3 * entry.seconds if isinstance(entry, Exercise) else 10.0
    child = os.fork()
    if not child:
        _close_but(-1)
        _judge(entry, answer, fifo)
    _wait(child, whole)
    say({"judged": True, "id": entry.id})


def _wait(child: int, seconds: float) -> None:
    """Wait for a child, and end it where that takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _judge(entry: Exercise | Question, answer: Any, fifo: str) -> None:
    """The whole life of the process in which an answer is judged: without any descriptor."""
    try:
        with quiet(Output()):
            verdict = judged(entry, answer)
            kind, text = verdict.kind, "\n".join(verdict.lines)[:400]
            if kind in PASSED and judged(entry, object()).kind in PASSED:
                kind, text = "raised", CHANGED
        line = json.dumps({"id": entry.id, "kind": kind, "text": text}).encode() + b"\n"
        child = os.fork()  # without the threads that the answer has left behind
        if not child:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.settrace(None)
            sys.setprofile(None)
            os.write(os.open(fifo, os.O_WRONLY), line[: select.PIPE_BUF])
            LEAVE(0)
        os.waitpid(child, 0)
    finally:
        LEAVE(0)
