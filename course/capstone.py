"""The scoreboard of tutor200.py: `python -m tutor check 18 tutor200.py`.

The file may have LINES lines and TOKENS tokens, and must define two names:

    Tensor(nested_lists, requires_grad=True)
        with + * @, .relu() .exp() .log() .sum(), .backward(), .grad, .shape, .tolist()
    learn(images, labels)
        images: the bytes of all pictures, 784 each; labels: a list of ints. Gives a function
        read(images) -> the list of digits that it reads.

What it consists of besides is the learner's choice. Names of chapters 1 to 12 are checked by those
chapters' own checks, which is the score. It runs in a process of its own, as every answer in a
file does (course/answers.py): `python -m course.capstone FILE RESULT MEMORY`.
"""

from __future__ import annotations

import ast
import io
import math
import random
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course import reach, record
from course.answers import how_it_ended, space, where
from course.exercise import Exercise, everything
from course.guard import Output, quiet
from course.judging import judged
from course.library import saving
from course.limits import MEMORY, limit_memory
from tutor import data
from tutor.errors import DataError

ID = "18.200"  # in the progress file
LINES, TOKENS, STRING, WIDTH = 200, 3000, 200, 100
SHARE = 0.975  # of the test digits
FIRST, LAST = "01", "12"  # the chapters whose checks are the score
SECONDS = 1800.0  # for all of it: a library without borrowed kernels may take half an hour
PIXELS = 784
COUNTED = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}


@dataclass(frozen=True)
class Goal:
    """What it has to learn."""

    images: int | None = None  # to learn from; None: all that there are
    share: float = SHARE


@dataclass
class Board:
    """What was found; `faults` keep it from passing."""

    rows: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)  # existing checks, as "02.1 strides_for"

    @property
    def text(self) -> str:
        wide = max(map(len, self.rows), default=0)
        lines = [f"{label:<{wide}}  {found}" for label, found in self.rows.items()]
        lines += [f"to do: {fault}" for fault in self.faults]
        return "\n".join([*lines, f"18 {'wrong' if self.faults else 'passed'}: tutor200.py"])


# ---- the text ------------------------------------------------------------------------------------


def free(text: str) -> set[int]:
    """The lines on which a string begins that is a statement by itself, as docstrings are."""
    nodes = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    constants = [node for node in nodes if isinstance(node, ast.Constant)]
    return {node.lineno for node in constants if isinstance(node.value, str)}


def size(text: str) -> tuple[int, int]:
    """(lines, tokens): a statement over several lines is one; names, numbers, operators and strings
    are tokens. Blank lines, comments, and strings that are statements, are free."""
    alone, lines, tokens, inside, empty = free(text), 0, 0, 0, True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_END":  # since Python 3.12 an f-string is many tokens: here it is one
            inside -= 1
            tokens, empty = tokens + (inside == 0), False
        elif kind == "FSTRING_START":
            inside += 1
        elif inside:
            continue
        elif token.type == tokenize.NEWLINE:
            lines, empty = lines + (not empty), True
        elif token.type in COUNTED and not (
            empty and token.type == tokenize.STRING and token.start[0] in alone
        ):
            tokens, empty = tokens + 1, False
    return lines, tokens


def imports(text: str, folder: Path) -> str:
    """What it uses that a library of one's own does not need; "" if nothing."""
    if found := reach.reaches(text, folder):
        return found
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name != "course.lent" and name.partition(".")[0] not in sys.stdlib_module_names:
                return f"line {getattr(node, 'lineno', 0)} imports {name}"
    return ""


