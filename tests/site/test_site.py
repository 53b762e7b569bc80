"""Every page of the built site opens without an error, and asks no other host for anything."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Watched

SITE = Path(os.environ["TUTOR_SITE"])
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if not {"_static", "_modules"} & set(path.parts)
)


@pytest.fixture(scope="module")
def context(browser):
    made = browser.new_context(service_workers="block")
    yield made
    made.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens(context, shared, path):
    watched = Watched(context.new_page(), shared.base)
    watched.open(path)
    if path.startswith("chapters/"):
        watched.page.wait_for_selector("html[data-live=ready]")
    assert watched.wrong == []
    watched.page.close()


KINDS = [path for path in ("index.html", "chapters.html", "chapters/00_five_minutes.html",
         "chapters/05_engine.html", "architecture.html", "autograd.html", "playground.html")
         if path in PAGES]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", KINDS)
def test_axe_finds_nothing_serious(browser, shared, axe, path, scheme):
    context = browser.new_context(service_workers="block", color_scheme=scheme)
    page = context.new_page()
    page.goto(shared.base + path)
    page.wait_for_load_state("networkidle")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        f"{rule['id']}: {rule['help']}: {node['target']} {node['html'][:150]}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]
    context.close()
    assert serious == []


def test_the_folder_has_what_is_served_and_nothing_else():
    names = {path.name for path in SITE.iterdir()}
    assert not {".doctrees", ".buildinfo", "__pycache__"} & names
    lock = json.loads((SITE / "pyodide" / "pyodide-lock.json").read_text())
    assert lock["packages"] == {}  # nothing that would be fetched from elsewhere


@pytest.mark.skipif(not (SITE / "simd.wasm").stat().st_size, reason="built without the backend")
def test_the_pages_say_how_much_python_weighs():
    """What the first cell waits for, as tutor-worker.js fetches it."""
    pyodide = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
    names = [*(f"pyodide/{name}" for name in pyodide), "tutor.zip", "tutor.snapshot", "simd.wasm"]
    weight = round(sum((SITE / name).stat().st_size for name in names) / 1e6)
    live = (SITE / "live/chapter.js").read_text(encoding="utf-8")
    assert f"({weight} MB the first time)" in live
    assert f"{weight} MB, once" in (SITE / "playground/page.js").read_text(encoding="utf-8")
    assert f"{weight} MB; from" in (SITE / "chapters.html").read_text(encoding="utf-8")
