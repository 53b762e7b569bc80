"""Data and batches on a device, and what the library makes beside operands that are on one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import tutor
from tutor import Tensor, array_api, data, linalg, nn, training
from tutor.data.collate import moved
from tutor.errors import KernelNotFound

pytestmark = pytest.mark.usefixtures("fake")


def columns(device: str = "cpu") -> tuple[Tensor, Tensor]:
    return Tensor.arange(12).reshape(6, 2).to(device), Tensor.arange(6).to(device)


def listed(batches: Any) -> list[Any]:
    return [tuple(t.tolist() for t in batch) for batch in batches]


# ---- batches are where the data are ----------------------------------------------------------


LOADERS: dict[str, Callable[[str], Any]] = {
    "in order": lambda d: data.DataLoader(columns(d), 4),
    "shuffled": lambda d: data.DataLoader(columns(d), 4, shuffle=True, seed=1),
    "ahead": lambda d: data.DataLoader(columns(d), 4, shuffle=True, seed=1, prefetch=2),
    "a rank's": lambda d: data.DataLoader(columns(d), 4, shuffle=True, seed=1, shard=(1, 2)),
    "a sampler": lambda d: data.DataLoader(columns(d), 4, sampler=Tensor([3, 1, 4]).to(d)),
    "a subset": lambda d: data.DataLoader(
        data.Subset(columns(d), Tensor([5, 1, 2]).to(d)), 2, shuffle=True, seed=1
    ),
    "two": lambda d: data.DataLoader(
        data.ConcatDataset([columns(d), columns(d)]), 4, shuffle=True, seed=1
    ),
    "a function": lambda d: data.batches(*columns(d), 4, seed=1),
    "text": lambda d: data.text_batches(Tensor.arange(20).to(d), 2, 3, seed=1),
    "text in order": lambda d: data.text_batches(Tensor.arange(20).to(d), 2, 3, shuffle=False),
}


@pytest.mark.parametrize("default", ["cpu", "fake:0"])
@pytest.mark.parametrize("name", LOADERS)
def test_batches_are_where_the_data_are_whatever_the_default(name: str, default: str) -> None:
    expected = listed(LOADERS[name]("cpu"))
    with tutor.device(default):
        for device in ("cpu", "fake:0", "fake:1"):
            batches = list(LOADERS[name](device))
            assert {t.device for batch in batches for t in batch} == {device}
            assert listed(batches) == expected


def test_columns_may_be_in_two_places() -> None:
    (x, _), (_, y) = columns("fake:1"), columns()
    for batches in (data.batches(x, y, 4, seed=1), data.DataLoader((x, y), 4, shuffle=True)):
        for a, b in batches:
            assert (a.device, b.device) == ("fake:1", "cpu")
            assert a[:, 0].tolist() == (b * 2).tolist()


# ---- a loader that moves them ----------------------------------------------------------------


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_loader_moves_each_batch_where_it_is_told(prefetch: int) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 1, "prefetch": prefetch}
    loader = data.DataLoader(columns(), 4, device="fake", **options)
    assert loader.device == "fake:0"
    assert listed(loader) == listed(data.DataLoader(columns(), 4, **options))
    assert {t.device for batch in loader for t in batch} == {"fake:0"}
    back = data.DataLoader(columns("fake:0"), 4, device="cpu", **options)
    assert {t.device for batch in back for t in batch} == {"cpu"}


def test_batches_that_are_made_ahead_are_moved_by_that_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = set()

    def seen(batch: Any, device: str) -> Any:
        threads.add(threading.current_thread().name)
        return moved(batch, device)

    monkeypatch.setattr("tutor.data.loader.moved", seen)
    assert len(list(data.DataLoader(columns(), 4, device="fake", prefetch=1))) == 2
    assert threads == {"tutor.data"}


def test_all_tensors_of_a_batch_are_moved_and_nothing_else() -> None:
    class Pair(NamedTuple):
        x: Any
        name: str

    samples = [{"pair": Pair(Tensor([1.0]), "a"), "list": [2, Tensor([3])], "text": "b"}] * 2
    (batch,) = data.DataLoader(samples, 2, device="fake")
    pair, (whole, row) = batch["pair"], batch["list"]
    assert type(pair) is Pair and pair.name == ["a", "a"] and batch["text"] == ["b", "b"]
    assert {t.device for t in (pair.x, whole, row)} == {"fake:0"}
    assert (pair.x.tolist(), whole.tolist(), row.tolist()) == ([[1.0]] * 2, [2, 2], [[3]] * 2)


# ---- data sets that are there ----------------------------------------------------------------


def test_data_sets_are_made_where_all_is_made_or_where_it_is_said() -> None:
    here = data.load("digits", 5)
    with tutor.device("fake"):
        there, back = data.load("digits", 5), data.load("digits", 5, device="cpu")
        ids = data.text_batches([1, 2, 3, 4], 1, 2).dataset.ids
    other = data.load("digits", 5, device="fake:1")
    assert ids.device == "fake:0" and ids.tolist() == [1, 2, 3, 4]
    for found, device in ((there, "fake:0"), (back, "cpu"), (other, "fake:1"), (here, "cpu")):
        assert {t.device for t in found[:4]} == {device}
        assert found.sha256() == here.sha256()


@pytest.mark.parametrize("source", [data.mnist, data.fashion_mnist])
def test_what_is_read_from_files_goes_there_too(
    source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "read", lambda file, shape: Tensor([1, 2, 3], device="cpu"))
    with tutor.device("fake"):
        default = source.load("test", 2)
    said = source.load("test", 2, device="fake:1")
    assert [t.device for t in (*default, *said)] == ["fake:0"] * 2 + ["fake:1"] * 2
    assert [t.tolist() for t in said] == [[1, 2]] * 2


def test_positions_are_on_the_host_where_python_reads_them() -> None:
    with tutor.device("fake"):
        for indices in ([4, 0], Tensor([4, 0])):
            subset = data.Subset(columns("fake:0"), indices)
            assert subset.indices.device == "cpu" and subset[0][1].item() == 4


# ---- and what the library makes for its own use ----------------------------------------------


TABLE = [[0.5, 2.0, 1.0], [4.0, 0.25, 3.0], [1.5, 2.5, 0.75]]
BESIDE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "confusion": training.confusion, "scores": training.scores,
    "matrix_power": lambda x, i: linalg.matrix_power(x, 0),
    "train_test_split": lambda x, i: data.train_test_split(x, test_size=1),
    "standardize": lambda x, i: data.standardize(x)[0],
    "unique_all": lambda x, i: array_api.unique_all(i),
    "uniform_": lambda x, i: nn.init.uniform_(x), "normal_": lambda x, i: nn.init.normal_(x),
    "trunc_normal_": lambda x, i: nn.init.trunc_normal_(x), "eye_": lambda x, i: nn.init.eye_(x),
    "orthogonal_": lambda x, i: nn.init.orthogonal_(x),
    "sparse_": lambda x, i: nn.init.sparse_(x, 0.3),
    "dirac_": lambda x, i: nn.init.dirac_(x.reshape(1, 3, 3)),
    "bernoulli": lambda x, i: tutor.bernoulli(x / 4),
    "multinomial": lambda x, i: tutor.multinomial(x, 2),
}  # fmt: skip
FROM_THE_HOST = ("train_test_split", "multinomial")  # an order of rows; where a stream begins


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_made_beside_operands_is_made_where_they_are(name: str) -> None:
    """No step is on the host, and none moves numbers from there."""
    steps: list[Any] = []

    def parts_of(default: str) -> tuple[Tensor, ...]:
        x, i = Tensor(TABLE, device="fake"), Tensor([0, 1, 1], device="fake")
        tutor.manual_seed(3)
        with (
            tutor.use_backend("python_ref"),
            tutor.device(default),
            tutor.watch(lambda step, go: (steps.append(step), go())),
        ):
            found = BESIDE[name](x, i)
        return found if isinstance(found, tuple) else (found,)

    expected = [t.tolist() for t in parts_of("fake")]
    steps.clear()
    found = parts_of("cpu")
    assert {t.device for t in found} == {"fake:0"}
    assert [t.tolist() for t in found] == expected
    places = {step.device for step in steps}
    assert places == {"fake:0"} or name in FROM_THE_HOST


def test_kernels_that_no_device_has_are_refused_with_a_way_out() -> None:
    x = Tensor(TABLE, device="fake")
    for make in (linalg.inv, linalg.qr, linalg.det, lambda a: linalg.solve(a, a)):
        with pytest.raises(KernelNotFound, match=r'x\.to\("cpu"\)'):
            make(x)
