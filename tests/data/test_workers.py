"""Worker processes make the batches that the program itself would make."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tutor
from tutor import Tensor
from tutor._util.system import FORKS
from tutor.backends import registry
from tutor.data import DataLoader, Dataset, MappedDataset, random_split
from tutor.errors import DataError

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(not FORKS, reason="processes are forked on Linux only"),
]


class Samples(Dataset):
    """Made one by one: an array, a random number, and the process that made it."""

    def __len__(self):
        return 23

    def __getitem__(self, i):
        return {"x": np.full((2, 3), i, np.float32), "drawn": Tensor.rand(2), "pid": os.getpid()}


def content(batch):
    return batch["x"].tolist(), batch["drawn"].tolist()


def children():
    """The processes that this one has started, if they have not ended."""
    listed = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat=,comm="],
                            capture_output=True, text=True, check=False).stdout  # fmt: skip
    return [line for line in listed.splitlines() if "python" in line]


def made(**settings):
    return DataLoader(Samples(), 4, seed=3, **settings)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_batches_do_not_depend_on_their_number(shuffle):
    alone = made(shuffle=shuffle)
    want = [[content(batch) for batch in alone] for _ in range(2)]
    assert want[0] != want[1]
    for count in (1, 2, 3, 9):
        several = made(shuffle=shuffle, num_workers=count)
        assert [[content(batch) for batch in several] for _ in range(2)] == want, count
    assert not children()


def test_other_processes_make_them_each_in_its_turn():
    pids = [set(batch["pid"].tolist()) for batch in made(num_workers=2)]
    assert all(len(found) == 1 for found in pids) and pids[0] != pids[1]
    assert pids == [pids[i % 2] for i in range(6)] and {os.getpid()} not in pids


def test_rows_of_arrays_need_no_process():
    x = Tensor.arange(8)
    loader = DataLoader(x, 4, num_workers=2, transform=lambda rows: rows + os.getpid())
    assert loader.prefetch == 4
    assert next(iter(loader)).tolist() == [i + os.getpid() for i in range(4)]


def test_it_resumes_with_any_number():
    want = [content(batch) for batch in made(shuffle=True)]
    first = made(shuffle=True, num_workers=2)
    for i, batch in enumerate(first):
        assert content(batch) == want[i]
        if i == 2:
            break
    again = made(shuffle=True, num_workers=3)
    again.load_state_dict(first.state_dict())
    assert [content(batch) for batch in again] == want[3:]


def test_what_comes_back_may_be_changed_and_outlives_its_process():
    x, y = list(made(num_workers=1))[:2]
    x["x"] += 1
    assert x["x"].sum().item() == 6 * (0 + 1 + 2 + 3) + 24
    assert y["x"].sum().item() == 6 * (4 + 5 + 6 + 7)


KINDS = [
    np.arange(3, dtype=np.uint8), 1.5, True, "text", (1, [2.0, "b"]), Tensor.zeros(0, 3),
    Tensor.arange(6).reshape(2, 3).T, Tensor([1.0, 2.0])[1:], Tensor(1.0, dtype="bfloat16"),
]  # fmt: skip


@pytest.mark.parametrize(
    "kind", KINDS, ids=[type(k).__name__ + str(i) for i, k in enumerate(KINDS)]
)
def test_every_kind_of_sample(kind):
    def said(batch):
        if isinstance(batch, (list, tuple)):
            return [said(part) for part in batch]
        return (batch.dtype, batch.shape, batch.tolist()) if isinstance(batch, Tensor) else batch

    batches = [list(DataLoader([kind] * 5, 2, num_workers=count)) for count in (0, 2)]
    assert said(batches[0]) == said(batches[1]) and len(batches[1]) == 3


def test_a_collate_fn_may_return_anything():
    loader = DataLoader(list(range(4)), 2, collate_fn=lambda found: {"sum": sum(found)},
                        num_workers=2)  # fmt: skip
    assert list(loader) == [{"sum": 1}, {"sum": 5}]


class UnsentError(Exception):
    """pickle makes it again with one argument, and it wants two."""

    def __init__(self, a, b):
        super().__init__(a)


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize(
    ("raised", "comes"), [(ValueError("bad sample"), ValueError), (UnsentError(1, 2), None)]
)
def test_an_error_comes_in_its_place_and_names_the_sample(raised, comes, count):
    def sample(i):
        if i.item() == 5:
            raise raised  # the user's line
        return i

    split = random_split(Tensor.arange(9), [9, 0])[0]
    split.indices = Tensor([0, 1, 2, 8, 5, 3, 4])
    loader = DataLoader(MappedDataset(split, sample), 2, num_workers=count)
    seen = []
    with pytest.raises(comes or (DataError if count else UnsentError)) as caught:
        seen.extend(batch.tolist() for batch in loader)
    assert seen == [[0, 1], [2, 8]] and not children()
    notes = "".join(caught.value.__notes__)
    assert "sample 4 of the data set" in notes
    assert ("# the user's line" in notes) is (count > 0)


def test_a_killed_worker_is_told():
    def sample(i):
        if i == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    seen = []
    loader = DataLoader(MappedDataset(list(range(12)), sample), 2, num_workers=2)
    with pytest.raises(DataError) as caught:
        seen.extend(batch.tolist() for batch in loader)
    assert seen == [[0, 1], [2, 3], [4, 5]] and not children()
    assert "batch 3" in str(caught.value) and "worker 1 has ended by SIGKILL" in str(caught.value)


def test_an_early_end_leaves_no_process():
    for batch in made(num_workers=3):
        assert batch["x"].shape == (4, 2, 3)
        break
    gc.collect()
    assert not children()
    held = iter(made(num_workers=3))
    next(held)
    assert len(children()) == 3
    del held
    gc.collect()
    assert not children()


PROGRAM = """
import os, signal, sys, threading, time
from tutor.data import DataLoader, MappedDataset
def sample(i):
    if i >= 4: time.sleep({slow})
    return os.getpid()
