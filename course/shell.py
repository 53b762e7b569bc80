"""The commands `python -m tutor check`, `hint`, `solution`, `status`, `course` and `chapters`.

They do in a terminal what the functions of those names do in a notebook.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

from course import answers, checking, copies, limits, minutes, notebooks, record, roads
from course.exercise import Question, everything, find
from course.library import disk, saving
from tutor.errors import DataError, DomainError


def check_command(args: argparse.Namespace) -> int:
    """Mark an answer, as `check 05.3 my.py` or `check 05.q1 b`; alone, say how far you are."""
    if args.list:
        states = record.states()
        for each in everything():
            state = "passed" if states.get(each.id, record.State()).passed else "open"
            title = " ".join(each.title.split())
            print(f"{each.id:<7}{state:<8}{title if len(title) < 80 else title[:76] + ' ...'}")
        return 0
    if not args.id:
        return progress()
    if args.id == "18":
        from course import capstone

        return capstone.mark(args.file or "tutor200.py")
    entry = find(args.id)
    if isinstance(entry, Question):
        if args.file is None or args.file.endswith((".py", ".ipynb")):
            raise DomainError(
                f"a check of the question {args.id}",
                "a file was given" if args.file else "there is no answer",
                f"give the answer itself, as python -m tutor check {args.id} "
                + ("b" if entry.choices else "3.5"),
            )
        return 0 if checking.check(args.id, value(args.file)).passed else 1
    return answers.mark(args.id, args.file or notebook_of(args.id))


def progress() -> int:
    """Say how far one is, and what could come next."""
    checking.progress()
    states = record.states()
    left = [entry for entry in everything() if not states.get(entry.id, record.State()).passed]
    if left:
        title = " ".join(left[0].title.split())
        print(f"next: {left[0].id}, {title if len(title) < 70 else title[:66] + ' ...'}")
    print("`python -m tutor check --list` names every exercise, `check 05.3 my.py` marks one")
    return 0


def value(text: str) -> Any:
    """An answer to a question, as it was typed: a number or a list, or words."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def notebook_of(id: str) -> str:
    """The one notebook of this folder that has the exercise; an error where there is none."""
    answers.exercise_of(id)
    found = []
    for path in sorted(Path().glob("*.ipynb")):
        try:
            if notebooks.code_cells(notebooks.read(path), f"exercise-{id}"):
                found.append(path)
        except DataError:
            continue
    own = [path for path in found if ".new" not in path.name] or found
    part = saving.piece(id)
    if not own and part and saving.shelf().piece(id):
        own = [disk.folder() / f"{part.file}.py"]
    if len(own) == 1:
        return str(own[0])
    raise DomainError(
        f"a check of {id}",
        "an id and a file are needed: "
        + (
            f"{', '.join(path.name for path in own)} have that exercise"
            if own
            else "neither a notebook in this folder nor your library has it"
        ),
        f"name the file, as python -m tutor check {id} my.py",
    )


def hint_command(args: argparse.Namespace) -> int:
    """Print the next hint for an exercise, as `hint 05.3`."""
    checking.hint(args.id)
    return 0 if find(args.id) else 2


def solution_command(args: argparse.Namespace) -> int:
    """Print the solution of an exercise, after a pass or three tries, as `solution 05.3`."""
    checking.solution(args.id)
    return 0 if find(args.id) else 2


# ---- course ------------------------------------------------------------------------------------


def course_command(args: argparse.Namespace) -> int:
    """`status`: what is yours; `report FOLDER`: a class; `certificate`: what you have passed."""
    if args.action == "status":
        return status()
    if args.action == "certificate":
        from course import certificate

        return certificate.write(args.folder)
    from course import report

    if not args.folder:
        raise DomainError(
            "a report",
            "a folder of submissions is needed",
            "python -m tutor course report FOLDER, which has one folder for each learner",
        )
    memory = int(args.memory * (1 << 30))
    return report.command(args.folder, args.csv, args.seconds, memory)


def status_command(args: argparse.Namespace) -> int:
    """Say what of the library is yours, what is ours, and what has stopped passing."""
    return status()


def status() -> int:
    from course import status as library

    with limits.limited(limits.MEMORY):  # their pieces are run
        print("\n".join(library.lines()))
    return 0


def keep_command(args: argparse.Namespace) -> int:
    """Put the latest version of a piece that passed into your library, as `keep 05.3`."""
    saving.keep(answers.exercise_of(args.id).id)
    return 0


# ---- chapters ------------------------------------------------------------------------------------


def chapters_command(args: argparse.Namespace) -> int:
    """`start` copies the chapters, `update` brings what is new, `list` lists them and the roads."""
    if args.action in ("start", "update"):
        return {"start": copies.start, "update": copies.update}[args.action](args.folder)
    return {"list": listed, "minutes": counted, "build": build_all}[args.action](args)


