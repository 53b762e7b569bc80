"""DataLoader: the same batches in one go, ahead of time, and after a stop in the middle."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
import traceback
import weakref
from itertools import islice

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor.backends import registry
from tutor.data import (
    ConcatDataset,
    DataLoader,
    IterableDataset,
    MappedDataset,
    Subset,
    TensorDataset,
    batches,
)
from tutor.data.ahead import Ahead
from tutor.errors import DataError, DTypeError

N = 23
X = np.arange(N * 6, dtype=np.float32).reshape(N, 2, 3)
Y = np.arange(N)


def shaken(sample):
    x, y = sample
    return x + Tensor.rand(2, 3), y


DATASETS = {
    "a Tensor": Tensor(X),
    "an array": X,
    "arrays": (X, Y),
    "a TensorDataset": TensorDataset(X, Y),
    "a Subset": Subset((X, Y), range(0, N, 2)),
    "two": ConcatDataset([(X, Y), (X[:4], Y[:4])]),
    "a list of pairs": [(X[i], i) for i in range(N)],
    "a list of dicts": [{"x": X[i], "y": i, "name": f"{i}"} for i in range(N)],
    "numbers": list(range(N)),
    "random": MappedDataset((X, Y), shaken),
}


def plain(batch):
    """A batch as lists, to be compared."""
    if isinstance(batch, Tensor):
        return batch.tolist()
    if isinstance(batch, dict):
        return {key: plain(part) for key, part in batch.items()}
    return [plain(part) for part in batch] if isinstance(batch, (list, tuple)) else batch


def noisy(x):
    return x + Tensor.randn(*x.shape) if isinstance(x, Tensor) else x


OPTIONS = [{"shuffle": True}, {"shuffle": False}, {"shuffle": True, "drop_last": True},
           {"sampler": [3, 1, 4, 1, 5]}, {"shuffle": True, "transform": noisy},
           {"collate_fn": lambda samples: Tensor([len(samples)])}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(options))
@pytest.mark.parametrize("kind", DATASETS)
def test_ahead_or_not_and_resumed_anywhere_are_the_same(kind, options):
    """Two epochs in one go, against a thread, and against a stop behind every batch."""
    dataset = DATASETS[kind]

    def make(**more):
        return DataLoader(dataset, 4, seed=7, **options, **more)

    loader = make()
    whole = [[plain(batch) for batch in loader] for _ in range(2)]
    assert [len(epoch) for epoch in whole] == [len(loader)] * 2
    if options.get("shuffle"):
        assert whole[0] != whole[1]
    ahead = make(prefetch=3)
    assert [[plain(batch) for batch in ahead] for _ in range(2)] == whole
    for stop in range(1, len(loader) + 1):
        for prefetch in (0, 2):
            begun = make(prefetch=prefetch)
            first = list(map(plain, islice(begun, stop)))
            state = json.loads(json.dumps(begun.state_dict()))
            Tensor.rand(10)  # the process draws on
            other = make()
            other.load_state_dict(state)
            rest = [plain(batch) for batch in other]
            assert first + rest == whole[0], (stop, prefetch)
            assert [plain(batch) for batch in other] == whole[1]
            assert (other.epoch, other.batch) == (2, 0)


def test_a_sample_of_a_list_makes_the_batch_that_rows_make():
    by_rows, by_samples = (
        [plain(batch) for batch in DataLoader(dataset, 5, shuffle=True, seed=2)]
        for dataset in ((X, Y), [(X[i], Y[i]) for i in range(N)])
    )
    assert by_rows == by_samples
    by_hand = batches(X, Y, 5, seed=2)
    assert by_rows == [plain(batch) for batch in by_hand]


@pytest.mark.parametrize("name", registry.backends())
def test_the_same_on_every_backend_and_in_a_thread_of_its_own(name):
    loader = DataLoader((X, Y), 8, shuffle=True, seed=0, transform=lambda x: x.exp())
    wanted = [y.tolist() for _, y in loader]
    used = []

    def transform(x):
        used.append((registry.current(), threading.current_thread().name))
        return x * 2

    with tutor.use_backend(name):
        found = DataLoader((X, Y), 8, shuffle=True, seed=0, transform=transform, prefetch=2)
        assert [y.tolist() for _, y in found] == wanted
    assert set(used) == {(name, "tutor.data")}


def test_making_batches_leaves_the_stream_of_the_process_alone():
    tutor.manual_seed(5)
    wanted = Tensor.rand(3).tolist()
    tutor.manual_seed(5)
    for prefetch in (0, 2):
        list(DataLoader((X, Y), 4, shuffle=True, transform=noisy, prefetch=prefetch))
        list(DataLoader(DATASETS["random"], 4, prefetch=prefetch))
    assert Tensor.rand(3).tolist() == wanted


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_jitted_transform_draws_what_a_plain_one_draws(prefetch):
    """A recorded Program would go on drawing from the stream of the batch it was recorded for."""
    jitted = tutor.jit(noisy)
    for _ in range(3):
        jitted(Tensor.zeros(4, 2, 3))  # recorded outside: the replay is of the process's stream
    found, wanted = (
        [plain(b) for b in DataLoader((X, Y), 4, seed=1, transform=f, prefetch=prefetch)]
        for f in (jitted, noisy)
    )
    assert found == wanted


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_augmentation_draws_other_numbers_in_each_epoch(prefetch):
    loader = DataLoader((X, Y), 4, seed=1, transform=noisy, prefetch=prefetch)
    first, second = ([plain(batch) for batch in loader] for _ in range(2))
    assert first != second and [y for _, y in first] == [y for _, y in second]


def test_a_position_in_other_data_is_refused():
    """By what the data are, not by what the state says of them."""
    loader = DataLoader((X, Y), 4)
    next(iter(loader))
    other = DataLoader((X[:-1], Y[:-1]), 4)
    with pytest.raises(DataError, match=f"rows {len(Y)} there, {len(Y) - 1} here"):
        other.load_state_dict(loader.state_dict())
    assert other.state_dict()["batch"] == 0


def test_the_seed_is_that_of_manual_seed_unless_one_is_given():
    orders = []
    for seed in (1, 1, 2):
        tutor.manual_seed(seed)
        orders.append([y.tolist() for _, y in DataLoader((X, Y), 4, shuffle=True)])
    assert orders[0] == orders[1] != orders[2]
    assert orders[2] == [y.tolist() for _, y in DataLoader((X, Y), 4, shuffle=True, seed=2)]


def test_each_for_is_the_next_epoch_also_after_a_break():
    loader = DataLoader((X, Y), 4, shuffle=True, seed=1)
    epochs = [[y.tolist() for _, y in DataLoaderAt(e)] for e in range(3)]
    assert [y.tolist() for _, y in loader] == epochs[0]
    for _, y in loader:
        assert y.tolist() == epochs[1][0]
        break
    assert (loader.epoch, loader.batch) == (1, 1)
    assert [y.tolist() for _, y in loader] == epochs[2]


def DataLoaderAt(epoch):  # noqa: N802 - reads as a class
    return batches(X, Y, 4, seed=1, epoch=epoch)


def test_two_iterators_at_once_have_their_own_places():
    loader = DataLoader((X, Y), 4, shuffle=True, seed=1)
    first = iter(loader)
    wanted = [plain(batch) for batch in DataLoaderAt(0)]
    assert plain(next(first)) == wanted[0]
    second = iter(loader)
    next(second)
    assert plain(next(first)) == wanted[1], "the older one goes on in its epoch"
    assert (loader.epoch, loader.batch) == (1, 1), "the position is the newer one's"
    loader.load_state_dict({**loader.state_dict(), "epoch": 5, "batch": 2})
    next(second)
    assert (loader.epoch, loader.batch) == (5, 2), "what was loaded is no iterator's before it"


# ---- samples that come one after another ---------------------------------------------------------


def numbers():
    yield from range(10)


@pytest.mark.parametrize(
    "dataset",
    [numbers, IterableDataset(numbers), type("D", (), {"__iter__": lambda s: numbers()})()],
)
@pytest.mark.parametrize("prefetch", [0, 2])
def test_iterable_datasets(dataset, prefetch):
    loader = DataLoader(dataset, 4, prefetch=prefetch)
    for _ in range(2):
        assert [b.tolist() for b in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [b.tolist() for b in DataLoader(dataset, 4, drop_last=True)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    it = iter(loader)
    next(it)
    other = DataLoader(dataset, 4)
    other.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in other] == [[4, 5, 6, 7], [8, 9]]
    with pytest.raises(DTypeError, match="no length"):
        len(loader)


# ---- the thread ----------------------------------------------------------------------------------


def threads():
    return [t for t in threading.enumerate() if t.name == "tutor.data"]


def test_no_thread_is_left_whatever_ends_the_loop():
    loader = DataLoader((X, Y), 2, prefetch=2, transform=noisy)
    gc.disable()  # it ends at once, not when the collector comes
    try:
        for _ in loader:
            assert threads()
        assert not threads(), "the end"
        for _ in loader:
            break
        assert not threads(), "break"
        for stop in (ValueError, KeyboardInterrupt):
            with pytest.raises(stop):
                stopped(loader, stop)
            assert not threads(), stop
        it = iter(loader)
        next(it)
        assert threads()
        del it
        assert not threads(), "forgotten"
        batch = next(iter(loader))
        assert len(batch) == 2 and not threads()
    finally:
        gc.enable()


def stopped(loader, stop):
    for _ in loader:
        raise stop


def broken(sample):
    if sample.item() == 9:
        raise ValueError("sample nine")  # the user's line
    return sample


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_an_error_comes_in_its_place_with_the_user_s_line(prefetch):
    seen = []
    loader = DataLoader(MappedDataset(Y, broken), 4, prefetch=prefetch)
    with pytest.raises(ValueError, match="sample nine") as caught:
        seen.extend(batch.tolist() for batch in loader)
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7]]
    lines = "".join(traceback.format_exception(caught.value))
    assert "# the user's line" in lines
    assert ("made ahead" in lines) is (prefetch > 0)
    assert not threads()


def test_an_interrupt_while_it_waits_ends_the_thread_too(monkeypatch):
    """The exception, kept by somebody, keeps the frames in which it was raised."""
    it = iter(DataLoader(Y, 2, prefetch=2, transform=noisy))
    next(it)
    monkeypatch.setattr(Ahead, "__next__", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        next(it)
    assert not threads() and caught.value.__traceback__ is not None


def test_an_error_that_nobody_takes_leaves_no_cycle():
    raised = []

    class BrokenError(Exception):
        def __init__(self):
            raised.append(weakref.ref(self))

    def broken(x):
        if x.tolist() == [1]:
            raise BrokenError
        return x

    gc.disable()
    try:
        it = iter(DataLoader(Y, 1, prefetch=3, transform=broken))
        next(it)
        for _ in range(6000):
            if raised:
                break
            time.sleep(0.01)
        it.close()
        assert [ref() for ref in raised] == [None]
    finally:
        gc.enable()


def test_so_many_are_made_ahead_and_no_more():
    made = []

    def note(x):
        made.append(x)
        return x

    it = iter(DataLoader(Y, 1, transform=note, prefetch=3))
    next(it)
    for _ in range(6000):
        if len(made) == 4:
            break
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(made) == 4, "one was taken, three wait"
    it.close()


def test_workers_are_one_thread():
    assert DataLoader(Y, num_workers=2).prefetch == 4
    assert DataLoader(Y, num_workers=2, prefetch=1).prefetch == 1
    assert DataLoader(Y).prefetch == 0


def test_a_program_may_end_in_the_middle_of_an_epoch():
    code = (
        "import atexit, threading\n"
        "names = lambda: [t.name for t in threading.enumerate()]\n"
        "atexit.register(lambda: print(names()))\n"  # called after those that came later
        "import tutor\nfrom tutor.data import DataLoader\n"
        "slow = lambda x: [x.exp().sum() for _ in range(20)][0]\n"
        "it = iter(DataLoader(tutor.randn(400, 10000), 100, transform=slow, prefetch=2))\n"
        "next(it); print(len(names()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                         check=False)  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (0, "2\n['MainThread']\n", "")


FORKED = """
import os, random, signal, warnings
warnings.simplefilter("ignore")  # of a fork beside threads, from Python 3.12 on
import numpy as np
import tutor
from tutor.data import DataLoader, IterableDataset

