"""A mirror on this machine that misbehaves in every way one could meet."""

from __future__ import annotations

import gzip
import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAYLOAD = random.Random(0).randbytes(2000) + bytes(range(256)) * 100
PACKED = gzip.compress(PAYLOAD, mtime=0)


class Mirror(ThreadingHTTPServer):
    """Answers `/<behaviour>/<name>.gz`; `asked` counts the requests for each behaviour."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked, self.released = Counter(), threading.Event()

    def url(self, behaviour):
        return f"http://127.0.0.1:{self.server_port}/{behaviour}/"

    def handle_error(self, request, client_address):
        """Clients that hang up early are what some tests are about."""


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        behaviour = self.path.split("/")[1]
        self.server.asked[behaviour] += 1
        getattr(self, behaviour)()

    def log_message(self, *_):
        pass

    def send(self, body, length=None):
        self.send_response(200)
        if length is not False:
            self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def good(self):
        self.send(PACKED)

    def plain(self):
        self.send(PAYLOAD)

    def moved(self):
        self.send_response(302)
        self.send_header("Location", self.server.url("good") + "x.gz")
        self.end_headers()

    def missing(self):
        self.send_error(404)

    def truncated(self):
        self.send(PACKED[:-100], length=len(PACKED))

    def corrupt(self):
        self.send(PACKED[:-8] + bytes(8))  # not the CRC-32 of what comes before

    def other(self):
        self.send(gzip.compress(PAYLOAD[::-1]))

    def welcome(self):
        self.send(b"<html>Please log in to this network</html>")

    def bomb(self):
        self.send(gzip.compress(bytes(50_000_000)))

    def trailing(self):
        self.send(PACKED + b"garbage")

    def endless(self):
        self.send(b"", length=False)
        while not self.server.released.is_set():
            self.wfile.write(bytes(1 << 16))

    def silent(self):
        self.server.released.wait()

    def stalling(self):
        self.send(PACKED[:100], length=len(PACKED))
        self.server.released.wait()

    def tired(self):
        """Too busy the first time."""
        self.send_error(503) if self.server.asked["tired"] == 1 else self.good()

    def cut(self):
        """The line breaks the first time."""
        self.truncated() if self.server.asked["cut"] == 1 else self.good()

    def busy(self):
        self.send_error(503)
