"""Features of the platform."""

from __future__ import annotations

import sys

# On WebAssembly, in a browser, Python has no threads, processes or sockets.
THREADS = sys.platform not in ("emscripten", "wasi")

# macOS has a fork, too, but one that its own libraries do not survive.
FORKS = sys.platform == "linux"