class Shuffled:  # each time another order
    def __iter__(self):
        return iter(random.sample(range(30), 30))

def noisy(x):
    return x + tutor.rand(*x.shape)

def busy(x):
    for _ in range(10):
        x = x.exp().log()
    return x

DATA = np.arange(30, dtype=np.float32)
LOADERS = {
    "rows": lambda: DataLoader(DATA, 4, shuffle=True, seed=1, prefetch=3),
    "drawn": lambda: DataLoader(DATA, 4, shuffle=True, seed=1, prefetch=3, transform=noisy),
    "busy": lambda: DataLoader(np.ones((40, 2000)), 4, seed=1, prefetch=1, transform=busy),
    "sampler": lambda: DataLoader(DATA, 4, sampler=Shuffled(), prefetch=3),
    "stream": lambda: DataLoader(IterableDataset(lambda: iter(range(30))), 4, prefetch=3),
}

def rest(it):
    return [batch.tolist() for batch in it]

def child_says(it, *more):
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        found = rest(it) if not more else child_says(it, *more[1:])
        del it
        os.write(here, repr(found).encode())
        os.close(here)
        os._exit(0)
    os.close(here)
    with open(there) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, "it hangs"
    return eval(said)

for name, make in LOADERS.items():
    for taken in (0, 1, 3):
        it = iter(make())
        for _ in range(taken):
            next(it)
        said, again = child_says(it), child_says(it, "a child of a child")
        assert said == again == rest(it), (name, taken)
