"""What ranks do together gives what each of them computes alone, to the bit, over both transports
and with any number of ranks."""

from __future__ import annotations

import re

import pytest
import started

import tutor
from tutor import Buffer, Tensor, dist
from tutor.distributed import sums

BITS: dict[int, set[str]] = {}  # by the number of ranks: over one transport and the other


@pytest.mark.parametrize("transport", started.TRANSPORTS)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_collective(transport: str, ranks: int) -> None:
    run = started.run(transport, ranks, "every_collective.py", TUTOR_DIST_TIMEOUT="20")
    assert run.code == 0, run.text
    found = {rank: re.findall(r"cases (\d+) bits (\d+)", text) for rank, text in run.lines.items()}
    assert sorted(found) == list(range(ranks)), run.text
    assert int(found[0][0][0]) > 400
    bits = BITS.setdefault(ranks, set())
    bits |= {str(said) for said in found.values()}
    assert len(bits) == 1, run.text


@pytest.mark.parametrize("transport", started.TRANSPORTS)
def test_collectives_run_beside_the_program(transport: str) -> None:
    run = started.run(transport, 3, "beside.py", TUTOR_DIST_TIMEOUT="20")
    assert run.code == 0, run.text
    assert run.lines == {rank: f"beside {rank}\n" for rank in range(3)}, run.text


def test_the_same_sum_of_leaves_on_any_number_of_ranks() -> None:
    """Of 8 leaves, each rank adds its own in a tree, and the ranks go on with it."""
    found = {n: started.run("shared", n, "leaves_of_ranks.py") for n in (1, 2, 4)}
    found[8] = started.run("mpi", 4, "leaves_of_ranks.py")
    said = {text for run in found.values() for text in run.lines.values()}
    assert len(said) == 1 and "bits" in said.pop(), {n: run.text for n, run in found.items()}


# ---- the order -----------------------------------------------------------------------------------


def written(a: str, b: str) -> str:
    return f"({a}+{b})"


TREES = {
    1: "a",
    2: "(a+b)",
    3: "((a+b)+c)",
    4: "((a+b)+(c+d))",
    5: "(((a+b)+(c+d))+e)",
    6: "(((a+b)+(c+d))+(e+f))",
    7: "(((a+b)+(c+d))+((e+f)+g))",
    8: "(((a+b)+(c+d))+((e+f)+(g+h)))",
}


@pytest.mark.parametrize("n", TREES)
def test_the_tree(n: int) -> None:
    assert sums.tree("abcdefgh"[:n], written) == TREES[n]  # type: ignore[arg-type, comparison-overlap]


def test_the_line() -> None:
    assert sums.line("abcd", written) == "(((a+b)+c)+d)"  # type: ignore[arg-type, comparison-overlap]


# ---- with one rank -------------------------------------------------------------------------------


def test_one_rank_needs_nobody() -> None:
    assert (dist.rank(), dist.size()) == (0, 1)
    x = Tensor([3.0, 4.0])
    assert dist.all_reduce(x, "mean") is x
    assert x.tolist() == [3.0, 4.0]
    assert dist.broadcast(x) is x
    assert dist.all_gather(x).tolist() == [[3.0, 4.0]]
    assert dist.reduce_scatter(x).tolist() == [3.0, 4.0]
    assert dist.all_reduce(Buffer([1, 2]), "max").tolist() == [1, 2]
    handle = dist.all_gather(x, wait=False)
    assert handle.wait().shape == (1, 2)
    assert handle.done
    dist.barrier()


def test_what_a_graph_has_saved_is_out_of_date() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    dist.all_reduce(x)
    with pytest.raises(tutor.errors.GraphError, match="test_collectives"):
        y.backward()


def test_a_promise_is_kept_before_it_is_moved() -> None:
    with tutor.lazy():
        x = Tensor([1.0, 2.0]) * 2
        assert dist.all_reduce(x).tolist() == [2.0, 4.0]


def test_a_recording_refuses_what_a_replay_would_not_do() -> None:
    @tutor.jit(strict=True)
    def f(x: Tensor) -> Tensor:
        return dist.all_reduce(x * 2)

    x = Tensor([1.0])
    f(x)
    with pytest.raises(tutor.errors.RecordError, match="all_reduce"):
        f(x)


def test_a_watch_sees_the_additions() -> None:
    seen: list[str] = []
    x = tutor.ones(3)
    with tutor.watch(lambda step, go: (seen.append(step.kernel), go())):
        dist.all_reduce(x, "mean")
    assert seen == ["copy", "div"]


class FarMemory:
    """Memory of some other device, as far as anybody asks before it is read."""

    count, format, device = 2, "f", "fake:0"

    def keep(self) -> FarMemory:
        return self


def test_memory_of_a_device_is_refused_before_anything_is_sent() -> None:
    buf = Buffer.over(FarMemory(), tutor.float32)
    for call in (dist.all_reduce, dist.broadcast, dist.all_gather, dist.reduce_scatter):
        with pytest.raises(tutor.errors.DomainError, match=r"fake:0.*\n.*x\.to\(.cpu.\)"):
            call(Tensor.over(buf, (2,)))
