"""The built site in a real browser: `make site-test`, which sets TUTOR_SITE to its folder.

Without that nothing here is collected: these tests need what `make test` and .ci/run do not have, a
built site and Chromium. They are run before the site is published. The site is served by Python's
plain file server.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SITE = os.environ.get("TUTOR_SITE", "")
collect_ignore_glob = [] if SITE else ["test_*.py"]
ROOT = Path(__file__).parents[2]
AXE = (
    "axe-core",
    "4.14.1",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)
LOAD = 90_000  # milliseconds until Python is there, on a machine that does other things, too
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking")


def script(name: str) -> ModuleType:
    """A file of docs/_site, whose folder is not in the path: it has a `build`, as others do."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / f"docs/_site/{name}.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


Server = script("served").Server


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        assert path, "there is no Chromium: apt-get install chromium"
        started = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield started
        started.close()


@pytest.fixture(scope="session")
def shared() -> Iterator[Any]:
    server = Server(SITE)
    yield server
    server.stop()


@pytest.fixture
def server() -> Iterator[Any]:
    """A server of its own: another address, so nothing that was kept before."""
    own = Server(SITE)
    yield own
    own.stop()


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker, as the build fetches what it needs."""
    with script("build").npm(*AXE) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


class Watched:
    """A page, and what went wrong in it."""

    def __init__(self, page, base: str) -> None:
        self.page, self.base, self.wrong = page, base, []
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self.request)
        page.on("requestfailed", lambda r: self.wrong.append(f"failed: {r.url} {r.failure}"))

    def console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text}")

    def request(self, request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.wrong.append(f"asks another host: {request.url}")

    def open(self, path: str) -> None:
        self.page.goto(self.base + path)


class Chapter(Watched):
    """A live chapter."""

    def open(self, path: str) -> None:
        super().open(f"chapters/{path}.html")
        self.ready()

    def reload(self) -> None:
        self.page.reload()
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector("html[data-live=ready]", timeout=LOAD)

    @property
    def isolated(self) -> bool:
        return self.page.evaluate("crossOriginIsolated")

    def cell(self, number: int):
        return self.page.locator("div.cell:has(> .cell_input)").nth(number - 1)

    def write(self, number: int, text: str) -> None:
        self.cell(number).locator("textarea").fill(text)

    def begin(self, number: int, text: str | None = None):
        """Run a cell, and do not wait for its end."""
        if text is not None:
            self.write(number, text)
        self.cell(number).get_by_role("button", name="Run cell").click()
        return self.cell(number)

    def run(self, number: int, text: str | None = None) -> str:
        """Run a cell: what it shows, as text."""
        cell = self.begin(number, text)
        return self.end(cell)

    def end(self, cell) -> str:
        cell.locator(".live-mark:text-matches('^(done|error|stopped)')").wait_for(timeout=LOAD)
        return cell.locator(".cell_output").inner_text()

    def mark(self, number: int) -> str:
        return self.cell(number).locator(".live-mark").inner_text()


@pytest.fixture
def chapter(browser, server) -> Iterator[Chapter]:
    context = browser.new_context(accept_downloads=True)
    yield Chapter(context.new_page(), server.base)
    context.close()