loader = DataLoader(MappedDataset(list(range(40)), sample), 2, num_workers=2)
it = iter(loader)
print(next(it)[0].item(), next(it)[0].item(), flush=True)
{then}
"""
INTERRUPTED = """
threading.Timer(0.2, lambda: os.killpg(os.getpgid(0), signal.SIGINT)).start()
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("then", [INTERRUPTED, "", "os._exit(0)"], ids=["ctrl-c", "end", "crash"])
def test_no_process_is_left_behind(then):
    program = PROGRAM.format(then=then, slow=1 if "_exit" in then else 600)
    result = subprocess.run([sys.executable, "-c", program], start_new_session=True, timeout=120,
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert result.returncode == 0, result.stderr
    pids, *rest = result.stdout.splitlines()
    assert rest == (["interrupted"] if then == INTERRUPTED else [])
    for pid in map(int, pids.split()):
        for _ in range(600):
            if not alive(pid):
                break
            time.sleep(0.1)
        assert not alive(pid)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_at_most_so_many_are_made_ahead(tmp_path):
    def sample(i):
        (tmp_path / str(i)).touch()
        return i

    it = iter(DataLoader(MappedDataset(list(range(20)), sample), 1, num_workers=2))
    assert next(it).tolist() == [0]
    for _ in range(600):
        if len(list(tmp_path.iterdir())) == 5:
            break
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) == 5, "one was taken, two of each worker wait"
    it.close()


def test_the_settings_go_with_them():
    with tutor.use_backend("python_ref"):
        names = DataLoader(MappedDataset([0, 1], lambda i: registry.current()), 1, num_workers=2,
                           collate_fn=lambda found: found)  # fmt: skip
        assert list(names) == [["python_ref"]] * 2
