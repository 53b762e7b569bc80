"""`python -m tutor`: help that names every default. What the doctor says: tests/test_doctor.py."""

from __future__ import annotations

import argparse
import sys

import pytest

from tutor import __main__ as command_line
from tutor.testing import conformance
from tutor.training import screen


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


def test_conformance_says_how_far_it_is_on_a_terminal_alone(monkeypatch, capsys):
    command = ["conformance", "python_ref", "--kernel", "neg", "--kernel", "qr"]
    assert command_line.main(command) == 0
    table, beside = capsys.readouterr()
    assert beside == ""
    monkeypatch.setattr(screen, "OFTEN", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert command_line.main(command) == 0
    again, beside = capsys.readouterr()
    assert again == table
    assert beside == "\r\033[Kneg:   0% of 2 kernels\r\033[Kqr:  50% of 2 kernels\r\033[K"


def test_conformance_knows_every_name_before_it_begins(monkeypatch, capsys):
    monkeypatch.setattr(conformance, "check", lambda *_: 1 / 0)
    assert command_line.main(["conformance", "python_ref", "--kernel", "neg", "--kernel", "nag"])
    assert capsys.readouterr().err.startswith("asked: conformance of kernel 'nag'\n")
