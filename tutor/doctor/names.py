"""Another project named `tutor` in this environment.

The distribution is called tutorgrad, because `tutor` was taken in the package index; but both
install a package called `tutor`. In one environment their files end up in one folder: whichever was
installed last overwrites files of the same name (`tutor/__init__.py`), and removing either project
deletes them for both.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

from tutor.errors import TutorError

OURS = "tutorgrad"
DO = (
    f"give each an environment of its own: python -m venv mine && mine/bin/pip install {OURS}",
    f"or, to keep ours here: pip uninstall tutor && pip install --force-reinstall {OURS}",
)


def strangers() -> list[str]:
    """Other distributions that have installed a package `tutor` here."""
    found = set()
    for distribution in metadata.distributions():
        name = str(distribution.metadata["Name"])
        files = f"\n{distribution.read_text('RECORD') or ''}"
        if name.lower() != OURS and "\ntutor/__init__.py," in files:
            found.add(f"{name} {distribution.version}")
    return sorted(found)


def lines() -> dict[str, str]:
    """The lines for the report; none if all is well."""
    if not (found := strangers()):
        return {}
    return {
        "same name": f"{', '.join(found)} has installed another package `tutor` into this one's "
        f"folder, and no longer works; to do: {DO[0]}"
    }


def check(tutor: Any) -> None:
    """TutorError if `import tutor` has found the other project, or the remains of a removal."""
    if hasattr(tutor, "Tensor"):
        return
    place = getattr(tutor, "__file__", None)
    there = f"{place} is another project's" if place else "its tutor/__init__.py is gone"
    names = ", ".join(strangers()) or "another project of this name, which was removed"
    raise TutorError(
        f"to run {OURS} in {sys.prefix}",
        f"{there}: {names} was installed over it",
        f"{DO[0]}; {DO[1]}",
    )
