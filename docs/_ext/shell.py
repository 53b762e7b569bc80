"""What stands around the pages: no file that no page needs, and no link that leads nowhere.

When the site is written, the theme's icons, which it draws by a script of 1.5 MB, are left to the
font that it brings, too (115 kB); maps of its scripts, for whoever debugs those, stay behind. A
page without contents at its right is marked as wide, and loses the button that would show them.
Then every link of every page is followed. One that leads nowhere is a warning, and `make docs`
makes an error of it. Only two kinds are taken away, which come of listing whole files of source:
the way back from a name to a page that does not have it, and in the index a module that is not
Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NEEDLESS = ("**/*.map", "_static/scripts/fontawesome.js", "_static/*webpack-macros.html")
SCRIPT = re.compile(r"\s*<script[^>]*fontawesome[^>]*></script>")
UNNAMED = re.compile(r"(<a\b[^>]*>([^<]*)</a><details[^>]*>)<summary>")  # of what it folds away
MISNAMED = re.compile(r'(<button class="btn search-button-field[^>]*) aria-label="[^"]*"')
BACK = re.compile(r'<a class="viewcode-back" href="([^"]*)">\[docs\]</a>')
LINK = re.compile(r'<(?:a|link|script|img|source|iframe)\b[^>]*?\s(?:href|src)="([^"]*)"')
LISTED = re.compile(r'<li><a href="([^"]*)">[^<]*</a></li>')
NAME = re.compile(r'\s(?:id|name)="([^"]+)"')
HTML = re.compile("<html(?! data-wide)")
CONTENTS = re.compile(r'<button class="sidebar-toggle secondary-toggle.*?</button>', re.DOTALL)
OTHER = re.compile(r"[a-z]+:|//")  # another host, mail, data


class Site:
    """The pages below a folder: their text, and the names in them that a link can lead to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.pages = {file: file.read_text("utf-8") for file in self.folder.rglob("*.html")}
        self.names = {file: set(NAME.findall(text)) for file, text in self.pages.items()}

    def leads(self, page: Path, link: str) -> bool:
        """Whether `link`, as it stands in `page`, leads to a file, and to a name in it."""
        if OTHER.match(link):
            return True
        address, _, name = link.partition("#")
        address = unquote(address.partition("?")[0])
        target = (page.parent / address).resolve() if address else page
        if target.is_dir():
            target /= "index.html"
        if target not in self.pages:
            return target.is_file()
        return not name or unquote(name) in self.names[target]

    def broken(self) -> Iterator[tuple[str, str]]:
        """Each page with a link that leads nowhere, and the link."""
        for page, text in sorted(self.pages.items()):
            for link in dict.fromkeys(LINK.findall(text)):
                if not self.leads(page, link):
                    yield page.relative_to(self.folder).as_posix(), link

    def mend(self) -> None:
        """Take the script of icons out of each page, and ways back that lead nowhere; mark pages
        that are wide; give the theme's buttons names that say what they do, for whoever does not
        see them."""
        for page, text in self.pages.items():
            found = MISNAMED.sub(r"\1", SCRIPT.sub("", text))
            if "bd-article-container" in text and "bd-sidebar-secondary" not in text:
                # In front, since what is painted first must not be laid out again: tutor.css.
                found = HTML.sub("<html data-wide", CONTENTS.sub("", found), count=1)
            found = UNNAMED.sub(r'\1<summary aria-label="Pages below \2">', found)
            for kind in (BACK, LISTED) if "_modules" in page.parts else ():
                found = kind.sub(lambda m, p=page: m[0] if self.leads(p, m[1]) else "", found)
            if found != text:
                page.write_text(found, "utf-8")
                self.pages[page] = found


def finish(folder: Path) -> list[tuple[str, str]]:
    """Make the built site below `folder` as the module says; the links that lead nowhere."""
    for pattern in NEEDLESS:
        for file in folder.glob(pattern):
            file.unlink()
    site = Site(folder)
    site.mend()
    return list(site.broken())


def setup(app: Sphinx) -> dict[str, bool]:
    from sphinx.util import logging

    def at_end(app: Sphinx, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            for page, link in finish(Path(app.outdir)):
                logging.getLogger(__name__).warning("%s: this link leads nowhere: %s", page, link)

    app.connect("build-finished", at_end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
