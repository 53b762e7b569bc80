"""Chapter 8's training, where the chapter itself does not look: batches out of views."""

from __future__ import annotations

from typing import Any

import pytest

from course.library import ours

ch08 = ours(8)

TABLE = ch08.Tensor([[10.0 * i + j for j in range(3)] for i in range(6)])


@pytest.mark.parametrize(
    "view",
    [
        TABLE,
        TABLE[2:],
        TABLE[1:5],
        TABLE[::-1],
        TABLE[::2],
        TABLE[:, 1:],
        TABLE.T,
        TABLE[3],
        TABLE[4:5],
        TABLE.reshape(6, 1, 3)[3:],
    ],
    ids=lambda t: f"shape {t.shape} strides {t.strides} offset {t.offset}",
)
def test_rows_are_those_of_the_view(view: Any) -> None:
    last = view.shape[0] - 1
    found = ch08.rows(view, [last, 0, last])
    assert found.tolist() == [view.tolist()[i] for i in (last, 0, last)]
    assert found.is_contiguous() and found.offset == 0
    assert found.buf.raw is not TABLE.buf.raw


def test_a_checkpoint_keeps_no_memory_of_the_tensors() -> None:
    p = ch08.Tensor([1.0, 2.0], requires_grad=True)
    optimizer = ch08.Adam([p], lr=0.5)
    checkpoint = ch08.Checkpoint(optimizer)
    for _ in range(2):  # what was restored may be changed, and restored again
        (p * p).sum().backward()
        optimizer.step()
        assert p.tolist() != [1.0, 2.0]
        checkpoint.restore(optimizer)
        assert p.tolist() == [1.0, 2.0] and optimizer.t == 0
        assert [m.tolist() for m in optimizer.m] == [[0.0, 0.0]]
        assert optimizer.parameters[0] is p
