"""What `make site` puts into its folder, as far as that needs neither npm nor a browser."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from course import notebooks

ROOT = Path(__file__).parents[2]


def module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


build = module(ROOT / "docs/_site/build.py")
served = module(ROOT / "docs/_site/served.py")
live = module(ROOT / "docs/_ext/live.py")

LESSON = """
import sys
sys.path.insert(0, sys.argv[1])
import course, tutor
assert course.__file__.startswith(sys.argv[1]) and tutor.__file__.startswith(sys.argv[1])
from course import begin, solution
from course.exercise import everything
begin("08")
[entry.solution for entry in everything() if hasattr(entry, "hints")]
print(tutor.Tensor([1, 2]) + 1, tutor.registry.backends())
"""


def test_the_site_is_served_in_silence_and_the_bytes_are_counted(tmp_path, capfd):
    (tmp_path / "index.html").write_bytes(b"<p>12345")
    (tmp_path / "empty").mkdir()
    server = served.Server(str(tmp_path))
    try:
        for _ in range(2):
            with urllib.request.urlopen(server.base, timeout=30) as page:
                assert page.read() == b"<p>12345"
        assert server.sent == 16
        with urllib.request.urlopen(server.base + "empty/", timeout=30) as listing:
            size = len(listing.read())
        assert server.sent == 16 + size
        with pytest.raises(urllib.error.HTTPError, match="404") as gone:
            urllib.request.urlopen(server.base + "gone.html", timeout=30)
        gone.value.close()
    finally:
        server.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.base, timeout=30)
    assert capfd.readouterr() == ("", "")


def test_the_archive_is_a_library_with_the_whole_course(tmp_path):
    build.write_library(tmp_path / "tutor.zip")
    zipfile.ZipFile(tmp_path / "tutor.zip").extractall(tmp_path / "library")
    command = [sys.executable, "-I", "-S", "-c", LESSON, str(tmp_path / "library")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "python_ref" in done.stdout and "simd" not in done.stdout


def test_the_archive_has_what_is_shown_where_there_is_no_compiler(tmp_path):
    build.write_library(tmp_path / "tutor.zip")
    zipfile.ZipFile(tmp_path / "tutor.zip").extractall(tmp_path / "library")
    shown = "import tutor; print(tutor.listing('add', level='avx2'))"
    for words in (["-c", shown], ["-m", "tutor", "lab", "branches"]):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path / "library", capture_output=True, text=True,
            env={"PATH": "/nowhere"}, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "vaddps ymm0" in done.stdout or "measured on " in done.stdout


def test_equal_files_make_equal_archives(tmp_path):
    for name in ("one.zip", "two.zip"):
        build.write_library(tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_package_with_another_checksum_is_refused_and_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "KEPT", tmp_path)
    name, version, integrity = build.PYODIDE
    file = tmp_path / f"{name}-{version}.tgz"
    file.write_bytes(b"something else")
    with pytest.raises(SystemExit, match="sha512"):
        build.npm(name, version, integrity)
    assert not file.exists()


def test_a_page_of_a_chapter_gets_its_cells_and_another_page_nothing():
    path = notebooks.chapters()["05"]
    context = {"body": "<p>text</p>", "pathto": lambda name, resource: "../"}
    live.enliven(SimpleNamespace(), f"chapters/{path.stem}", "page.html", context, None)
    text = re.search(r'<script type="application/json"[^>]*>(.*)</script>', context["body"])[1]
    assert "<" not in text  # no cell can end the script
    data = json.loads(text)
    cells = notebooks.code_cells(notebooks.read(path))
    assert [cell["code"] for cell in data["cells"]] == [notebooks.source(cell) for cell in cells]
    assert '"../live/chapter.js"' in context["metatags"]
    other = {"body": "x", "pathto": None}
    live.enliven(SimpleNamespace(), "index", "page.html", other, None)
    assert other == {"body": "x", "pathto": None}


def test_every_mark_of_the_service_worker_is_filled_in(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "SITE", tmp_path)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "a.html").write_text("one")
    build.write_worker()
    first = (tmp_path / "sw.js").read_text()
    assert "the build writes" not in first and '["chapters/a.html"]' in first
    build.write_worker()
    assert (tmp_path / "sw.js").read_text() == first
    (tmp_path / "chapters" / "a.html").write_text("two")
    build.write_worker()
    assert (tmp_path / "sw.js").read_text() != first
