"""CSV: numbers and categories by column, and every mistake of a file with its line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tutor import Tensor
from tutor.data import Scaler, csv, standardize, train_test_split
from tutor.errors import DataError, DomainError, DTypeError, ShapeError

FLOWERS = """height,colour,petals,kind
1.5,red,5,rose
2.5,white,6,lily
0.5,red,5,rose
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.csv"


def test_numbers_and_categories(path):
    path.write_text(FLOWERS)
    t = csv(path, target="kind")
    assert t.features == ["height", "colour=red", "colour=white", "petals"]
    assert t.x.tolist() == [[1.5, 1, 0, 5], [2.5, 0, 1, 6], [0.5, 1, 0, 5]]
    assert t.x.dtype.name == "float32"
    assert t.y.tolist() == [1, 0, 1] and t.y.dtype.name == "int64"
    assert t.categories == {"colour": ["red", "white"], "kind": ["lily", "rose"]}
    assert t.columns["petals"].tolist() == [5, 6, 5]
    number = csv(path, target="height")
    assert number.y.tolist() == [1.5, 2.5, 0.5] and number.y.dtype.name == "float32"
    whole = csv(path)
    assert whole.y is None and whole.x.shape == (3, 6)
    assert csv(path, target="kind", categories=["petals"]).features[-2:] == ["petals=5", "petals=6"]


