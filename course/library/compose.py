"""Putting the library together: from parts, and from what the learner wrote in their place, to the
text of each file.

A file is a docstring, imports, and regions. Each region begins with a mark, a comment that says
what it is: `# ---- 02.1, yours`. Which names a file imports from the others is worked out from what
its code uses. A name of a file that comes later in the order cannot be imported at the top; such
names are handed over at the end of `__init__.py`, when all files are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from course.library.parts import FILES, Part, of_library
from course.library.source import Import, Statement, import_lines, joined, rank, split

PACKAGE = '''"""A deep-learning library, written chapter by chapter.

A region that is marked `yours` is what you wrote and what passed. You may change it here: what
stands in these files is what the chapters go on with.
"""
'''


@dataclass(frozen=True)
class Own:
    """What the learner wrote in place of a part."""

    text: str
    imports: tuple[Import, ...] = ()
    changed: bool = False  # by hand, in its file: its text is left exactly as it is
    ours: bool = False  # nothing is theirs but what was added below ours
    added: str = ""  # what was written below it by hand
    broken: str = ""  # why it cannot be read as Python


@dataclass(frozen=True)
class Region:
    """A part, as it stands in a file."""

    key: str
    whose: str  # "yours", "ours" or "given"
    text: str
    defines: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    imports: tuple[Import, ...] = ()  # that it asks for
    public: tuple[str, ...] = ()  # what it adds to the library
    spare: tuple[Import, ...] = ()
    changed: bool = False  # by hand
    added: str = ""  # below it, by hand

    @property
    def mark(self) -> str:
        """The comment above it."""
        if " given " not in self.key:
            return f"# ---- {self.key}, {'yours' if self.whose == 'yours' else OURS}"
        chapter, _, _, number = self.key.split()
        part = "" if number == "1" else f", part {number}"
        changed = ", changed by you" if self.changed else ""
        return f"# ---- chapter {chapter.removeprefix('0')}, given{part}{changed}"


OURS = "ours until yours passes"


@dataclass
class Extra:
    """What a learner has put at the top of a file by hand: it is kept."""

    docstring: str = ""
    imports: tuple[Import, ...] = ()
    text: str = ""


@dataclass
class Library:
    """The regions of each file."""

    regions: dict[str, list[Region]] = field(default_factory=dict)
    extras: Mapping[str, Extra] = field(default_factory=dict)

    def owners(self) -> dict[str, str]:
        """The file that has each public name; what is defined last counts."""
        return {
            name: file
            for file, regions in self.regions.items()
            for region in regions
            for name in region.public
        }

    def texts(self) -> dict[str, str]:
        """The text of each file, `__init__` last, without .py."""
        owners, result = self.owners(), {}
        late: list[tuple[str, str, str]] = []  # file, name, the later file that defines it
        order = list(self.regions)
        for file, regions in self.regions.items():
            own: set[str] = {name for region in regions for name in region.defines}
            extra = self.extras.get(file, Extra())
            imports, used = set(extra.imports), set(_names(_below(extra.text))[1])
            used = used.union(*(region.uses for region in regions))
            spare = [entry for region in regions for entry in (*region.imports, *region.spare)]
            bound = {entry.bound for entry in imports} | own | _names(_below(extra.text))[0]
            for name in sorted(used - bound):
                asked = {e for region in regions for e in region.imports if e.bound == name}
                if asked:
                    imports |= asked
                elif name in owners and order.index(owners[name]) < order.index(file):
                    imports.add(Import(f".{owners[name]}", name, name))
                elif name in owners:
                    late.append((file, name, owners[name]))
                else:
                    imports |= set([entry for entry in spare if entry.bound == name][:1])
            imports |= {e for r in regions for e in r.imports if e.module == "__future__"}
            result[file] = _file(file, extra, imports, regions)
        result["__init__"] = self._package(owners, late)
        return result

    def _package(self, owners: dict[str, str], late: list[tuple[str, str, str]]) -> str:
        public = {name: file for name, file in owners.items() if not name.startswith("_")}
        imports = [Import(f".{file}", name, name) for name, file in public.items()]
        # A file may have the name of something in it: `engine` is an Engine in its file.
        called = {file: f"_{file}" if file in public else file for file in self.regions}
        used = {file for one, _, other in late for file in (one, other)}
        whole = {Import(".", file, called[file]) for file in used}
        names = "".join(f'    "{name}",\n' for name in sorted(public, key=rank))
        text = f"{PACKAGE}\n{import_lines([*imports, *whole])}\n__all__ = [\n{names}]\n"
        if late:
            text += "\n# What a file uses in its functions and a later one defines.\n"
            text += "".join(f"{called[f]}.{name} = {called[g]}.{name}\n" for f, name, g in late)
        return text


def _file(file: str, extra: Extra, imports: set[Import], regions: list[Region]) -> str:
    text = f'"""{extra.docstring or FILES[file]}"""\n'
    if imports:
        text += f"\n{import_lines(imports)}"
    if extra.text:
        text += f"\n\n{extra.text}\n"
    for region in regions:
        code = [line for line in region.text.splitlines() if line and not line.startswith("#")]
        first = bool(code) and code[0].startswith(("def ", "class ", "@", "async def "))
        above = 1 if imports and not extra.text and region is regions[0] else 2
        text += f"{chr(10) * above}{region.mark}\n{chr(10) * (2 if first else 1)}{region.text}\n"
        if region.added:
            text += f"\n\n{region.added}\n"
    return text


# ---- from parts to regions -----------------------------------------------------------------------


def compose(
    parts: Iterable[Part],
    own: Mapping[str, Own] | None = None,
    extras: Mapping[str, Extra] | None = None,
) -> Library:
    """The library of these parts, with what the learner wrote in place of some of them."""
    parts, own, extras = list(parts), own or {}, extras or {}
    placed: dict[str, list[Region]] = {file: [] for file in FILES}
    places: dict[str, str] = {}  # the file in which a name was defined first
    loose = unmarked(parts, own, extras)
    for part in parts:
        region, file = _region(part, own.get(part.key)), places.get(part.answer, part.file)
        if part.key not in own:  # what somebody has written below a mark counts, not ours
            elsewhere = replace(region, public=tuple(loose.get(file, ())), text="")
            rest = _without(region, elsewhere)
            if rest is None:
                continue
            region = rest
        placed[file].insert(_place(placed, file, region), region)
        places |= {name: file for name in region.public if name not in places}
    library = Library(extras=extras)
    library.regions = {file: regions for file, regions in placed.items() if regions}
    return library


def unmarked(
    parts: Iterable[Part], own: Mapping[str, Own], extras: Mapping[str, Extra]
) -> dict[str, frozenset[str]]:
    """What each file defines that was written there by hand, at its top or below a region."""
    found = {file: _names(_below(extra.text))[0] for file, extra in extras.items()}
    for part in parts:
        below = _below(own[part.key].added) if part.key in own else []
        found[part.file] = found.get(part.file, frozenset()) | _names(below)[0]
    return found


def _place(placed: dict[str, list[Region]], file: str, later: Region) -> int:
    """Take out of the regions what a later one defines anew; say where it is to stand."""
    is_piece, place = " given " not in later.key, None
    for other, regions in placed.items():
        for number in reversed(range(len(regions))):
            rest = _without(regions[number], later)
            if rest is not regions[number] and is_piece and other == file:
                place = number if rest is None else number + 1
            regions[number : number + 1] = [] if rest is None else [rest]
    return len(placed[file]) if place is None else place


def _region(part: Part, own: Own | None) -> Region:
    """A part as it will stand in its file: ours, or what the learner has in its place."""
    whose, imports, statements = "ours" if part.answer else "given", part.imports, part.statements
    text, bound = joined(statements).rstrip("\n"), frozenset[str]()
    if own is not None and not own.ours:
        whose, imports = "yours", own.imports
        inside: list[Import] = []
        if not own.broken:  # else it is only kept, and the names are those of ours
            inside, found = split(own.text)
            statements = tuple(found)
        if own.changed:  # imports and all
            text, bound = own.text.strip("\n"), frozenset(entry.bound for entry in inside)
        else:
            text = joined(statements).rstrip("\n")
            imports += tuple(entry for entry in inside if not of_library(entry))
    added = own.added if own else ""
    below = _below(added)
    public = [name for statement in statements for name in sorted(statement.defines)]
    if part.answer:  # which somebody may have called otherwise, by hand
        public = [part.answer] if part.answer in public else []
    public += [name for statement in below for name in sorted(statement.defines)]
    defines, uses = _names([*statements, *below])
    return Region(
        part.key, whose, text, defines | bound, uses,
        imports + (own.imports if own and added else ()),
        tuple(public), part.spare, bool(own and own.changed), added,
    )  # fmt: skip


def _names(statements: Iterable[Statement]) -> tuple[frozenset[str], frozenset[str]]:
    """What statements define, and what they use."""
    found = list(statements)
    defines = frozenset[str]().union(*(statement.defines for statement in found))
    return defines, frozenset[str]().union(*(statement.uses for statement in found))


def _below(text: str) -> list[Statement]:
    try:
        return split(text)[1]
    except SyntaxError:
        return []


def _without(region: Region, later: Region) -> Region | None:
    """A region without the definitions that a later one replaces; None if nothing is left."""
    if not set(region.public) & set(later.public):
        return region
    if " given " not in region.key:
        return None if not _extends(later, region.public[0]) and not region.added else region
    if region.changed:  # by hand: it stays as it is, and what comes later counts
        return region
    _, statements = split(region.text)
    gone = {s.definition for s in statements if s.definition and s.definition in later.public}
    gone = {name for name in gone if not _extends(later, name)}
    kept = [statement for statement in statements if statement.definition not in gone - {""}]
    if len(kept) == len(statements):
        return region
    if not kept and not region.added:
        return None
    defines, uses = _names([*kept, *_below(region.added)])
    public = tuple(name for s in [*kept, *_below(region.added)] for name in sorted(s.defines))
    text = joined(kept).rstrip("\n")
    return replace(region, text=text, defines=defines, uses=uses, public=public)


def _extends(region: Region, name: str) -> bool:
    """Whether a region defines a name by means of what it was before."""
    return any(s.extends for s in split(region.text)[1] if s.definition == name)
