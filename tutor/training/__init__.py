"""Everything around a training loop: progress, early stopping, metrics, and diagnosis.

    run = Run(epochs=20, log="runs/digits.jsonl", watch="accuracy", largest=True, patience=3)
    for epoch in run:
        for x, y in run.batches(loader):
            run.note(loss=step(x, y))
        run.note(accuracy=evaluate(model, test_loader, accuracy))

The loop stays yours. docs/training.md shows each of these at work.
"""

from tutor.training.diagnosis import Diagnosis, Finding, diagnose, overfit
from tutor.training.log import read_log
from tutor.training.metrics import accuracy, confusion, evaluate, scores
from tutor.training.monitor import Monitor
from tutor.training.outline import Outline, summary
from tutor.training.run import Run

__all__ = [
    "Diagnosis", "Finding", "Monitor", "Outline", "Run", "accuracy", "confusion", "diagnose",
    "evaluate", "overfit", "read_log", "scores", "summary",
]  # fmt: skip