def listed(args: argparse.Namespace) -> int:
    for chapter in roads.chapters():
        on = ", ".join(road for road in chapter.roads if road != "everything")
        print(
            f"{chapter.number:<5}{chapter.title:<44}{roads.time(chapter.minutes):>9}  "
            f"{chapter.path.name:<40}{on}".rstrip()
        )
    for part, road, what, labels, time in roads.rows():
        print(f"part {part}, the road {road}: {time}, chapters {labels or 'to come'}: {what}")
    return 0


def counted(args: argparse.Namespace) -> int:
    """What each chapter takes by the formula, and how long it is from stop to stop."""
    for number, path in notebooks.chapters().items():
        if args.folder in (None, number):
            print(minutes.report(number, notebooks.read(path)))
    return 0


def build_all(args: argparse.Namespace) -> int:
    """Write notebooks in their stored form; or only compare."""
    paths = notebooks.chapters().values()
    wrong: list[Path] = []
    for _ in (1, 2):  # the table of roads sums up minutes, which are filled in first
        for path in paths:
            text = as_stored(path, fill=not args.check)
            if path.read_text("utf-8") != text:
                wrong += [path] if path not in wrong else []
                if not args.check:
                    path.write_text(text, "utf-8")
    for path in wrong:
        print(f"{'differs' if args.check else 'written'}: {path.name}")
    if args.check and wrong:
        print("to do: python -m tutor chapters build", file=sys.stderr)
        return 1
    print(f"all as they are stored: {len(paths)}")
    return 0


def as_stored(path: Path, fill: bool) -> str:
    """The text of a chapter's file; with its minutes and its table of roads filled in, or not.

    Minutes are filled in for chapters that lie on a road.
    """
    if not fill:
        return notebooks.stored(path)
    notebook = notebooks.read(path)
    about = notebook.setdefault("metadata", {}).setdefault("tutor", {})
    if about.get("roads"):
        about["minutes"] = minutes.announced(notebook)
    for cell in notebook["cells"]:
        if "roads" in notebooks.tags(cell):
            cell["source"] = roads.markdown()
    match = notebooks.NAME.fullmatch(path.name)
    if match is None:
        return notebooks.stored(path)  # raises
    return notebooks.text(notebooks.normalise(notebook, match[1]))


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


# ---- their arguments -----------------------------------------------------------------------------

Commands = argparse._SubParsersAction


def add_commands(commands: Commands[argparse.ArgumentParser]) -> None:
    """Enter them into the parser of `python -m tutor`."""
    check = _command(commands, "check", check_command)
    check.add_argument("id", nargs="?", help="the exercise or question, as 05.3 (default: say how "
                       "far you are)")  # fmt: skip
    check.add_argument("file", nargs="?", help="a .py or .ipynb file that defines the answer "
                       "(default: this folder's notebook); the answer to a question")  # fmt: skip
    check.add_argument("--list", action="store_true", help="list all exercises and their state "
                       "(default: mark one)")  # fmt: skip
    given = {"hint": hint_command, "solution": solution_command, "keep": keep_command}
    for name, run in given.items():
        _command(commands, name, run).add_argument("id", help="the exercise, as 05.3")
    _command(commands, "status", status_command)
    course = _command(commands, "course", course_command)
    course.add_argument("action", choices=("status", "report", "certificate"))
    course.add_argument("folder", nargs="?", help="report: has one folder for each learner "
                        "(default: none); certificate: the file to write")  # fmt: skip
    course.add_argument("--csv", metavar="FILE", help="report: write the table there, too "
                        "(default: only print it)")  # fmt: skip
    course.add_argument("--seconds", type=float, default=900.0, help="report: for one learner "
                        "(default: %(default)s)")  # fmt: skip
    course.add_argument("--memory", type=float, default=4.0, help="report: GiB for one process "
                        "(default: %(default)s)")  # fmt: skip
    chapters = _command(commands, "chapters", chapters_command)
    chapters.add_argument("action", choices=("start", "update", "list", "minutes", "build"),
                          help="minutes and build are for authors")  # fmt: skip
    chapters.add_argument("folder", nargs="?", help="start, update: your copy (default: "
                          "my-chapters); minutes: one chapter (default: all)")  # fmt: skip
    chapters.add_argument("--check", action="store_true", help="build: compare, write nothing "
                          "(default: write)")  # fmt: skip


def _command(
    commands: Commands[argparse.ArgumentParser], name: str, run: Any
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=(run.__doc__ or "").partition("\n")[0])
    command.set_defaults(run=run)
    return command
