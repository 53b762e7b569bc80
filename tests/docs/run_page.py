"""Run a page: its ```python blocks, in order, in one namespace, as a reader would type them.

    python run_page.py docs/architecture.md

A block after the comment `<!-- no-run -->` is left out. A failure names the page's own line.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(
    r"(?P<comment>^<!-- no-run -->\n+)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(page: str) -> list[tuple[int, str]]:
    """(line number, code) of each block to be run."""
    return [
        (page.count("\n", 0, block.start("code")), block["code"])
        for block in BLOCK.finditer(page)
        if not block["comment"]
    ]


def run(path: Path) -> None:
    namespace = {"__name__": "__main__"}
    for line, code in blocks(path.read_text(encoding="utf-8")):
        exec(compile("\n" * line + code, str(path), "exec"), namespace)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
