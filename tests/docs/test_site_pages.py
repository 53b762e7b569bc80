"""Pages that tell of other files: they say what is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import messages
import readme_picture
import speed

from tutor import errors, use_backend

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_golden_message_is_on_the_page() -> None:
    found = messages.messages()
    text = messages.FILE.read_text(encoding="utf-8")
    assert len(found) == len(re.findall(r"^>>> ", text, re.MULTILINE)) > 100
    assert all(all(message) for message in found)
    assert sum(map(len, messages.by_type().values())) == len(found)
    first = found[0]
    assert first.line == "Tensor([[1, 2], [3]])" and first.error == "ShapeError"
    assert first.do == "make every row the same length"


def test_each_type_is_an_error_of_python_s() -> None:
    assert messages.parents("ShapeError") == ["ValueError"]
    for name in messages.by_type():
        assert issubclass(getattr(errors, name), errors.TutorError) and messages.parents(name)


@pytest.mark.usefixtures("tmp_path")
def test_the_picture_of_the_readme_is_what_its_script_draws(tmp_path: Path) -> None:
    with use_backend("python_ref"):
        readme_picture.picture().save(tmp_path / "readme.svg")
    drawn = (tmp_path / "readme.svg").read_text(encoding="utf-8")
    assert drawn == readme_picture.FILE.read_text(encoding="utf-8")
    assert "prefers-color-scheme:dark" in drawn
    assert f"]({readme_picture.FILE.relative_to(ROOT).as_posix()})" in README


def test_the_readme_shows_the_boxes_before_all_else() -> None:
    picture, idea, commands = (README.index(s) for s in ("![", "four boxes", "```sh"))
    assert picture < idea < commands < README.index("## The four boxes at work")
    assert README.count("\n", commands, README.index("```\n", commands)) == 3  # two commands
    code = README.split("```python\n")[1].split("```")[0]
    assert 20 <= len([line for line in code.splitlines() if line.strip()]) <= 32


def test_the_readme_counts_what_was_measured() -> None:
    said = re.search(r"(\d+) of \1 pairs of kernel and\s+dtype", README)
    measured = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    assert said and f"{said[0].split(' pairs')[0]} pairs of kernel and dtype agree" in measured
    exhaustive = (ROOT / "docs/exhaustive.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \w+ \| float32 \| (.+?) \|", exhaustive, re.MULTILINE)
    assert len(rows) > 20 and set(rows) == {"all 4,294,967,296"}


# What the README calls a row of docs/measured.jsonl.
ROWS = {
    "product of two matrices, 128 x 128": ("matmul", "N = 128"),
    "the same, 512 x 512": ("matmul", "N = 512"),
    "first layer of MNIST's network, batch of 32": ("matmul", "x Wᵀ 784-128 batch 32"),
    "training step of that network, batch of 128": ("mlp", "step SGD batch 128"),
    "the same, under `@tutor.jit`": ("jit", "step 784-128-10 SGD batch 128"),
    "ten small operations, forward and backward": (
        "overhead", "10 operations forward + backward"),
    "one number plus one number": ("overhead", "add of 1 element"),
    "training step of a small convolutional network, batch of 128": ("cnn", "step SGD batch 128"),
    "GroupNorm of (32, 64, 14, 14), 16 groups, with backward": (
        "layers", "GroupNorm 16 of (32, 64, 14, 14), backward"),
    "LSTM, 16 places of 64 numbers, batch of 32, with backward": (
        "layers", "LSTM (32, 16, 64), backward"),
}  # fmt: skip


def test_the_times_of_the_readme_are_those_that_the_site_draws() -> None:
    measured = {(row["suite"], row["case"]): row for row in speed.rows()}
    lines = README.split("| | tutor | NumPy | PyTorch |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    shown = {line.split("|")[1].strip(): line for line in lines.splitlines()}
    assert shown.keys() == ROWS.keys()
    for label, line in shown.items():
        row = measured[ROWS[label]]
        times = {n: found["best"] for n, found in row["results"].items() if n != "eager"}
        cells = [speed.seconds(times[n]).replace(" us", " µs") if n in times else ""
                 for n in ("tutor", "numpy", "torch")]  # fmt: skip
        least = speed.seconds(min(times.values())).replace(" us", " µs")
        assert [cell.strip() for cell in line.replace("**", "").split("|")[2:5]] == cells
        assert f"**{least}**" in line and line.count("**") == 2
    assert f"measured on {row['date'][:10]}" in README


def test_search_will_find_a_gpu() -> None:
    page = (ROOT / "docs/faq.md").read_text(encoding="utf-8")
    assert "## Does it use the GPU?" in page and "Windows" in page and "tutorgrad" in page
