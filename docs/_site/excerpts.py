"""Write the source that a page quotes into it: so it is there without a script, and cannot drift.

    python docs/_site/excerpts.py          # brings the pages up to date
    python docs/_site/excerpts.py --check  # says which are not

A page marks a place by `<code data-from="tutor/ops/elementwise.py" data-part="Mul"></code>`: the
file, and the class, function or method in it; without a part the whole file.
"""

from __future__ import annotations

import ast
import html
import re
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = Path(__file__).parent / "pages"
PLACE = re.compile(
    r'(<code\b[^>]*\bdata-from="([^"]+)"(?: data-part="([^"]+)")?>)(.*?)(</code>)', re.DOTALL
)


def source(file: str, part: str | None) -> str:
    """The text of a file, or of one definition in it with its decorators, as far left as can be."""
    text = (ROOT / file).read_text("utf-8")
    if not part:
        return text.rstrip("\n")
    node: ast.AST = ast.parse(text)
    for name in part.split("."):
        found = [n for n in getattr(node, "body", []) if getattr(n, "name", "") == name]
        if not found:
            raise LookupError(f"{file} has no {part}: name a class, function or method of it")
        node = found[0]
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def filled(page: str) -> str:
    """The page with each place filled."""
    return PLACE.sub(lambda m: m[1] + html.escape(source(m[2], m[3]), quote=False) + m[5], page)


def main(check: bool) -> int:
    stale = 0
    for path in sorted(PAGES.glob("*.html")):
        page = path.read_text("utf-8")
        if (new := filled(page)) != page:
            stale += 1
            print(f"{path.relative_to(ROOT)} quotes source that has changed" if check else path)
            if not check:
                path.write_text(new, "utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
