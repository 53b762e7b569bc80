"""The live ranges of the temps of ten steps, as tutor.jit recorded them: for chapter 15.

Each is a Program of a small network before any pass. What is kept of it is, for each temp, its size
in cache lines of 64 bytes, and the first and the last step that use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor.viz.svg import SERIES, Picture, rect, text, tint

Life = tuple[int, int, int]  # bytes, first step, last step

LINE = 64  # bytes

_TEXT = {
    "mlp, sgd": """
        128:0-1 128:1-8 20:2-4 20:4-7 128:5-8 128:8-10
    """,
    "mlp of three, forward": """
        192:0-1 48:2-3
    """,
    "mlp of three, adam": """
        192:0-1 192:1-14 48:2-3 48:3-10 20:4-6 20:6-9 48:7-10 48:10-13 192:11-14 192:14-16
    """,
    "cnn, forward": """
        512:0-1 512:1-2 144:4-5 144:5-6
    """,
    "cnn, sgd": """
        512:0-1 512:1-2 512:2-21 128:3-20 144:4-5 144:5-6 144:6-15 36:7-14 5:8-10 5:10-13 36:11-14
        144:14-15 144:15-19 400:17-18 128:18-20 512:20-21 512:21-23
    """,
    "deep, residual, adamw": """
        32:0-58 64:1-56 64:2-54 32:3-4 32:4-51 32:5-49 64:6-47 64:7-45 32:8-9 32:9-42 32:10-40
        64:11-38 64:12-36 32:13-14 32:14-33 32:15-31 64:16-29 64:17-27 32:18-19 32:19-24 10:20-22
        10:22-25 32:23-34 64:26-29 64:29-32 32:30-33 32:33-34 32:34-43 64:35-38 64:38-41 32:39-42
        32:42-43 32:43-52 64:44-47 64:47-50 32:48-51 32:51-52 32:52-55 64:53-56 64:56-59 32:57-60
        32:60-60
    """,
    "attention": """
        192:0-24 192:1-23 192:2-16 144:3-4 144:4-5 144:5-21 192:6-14 192:7-8 1:9-11 1:10-13
        192:11-15 1:12-13 1:13-14 192:14-15 192:15-17 144:16-20 192:17-25 144:18-19 6:19-20
        144:20-21 144:21-22 144:22-24 192:23-29 192:24-27 256:25-26 256:27-28 256:29-30
    """,
    "gpt, adam": """
        1:0-1 8:1-100 128:2-3 128:3-95 128:4-85 128:5-84 128:6-77 64:7-8 64:8-9 64:9-10 64:10-82
        128:11-12 128:12-75 128:13-73 256:14-71 256:15-69 128:16-17 128:17-65 128:18-55 128:19-54
        128:20-47 64:21-22 64:22-23 64:23-24 64:24-52 128:25-26 128:26-45 128:27-43 256:28-41
        256:29-39 128:30-31 128:31-36 160:32-34 160:34-37 128:35-46 256:38-41 256:41-44 128:42-45
        128:45-46 128:46-59 64:47-51 128:48-58 64:49-50 4:50-51 64:51-52 64:52-53 64:53-55
        128:54-66 128:55-62 128:56-59 128:59-63 128:60-63 128:63-67 128:64-67 128:67-76 256:68-71
        256:71-74 128:72-75 128:75-76 128:76-89 64:77-81 128:78-88 64:79-80 4:80-81 64:81-82
        64:82-83 64:83-85 128:84-96 128:85-92 128:86-89 128:89-93 128:90-93 128:93-97 128:94-97
        128:97-100 80:99-100
    """,
    "recurrent, eight steps": """
        24:0-71 24:1-3 24:2-3 24:3-4 24:4-69 24:5-7 24:6-7 24:7-8 24:8-63 24:9-11 24:10-11
        24:11-12 24:12-57 24:13-15 24:14-15 24:15-16 24:16-51 24:17-19 24:18-19 24:19-20 24:20-45
        24:21-23 24:22-23 24:23-24 24:24-39 24:25-27 24:26-27 24:27-28 24:28-35 24:29-30 1:31-33
        24:32-34 24:33-34 24:34-35 24:35-38 24:36-39 36:37-42 12:38-44 24:39-43 24:40-45 36:41-42
        36:42-48 12:43-44 12:44-50 24:45-49 24:46-51 36:47-48 36:48-54 12:49-50 12:50-56 24:51-55
        24:52-57 36:53-54 36:54-60 12:55-56 12:56-62 24:57-61 24:58-63 36:59-60 36:60-66 12:61-62
        12:62-68 24:63-67 24:64-69 36:65-66 36:66-72 12:67-68 12:68-74 24:69-73 24:70-75 36:71-72
        12:73-74 12:74-76 12:75-76
    """,
    "hessian times vector": """
        13:0-1 13:1-34 13:2-32 13:3-4 1:4-4 13:5-23 13:6-27 13:7-11 13:8-19 13:9-11 13:10-12
        13:11-12 13:12-13 13:13-14 1:14-14 13:15-27 13:16-20 13:17-21 13:18-20 13:19-21 13:20-23
        13:21-33 13:22-30 13:23-24 13:24-25 13:25-29 13:26-28 13:27-31 13:28-29 13:29-34 13:30-31
        13:31-32 13:32-33 13:33-37 13:34-36 13:35-37 13:36-38 13:37-38
    """,
}


def _lives(text: str) -> list[Life]:
    """(bytes, first step, last step) of each temp."""
    found = []
    for word in text.split():
        lines, _, steps = word.partition(":")
        first, _, last = steps.partition("-")
        found.append((int(lines) * LINE, int(first), int(last)))
    return found


GRAPHS = {name: _lives(text) for name, text in _TEXT.items()}


def by_steps(lives: list[Life]) -> list[int]:
    """Offsets as an allocator would choose them: step by step, each in the first gap that fits."""
    offsets, placed = [0] * len(lives), list[tuple[int, int, int, int]]()
    for i in sorted(range(len(lives)), key=lambda i: lives[i][1]):
        nbytes, first, last = lives[i]
        at = 0
        for begin, end, other_first, other_last in sorted(placed):
            if other_first <= last and first <= other_last:
                if begin - at >= nbytes:
                    break
                at = max(at, end)
        offsets[i] = at
        placed.append((at, at + nbytes, first, last))
    return offsets


def live_bytes(lives: Sequence[Life]) -> int:
    """The most bytes that are live at the same step: no plan needs less."""
    steps = {first for _, first, _ in lives}
    return max((sum(n for n, a, b in lives if a <= step <= b) for step in steps), default=0)


def over(lives: list[Life], offsets: list[int]) -> float:
    """The end of the memory, as a multiple of the bytes that are live at most."""
    return max(at + life[0] for at, life in zip(offsets, lives, strict=True)) / live_bytes(lives)


def drawn(lives: list[Life], offsets: list[int], title: str) -> Picture:
    """Where each temp lies in memory, downwards, from its first step to its last, rightwards."""
    steps = 1 + max((last for _, _, last in lives), default=0)
    size = max((at + life[0] for at, life in zip(offsets, lives, strict=True)), default=1)
    wide, high = 640 / steps, 260 / max(size, 1)
    body = text(12, 22, f"{title}: {len(lives)} temps in {size:,} bytes", weight=700)
    for number, ((nbytes, first, last), at) in enumerate(zip(lives, offsets, strict=True)):
        x, y, box = 12 + first * wide, 36 + at * high, (last + 1 - first) * wide
        body += rect(x, y, box, nbytes * high, tint(number), stroke=SERIES[number % len(SERIES)])
    return Picture(body, 664, 312, f"{title}: memory by step")
