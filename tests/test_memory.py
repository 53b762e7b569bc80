"""tutor.memory: exact counts, three policies with the same results, no block handed out twice."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from backend_names import DEVICES

import tutor
from tutor import Buffer, Tensor, float32, memory, nn, optim
from tutor._storage.memory import Memory, PythonMemory
from tutor.errors import DomainError, DTypeError

ROOT = Path(tutor.__file__).parents[1]
CHUNK = 2**24
native_only = pytest.mark.skipif(Memory is PythonMemory, reason="has one policy only")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    gc.collect()
    before = memory.config()
    yield
    memory.configure(**before._asdict())


@pytest.fixture(params=memory.POLICIES)
def policy(request: pytest.FixtureRequest) -> str:
    """Each policy in turn, with nothing held back from before."""
    if Memory is PythonMemory and request.param != "plain":
        pytest.skip("not in plain Python")
    memory.configure(policy=request.param)
    memory.trim()
    return str(request.param)


def difference(before: memory.Stats) -> memory.Stats:
    return memory.Stats(*[b - a for a, b in zip(before, memory.stats(), strict=True)])


# ---- counts --------------------------------------------------------------------------------------


def test_bytes_in_use_are_the_bytes_of_all_buffers(policy: str) -> None:
    before = memory.stats()
    buffers = [Buffer.empty(n, float32) for n in (0, 1, 100, 100_000, 5_000_000)]
    assert difference(before).in_use == 4 * (1 + 100 + 100_000 + 5_000_000)
    assert difference(before).allocations == 5
    del buffers[2:4]
    assert difference(before).in_use == 4 * (1 + 5_000_000)
    del buffers
    assert difference(before).in_use == 0
    assert difference(before).allocations == 5


def test_the_peak_is_the_most_at_one_time(policy: str) -> None:
    memory.reset_peak()
    start = memory.stats()
    assert start.peak == start.in_use
    first = Buffer.empty(1000, float32)
    del first
    second = Buffer.empty(700, float32)
    assert memory.stats().peak == start.in_use + 4000
    third = Buffer.empty(700, float32)
    assert memory.stats().peak == start.in_use + 5600
    del second, third
    memory.reset_peak()
    assert memory.stats().peak == start.in_use


def test_what_is_borrowed_is_not_counted(policy: str) -> None:
    before = memory.stats()
    borrowed = Buffer.from_memory(bytearray(64), dtype=float32, copy=False)
    assert len(borrowed) == 16
    assert difference(before) == (0, 0, 0, 0, 0, 0)


def test_a_refused_allocation_is_not_counted(policy: str) -> None:
    before = memory.stats()
    with pytest.raises(MemoryError):
        Buffer.empty(2**46, float32)
    assert difference(before)._replace(held=0) == (0, 0, 0, 0, 0, 0)


@native_only
def test_hits_and_misses_of_each_policy() -> None:
    expected = {"plain": (0, 10), "pool": (9, 1), "arena": (9, 1)}
    for policy, counts in expected.items():
        memory.configure(policy=policy)
        memory.trim()
        before = memory.stats()
        for _ in range(10):
            Buffer.empty(1000, float32)
        change = difference(before)
        assert (change.hits, change.misses) == counts, policy
        assert change.allocations == change.hits + change.misses == 10


def test_it_prints_as_a_sentence() -> None:
    shown = str(memory.Stats(1000, 900, 100, 1536, 0, 3 * 2**30))
    assert shown == (
        "1,000 allocations, 900 of them (90.0%) without the system\n"
        "1.5 KiB in use, 0 bytes held, peak 3.0 GiB"
    )
    assert "0 allocations, 0 of them (0.0%)" in str(memory.Stats(0, 0, 0, 0, 0, 0))
    assert memory.readable(1023) == "1023 bytes"
    assert memory.readable(5 * 2**50) == "5120.0 TiB"


# ---- the pool and the arena ----------------------------------------------------------------------


@native_only
def test_what_waits_is_counted_limited_and_trimmed() -> None:
    memory.configure(policy="pool", limit=2**20)
    memory.trim()
    assert memory.stats().held == 0
    Buffer.empty(2**14, float32)  # 64 KiB, which is a size class
    assert memory.stats().held == 2**16
    buffers = [Buffer.empty(2**14, float32) for _ in range(40)]  # 2.5 MiB
    assert memory.stats().held == 0
    del buffers
    assert memory.stats().held == 2**20
    memory.configure(limit=2**18)
    assert memory.stats().held == 2**18
    assert memory.trim() == 2**18
    assert memory.trim() == memory.stats().held == 0
    memory.configure(limit=0)
    before = memory.stats()
    for _ in range(3):
        Buffer.empty(100, float32)
    assert (difference(before).misses, memory.stats().held) == (3, 0)


@native_only
def test_every_size_class_comes_back_as_it_was() -> None:
    memory.configure(policy="pool", limit=2**40)
    memory.trim()
    for nbytes in [*range(0, 3000, 37), *(2**k + d for k in range(8, 27) for d in (-1, 0, 1))]:
        buffer = Memory(nbytes, 1, "B")
        address = buffer.address
        inside = nbytes <= 256
        assert (0 < address - id(buffer) <= 112) == inside
        del buffer
        held = memory.stats().held
        if inside:  # went back with the object, to Python
            assert held == 0
            continue
        assert nbytes <= held <= nbytes * 5 // 4 + 1
        again = Memory(nbytes, 1, "B")
        assert (again.address, memory.stats().held) == (address, 0)
        del again
        assert memory.trim() == held


@native_only
def test_an_arena_is_free_as_a_whole() -> None:
    memory.configure(policy="arena", limit=2**30)
    memory.trim()
    buffers = [Memory(n, 1, "B") for n in (1, 64, 65, 1000)]
    steps = [b.address - a.address for a, b in pairwise(buffers)]
    assert steps == [128, 128, 192]  # before each block are 64 bytes, for what the arena notes
    first = buffers[0].address
    del buffers[:3]
    assert memory.stats().held == 0
    del buffers
    assert memory.stats().held == CHUNK
    assert Memory(5, 1, "B").address == first
    large, small = Memory(2 * CHUNK, 1, "B"), Memory(5, 1, "B")  # neither fits beside the other
    assert memory.stats().held == 0
    del large
    assert memory.stats().held == 2 * CHUNK + 128  # idle; the chunk of `small` is the one in use
    del small
    assert memory.trim() == 3 * CHUNK + 128
    memory.configure(limit=CHUNK - 1)
    Memory(5, 1, "B")
    assert memory.stats().held == 0


@native_only
def test_an_arena_goes_on_behind_the_last_block_in_use() -> None:
    """In whatever order the others were released: memory that is still in the caches."""
    memory.configure(policy="arena", limit=2**30)
    memory.trim()
    kept, *others = [Memory(n, 1, "B") for n in (100, 1, 5000, 64, 300)]
    first = others[0].address
    for place in (1, 0, 0):  # the last one stays
        del others[place]
        assert Memory(1, 1, "B").address == others[-1].address + 320 + 64
    del others
    assert Memory(1, 1, "B").address == first
    del kept


@native_only
def test_idle_chunks_are_used_again_up_to_the_limit() -> None:
    memory.configure(policy="arena", limit=3 * CHUNK)
    memory.trim()
    half = CHUNK // 2
    before = memory.stats()
    for _ in range(5):
        blocks = [Memory(half, 1, "B") for _ in range(3)]  # each chunk has room for one
        del blocks
    assert difference(before).misses == 3
    assert memory.stats().held == 3 * CHUNK
    memory.configure(limit=CHUNK)
    assert memory.stats().held == CHUNK
    blocks = [Memory(half, 1, "B") for _ in range(3)]
    del blocks
    assert memory.stats().held == CHUNK
    assert memory.trim() == CHUNK


@native_only
def test_a_step_between_mark_and_reset_has_the_same_memory_each_time() -> None:
    memory.configure(policy="arena", limit=2**30)
    memory.trim()
    lasting, places, misses = [Memory(8, 1, "B")], [], []
    for _ in range(4):
        before, start = memory.stats(), memory.mark()
        blocks = [Memory(n, 1, "B") for n in (100, 5000, 2 * CHUNK, 64)]
        places.append([block.address for block in blocks])
        inner = memory.mark()
        inside = Memory(10, 1, "B")
        with pytest.raises(DomainError, match="1 blocks that were made since the mark are in use"):
            memory.reset(inner)
        del inside
        memory.reset(inner)
        with pytest.raises(DomainError, match="no such mark is open"):
            memory.reset(inner)
        with pytest.raises(DomainError, match="4 blocks"):
            memory.reset(start)
        del blocks
        memory.reset(start)
        misses.append(difference(before).misses)
        lasting.append(Memory(8, 1, "B"))
    assert places[1:] == [places[1]] * 3 and misses[1:] == [0, 0, 0] and misses[0] > 0
    assert [b.address - a.address for a, b in pairwise(lasting)] == [128] * 4


@native_only
def test_what_was_made_before_a_mark_may_go_after_it() -> None:
    memory.configure(policy="arena", limit=2**30)
    memory.trim()
    old = Memory(100, 1, "B")
    first = old.address
    start = memory.mark()
    new = Memory(100, 1, "B")
    assert abs(new.address - first) > 1000
    del old
    memory.configure(policy="pool")  # blocks go back the way they came
    del new
    memory.reset(start)
    memory.configure(policy="arena")
    assert memory.stats().held == 0


@native_only
def test_marks_inside_each_other() -> None:
    memory.configure(policy="arena")
    marks = [memory.mark() for _ in range(63)]
    with pytest.raises(DomainError, match="63 marks are open"):
        memory.mark()
    memory.reset(marks[5])  # and all that were opened since
    with pytest.raises(DomainError, match="no such mark is open"):
        memory.reset(marks[6])
    memory.reset(marks[0])


@pytest.mark.parametrize("mark", [0, -1, 64, 2**70, True, None, 1.0, "1"])
def test_a_mark_that_is_not_open(mark: object) -> None:
    with pytest.raises(DomainError, match="no such mark is open"):
        memory.reset(mark)  # type: ignore[arg-type]


def test_marks_are_for_the_arena() -> None:
    memory.configure(policy="plain")
    with pytest.raises(DomainError, match="the policy is 'plain'"):
        memory.mark()


@native_only
def test_blocks_go_back_the_way_they_came() -> None:
    before, random_ = memory.stats().in_use, random.Random(0)
    alive: list[Memory] = []
    for round in range(3000):
        memory.configure(policy=random_.choice(memory.POLICIES))
        alive.append(Memory(random_.choice((10, 1000, 100_000)), 1, "B"))
        alive[-1].raw[:] = bytes([round % 256]) * alive[-1].count
        if len(alive) > 20:
            gone = alive.pop(random_.randrange(len(alive)))
            assert set(gone.raw) == {gone.raw[0]}
            del gone
    alive.clear()
    assert memory.stats().in_use == before


def test_alignment(policy: str) -> None:
    buffers = [Buffer.empty(n, float32) for n in (0, 1, 15, 16, 17, 1000, 5_000_000) * 3]
    assert all(buffer.address % 64 == 0 for buffer in buffers)


# ---- no double hand-out --------------------------------------------------------------------------


def overlapping(blocks: list[Memory]) -> bool:
    spans = sorted((block.address, block.address + block.count) for block in blocks)
    return any(end > start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("cls", [Memory, PythonMemory])
def test_there_is_no_room_for_fewer_than_no_numbers(
    cls: type[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on a device. Python's own memory has some bytes more, and would have taken -1."""
    monkeypatch.setattr("tutor._storage.memory.Memory", cls)
    for name in ("cpu", *DEVICES):
        for count in (-1, -(10**6)):
            with pytest.raises(DTypeError, match=f"room for {count} numbers of tutor.int8"):
                Buffer.empty(count, tutor.int8, name)


