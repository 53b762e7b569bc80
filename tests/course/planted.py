"""The planted wrong answers and what the checks say to them: `python tests/course/planted.py 05`.

Prints one row for each exercise (with `--all` one for each answer), and the sums.
"""

from __future__ import annotations

import argparse
from collections import Counter

from test_chapters import CHAPTERS, run

VERDICTS = ("wrong", "raised", "changed", "timeout", "exact", "close")


def main(chapters: list[str], every: bool) -> int:
    """1 if a wrong answer passes."""
    whole, exercises = Counter[str](), 0
    print("| exercise | answers | " + " | ".join(VERDICTS) + " |")
    print("|---|---|" + "---|" * len(VERDICTS))
    for chapter in chapters or CHAPTERS:
        planted: dict[str, dict[str, str]] = {}
        for proof in run(chapter, "unsolved")["proofs"]:
            if proof["answer"] not in ("stub", "solution"):
                planted.setdefault(proof["id"], {})[proof["answer"]] = proof["kind"]
        for id, kinds in planted.items():
            counts = Counter(kinds.values())
            whole, exercises = whole + counts, exercises + 1
            shown = " | ".join(str(counts[kind] or "") for kind in VERDICTS)
            print(f"| {id} | {len(kinds)} | {shown} |")
            for why, kind in kinds.items() if every else ():
                print(f"| | {why} | {kind} |")
    print(
        f"| {exercises} | {whole.total()} | " + " | ".join(str(whole[k]) for k in VERDICTS) + " |"
    )
    return int(bool(whole["exact"] or whole["close"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="as 05 (default: all)")
    parser.add_argument("--all", action="store_true", help="name each answer")
    given = parser.parse_args()
    raise SystemExit(main(given.chapters, given.all))
