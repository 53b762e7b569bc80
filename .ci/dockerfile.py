"""Run the lines of the Dockerfile without Docker, each stage in a folder of its own.

    python3 .ci/dockerfile.py /tmp/images                    # the last stage, and those it needs
    python3 .ci/dockerfile.py /tmp/images chapters           # that stage
    python3 .ci/dockerfile.py /tmp/images train --run        # and then its CMD
    python3 .ci/dockerfile.py /tmp/images train --run python -m tutor doctor --measure

For Debian and root. `python:3.11-slim-bookworm` is a small Debian by mmdebstrap with its own
Python; RUN and CMD are run by chroot, in a mount namespace that ends with them. A stage that is
built is kept: remove the folder to begin anew. It knows the instructions that our Dockerfile has,
and no others.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ("FROM", "RUN", "WORKDIR", "COPY", "USER", "CMD")
IMAGE = re.compile(r"python:3\.\d+-slim-(\w+)")
HOST = (
    "etc/resolv.conf",
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pip.conf",
)  # how we reach the network
# In a namespace of its own, whose mounts go with it; $0 is the root, the rest is what to run there.
INSIDE = 'for d in proc dev sys; do mount --rbind /$d "$0/$d"; done; exec chroot "$@"'


class Line(NamedTuple):
    word: str
    rest: str


class Stage(NamedTuple):
    name: str
    base: str
    lines: list[Line]


def parsed(text: str) -> list[Stage]:
    """The stages of a Dockerfile, in order."""
    stages: list[Stage] = []
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in plain.replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        word, _, rest = line.strip().partition(" ")
        if word not in KNOWN or (word != "FROM" and not stages):
            sys.exit(f"asked: {line}\nfound: no such instruction here\nto do: one of {KNOWN}")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(name, base, []))
        else:
            stages[-1].lines.append(Line(word, " ".join(rest.split())))
    return stages


def ignored(path: str, patterns: list[str]) -> bool:
    """Whether .dockerignore leaves out that file or folder, by its path from the root."""
    places = [path, *(str(parent) for parent in Path(path).parents)]
    for pattern in patterns:
        plain = pattern.removeprefix("**/")
        anywhere = [place.rpartition("/")[2] for place in places]
        names = places if plain == pattern else anywhere
        if any(fnmatch.fnmatchcase(name, plain) for name in names):
            return True
    return False


def context(patterns: list[str]) -> list[str]:
    """The files that `COPY . .` would copy."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if not ignored(str(here / name), patterns)]
        found += [str(here / name) for name in files if not ignored(str(here / name), patterns)]
    return found


class Built:
    """A stage that is being built: its folder, and what RUN and COPY stand on."""

    def __init__(self, stage: Stage, folder: Path, names: dict[str, Built]) -> None:
        self.stage, self.root = stage, folder / stage.name
        self.user, self.place, self.cmd = "root", "/", list[str]()
        self.names = names
        self.done = folder / f"{stage.name}.done"

    def build(self) -> None:
        kept = self.done.exists()
        if not kept:
            shutil.rmtree(self.root, ignore_errors=True)
            self.begin()
        elif self.stage.base in self.names:
            self.take(self.names[self.stage.base])
        do = {"RUN": self.run, "WORKDIR": self.workdir, "COPY": self.copy, "USER": self.use,
              "CMD": self.start}  # fmt: skip
        for line in self.stage.lines:
            do[line.word](line.rest, kept)
        self.done.touch()

    def take(self, base: Built) -> None:
        self.user, self.place, self.cmd = base.user, base.place, base.cmd

    def begin(self) -> None:
        if base := self.names.get(self.stage.base):
            subprocess.run(["cp", "-a", base.root, self.root], check=True)
            self.take(base)
            return
        image = IMAGE.fullmatch(self.stage.base)
        if image is None:
            sys.exit(f"FROM {self.stage.base}: neither a stage nor a slim Python")
        plain = self.root.parent / image[1]
        if not plain.exists():
            packages = "python3,python3-venv,python3-dev,ca-certificates"
            command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}"]
            subprocess.run([*command, image[1], plain], check=True)
        subprocess.run(["cp", "-a", plain, self.root], check=True)
        for path in HOST:
            if (Path("/") / path).exists():
                subprocess.run(["cp", "-L", f"/{path}", self.root / Path(path).parent], check=True)
        self.inside(["python3", "-m", "venv", "/usr/local"])  # where that image has its Python

    def inside(self, command: list[str]) -> None:
        chroot = [f"--userspec={self.user}", str(self.root), "env", "-i", f"--chdir={self.place}",
                  "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8",
                  f"HOME={'/root' if self.user == 'root' else f'/home/{self.user}'}"]  # fmt: skip
        space = ["unshare", "--mount", "--propagation=private"]
        start = time.monotonic()
        done = subprocess.run(
            [*space, "sh", "-c", INSIDE, self.root, *chroot, *command], check=False
        )
        print(f"== {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode:
            sys.exit(f"asked: {' '.join(command)}\nfound: it ended with {done.returncode}")

    def run(self, rest: str, kept: bool = False) -> None:
        if not kept:
            print(f"== {self.stage.name}: RUN {rest}", flush=True)
            self.inside(["sh", "-c", rest])

    def workdir(self, rest: str, kept: bool = False) -> None:
        self.place = rest
        (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def use(self, rest: str, kept: bool = False) -> None:
        self.user = rest

    def start(self, rest: str, kept: bool = False) -> None:
        self.cmd = json.loads(rest)

    def copy(self, rest: str, kept: bool = False) -> None:
        if kept:
            return
        *words, target = rest.split()
        to = self.root / (Path(self.place) / target).as_posix().lstrip("/")
        if words[0].startswith("--from="):
            source = self.names[words[0].removeprefix("--from=")].root
            subprocess.run(["cp", "-a", source / words[1].lstrip("/"), to], check=True)
            return
        patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
        for name in context(patterns) if words == ["."] else words:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name, follow_symlinks=False)


def main() -> None:
    p = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    p.add_argument("folder", type=Path, help="where the stages are built")
    p.add_argument("stage", nargs="?", help="which one (default: the last)")
    p.add_argument("--run", nargs=argparse.REMAINDER, help="then run this (default: its CMD)")
    args = p.parse_args()
    stages = parsed((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    wanted, names = args.stage or stages[-1].name, dict[str, Built]()
    args.folder.mkdir(parents=True, exist_ok=True)
    for stage in needed(stages, wanted):
        names[stage.name] = Built(stage, args.folder.resolve(), names)
        names[stage.name].build()
    if args.run is not None:
        names[wanted].inside(args.run or names[wanted].cmd)


def needed(stages: list[Stage], wanted: str) -> list[Stage]:
    """That stage and those that it is made of, in order."""
    by_name = {stage.name: stage for stage in stages}
    if wanted not in by_name:
        sys.exit(f"asked: stage {wanted}\nfound: {', '.join(by_name)}\nto do: name one of those")
    found, look = {wanted}, [wanted]
    while look:
        stage = by_name[look.pop()]
        others = [stage.base, *re.findall(r"--from=(\w+)", str(stage.lines))]
        look += [name for name in others if name in by_name and name not in found]
        found |= set(look)
    return [stage for stage in stages if stage.name in found]


if __name__ == "__main__":
    main()
