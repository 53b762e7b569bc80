"""What the system under Python has."""

from __future__ import annotations

import sys

# As WebAssembly, in the page of a browser, Python has no threads, no processes and no sockets.
THREADS = sys.platform not in ("emscripten", "wasi")
