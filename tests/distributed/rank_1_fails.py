"""A program for ranks, of which rank 1 fails as the argument says, while the others call
all_reduce. What they are told is printed, and the seconds after which."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import tutor
from tutor import dist
from tutor.distributed.ranks import group
from tutor.errors import DistError

how, seconds = sys.argv[1], float(sys.argv[2])
is_middle, is_beside = how == "middle", how == "beside"
x = tutor.ones(400_000 if is_middle else 4)
dist.all_reduce(x)
print("pid", os.getpid(), flush=True)
pids = [pid for (pid,) in dist.all_gather(tutor.Tensor([os.getpid()])).tolist()]
group().timeout = seconds  # from here on: that all have started may take longer


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    if how in ("kill", "beside"):
        end()
    elif how == "exit":
        os._exit(3)
    elif how == "exit well":
        os._exit(0)
    elif how == "return":
        sys.exit(0)
    elif how == "raise":
        raise ValueError("no such file")
    elif how == "never":
        time.sleep(60)
    elif how == "told":  # as some launchers tell those that are left
        time.sleep(0.5)
        for pid in (pids[0], pids[2]):
            os.kill(pid, signal.SIGTERM)
        time.sleep(60)
    elif how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "other call":
        dist.broadcast(x)
    elif how == "other shape":
        dist.all_reduce(tutor.ones(2, 2))
    elif how == "other dtype":
        dist.all_reduce(tutor.ones(4, dtype="int64"))
    elif how == "other op":
        dist.all_reduce(x, "max")
    elif how == "middle":
        threading.Timer(0.2, end).start()


since = time.monotonic()
try:
    if dist.rank() == 1:
        fail()
    handle = dist.all_reduce(x, wait=not is_beside)  # the call
    if is_beside:
        handle.wait()
    while is_middle:
        dist.all_reduce(x)
except DistError as error:
    print(f"after {time.monotonic() - since:.2f} s: {error}", flush=True)
    try:
        dist.barrier()
    except DistError as error:
        print("again", str(error).partition("found: ")[2].partition("\n")[0], flush=True)
    sys.exit(9)