@pytest.mark.parametrize("cls", [Memory, PythonMemory])
def test_eight_threads_share_no_block(policy: str, cls: type) -> None:
    before, wrong, kept = cls.counts(), [], []
    start = threading.Barrier(8)

    def work(mark: int) -> None:
        random_, mine = random.Random(mark), []
        start.wait()
        for _ in range(10_000):
            block = cls(random_.choice((8, 300, 5000)), 1, "B")
            block.raw[:8] = bytes([mark]) * 8
            mine.append(block)
            if len(mine) > 16:
                gone = mine.pop(random_.randrange(16))
                if bytes(gone.raw[:8]) != bytes([mark]) * 8:
                    wrong.append(mark)
        kept.extend(mine)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(kept) == 8 * 16
    assert not overlapping(kept)
    allocations, _, in_use, *_ = cls.counts()
    assert allocations - before[0] == 80_000
    assert in_use - before[2] == sum(block.count for block in kept)
    kept.clear()
    gc.collect()
    assert cls.counts()[2] == before[2]


FORK = """
import os, threading
from tutor import memory
from tutor._storage.memory import Memory

stop = threading.Event()

def busy():
    while not stop.is_set():
        Memory(1000, 1, "B")

threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
block = Memory(1000, 1, "B")
block.raw[:] = b"p" * 1000
for _ in range(30):
    child = os.fork()
    if child == 0:
        before = memory.stats()
        blocks = [Memory(1000, 1, "B") for _ in range(100)]
        for b in blocks:
            b.raw[:] = b"c" * 1000
        after = memory.stats()
        right = len({b.address for b in [block, *blocks]}) == 101 and block.raw == b"p" * 1000
        exact = (after.allocations - before.allocations, after.in_use - before.in_use)
        os._exit(0 if right and exact == (100, 100_000) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
"""


