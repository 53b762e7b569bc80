"""`python -m tutor`: help that names every default. What the doctor says: tests/test_doctor.py."""

from __future__ import annotations

import argparse

import pytest

from tutor import __main__ as command_line


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
