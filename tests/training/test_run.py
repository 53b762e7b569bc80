"""Run: epochs are counted, what is noted is kept and written down, and it ends in time."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from tutor import Tensor, data, nn, optim, training
from tutor.errors import ArgumentError, DataError, ShapeError, TutorError
from tutor.training import Run, read_log
from tutor.training import screen as screens
from tutor.training.log import append


def noted(run: Run, values: list[float], name: str = "loss") -> list[int]:
    """Run it, and note one of the values in each epoch: the epochs there were."""
    seen = []
    for epoch in run:
        seen.append(epoch)
        run.note(**{name: values[epoch]})
    return seen


def test_epochs_are_counted_and_means_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(2)
    for epoch in run:
        for batch in run.batches([1.0, 2.0, 6.0]):
            run.note(loss=Tensor(batch * (epoch + 1)), rate=batch)
        run.note(accuracy=0.5)
    assert [(e["epoch"], e["steps"], e["loss"], e["rate"], e["accuracy"]) for e in run.history] == [
        (1, 3, 3.0, 3.0, 0.5), (2, 3, 6.0, 3.0, 0.5)]  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(", ")[:3] for line in lines] == [
        ["epoch 1: loss 3", "rate 3", "accuracy 0.5"],
        ["epoch 2: loss 6", "rate 3", "accuracy 0.5"],
    ]


def test_a_tensor_is_not_read_before_the_epoch_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = Tensor.__float__
    monkeypatch.setattr(Tensor, "__float__", lambda self: (reads.append(1), read(self))[1])
    for _ in (run := Run(1, progress=False)):
        for _ in run.batches(range(5)):
            run.note(loss=Tensor([2.0], requires_grad=True))
        assert not reads
    assert len(reads) == 1 and run.history[0]["loss"] == 2.0


@pytest.mark.parametrize(
    ("values", "largest", "patience", "epochs", "best"),
    [
        ([3, 2, 1, 0], False, 2, 4, 4),
        ([3, 2, 2, 2, 1], False, 2, 4, 2),  # equal is no better
        ([1, 2, 3, 3, 3, 4], True, 2, 5, 3),
        ([math.nan, math.nan, 1], False, 2, 2, None),
        ([math.nan, 5, math.nan, 4, 6, 6, 6], False, 3, 7, 4),
    ],
)
def test_it_ends_when_what_is_watched_gets_no_better(
    values: list[float], largest: bool, patience: int, epochs: int, best: int | None
) -> None:
    run = Run(len(values), watch="loss", largest=largest, patience=patience, progress=False)
    assert len(noted(run, values)) == epochs
    assert (run.best["epoch"] if run.best else None) == best


def test_it_can_be_told_to_stop() -> None:
    run = Run(5, progress=False)
    for epoch in run:
        run.note(loss=1.0)
        if epoch == 1:
            run.stop()
    assert len(run.history) == 2
    assert [*run] == [2, 3, 4]  # and asked to go on


def test_the_best_epoch_is_known_while_it_runs_and_after() -> None:
    run, bests = Run(4, watch="accuracy", largest=True, progress=False), []
    for epoch in run:
        run.note(accuracy=[0.5, 0.4, 0.7, 0.7][epoch])
        bests.append(run.is_best)
    assert bests == [True, False, True, False]
    assert not run.is_best and run.best["accuracy"] == 0.7 and run.best["epoch"] == 3
    first = Run(1, watch="loss", progress=False)
    noted(first, [math.nan])
    assert not first.is_best and first.best is None


def test_a_log_has_a_line_for_each_epoch_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a.jsonl"
    noted(Run(3, log=path, progress=False), [1.5, math.nan, math.inf])
    lines = path.read_text().splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [1.5, "nan", "inf"]
    found = [e["loss"] for e in read_log(path)]
    assert found[0] == 1.5 and math.isnan(found[1]) and found[2] == math.inf
    path.write_text("\n".join(lines) + '\n{"epoch": 4, "lo')  # its writer was killed here
    assert len(read_log(path)) == 3
    assert [e["epoch"] for e in read_log(path)] == [1, 2, 3]
    noted(Run(1, log=path, progress=False), [9.0])  # and another one goes on in a line of its own
    with pytest.raises(DataError, match="line 4"):
        read_log(path)
    assert path.read_text().splitlines()[3] == '{"epoch": 4, "lo'
    assert json.loads(path.read_text().splitlines()[4])["loss"] == 9.0
    for torn in ("", "{", '{"a": 1', '{"a": 1}', '{"a": "\\', "[" * 100_000):
        path.write_text('{"a": 0}\n' + torn)
        whole = 1 + torn.endswith("}")
        assert len(read_log(path)) == whole
        append(path, {"a": 2})
        assert path.read_text() == '{"a": 0}\n' + torn + "\n" * bool(torn) + '{"a": 2}\n'
        if whole == 1 and torn:
            with pytest.raises(DataError, match="line 2"):
                read_log(path)
        else:
            assert [e["a"] for e in read_log(path)] == [0, 1, 2][:: 3 - whole]
    path.write_text("[1]\n{}\n")
    with pytest.raises(DataError, match="line 1"):
        read_log(path)
    with pytest.raises(DataError, match=r"none\.jsonl"):
        read_log(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="writable"):
        noted(Run(1, log=path / "below", progress=False), [1.0])


def test_it_goes_on_where_it_was() -> None:
    run = Run(3, progress=False)
    for _ in run:
        run.note(loss=1.0)
        if run.history:
            break  # in its second epoch, which does not count
    state = json.loads(json.dumps(run.state_dict()))
    again = Run(4, progress=False)
    again.load_state_dict(state)
    assert noted(again, [0, 5, 6, 7]) == [1, 2, 3]
    assert [e["loss"] for e in again.history] == [1, 5, 6, 7]
    assert [*again] == []
    for wrong in ({}, {"history": [{"epoch": 2}]}, {"history": 3}, None):
        with pytest.raises(DataError, match="history"):
            again.load_state_dict(wrong)


WRONG: dict[str, tuple[Any, type[TutorError]]] = {
    "epochs": (lambda: Run(-1), ShapeError),
    "half an epoch": (lambda: Run(1.5), ShapeError),
    "patience": (lambda: Run(1, watch="loss", patience=0), ShapeError),
    "nothing watched": (lambda: Run(1, patience=2), ArgumentError),
    "never noted": (lambda: noted(Run(1, watch="accuracy"), [1.0]), DataError),
    "ours": (lambda: noted(Run(1), [1.0], "seconds"), ArgumentError),
    "several": (lambda: Run(1).note(loss=Tensor([1.0, 2.0])), ArgumentError),
    "no number": (lambda: Run(1).note(loss="low"), TutorError),
}


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_mistakes_are_said(call: Any, error: type[TutorError]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.value.asked and caught.value.found and caught.value.do


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(screens, "OFTEN", -1.0)
    for _ in (run := Run(1)):
        for _ in run.batches(range(4)):
            run.note(loss=0.25)
        for _ in run.batches(iter(range(2))):  # nobody knows how many there are
            pass
    shown = terminal.getvalue().split("\r\033[K")
    assert "epoch 1 of 1:  50% of 4 batches, loss 0.25" in shown
    assert "epoch 1 of 1: 2 batches, loss 0.25" in shown
    assert shown[-1] == ""  # and takes its line away


def test_a_notebook_shows_the_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Handle:
        def update(self, picture: Any) -> None:
            shown.append(picture)

    def display(picture: Any, display_id: bool) -> Handle:
        shown.append(picture)
        return Handle()

    monkeypatch.setattr(screens, "notebook", lambda: display)
    noted(Run(3), [3.0, 2.0, 1.0])
    assert len(shown) == 3 and all("<svg" in p._repr_html_() for p in shown)


def test_a_training_under_jit_is_noted(tmp_path: Path) -> None:
    import tutor

    tutor.manual_seed(0)
    x, y = Tensor.randn(64, 5), Tensor.randn(64, 1)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    sgd = optim.SGD(nn.get_parameters(model), lr=0.1)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = nn.functional.mse_loss(model(x), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    run = Run(8, progress=False, watch="loss")
    for epoch in run:
        for batch in run.batches(data.batches(x, y, 16, seed=0, epoch=epoch)):
            run.note(loss=step(*batch))
    assert run.history[-1]["loss"] < run.history[0]["loss"] / 2
    assert training.evaluate(model, [(x, y)], nn.functional.mse_loss) < run.history[0]["loss"]
