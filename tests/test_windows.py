"""The Python part needs nothing that Windows has not: here all of that is taken away first.

Nothing of this ran on Windows itself; .github/workflows/wheels.yml has the pure wheel tested there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What Python's own documentation calls "Availability: Unix", of the modules tutor imports; taken
# away when the standard library, which asks what system it is on, has been imported.
WITHOUT = """
import ctypes, importlib, multiprocessing, os, random, signal, socket, subprocess, sys, tempfile
import threading, urllib.request, argparse, json, asyncio, zipfile, gzip, shutil, platform, unittest
import importlib.metadata, concurrent.futures
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
for name in ("register_at_fork", "fork", "forkpty", "getuid", "geteuid", "getgid", "getpgid",
             "killpg", "sysconf", "sched_getaffinity", "sched_setaffinity", "uname",
             "getloadavg", "nice", "mkfifo", "setsid", "chown", "statvfs", "wait",
             "waitid", "pread", "pwrite",
             "posix_fallocate", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "ctermid", "openpty"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGHUP", "alarm", "setitimer",
             "pthread_sigmask", "pthread_kill", "sigwait"):
    if hasattr(signal, name):
        delattr(signal, name)
sys.modules["tutor.backends.simd_cpp._simd"] = None  # which is not built there
sys.path.insert(0, ROOT)
"""

TRAINS = """
import tutor
from tutor import Tensor, nn, optim
tutor.manual_seed(0)
x = Tensor.rand(32, 1)
layer = nn.Linear(1, 1)
opt = optim.SGD(nn.get_parameters(layer), lr=0.2, momentum=0.9)
for _ in range(80):
    opt.zero_grad()
    ((layer(x) - (3 * x - 1)) ** 2).mean().backward()
    opt.step()
assert abs(layer.weight.item() - 3) < 0.1
tutor.save("line.safetensors", model=layer, optimizer=opt)
tutor.load("line.safetensors", model=layer, optimizer=opt)
assert tutor.registry.current() == "python_ref"
"""

COMMANDS = """
from tutor.__main__ import main
for line in ("doctor", "kernels", "chapters list", "check --list"):
    assert main(line.split()) == 0, line
"""


@pytest.mark.parametrize("code", [TRAINS, COMMANDS], ids=["training", "the command line"])
def test_without_what_windows_lacks(code: str, tmp_path: Path) -> None:
    """And all text is read and written as UTF-8 there, too: nothing is left to the system."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith("TUTOR")}
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-c",
         WITHOUT.replace("ROOT", repr(str(ROOT))) + code],
        cwd=tmp_path, env={**keep, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