it = iter(LOADERS["rows"]())
next(it)
it.close()
assert child_says(it) == []
it = iter(LOADERS["rows"]())
next(it)
if os.fork() == 0:  # it ends as programs do, and lets go of the iterator
    signal.alarm(20)
else:
    assert os.wait()[1] == 0
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_makes_the_rest_itself():
    """It has no thread that would: the batches are those that its parent gets."""
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60,
                         check=False)  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (0, "fine\nfine\n", "")


# ---- mistakes: most of them stand in test_data_refused.py ----------------------------------------


def test_a_state_of_another_loader_is_refused_and_changes_nothing():
    loader = DataLoader((X, Y), 4, shuffle=True, seed=1)
    next(iter(loader))
    state = loader.state_dict()
    for wrong in ({}, None, {**state, "batch": -1}, {**state, "epoch": "1"}, {**state, "more": 1},
                  {**state, "rows": 22}, {**state, "batch_size": 5}, {**state, "shuffle": 0},
                  {**state, "drop_last": 1}, {**state, "seed": True}):  # fmt: skip
        other = DataLoader((X, Y), 4, shuffle=True, seed=3)
        before = other.state_dict()
        with pytest.raises(DataError) as caught:
            other.load_state_dict(wrong)
        assert caught.value.asked and caught.value.found and caught.value.do
        assert other.state_dict() == before
