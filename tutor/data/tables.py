"""Tables: a CSV file as Tensors, with numeric and categorical columns.

A column of numbers only is numeric (float32); a column without any number is categorical, with its
categories in the order of their texts. A mixed column is refused, and the error names the line:
otherwise one typing error would turn all its numbers into categories.
"""

from __future__ import annotations

import csv as files_of_cells
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tutor import random
from tutor._util import checks, files
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.data.dataset import as_tensor, picked
from tutor.errors import DataError, DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import concatenate

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))  # in lower case
TREATED = ("error", "nan", "mean", "drop")


class Table(NamedTuple):
    """`x` float32 (rows, features), `y` the target to predict, and what the features mean.

    A categorical column has a feature per category, 1.0 in the rows of that category (one-hot). `y`
    is float32 (rows,) for numbers, int64 (rows,) for categories, None without a target.
    """

    x: Tensor
    y: Tensor | None
    features: list[str]  # the names of x's columns: "age", "colour=red"
    columns: dict[str, Tensor]  # each column of the file: float32, or category numbers
    categories: dict[str, list[str]]  # column -> its categories, by number


class Cells(NamedTuple):
    """The texts of a file, and their line numbers."""

    path: str
    names: list[str]
    rows: list[list[str]]
    lines: list[int]


@spelled
def csv(
    path: str | Path,
    target: str | None = None,
    *,
    header: bool = True,
    separator: str = ",",
    missing: str = "error",
    categories: Sequence[str] = (),
    encoding: str = "utf-8",
) -> Table:
    """A Table of the file. `target` is the name of the column that becomes `y`.

    header      whether the first line has the names; otherwise they are "0", "1", ...
    missing     cells that are empty, or say na, n/a, nan, null, none or ?: "error" names the first;
                "drop" drops their rows; "nan" keeps NaN (categories: a category of their own, "");
                "mean" fills in the column's mean (categories: the most frequent one)
    categories  columns that are categories although their cells look like numbers (zip codes)

    DataError, with the line, for a file that cannot be read.
    """
    checks.one_of("csv(missing=...)", missing, TREATED)
    cells = read_cells(path, header, separator, encoding)
    if isinstance(categories, str):
        categories = [categories]
    for name in [*categories, *([] if target is None else [target])]:
        if name not in cells.names:
            raise DataError(f"the column {name!r} of {path}", f"there are {', '.join(cells.names)}",
                            "give one of these names")  # fmt: skip
    if missing == "drop":
        kept = [not any(map(is_missing, row)) for row in cells.rows]
        chosen = [i for i, whole in enumerate(kept) if whole]
        cells = cells._replace(
            rows=[cells.rows[i] for i in chosen], lines=[cells.lines[i] for i in chosen]
        )
    if not cells.rows:
        raise DataError(f"to read the table {path}", "no row of cells", "give a file with rows")
    columns: dict[str, Tensor] = {}
    kinds: dict[str, list[str]] = {}
    for at, name in enumerate(cells.names):
        found = column(cells, at, missing, name in categories)
        columns[name] = found[0]
        if found[1] is not None:
            kinds[name] = found[1]
    return table(columns, kinds, target)


def table(columns: dict[str, Tensor], kinds: dict[str, list[str]], target: str | None) -> Table:
    """The features of all columns except the target, side by side."""
    parts, features = [], []
    for name, values in columns.items():
        if name == target:
            continue
        if name in kinds:
            parts.append(values.one_hot(len(kinds[name])).cast("float32"))
            features += [f"{name}={kind}" for kind in kinds[name]]
        else:
            parts.append(values.reshape(-1, 1))
            features.append(name)
    n = len(next(iter(columns.values())))
    x = concatenate(parts, axis=1) if parts else Tensor.zeros(n, 0)
    return Table(x, None if target is None else columns[target], features, columns, kinds)


def read_cells(path: str | Path, header: bool, separator: str, encoding: str) -> Cells:
    """The texts of the file, each line as long as the first."""
    asked = f"to read the table {path}"
    if not isinstance(path, (str, Path)):
        raise DTypeError("to read a table", checks.said(path), "give the name of a file")
    if not isinstance(separator, str) or len(separator) != 1:
        raise DomainError(f"csv(separator={separator!r:.40})", "it is one character",
                          "use, for example, ';' or '\\t'")  # fmt: skip
    names: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        with files.opened(path, encoding=encoding, newline="") as file:
            reader = files_of_cells.reader(file, delimiter=separator, strict=True)
            for cells in reader:
                if not cells:  # an empty line
                    continue
                row = [cell.strip() for cell in cells]
                if not names:
                    row[0] = row[0].removeprefix("\ufeff")  # the byte order mark
                    names = row if header else [str(i) for i in range(len(row))]
                    if len(set(names)) < len(names):
                        raise DataError(
                            asked,
                            f"two columns of one name: {', '.join(names)}",
                            "give each column a name of its own, or header=False",
                        )
                    if header:
                        continue
                if len(row) != len(names):
                    raise DataError(
                        asked,
                        f"line {reader.line_num}: {len(row)} cells, where the first line has"
                        f" {len(names)}",
                        "mend that line, or give the right separator= (now"
                        f" {separator!r}); a cell with a separator in it stands in quotes",
                    )
                rows.append(row)
                lines.append(reader.line_num)
    except OSError as error:
        raise DataError(
            asked, error.strerror or str(error), "give the name of a CSV file"
        ) from error
    except files_of_cells.Error as error:
        raise DataError(asked, f"line {reader.line_num}: {error}", "mend that line") from error
    except (UnicodeError, LookupError) as error:
        raise DataError(asked, str(error), "give the right encoding=, for example 'latin-1'"
                        ) from error  # fmt: skip
    return Cells(str(path), names, rows, lines)


