"""What keeps an answer from outliving those who asked for it: course/sandbox.py."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A process that ends as soon as its child is ready; the child waits until its input is closed.
ORPHAN = """
import os, sys
from course.sandbox import die_with_parent

ready, tell = os.pipe()
if os.fork() == 0:
    die_with_parent()
    os.write(tell, b"x")
    sys.stdin.read()
    os.write(1, b"lived on")
    os._exit(0)
os.read(ready, 1)
os._exit(0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can do that")
def test_a_child_ends_with_its_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.wait(60) == 0
        assert parent.stdin is not None and parent.stdout is not None
        # The kernel kills the child before it tells anybody that the parent has ended.
        parent.stdin.close()
        assert parent.stdout.read() == b""