@pytest.mark.parametrize(
    "block", ["", "import sys; sys.modules['tutor.backends.simd_cpp._simd'] = None"]
)
def test_a_child_process_has_memory_of_its_own(block: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", block + FORK],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TUTOR_BACKEND": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- training ------------------------------------------------------------------------------------


def training(steps: int) -> tuple[SimpleNamespace, list[float]]:
    tutor.manual_seed(3)
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
    x, y = Tensor.rand(8, 20), Tensor([i % 4 for i in range(8)])
    sgd = optim.SGD(nn.get_parameters(model), lr=0.1, momentum=0.9)

    def step() -> float:
        loss = model(x).cross_entropy(y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return float(loss.item())

    return SimpleNamespace(step=step), [step() for _ in range(steps)]


@native_only
def test_after_warm_up_every_allocation_is_a_hit(backend: str) -> None:
    memory.configure(policy="pool", limit=2**29)
    run, _ = training(5)
    before = memory.stats()
    for _ in range(50):
        run.step()
    change = difference(before)
    assert change.allocations % 50 == 0
    assert change.allocations > 500
    assert (change.hits, change.misses) == (change.allocations, 0)
    assert change.in_use == 0


MNIST_STEPS = """
import resource
import sys
import tutor
from tutor import Tensor, memory, nn, optim

def faults():  # pages touched for the first time
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

memory.configure(policy=sys.argv[1])
tutor.manual_seed(0)
model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
x, y = Tensor.rand(64, 784), Tensor([i % 10 for i in range(64)])
adam = optim.Adam(nn.get_parameters(model))
for step in range(60):
    if step == 10:
        before, touched = memory.stats(), faults()
    mark = memory.mark() if sys.argv[2:] and step else None
    loss = model(x).cross_entropy(y)
    adam.zero_grad()
    loss.backward()
    adam.step()
    if sys.argv[2:]:
        adam.zero_grad()
        loss = loss.item()
    if mark:
        memory.reset(mark)
touched, after = faults() - touched, memory.stats()
print(after.allocations - before.allocations, after.hits - before.hits, touched)
"""


@pytest.mark.parametrize("words", [["pool"], ["arena", "marked"]], ids=" ".join)
@native_only
def test_after_warm_up_training_touches_no_new_page(words: list[str]) -> None:
    """With one thread: each further one has scratch memory, to touch when it first gets work."""
    done = subprocess.run(
        [sys.executable, "-c", MNIST_STEPS, *words],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TUTOR_BACKEND": "simd",
            "TUTOR_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    allocations, hits, faults = map(int, done.stdout.split())
    assert hits == allocations > 0
    assert faults < 50  # less than one in a step, whose values and gradients fill 100 pages; what
    # Python's objects need now and then is not ours


def test_no_result_depends_on_the_policy(backend: str) -> None:
    results = []
    for policy in memory.POLICIES if Memory is not PythonMemory else ("plain",) * 2:
        memory.configure(policy=policy)
        results.append(training(10)[1])
    assert results[0] == results[1] == results[-1]
    assert results[0][-1] < results[0][0]


# ---- settings ------------------------------------------------------------------------------------


@native_only
def test_settings_round_trip() -> None:
    for policy in memory.POLICIES:
        for limit in (0, 1, 2**30, 2**63 - 1):
            memory.configure(policy=policy, limit=limit)
            assert memory.config() == memory.Config(policy, limit)
            memory.configure(**memory.config()._asdict())
            assert memory.config() == (policy, limit)
    memory.configure(policy="plain")
    assert memory.config().limit == 2**63 - 1
    memory.configure(limit=5)
    assert memory.config() == ("plain", 5)


@pytest.mark.parametrize(
    "settings",
    [{"policy": "buddy"}, {"policy": ""}]
    + [{"limit": limit} for limit in (-1, 2**63, 1.5, "1 GB", True)],
)
def test_what_is_no_setting_is_refused(settings: dict[str, object]) -> None:
    before = memory.config()
    with pytest.raises(DomainError) as error:
        memory.configure(**settings)  # type: ignore[arg-type]
    assert error.value.asked
    assert error.value.found
    assert error.value.do
    assert memory.config() == before


def test_plain_python_has_the_plain_policy_only() -> None:
    assert PythonMemory.config() == ("plain", 0)
    PythonMemory.configure("plain", 0)
    assert PythonMemory.trim() == 0
    for policy, limit in (("pool", 0), ("arena", 0), ("plain", 1)):
        with pytest.raises(DomainError, match="C\\+\\+") as error:
            PythonMemory.configure(policy, limit)
        assert error.value.found
        assert error.value.do


def test_plain_python_counts_the_same() -> None:
    PythonMemory.reset_peak()
    before = PythonMemory.counts()
    blocks = [PythonMemory(n, 4, "f") for n in (0, 1, 1000)]
    borrowed = PythonMemory.borrow(bytearray(64), 16, 4, "f")
    counts = [b - a for a, b in zip(before, PythonMemory.counts(), strict=True)]
    assert counts == [3, 3, 4004, 0, 4004]
    del blocks, borrowed
    assert PythonMemory.counts()[2:] == (before[2], 0, before[2] + 4004)
