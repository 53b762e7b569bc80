"""The learner's copy of the chapters: making it, and putting what has changed since beside it.

`.chapters.json` in that folder says of each chapter which version was copied: its SHA-256, and a
hash of each of its cells, by which a later version knows what is new in it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path
from typing import Any

from course import notebooks, roads
from tutor.errors import DataError

RECORD = ".chapters.json"
PROJECTS = "projects.md"  # the page of what to do after the last chapter
README = """\
# Chapters

These notebooks are yours: work in them, nothing will overwrite them. Each one can be started on its
own, for it begins with what the chapters before it have built.

{roads}

| | chapter | what for | time | road |
|---|---|---|---|---|
{rows}

In this folder, `python -m tutor check` says how far you are, and `python -m tutor check --list`
names every exercise. Your answers are kept beside the notebooks. What to build with your library
when you are through is in [projects.md](projects.md). When tutor was updated,
`python -m tutor chapters update` puts chapters that have changed beside yours.
"""

Entry = dict[str, Any]  # {"file", "sha256", "cells"}, and "beside", "beside_sha256" after an update


def texts() -> dict[str, bytes]:
    """What a fresh copy of the folder has in it: the notebooks, and a page about them."""
    found = {chapter.path.name: chapter.path.read_bytes() for chapter in roads.chapters()}
    return found | projects() | {"README.md": page().encode()}


def projects() -> dict[str, bytes]:
    """The page of projects, where the chapters have one."""
    path = notebooks.folder() / PROJECTS
    return {PROJECTS: path.read_bytes()} if path.is_file() else {}


def page() -> str:
    rows = [
        f"| {chapter.label} | [{chapter.title}]({chapter.path.name}) | {chapter.goal} "
        f"| {roads.time(chapter.minutes)} | {', '.join(chapter.roads)} |"
        for chapter in roads.chapters()
    ]
    return README.format(roads=roads.markdown(), rows="\n".join(rows))


def target_folder(name: str | None) -> Path:
    """The folder of the copy; an error where that is the one with the originals."""
    source, target = notebooks.folder(), Path(name or "my-chapters")
    if target.resolve() == source.resolve():
        raise DataError(
            f"a copy of the chapters in {target}",
            "that folder has the originals",
            "choose another one, as `chapters start my-chapters`",
        )
    return target


def start(name: str | None) -> int:
    """Copy what is not there yet. Nothing that exists is written to."""
    target = target_folder(name)
    made: list[str] = []
    left: list[str] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file, text in texts().items():
            (made if _write_new(target / file, text) else left).append(file)
        _remember(target, [file for file in made if not file.endswith(".md")])
    except OSError as error:
        raise DataError(
            f"a copy of the chapters in {target}", str(error), "choose a folder you can write to"
        ) from None
    if made:
        print(f"copied to {target}: {', '.join(made)}")
    if left:
        print(f"left as they are, because they were there: {', '.join(left)}")
    print(f"open {target / next(iter(texts()))} in Jupyter")
    return 0


def _write_new(path: Path, text: bytes) -> bool:
    """Write a file where there is none, and read it again; False where there is one."""
    try:
        with open(path, "xb") as file:
            file.write(text)
    except FileExistsError:
        return False
    if path.read_bytes() != text:
        raise OSError(f"{path.name} is not what was written")
    return True


# ---- which version was copied --------------------------------------------------------------------


def record(target: Path) -> dict[str, Entry]:
    """What `.chapters.json` says of each chapter, by its number; nothing where it is damaged."""
    try:
        found = json.loads((target / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {number: entry for number, entry in entries if _is_entry(entry)}


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("file"), str)
        and isinstance(entry.get("sha256"), str)
        and isinstance(entry.get("cells"), list)
    )


def _entry(path: Path) -> Entry:
    cells = notebooks.read(path)["cells"]
    return {"file": path.name, "sha256": _sha(path.read_bytes()), "cells": list(map(_hash, cells))}


def _remember(target: Path, files: list[str]) -> None:
    """Note the versions of these chapters, which have just been copied."""
    known = record(target)
    for number, path in notebooks.chapters().items():
        if path.name in files:
            known[number] = _entry(path)
    _save(target, known)


def _save(target: Path, known: dict[str, Entry]) -> None:
    text = json.dumps(dict(sorted(known.items())), indent=1) + "\n"
    path = target / RECORD
    if known and (not path.exists() or path.read_text("utf-8") != text):
        path.write_text(text, "utf-8")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash(cell: notebooks.Cell) -> str:
    """Stands for a cell: its type, its tags and its text."""
    text = json.dumps([cell["cell_type"], sorted(notebooks.tags(cell)), notebooks.source(cell)])
    return _sha(text.encode())[:16]


# ---- what has changed since ----------------------------------------------------------------------


def update(name: str | None) -> int:
    """Put each chapter that has changed since it was copied beside the copy; touch no copy."""
    target = target_folder(name)
    if not target.is_dir():
        raise DataError(
            f"an update of the chapters in {target}",
            "there is no such folder",
            f"make your copy first: python -m tutor chapters start {target}",
        )
    known, said = record(target), 0
    try:
        for number, path in notebooks.chapters().items():
            if line := _update(target, number, path, known):
                print(line)
                said += 1
        for file, text in projects().items():
            if _write_new(target / file, text):
                print(f"{file}: copied, for you had none")
                said += 1
        _save(target, known)
    except OSError as error:
        raise DataError(
            f"an update of the chapters in {target}", str(error), "choose a folder you can write to"
        ) from None
    if not said:
        print(f"nothing has changed since the chapters in {target} were copied")
    return 0


def _update(target: Path, number: str, path: Path, known: dict[str, Entry]) -> str:
    """Bring one chapter up to date; what was done, in a line, or nothing."""
    own = _own_copy(target, number, known)
    if own is None:
        if not _write_new(target / path.name, path.read_bytes()):
            return ""  # a link that leads nowhere, or a folder
        known[number] = _entry(path)
        return f"{path.name}: copied, for you had none"
    entry = known.get(number)
    if own.read_bytes() == path.read_bytes():
        known[number] = (entry or {}) | _entry(path)
        return ""
    new = notebooks.read(path)
    if entry is None:
        try:
            before = [_rough(cell) for cell in notebooks.read(own)["cells"]]
        except DataError as error:
            return f"{own.name}: cannot be compared, for it is no notebook: {error.found}"
        marked, counts = with_notes(new, before, list(map(_rough, new["cells"])))
    elif entry["sha256"] == _sha(path.read_bytes()):
        return ""
    else:
        marked, counts = with_notes(new, entry["cells"], list(map(_hash, new["cells"])))
    if not any(counts.values()):
        return ""  # metadata alone
    beside = _put_beside(target, path, notebooks.text(marked).encode(), known, number)
    if beside is None:
        return ""
    what = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{own.name} has changed ({what} cells): see {beside}, beside yours"


def _own_copy(target: Path, number: str, known: dict[str, Entry]) -> Path | None:
    """The learner's file of this chapter, under the name it has now or had when it was copied."""
    names = [notebooks.chapters()[number].name]
    if number in known:
        names.append(known[number]["file"])
    return next((target / name for name in names if (target / name).is_file()), None)