FORMS = {  # the same table, written otherwise
    "semicolons": (FLOWERS.replace(",", ";"), {"separator": ";"}),
    "Windows": ("\ufeff" + FLOWERS.replace("\n", "\r\n"), {}),
    "blank lines and spaces": (FLOWERS.replace(",", " , ").replace("\n", "\n\n"), {}),
    "quotes": (FLOWERS.replace("red", '"red"'), {}),
    "no last newline": (FLOWERS.rstrip(), {}),
    "latin-1": (FLOWERS, {"encoding": "latin-1"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_file(path, form):
    text, options = FORMS[form]
    path.write_bytes(text.encode())
    other = path.with_name("plain.csv")
    other.write_text(FLOWERS)
    found, wanted = csv(path, "kind", **options), csv(other, "kind")
    assert found.features == wanted.features and found.x.tolist() == wanted.x.tolist()
    assert found.y.tolist() == wanted.y.tolist()


def test_without_a_header_and_with_separators_in_cells(path):
    path.write_text('1,"a, b"\n2,"c ""d"""\n')
    t = csv(path, header=False)
    assert t.features == ["0", "1=a, b", '1=c "d"']
    assert t.x.tolist() == [[1, 1, 0], [2, 0, 1]]


def test_missing_cells(path):
    path.write_text("a,b,y\n1,x,0\n,x,1\n3,?,0\n8,z,1\n")
    assert csv(path, "y", missing="drop").x.tolist() == [[1, 1, 0], [8, 0, 1]]
    mean = csv(path, "y", missing="mean")
    assert mean.features == ["a", "b=x", "b=z"]
    assert mean.x.tolist() == [[1, 1, 0], [4, 1, 0], [3, 1, 0], [8, 0, 1]]
    nan = csv(path, "y", missing="nan")
    assert nan.features == ["a", "b=", "b=x", "b=z"] and math.isnan(nan.x[1, 0].item())
    assert nan.x[2].tolist() == [3, 1, 0, 0]


REFUSED = [  # the file, options, the words
    ("a,b\n1,2\n3\n", {}, "line 3: 1 cells, where the first line has 2"),
    ("a,b\n1,2\n3,4,5\n", {}, "line 3: 3 cells"),
    ("a,b\n1,\n", {}, "line 2: ''; 1 of 1 cells are missing"),
    ("a\n1\n2\nx\n4\n", {}, "line 4: 'x', where most cells are numbers"),
    ("a\nx\ny\n3\nz\n", {}, "line 4: '3', where most cells are texts"),
    ("a\n1\n1_000\n5\n", {}, "line 3: '1_000'"),
    ("a,a\n1,2\n", {}, "two columns of one name"),
    ("", {}, "no row"),
    ("a,b\n", {}, "no row"),
    ("a,b\n,1\n", {"missing": "drop"}, "no row"),
    ("a,b\n,1\n,2\n", {"missing": "mean"}, "no cell of it is there"),
    ("a\n1\n", {"target": "b"}, "there are a"),
    ("a\n1\n", {"categories": "b"}, "there are a"),
    ('a\n"1\n', {}, "line"),
    ("a\nä\n", {"encoding": "ascii"}, "ascii"),
    ("a\n1\n", {"encoding": "no such"}, "no such"),
    (None, {}, "No such file"),
]


@pytest.mark.parametrize(("text", "options", "words"), REFUSED)
def test_refused(path, text, options, words):
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=words.replace("?", r"\?")) as caught:
        csv(path, **options)
    assert caught.value.asked and caught.value.found and caught.value.do


def test_refused_options(path):
    path.write_text(FLOWERS)
    wrong = ({"missing": "zero"}, {"separator": ""}, {"separator": ",,"}, {"separator": 3})
    for options in wrong:
        with pytest.raises(DomainError) as caught:
            csv(path, **options)
        assert caught.value.asked and caught.value.found and caught.value.do
    with pytest.raises(DTypeError):
        csv(3)


# ---- what comes next -----------------------------------------------------------------------------


def test_standardize():
    rng = np.random.default_rng(0)
    train = rng.normal([3.0, -5.0, 7.0], [2.0, 0.1, 0.0], (50, 3)).astype(np.float32)
    test = rng.normal(size=(5, 3)).astype(np.float32)
    a, b, scaler = standardize(train, test)
    assert np.allclose(a.numpy().mean(axis=0), 0, atol=1e-4)
    assert np.allclose(a.numpy().std(axis=0), [1, 1, 0], atol=1e-4)
    std = np.where(train.std(axis=0) > 0, train.std(axis=0), 1)
    assert np.allclose(b.numpy(), (test - train.mean(axis=0)) / std, rtol=1e-4, atol=1e-4)
    assert np.allclose(scaler.undo(a).numpy(), train, atol=1e-5)
    assert isinstance(scaler, Scaler)
    rounded = np.tile(np.array([0.1, 123.456, 1e6 + 0.3], np.float32), (1000, 1))
    scaled, same = standardize(rounded)  # the mean of 1000 times 0.1 is not quite 0.1
    assert not scaled.numpy().any() and (same.undo(scaled).numpy() == rounded).all()
    assert same(rounded[0] + 2).numpy() == pytest.approx([2, 2, 2], rel=1e-5)
    with pytest.raises(ShapeError):
        standardize([])


def test_train_test_split():
    x, y = np.arange(20).reshape(10, 2), Tensor.arange(10)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, seed=1)
    assert (len(y_train), len(y_test)) == (7, 3)
    assert sorted([*y_train.tolist(), *y_test.tolist()]) == list(range(10))
    assert (x_train[:, 0] == y_train * 2).all().item() and (x_test[:, 0] == y_test * 2).all().item()
    assert train_test_split(y, seed=1)[1].tolist() == train_test_split(y, seed=1)[1].tolist()
    assert train_test_split(y, seed=1)[1].tolist() != train_test_split(y, seed=2)[1].tolist()
    assert len(train_test_split(y, test_size=4)[1]) == 4
    for wrong, kind in ((0, DomainError), (10, DomainError), (1.0, DomainError), (-1, DomainError),
                        ("a", DTypeError), (math.nan, DomainError)):  # fmt: skip
        with pytest.raises(kind) as caught:
            train_test_split(y, test_size=wrong)
        assert caught.value.asked and caught.value.found and caught.value.do
    with pytest.raises(ShapeError):
        train_test_split(x, y[:3])
    with pytest.raises(ShapeError):
        train_test_split()
