"""The commands `python -m tutor check` and `python -m tutor chapters`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course import answers, build, notebooks, record
from course.exercise import everything
from tutor.errors import DataError, DomainError

README = """\
# Chapters

These notebooks are yours: work in them, nothing will overwrite them. Each one can be started on its
own, for it begins with what the chapters before it have built.

| | chapter | what for | minutes |
|---|---|---|---|
{rows}

After `from course import progress`, `progress()` in a notebook says how far you are; so does
`python -m tutor check --list` in this folder. It is kept in `progress.txt`, beside the notebooks.
"""


def check_command(args: argparse.Namespace) -> int:
    """Mark the answer to an exercise in a file, as `check 05.3 my.py`; `--list` lists exercises."""
    if args.list:
        states = record.states()
        for entry in everything():
            state = "passed" if states.get(entry.id, record.State()).passed else "open"
            title = " ".join(entry.title.split())
            print(f"{entry.id:<7}{state:<8}{title if len(title) < 80 else title[:76] + ' ...'}")
        return 0
    if not args.file:
        raise DomainError(
            "a check", "an id and a file are needed", "python -m tutor check 05.3 my.py"
        )
    return answers.mark(args.id, args.file)


def chapters_command(args: argparse.Namespace) -> int:
    """`start` copies the chapters into a folder of yours; `list` lists, `build` is for authors."""
    return int({"start": start, "list": listed, "build": build_all}[args.action](args))


def listed(args: argparse.Namespace) -> int:
    for number, path in notebooks.chapters().items():
        about = notebooks.read(path)["metadata"]["tutor"]
        print(f"{number}  {about['title']:<44}{about['minutes']:>4} min  {path.name}")
    return 0


def start(args: argparse.Namespace) -> int:
    """Copy what is not there yet. Nothing that exists is written to."""
    source, target = notebooks.folder(), Path(args.folder or "my-chapters")
    if target.resolve() == source.resolve():
        raise DataError(
            f"a copy of the chapters in {target}",
            "that folder has the originals",
            "choose another one, as `chapters start my-chapters`",
        )
    texts = {path.name: path.read_bytes() for path in notebooks.chapters().values()}
    rows = []
    for path in notebooks.chapters().values():
        about = notebooks.read(path)["metadata"]["tutor"]
        goal = about["goal"].rstrip(".")
        cells = about["id"].lstrip("0") or "0", f"[{about['title']}]({path.name})", goal
        rows.append(f"| {' | '.join(cells)} | {about['minutes']} |")
    texts["README.md"] = README.format(rows="\n".join(rows)).encode()
    made, left = [], []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            try:
                with open(target / name, "xb") as file:  # x: only where there is none
                    file.write(text)
                made.append(name)
            except FileExistsError:
                left.append(name)
        for name in made:
            if (target / name).read_bytes() != texts[name]:
                raise OSError(f"{name} is not what was written")
    except OSError as error:
        raise DataError(
            f"a copy of the chapters in {target}", str(error), "choose a folder you can write to"
        ) from None
    if made:
        print(f"copied to {target}: {', '.join(made)}")
    if left:
        print(f"left as they are, because they were there: {', '.join(left)}")
    print(f"open {target / next(iter(texts))} in Jupyter")
    return 0


def build_all(args: argparse.Namespace) -> int:
    """Write notebooks in their stored form and the modules built from them; or only compare."""
    paths = notebooks.chapters().values()
    wrong = [path for path in paths if path.read_text("utf-8") != notebooks.stored(path)]
    if not args.check:
        for path in wrong:
            path.write_text(notebooks.stored(path), "utf-8")
    files = build.modules()
    old = [path for path in build.FOLDER.glob("ch*.py") if path not in files]
    different = [path for path, text in files.items() if _read(path) != text]
    if not args.check:
        for path in different:
            path.write_text(files[path], "utf-8")
        for path in old:
            path.unlink()
    changed = [*wrong, *different, *old]
    for path in changed:
        print(f"{'differs' if args.check else 'written'}: {path.name}")
    if args.check and changed:
        print("to do: python -m tutor chapters build", file=sys.stderr)
        return 1
    print(f"{len(files)} modules from {len(paths)} chapters")
    return 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Enter both into the parser of `python -m tutor`."""
    check = commands.add_parser("check", help=(check_command.__doc__ or "").splitlines()[0])
    check.set_defaults(run=check_command)
    check.add_argument("id", nargs="?", help="the exercise, as 05.3")
    check.add_argument("file", nargs="?", help="a .py or .ipynb file that defines its answer")
    check.add_argument("--list", action="store_true", help="list all exercises and their state "
                       "(default: mark one)")  # fmt: skip
    chapters = commands.add_parser(
        "chapters", help=(chapters_command.__doc__ or "").splitlines()[0]
    )
    chapters.set_defaults(run=chapters_command)
    chapters.add_argument("action", choices=("start", "list", "build"))
    chapters.add_argument("folder", nargs="?", help="start: where to (default: my-chapters)")
    chapters.add_argument("--check", action="store_true", help="build: compare, write nothing "
                          "(default: write)")  # fmt: skip
