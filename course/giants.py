"""The hunt of chapter 18: where four libraries have what the learner's has, by path and line.

Each library is pinned to a release, so that a line stays where it is. Of the answers only hashes
are kept, and a look at one needs no network. Nothing of their code stands here.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

Place = tuple[str, int]  # the path from the root of the repository, and the line

IN_URL = re.compile(r"https?://github\.com/[\w.-]+/[\w.-]+/blob/[^/]+/(.+)")
WRITTEN = re.compile(r"(?:\./)?([\w./-]+?)(?::|#L|:L)(\d+)(?:C\d+)?(?:-L?\d+)?")


@dataclass(frozen=True)
class Giant:
    """A library at one version: {what to look for: the hashes of the answers that are right}.

    `nowhere` names what it does not have; `files` are hashes of paths, for "another line".
    """

    name: str
    repository: str
    version: str  # a tag, or a commit
    get: str  # how to have its files here, without Git
    right: dict[str, tuple[str, ...]]
    files: dict[str, tuple[str, ...]]
    nowhere: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """Where one can read it."""
        return f"https://github.com/{self.repository}/tree/{self.version}"


def place(answer: object) -> Place | None:
    """ "path:line", a link to the line, or (path, line), as a place; None for anything else."""
    if isinstance(answer, tuple | list) and len(answer) == 2:
        path, line = answer
        answer = f"{path}:{line}" if type(line) is int else None
    if not isinstance(answer, str):
        return None
    text = answer.strip().replace("\\", "/")
    if found := IN_URL.fullmatch(text):
        text = found[1]
    match = WRITTEN.fullmatch(text)
    return (match[1], int(match[2])) if match else None


def digest(*words: object) -> str:
    """A short hash of some words."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()[:16]


def verdict(giant: Giant, item: str, answer: object) -> str:
    """What is wrong with an answer, in words; "" if nothing."""
    if item in giant.nowhere:
        return "" if answer is None else f"{giant.name} has none, because it needs none: None"
    found = place(answer)
    if found is None:
        return f"{answer!r:.60} is no place: write it as 'folder/file.py:12'"
    path, line = found
    if digest(giant.name, item, path, line) in giant.right[item]:
        return ""
    if digest(giant.name, item, path) in giant.files[item]:
        return f"{path} is right, and it is in another line than {line}"
    return f"it is not in line {line} of {path}"


GIANTS = {
    "micrograd": Giant(
        "micrograd",
        "karpathy/micrograd",
        "c911406e5ace8742e5841a7e0df113ecb5d54685",
        "pip download --no-deps --no-binary :all: micrograd==0.1.0",
        {
            "inputs": ("1ec26bae60b973dd",),
            "order": ("b2cec9dc987bb096",),
            "mul": ("93a9b3e1e8ba876b",),
            "walk": ("ac30eae4cc9c01a1",),
        },
        {
            "inputs": ("6f66ce87f9db1e5b",),
            "order": ("cc3319abd15e6969",),
            "mul": ("9cb0ee7d108f33d7",),
            "walk": ("30c09537682c56c8",),
        },
        nowhere=("fit",),
    ),
    "tinygrad": Giant(
        "tinygrad",
        "tinygrad/tinygrad",
        "v0.10.3",
        "pip download --no-deps tinygrad==0.10.3",
        {
            "Buffer": ("2b94548f5d044d0b",),
            "ops": ("78d5e42d7af09880",),
            "slopes": ("bb280389ca7deac1",),
            "walk": ("3915638185b736af",),
            "fit": (
                "32df33f642945bf4",
                "dd633035049f2c27",
            ),
        },
        {
            "Buffer": ("0bd0345e88200689",),
            "ops": ("a19896580127322a",),
            "slopes": ("e35a113b62cb8de5",),
            "walk": ("19a56a9074e1d831",),
            "fit": ("3c5e15d461f7e905",),
        },
    ),
    "PyTorch": Giant(
        "PyTorch",
        "pytorch/pytorch",
        "cf30153c4c131c8164ee7798e5022d810682e2cb",
        "pip download --no-deps torch==2.13.0",
        {
            "Buffer": ("8cf38e6792a27dfa",),
            "Tensor": ("95d2cc63b8a85fec",),
            "Op": ("d600febc60ef3011",),
            "Registry": ("a5fa3fd283dcb908",),
            "Engine": ("70e435e009b5b76b",),
            "fit": (
                "6287c64c28670391",
                "ae0dfd0e473d3874",
                "d0f4bf0681c9876b",
                "c14cf1d4350aa42b",
                "0b5a42aea20faee0",
            ),
        },
        {
            "Buffer": ("8fe65ad05cfb0364",),
            "Tensor": ("88b24ebe571f4357",),
            "Op": ("2f64843f72256d83",),
            "Registry": ("2fce87b46ded48aa",),
            "Engine": ("6ca93dd7dd03fc66",),
            "fit": (
                "07f441f5e8240671",
                "94d0efbe961317c0",
            ),
        },
    ),
    "JAX": Giant(
        "JAX",
        "jax-ml/jax",
        "jax-v0.4.38",
        "pip download --no-deps jax==0.4.38",
        {
            "Op": ("4021f9187a898053",),
            "record": ("22059640d7c851e9",),
            "apply": ("711bbfebdd55c347",),
            "walk": ("22e4899bcae41d14",),
            "collect": ("42ed9251619080b9",),
            "fit": ("e9a3cd3b34ff50b9",),
        },
        {
            "Op": ("920a26911c4567e3",),
            "record": ("a1be6ccd6dafaabb",),
            "apply": ("535bb033c8f06eca",),
            "walk": ("76a18b1ef8a34c56",),
            "collect": ("fdea37255143ed52",),
            "fit": ("91e164ab7108141f",),
        },
    ),
}
