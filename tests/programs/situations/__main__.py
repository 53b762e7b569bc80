"""python -m situations [part of a name or kind]: which lie and which raise, by kind."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

from situations.table import load, outcome


def main(wanted: str = "") -> int:
    by_kind, verdicts = defaultdict(list), Counter()
    for found in load().values():
        if wanted and wanted not in found.name and wanted not in found.kinds:
            continue
        result = outcome(found)
        verdicts[result.verdict] += 1
        if result.verdict != "right":
            text = " ".join(result.detail.split())[:240]
            by_kind[found.kinds[0]].append(f"  {result.verdict:<7}{found.name}: {text}")
    for kind, lines in sorted(by_kind.items()):
        print(f"{kind}\n" + "\n".join(sorted(lines)))
    print(dict(verdicts))
    return int(verdicts["right"] != verdicts.total())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
