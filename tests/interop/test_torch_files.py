"""torch.save's files: read without PyTorch, written so that PyTorch reads them, or explained."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import tutor  # noqa: E402
import tutor.torch as wing  # noqa: E402
from tutor.errors import DataError  # noqa: E402

BASE = torch.arange(12.0).reshape(3, 4)
VALUES = {
    "a state_dict": torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)
    ).state_dict(),
    "dtypes": [torch.ones(2).to(d) for d in (torch.float64, torch.float16, torch.bfloat16,
               torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool)],
    "strides": (BASE.t(), BASE[1], BASE[:, ::2], BASE[1:2, 1:].expand(3, 3)),
    "no numbers": torch.zeros(0, 3),
    "one number": torch.tensor(2.5),
    "plain data": {"epoch": 3, "rate": 0.1, "name": "ä", "none": None, "yes": True, "no": False,
                   "large": 2**40, "negative": -7, "pair": (1, [2.0, "x"])},
    "a parameter": torch.nn.Parameter(torch.ones(2), requires_grad=False),
    "a leaf": torch.ones(2, requires_grad=True),
}  # fmt: skip


def written(value: Any, by: Any = torch) -> io.BytesIO:
    file = io.BytesIO()
    by.save(value, file)
    file.seek(0)
    return file


def check(theirs: Any, ours: Any) -> None:
    """The same kinds, dtypes, shapes, numbers; and the same need of a gradient."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, wing.Tensor) and ours.dtype.name == str(theirs.dtype)[6:]
        assert isinstance(ours, wing.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_array_equal(ours.detach().double().numpy(), theirs.detach().double())
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs) and list(ours) == list(theirs)
        for key in theirs:
            check(theirs[key], ours[key])
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(theirs, ours, strict=True):
            check(a, b)
    else:
        assert ours == theirs and type(ours) is type(theirs)


@pytest.mark.parametrize("name", VALUES)
def test_a_file_of_pytorch_is_read(name: str) -> None:
    check(VALUES[name], wing.load(written(VALUES[name])))


@pytest.mark.parametrize("name", VALUES)
def test_pytorch_reads_what_is_written(name: str) -> None:
    ours = wing.load(written(VALUES[name]))
    check(torch.load(written(ours, wing), weights_only=True), ours)


def test_views_share_their_storage() -> None:
    a, b, *_ = wing.load(written(VALUES["strides"]))
    assert a.buf is b.buf
    a[0, 1] = 99.0
    assert b[0].item() == 99.0


def test_a_path_and_a_model(tmp_path: Path) -> None:
    theirs, ours = torch.nn.Linear(3, 2), wing.nn.Linear(3, 2)
    torch.save(theirs.state_dict(), tmp_path / "model.pt")
    loaded = wing.load(tmp_path / "model.pt", map_location="cpu", weights_only=True)
    ours.load_state_dict(loaded)
    np.testing.assert_array_equal(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    wing.save(ours.state_dict(), tmp_path / "back.pt")
    theirs.load_state_dict(torch.load(tmp_path / "back.pt"))


def changed(file: io.BytesIO, record: str, edit: Any) -> io.BytesIO:
    """The file with one record edited; None leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            data = edit(data) if name.endswith(record) else data
            if data is not None:
                new.writestr(name, data)
    out.seek(0)
    return out


LINEAR = VALUES["a state_dict"]
WRONG = {
    "a model, not its state": lambda: written(torch.nn.Linear(2, 2)),
    "no zip file": lambda: io.BytesIO(b"numbers" * 100),
    "nothing": lambda: io.BytesIO(),
    "cut off": lambda: io.BytesIO(written(LINEAR).getvalue()[:900]),
    "another zip": lambda: changed(written(LINEAR), "data.pkl", lambda data: None),
    "a storage is missing": lambda: changed(written(LINEAR), "data/0", lambda data: None),
    "a storage is short": lambda: changed(written(LINEAR), "data/0", lambda data: data[:4]),
    "the pickle is cut off": lambda: changed(written(LINEAR), "data.pkl", lambda d: d[:99]),
    "it calls os.system": lambda: changed(
        written(LINEAR), "data.pkl", lambda d: b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."
    ),
    "it reaches outside": lambda: changed(
        written(torch.ones(4)), "data.pkl", lambda d: d.replace(b"K\x04\x85", b"K\x05\x85")
    ),
    "big-endian": lambda: changed(written(LINEAR), "byteorder", lambda data: b"big"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_is_explained(name: str) -> None:
    with pytest.raises(DataError) as found:
        wing.load(WRONG[name]())
    assert found.value.asked and found.value.found and found.value.do


def test_damage_anywhere_in_the_pickle_is_explained() -> None:
    """Each byte overwritten in turn: a DataError or a value, and nothing else."""
    file = written({"a": torch.ones(2), "b": [1, (2.5, "x")]})
    with zipfile.ZipFile(io.BytesIO(file.getvalue())) as archive:
        size = len(archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl"))))
    refused = 0
    for i in range(size):
        damaged = changed(io.BytesIO(file.getvalue()), "data.pkl",
                          lambda d, i=i: d[:i] + bytes([d[i] ^ 0xFF]) + d[i + 1 :])  # fmt: skip
        try:
            wing.load(damaged)
        except DataError:
            refused += 1
    assert refused > size // 2


def test_what_cannot_be_written_is_explained() -> None:
    with pytest.raises(DataError, match="to do"):
        wing.save({"model": wing.nn.Linear(2, 2)}, io.BytesIO())
    with pytest.raises(DataError, match="no such storage"):
        wing.save(tutor.Tensor([1], dtype="uint64"), io.BytesIO())


def test_the_other_reader_says_where_such_a_file_is_read(tmp_path: Path) -> None:
    torch.save(LINEAR, tmp_path / "model.pt")
    with pytest.raises(DataError, match=r"tutor\.torch\.load"):
        tutor.load(tmp_path / "model.pt")
