"""A mirror, files that come from it, and a place to work in."""

from __future__ import annotations

import hashlib
import threading

import pytest
from mirrors import PAYLOAD, Mirror

from tutor.data import fetch


@pytest.fixture
def mirror():
    server = Mirror()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def workplace(monkeypatch, tmp_path):
    """No copies, no waiting, no proxy: TUTOR_CACHE is `tmp_path / "cache"`."""
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetch, "BACKOFF", 0.001)
    monkeypatch.setattr(fetch, "PATIENCE", 1.0)


@pytest.fixture
def file(mirror):
    """`file("good", "missing", ...)`: a File whose mirrors behave like that."""

    def make(*behaviours, payload=PAYLOAD):
        digest = hashlib.sha256(payload).hexdigest()
        urls = tuple(mirror.url(behaviour) for behaviour in behaviours)
        return fetch.File("set", "numbers", len(payload), digest, urls, ("num.bers",))

    return make
