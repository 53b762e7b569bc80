"""`python -m tutor`: what the doctor says, and help that names every default."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tutor import __main__ as command_line
from tutor.backends import simd_cpp

ROOT = Path(command_line.__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def doctor(capsys):
    assert command_line.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.parametrize("missing", command_line.OPTIONAL)
def test_the_doctor_says_how_to_get_what_is_missing(monkeypatch, capsys, missing):
    def find_spec(name):
        return None if name == missing else object()

    monkeypatch.setattr(command_line.importlib.util, "find_spec", find_spec)
    said = doctor(capsys)
    for package, (_, extra) in command_line.OPTIONAL.items():
        text = said[package].strip()
        assert text.endswith(f'pip install "tutorgrad[{extra}]"' if package == missing else "there")


def test_every_remedy_of_the_doctor_is_an_extra():
    extras = PYPROJECT.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for _, extra in command_line.OPTIONAL.values():
        assert f"\n{extra} = [" in extras


def test_the_doctor_of_an_install_without_the_extension():
    code = (
        "import sys; sys.modules['tutor.backends.simd_cpp._simd'] = None\n"
        "sys.modules['numpy'] = None\n"
        "from tutor.__main__ import main; sys.exit(main(['doctor']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TUTOR_BACKEND": "", "TUTOR_SIMD": ""}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                            text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert f"to do: {simd_cpp.REMEDY}" in result.stdout
    assert re.search(r"^backend: +python_ref", result.stdout, re.MULTILINE)


def test_the_doctor_says_where_mnist_is_or_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path))
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    assert "once it is downloaded" in doctor(capsys)["MNIST train images"]
    monkeypatch.setenv("TUTOR_DATA", str(tmp_path / "own"))
    assert "to do: put train-images-idx3-ubyte.gz there" in doctor(capsys)["MNIST train images"]
    (tmp_path / "own").mkdir()
    own = tmp_path / "own" / "train-images-idx3-ubyte"
    own.write_bytes(b"")
    assert doctor(capsys)["MNIST train images"].strip() == str(own)


def parsers():
    """The parser of every command, with its name."""
    from benchmarks import __main__ as bench

    whole = command_line.parser()
    (commands,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    yield from ((name, p) for name, p in commands.choices.items() if name != "bench")
    built = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", lambda p, *_: built.append(p) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bench.arguments([])
    yield "bench", built[0]


PARSERS = dict(parsers())


@pytest.mark.parametrize("name", PARSERS)
def test_every_option_says_its_default(name):
    for action in PARSERS[name]._actions:
        optional = action.option_strings or action.nargs in ("?", "*")
        if optional and action.dest != "help" and action.help is not argparse.SUPPRESS:
            needed = name == "check" and action.dest in ("id", "file")  # unless --list is given
            assert needed or "(default: " in (action.help or ""), action
    assert PARSERS[name].format_help()
