"""Where Python has no threads and no sockets, as in a page, what needs them does without."""

from __future__ import annotations

import threading

import pytest

from tutor import data
from tutor.data import fetch, loader, mnist
from tutor.errors import DataError


@pytest.fixture
def page(monkeypatch, tmp_path):
    """No thread can be started, and nothing is asked of the network."""

    def refuse(*args, **kwargs):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(fetch, "get", refuse)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path)
    for module in (fetch, loader):
        monkeypatch.setattr(module, "THREADS", False)


def test_a_download_is_refused_at_once_and_says_why(page):
    with pytest.raises(DataError, match="no sockets"):
        fetch.download(mnist.FILES["train"][0], bytes)


def test_auto_draws_digits_instead(page):
    assert data.load("auto", limit=20).name == "digits"


def test_batches_are_the_same_as_with_a_thread(page):
    rows = [float(n) for n in range(10)]
    ahead = loader.DataLoader(rows, batch_size=3, prefetch=2)
    plain = loader.DataLoader(rows, batch_size=3, prefetch=0)
    assert [b.tolist() for b in ahead] == [b.tolist() for b in plain]