def is_missing(cell: str) -> bool:
    return cell.lower() in MISSING


def number(cell: str) -> float | None:
    """The number in the cell, or None if it is not a number."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def column(
    cells: Cells, at: int, missing: str, as_categories: bool
) -> tuple[Tensor, list[str] | None]:
    """A column as a Tensor, and its categories, if any."""
    name, texts = cells.names[at], [row[at] for row in cells.rows]
    gone = [i for i, cell in enumerate(texts) if is_missing(cell)]
    if gone and missing == "error":
        raise DataError(
            f"the column {name!r} of {cells.path}",
            f"line {cells.lines[gone[0]]}: {texts[gone[0]]!r}; {len(gone)} of {len(texts)} cells"
            " are missing",
            "say what to do with missing= : 'drop', 'mean' or 'nan'",
        )
    there = [i for i in range(len(texts)) if not is_missing(texts[i])]
    numbers = {} if as_categories else {i: number(texts[i]) for i in there}
    words = [i for i in there if numbers.get(i) is None]
    if words and len(words) < len(there):
        few = words if 2 * len(words) <= len(there) else [i for i in there if i not in words]
        raise DataError(
            f"the column {name!r} of {cells.path}",
            f"line {cells.lines[few[0]]}: {texts[few[0]]!r}, where most cells are"
            f" {'numbers' if few is words else 'texts'}",
            f"mend that cell, or give categories=[{name!r}] to take all of them as texts",
        )
    if words:
        return categorical(texts, there, missing)
    known = [float(numbers[i] or 0.0) for i in there]
    if gone and missing == "mean" and not known:
        raise DataError(f"the column {name!r} of {cells.path}", "no cell of it is there",
                        "leave that column out of the file")  # fmt: skip
    instead = math.fsum(known) / len(known) if missing == "mean" and known else math.nan
    values = dict(zip(there, known, strict=True))
    return Tensor([values.get(i, instead) for i in range(len(texts))], dtype="float32"), None


def categorical(texts: list[str], there: list[int], missing: str) -> tuple[Tensor, list[str]]:
    """The category numbers, int64, and the categories in the order of their texts."""
    known = [texts[i] for i in there]
    fill = max(sorted(set(known)), key=known.count) if missing == "mean" else ""
    values = [fill] * len(texts)
    for i in there:
        values[i] = texts[i]
    kinds = sorted(set(values))
    numbers = {kind: k for k, kind in enumerate(kinds)}
    return Tensor([numbers[value] for value in values]), kinds


# ---- what comes next -----------------------------------------------------------------------------


class Scaler:
    """z = (x - mean) / std, by column, with the mean and the standard deviation of the data it was
    made from (the training data). A constant column becomes 0."""

    def __init__(self, x: TensorLike) -> None:
        data = as_tensor(x).cast("float32").detach()
        if data.ndim < 1 or not data.numel():
            raise ShapeError("to standardize", f"shape {data.shape}", "give rows of numbers")
        std, same = data.std(axis=0), data.min(axis=0) == data.max(axis=0)
        # Even the mean of equal numbers is rounded: without this, a tiny rest over a tiny std.
        self.mean = Tensor.where(same, data[0], data.mean(axis=0))
        self.std = Tensor.where((std > 0) & ~same, std, 1.0)

    def __call__(self, x: TensorLike) -> Tensor:
        return (as_tensor(x).cast("float32") - self.mean) / self.std

    def undo(self, z: TensorLike) -> Tensor:
        """The inverse, x from z: mean + std * z."""
        return as_tensor(z) * self.std + self.mean


@spelled
def standardize(x: TensorLike, *others: TensorLike) -> tuple[Any, ...]:
    """(x, *others, scaler): all of them minus x's mean and divided by x's standard deviation, by
    column; the Scaler applies the same to later data."""
    scaler = Scaler(x)
    return (*(scaler(t) for t in (x, *others)), scaler)


@spelled
def train_test_split(
    *arrays: TensorLike, test_size: float = 0.2, seed: int = 0
) -> tuple[Tensor, ...]:
    """(a_train, a_test, b_train, b_test, ...): rows split at random, alike for all arrays.

    `test_size` is a share, between 0 and 1, or a number of rows.
    """
    tensors = [as_tensor(t) for t in arrays]
    shapes = [t.shape for t in tensors]
    if not shapes or not all(shape[:1] and shape[0] == shapes[0][0] for shape in shapes):
        raise ShapeError(
            "train_test_split",
            f"shapes {', '.join(map(str, shapes)) or 'of nothing'}",
            "give arrays with a row for every sample: first axes alike",
        )
    n = shapes[0][0]
    checks.number("train_test_split(test_size=...)", test_size, 0, nan=False)
    whole = type(test_size) is int
    count = int(test_size) if whole else math.ceil(n * test_size - 1e-9)
    if not 0 < count < n or (not whole and test_size >= 1):
        raise DomainError(f"train_test_split of {n} rows with test_size={test_size}",
                          "one part would have none, or more rows than there are",
                          "use a share between 0 and 1, for example 0.2")  # fmt: skip
    order = Tensor(random.permuted(n, seed))
    picks = order[count:], order[:count]
    return tuple(picked(t, pick) for t in tensors for pick in picks)
