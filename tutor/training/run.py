"""Run: a training loop, epoch by epoch, with progress, a log, and early stopping."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

from tutor._storage.layout import checked_shape, positive
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import ArgumentError, DataError
from tutor.methods.tensor import Tensor
from tutor.training import log as logs
from tutor.training.screen import Screen

T = TypeVar("T")
OURS = ("epoch", "steps", "seconds")  # that a Run records itself


@spelled
class Run:
    """`for epoch in Run(epochs=10):` counts epochs from 0, and records what you `note` in each.

    After each epoch it prints a one-line summary, appends a line of JSON to the file `log`, and
    redraws the curves in a notebook. With `watch`, the name of a noted value, and `patience`, it
    stops once that value has not become smaller (`largest=True`: larger) for that many epochs.
    `history` has a dict for each completed epoch.
    """

    def __init__(
        self, epochs: int, *, log: str | Path | None = None, watch: str | None = None,
        largest: bool = False, patience: int | None = None, progress: bool = True,
    ) -> None:  # fmt: skip
        self.epochs = checked_shape((epochs,), "Run(epochs=...)")[0]
        self.log = None if log is None else Path(log)
        self.watch, self.largest = watch, largest
        self.patience = patience if patience is None else positive(patience, "Run(patience=...)")
        if patience is not None and watch is None:
            raise ArgumentError(
                f"Run({patience=})",
                "nothing is watched, so it is not known what must become better",
                'name it: watch="val_loss"',
            )
        self.history: list[dict[str, Any]] = []
        self.screen = Screen(progress)
        self._sums: dict[str, tuple[Any, int]] = {}  # of this epoch's values, and their counts
        self._steps, self._running, self._stopped = 0, False, False

    # ---- the loop --------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[int]:
        """The numbers of the remaining epochs; the first epoch of a Run is 0."""
        self._stopped = False
        while len(self.history) < self.epochs and not self._stopped and not self.is_stale:
            self._sums, self._steps, self._running = {}, 0, True
            start = time.perf_counter()
            try:
                yield len(self.history)
            finally:
                self._running = False
            self._end(time.perf_counter() - start)

    def batches(self, loader: Iterable[T]) -> Iterator[T]:
        """The batches of `loader`, with a progress line meanwhile."""
        total = len(loader) if isinstance(loader, Sized) else None
        title = f"epoch {len(self.history) + 1} of {self.epochs}"
        try:
            for number, batch in enumerate(loader, 1):
                yield batch
                self._steps += 1
                if self.screen.is_due():
                    self.screen.show(title, number, total, self.noted())
        finally:
            self.screen.clear()

    def note(self, **values: Tensor | float) -> None:
        """Note numbers by name; an epoch records their mean. A Tensor of one number is not read
        until later, so that noting waits for nothing."""
        for name, value in values.items():
            if name in OURS:
                raise ArgumentError(
                    f"run.note({name}=...)", "a Run notes that itself", "choose another name"
                )
            if isinstance(value, Tensor):
                if value.numel() != 1:
                    raise ArgumentError(
                        f"run.note({name}=...)",
                        f"a Tensor of shape {value.shape}",
                        "note one number: its mean(), for example",
                    )
                value = value.detach().reshape(()).cast("float64")
            else:
                value = checks.number(f"run.note({name}=...)", value)
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + value, count + 1

    def stop(self) -> None:
        """End the run after this epoch."""
        self._stopped = True

    # ---- how it goes -----------------------------------------------------------------------------

    def noted(self) -> dict[str, float]:
        """The means of the values noted so far in this epoch."""
        return {name: float(total) / count for name, (total, count) in self._sums.items()}

    @property
    def is_best(self) -> bool:
        """Whether the watched value is better in this epoch (after it: in the last one) than in
        every earlier epoch; nan never is."""
        now, before = (self.noted(), self.history) if self._running else (
            self.history[-1] if self.history else {}, self.history[:-1])  # fmt: skip
        value = self._watched(now)
        return not math.isnan(value) and all(
            self._better(value, self._watched(epoch)) for epoch in before
        )

    @property
    def best(self) -> dict[str, Any] | None:
        """The best epoch so far; None if nothing is watched or no epoch is complete."""
        if self.watch is None:
            return None
        found: dict[str, Any] | None = None
        for epoch in self.history:
            value = self._watched(epoch)
            if not math.isnan(value) and (
                found is None or self._better(value, self._watched(found))
            ):
                found = epoch
        return found

    @property
    def is_stale(self) -> bool:
        """Whether the last `patience` epochs were no better than the best one before."""
        if self.patience is None or len(self.history) < self.patience:
            return False
        best = self.best
        at = 0 if best is None else int(best["epoch"])
        return len(self.history) - at >= self.patience

    def _watched(self, epoch: dict[str, Any]) -> float:
        if self.watch is None or self.watch not in epoch:
            raise DataError(
                f"which epoch is the best, by {self.watch!r}",
                f"noted were {', '.join(n for n in epoch if n not in OURS) or 'no numbers'}",
                "give watch= the name of something that each epoch notes before it is asked for",
            )
        return float(epoch[self.watch])

    def _better(self, value: float, than: float) -> bool:
        return math.isnan(than) or (value > than if self.largest else value < than)

    def _end(self, seconds: float) -> None:
        entry = {"epoch": len(self.history) + 1, "steps": self._steps, "seconds": seconds}
        entry |= self.noted()
        if self.watch is not None:
            self._watched(entry)
        self.history.append(entry)
        if self.log is not None:
            logs.append(self.log, entry)
        self.screen.say(line_of(entry), lambda: self.curves())

    # ---- and when it is over ---------------------------------------------------------------------

    def curves(self) -> Any:
        """A picture with a curve over the epochs for each noted name."""
        from tutor import viz  # slow to import, so only when pictures are wanted

        names = {name: None for epoch in self.history for name in epoch if name not in OURS}
        return viz.row(*[
            viz.curves([(e["epoch"], e[n]) for e in self.history if n in e], n, "epoch")
            for n in names
        ])  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """The completed epochs, which is all that an exact continuation needs."""
        return {"history": [dict(epoch) for epoch in self.history]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue after the epochs of that state; DataError if it is not the state of a Run."""
        history = state.get("history") if isinstance(state, dict) else None
        good = isinstance(history, list) and all(
            isinstance(e, dict) and e.get("epoch") == i for i, e in enumerate(history, 1)
        )
        if not good:
            raise DataError(
                "to load a state into a Run",
                "it has no history of epochs 1, 2, ...",
                "load what state_dict() of a Run gave",
            )
        self.history = [dict(epoch) for epoch in history or []]


def line_of(entry: dict[str, Any]) -> str:
    """`epoch 3: loss 0.1234, accuracy 0.9731, 412 steps in 1.9 s`"""
    numbers = [f"{name} {value:.4g}" for name, value in entry.items() if name not in OURS]
    numbers.append(f"{entry['steps']} steps in {entry['seconds']:.1f} s")
    return f"epoch {entry['epoch']}: {', '.join(numbers)}"