def written(board: Board, text: str, folder: Path) -> None:
    """The rows about the text."""
    lines, tokens = size(text)
    for label, count, most in (("lines", lines, LINES), ("tokens", tokens, TOKENS)):
        board.rows[label] = f"{count:,} of {most:,}"
        if count > most:
            board.faults.append(f"{count - most:,} {label} less")
    wide = max(map(len, text.splitlines()), default=0)
    if wide > WIDTH:
        board.faults.append(f"a line has {wide} characters: {WIDTH} at most")
    constants = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    strings = {n.lineno: len(n.value) for n in constants if isinstance(n.value, str | bytes)}
    for line, length in strings.items():
        if length > STRING and line not in free(text):
            board.faults.append(f"line {line} has a string of {length} characters: weights are"
                                " learned, not written")  # fmt: skip
    found = imports(text, folder)
    board.rows["imports"] = found or "the standard library and course.lent, if anything"
    if found:
        board.faults.append(f"{found}: a library of your own has the standard library, and kernels"
                            " of course.lent")  # fmt: skip


# ---- what it does --------------------------------------------------------------------------------

A, B, C = [[0.5, -1.25], [2.0, 0.75]], [[1.5, 0.25], [-0.5, 1.0]], [0.25, -0.75]
Function = Callable[..., Any]
GRADIENTS: dict[str, tuple[Function, list[Any]]] = {
    "(a + c) * b: c is stretched": (lambda a, b, c: ((a + c) * b).sum(), [A, B, C]),
    "a * a + a: one tensor, used three times": (lambda a: (a * a + a).sum(), [A]),
    "(a @ b).relu()": (lambda a, b: (a @ b).relu().sum(), [A, B]),
    "(a.exp() * b).exp()": (lambda a, b: (a.exp() * b).exp().sum(), [A, B]),
    "(c * c + 1).log(): 1 is a number": (lambda c: (c * c + 1).log().sum(), [C]),
    "((a + c) @ b + c).relu() * a": (
        lambda a, b, c: (((a + c) @ b + c).relu() * a).sum(), [A, B, C],
    ),
}  # fmt: skip


def flat(numbers: Any) -> list[float]:
    if not isinstance(numbers, list | tuple):
        return [float(numbers)]
    return [x for row in numbers for x in flat(row)]


def moved(nested: Any, place: int, by: float) -> Any:
    """The same nested lists, with one number changed."""
    numbers = iter(x + by * (i == place) for i, x in enumerate(flat(nested)))

    def filled(part: Any) -> Any:
        return [filled(x) for x in part] if isinstance(part, list) else next(numbers)

    return filled(nested)


def slopes(Tensor: Any, f: Function, inputs: list[Any]) -> str:  # noqa: N803 - it is a class
    """What is wrong with the gradients of f at these inputs; "" if nothing."""
    step, leaves = 1 / 64, [Tensor(x, requires_grad=True) for x in inputs]
    f(*leaves).backward()
    for number, leaf in enumerate(leaves):
        if leaf.grad is None or tuple(leaf.grad.shape) != tuple(leaf.shape):
            return f"the gradient of input {number + 1} is missing, or of another shape"
        for place, got in enumerate(flat(leaf.grad.tolist())):
            ends = []
            for by in (step, -step):
                other = [moved(x, place, by) if i == number else x for i, x in enumerate(inputs)]
                ends.append(flat(f(*map(Tensor, other)).tolist())[0])
            slope = (ends[0] - ends[1]) / (2 * step)
            if not math.isclose(got, slope, rel_tol=0.02, abs_tol=0.02):
                return f"input {number + 1}, number {place + 1}: {got:.4g}, measured {slope:.4g}"
    return ""


def derived(board: Board, names: dict[str, Any]) -> None:
    """The rows about gradients."""
    right = 0
    for words, (f, inputs) in GRADIENTS.items():
        try:
            found = slopes(names["Tensor"], f, inputs)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        right += not found
        if found:
            board.faults.append(f"the gradient of {words}: {found}")
    board.rows["gradients"] = f"{right} of {len(GRADIENTS)}"


def pieces() -> list[Exercise]:
    """The exercises that add something to the library of chapters 1 to 12."""
    every = [entry for entry in everything() if isinstance(entry, Exercise)]
    return [e for e in every if FIRST <= e.id[:2] <= LAST and saving.piece(e.id)]


