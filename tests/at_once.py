"""Threads that get in each other's way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable


def at_once(targets: Iterable[Callable[[], object]]) -> None:
    """Run each target in a thread of its own; Python changes threads as often as it can."""
    threads, interval = [threading.Thread(target=t) for t in targets], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