def _put_beside(
    target: Path, path: Path, text: bytes, known: dict[str, Entry], number: str
) -> str | None:
    """Write NAME.new.ipynb; under another name where the learner has worked in an earlier one.
    None where that very version lies there already."""
    entry = known.setdefault(number, {})
    last = target / entry["beside"] if entry.get("beside") else None
    if last is not None and last.is_file():
        if entry.get("beside_version") == _sha(path.read_bytes()):
            return None
        if _sha(last.read_bytes()) == entry.get("beside_sha256"):
            last.unlink()  # as we wrote it: an older version that nobody has touched
    for count in range(1, 1000):
        name = f"{path.stem}.new{count if count > 1 else ''}.ipynb"
        if _write_new(target / name, text):
            version = {"beside_version": _sha(path.read_bytes()), "beside_sha256": _sha(text)}
            entry |= {"beside": name} | version
            return name
    raise OSError("there are a thousand newer versions already")


def _rough(cell: notebooks.Cell) -> str:
    """Stands for a cell whose first version is not known: what a learner fills in counts not."""
    for tag in notebooks.tags(cell):
        if notebooks.TAG.fullmatch(tag):
            return tag
    text = notebooks.source(cell)
    name, _, rest = text.partition(" = ")
    return name if name.startswith("guess") and "\n" not in rest.strip() else _hash(cell)


def with_notes(
    new: notebooks.Notebook, before: list[str], after: list[str]
) -> tuple[notebooks.Notebook, dict[str, int]]:
    """The new version with a note above each run of cells that the old one has not; how many."""
    cells, counts = [], {"new": 0, "changed": 0, "removed": 0}
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for what, first, last, start, end in matcher.get_opcodes():
        if what == "insert":
            counts["new"] += end - start
            cells.append(_note(f"**New**, since you made your copy: {_next(end - start)}."))
        elif what == "replace":
            counts["changed"] += end - start
            cells.append(_note(f"**Changed**, since you made your copy: {_next(end - start)}."))
        elif what == "delete":
            counts["removed"] += last - first
            gone = f"{last - first} cells that stood" if last - first > 1 else "a cell that stood"
            cells.append(_note(f"**Removed**, since you made your copy: {gone} here."))
        for cell in new["cells"][start:end]:
            if what == "equal":
                cells.append(cell)
            else:
                tags = [*notebooks.tags(cell), "new" if what == "insert" else "changed"]
                cells.append(cell | {"metadata": {**cell.get("metadata", {}), "tags": tags}})
    for number, cell in enumerate(cells):
        cell["id"] = f"new-{number}" if "note" in notebooks.tags(cell) else cell.get("id", "")
    return {**new, "cells": cells}, counts


def _next(count: int) -> str:
    return f"the next {count} cells" if count > 1 else "the next cell"


def _note(text: str) -> notebooks.Cell:
    return {"cell_type": "markdown", "metadata": {"tags": ["note"]}, "source": [f"> {text}"]}
