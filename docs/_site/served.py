"""A plain file server of the built site, for who looks at it in a browser: tests, and figures.py.

It is Python's own, on this machine; it says nothing, and counts the bytes of the files it sends.
"""

from __future__ import annotations

import functools
import os
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *about: object) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        self.server.sent += source.seek(0, os.SEEK_END)  # type: ignore[attr-defined]
        source.seek(0)
        super().copyfile(source, outputfile)


class Server:
    """`Server(folder)` serves it at `base` until `stop()`; `sent` are the bytes of files so far."""

    def __init__(self, folder: str) -> None:
        handler = functools.partial(Quiet, directory=folder)
        self.http: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.sent = 0
        self.base = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def sent(self) -> int:
        return int(self.http.sent)

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()