def scored(board: Board, names: dict[str, Any]) -> None:
    """The rows about existing checks. What a chapter forbids so that it is written there is not
    forbidden here, where all of it is the learner's own."""
    every, failed = pieces(), []
    for entry in every:
        if entry.answer in names:
            verdict = judged(replace(entry, without=()), names[entry.answer])
            if verdict.passed:
                board.passed.append(f"{entry.id} {entry.answer}")
            else:
                failed.append(f"{entry.id} {entry.answer}")
    board.rows["checks"] = f"{len(board.passed)} of {len(every)} existing checks"
    for label, found in (("passed", board.passed), ("not passed", failed)):
        if found:
            board.rows[label] = ", ".join(found)


def trained(board: Board, names: dict[str, Any], goal: Goal) -> None:
    """The row about digits."""
    digits = data.load("auto", limit=goal.images)
    images, labels = pixels(digits.train_images), digits.train_labels.tolist()
    random.seed(0)
    began, asked = time.process_time(), pixels(digits.test_images)
    try:
        read = names["learn"](images, labels)
        answers = list(read(asked))
    except Exception as error:
        board.rows["digits"] = f"{type(error).__name__}: {error}"
        board.faults.append("learn(images, labels) gives a function, which reads other images")
        return
    right = digits.test_labels.tolist()
    if len(answers) != len(right):
        board.faults.append(f"read gives {len(answers)} answers to {len(right)} images")
    share = sum(a == b for a, b in zip(answers, right, strict=False)) / len(right)
    seconds = time.process_time() - began
    board.rows["digits"] = (
        f"{share:.2%} of {len(right):,} read rightly, {goal.share:.1%} asked; learned from"
        f" {len(labels):,} in {seconds:.0f} s of processor time ({digits.source})"
    )
    if not share >= goal.share:
        board.faults.append("it has to read better: more numbers, more passes, another rate?")


def pixels(images: Any) -> bytes:
    return bytes(images.buf.raw)[: len(images) * PIXELS]


def scoreboard(path: Path, goal: Goal | None = None) -> Board:
    """All rows. It learns only where nothing else is wrong."""
    board, text = Board(), path.read_text("utf-8")
    try:
        written(board, text, path.absolute().parent)
    except SyntaxError as error:
        board.faults.append(f"it is not Python: line {error.lineno}: {error.msg}")
    if board.faults:
        return board
    names = space("answers", path)
    try:
        with quiet(Output()):
            exec(compile(text, str(path), "exec"), names)
    except BaseException as error:
        board.faults += where(error, path)
        return board
    missing = [name for name in ("Tensor", "learn") if name not in names]
    board.faults += [f"define `{name}`" for name in missing]
    if not missing:
        with quiet(Output()):
            derived(board, names)
            scored(board, names)
        if not board.faults:
            trained(board, names, goal or Goal())
    return board


# ---- the command ---------------------------------------------------------------------------------


def mark(file: str, seconds: float = SECONDS, memory: int = MEMORY) -> int:
    """Print the scoreboard of a file; 0 if it passes, else 1."""
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        raise DataError(f"the file {file}", "there is no such .py file",
                        "begin a blank tutor200.py and name it")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result")
        command = [sys.executable, "-m", "course.capstone", file, str(result), str(memory)]
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            print(f"18 timeout: {path.name} did not come to its end within {seconds:g} seconds")
            return 1
        if not result.is_file():
            print(f"18 raised: {path.name} {how_it_ended(ended.returncode)}")
            return 1
        passed = result.read_text() == "passed"
    if trouble := record.tried(ID, passed):
        print(f"note: {trouble}")
    return 0 if passed else 1


def main(file: str, result: str, memory: str) -> int:
    limit_memory(int(memory))
    sys.dont_write_bytecode = True
    board = scoreboard(Path(file))
    print(board.text, flush=True)
    Path(result).write_text("wrong" if board.faults else "passed")
    return 1 if board.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
