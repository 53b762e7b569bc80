"""Sharded: the optimizer's state is dealt out, and nothing else is different."""

import pytest
from on_ranks import results

import tutor
from tutor import Tensor, dist, optim
from tutor.distributed import sharded
from tutor.errors import DataError, DomainError, DTypeError, GraphError


def leaves():
    return [tutor.ones(3, 5).requires_grad_(), tutor.ones(2).requires_grad_()]


@pytest.mark.parametrize("ranks", [2, 3])
def test_each_optimizer_moves_to_the_same_bits_with_a_part_of_its_state(ranks):
    found = results(ranks, "sharded")
    kinds = [kind.__name__ for kind in sharded.ELEMENTWISE]
    for one in found:
        assert [name for name in kinds if not one[name]] == []
        assert one["lr"] == [0.5, 0.5, 0.5, 1]
        assert one["back"] and one["missing"]
        assert one["moved"] == found[0]["moved"] != [[[1.0] * 5] * 3, [1.0] * 2]
    assert [one["state"] for one in found] == {2: [9, 8], 3: [6, 6, 5]}[ranks]


def test_pieces_cover_each_parameter_once(monkeypatch):
    params = [tutor.ones(3, 5), tutor.ones(2), tutor.ones(4, dtype="float64"), tutor.ones(0)]
    for ranks in (1, 2, 3, 5, 40):
        monkeypatch.setattr(sharded, "size", lambda ranks=ranks: ranks)
        covered = [[0] * p.numel() for p in params]
        for rank in range(ranks):
            monkeypatch.setattr(sharded, "rank", lambda rank=rank: rank)
            for counts, piece in zip(covered, sharded.cut(params), strict=True):
                for i in range(piece.start, piece.end):
                    counts[i] += 1
                assert piece.own.shape == (piece.end - piece.start,)
        assert all(set(counts) <= {1} for counts in covered)


def test_it_is_used_as_the_optimizer_itself():
    params = leaves()
    own = dist.Sharded(optim.SGD, params, lr=0.1, momentum=0.9)
    assert own.params == params and own.lr == 0.1
    own.lr = 0.5
    assert own.param_groups[0]["lr"] == 0.5
    schedule = optim.lr_scheduler.StepLR(own, 1, 0.5)

    def closure():
        own.zero_grad()
        loss = sum((p * p).sum() for p in params)
        loss.backward()
        return loss

    with tutor.no_grad():  # the closure records nevertheless
        assert own.step(closure).item() == 17
    assert params[0].tolist() == [[0.0] * 5] * 3
    assert isinstance(own, optim.Optimizer)
    schedule.step()
    assert own.lr == 0.25 and own.steps == 1
    own.zero_grad(set_to_none=False)
    assert params[1].grad.tolist() == [0, 0]
    own.zero_grad()
    own.step()  # of none that has a gradient
    assert params[1].grad is None and params[1].tolist() == [0, 0]


def test_a_parameter_may_be_a_part_of_larger_memory():
    """As the parameters of a model that is flattened into one row are."""
    row = Tensor.arange(12, dtype="float32")
    params = [row[2:6].detach().requires_grad_(), row[6:12].reshape(2, 3).detach()]
    params[1].requires_grad_()
    own = dist.Sharded(optim.SGD, params, lr=1.0)
    sum((p * p).sum() / 2 for p in params).backward()
    own.step()
    assert row.tolist() == [0, 1, *[0] * 10]


def test_mistakes_are_told_in_words():
    for kind in (optim.Muon, optim.LBFGS, optim.Optimizer, print):
        with pytest.raises(DomainError, match="Adam"):
            dist.Sharded(kind, leaves(), lr=0.1)
    with pytest.raises(GraphError, match="row"):
        dist.Sharded(optim.Adam, [tutor.ones(3, 5).T.requires_grad_()])
    own = dist.Sharded(optim.Adam, leaves(), lr=0.1)
    with pytest.raises(DTypeError, match=r"Sharded\.step\(closure\)"):
        own.step(3)
    with pytest.raises(DomainError, match="all groups"):
        own.add_param_group({"params": leaves()})
    state = own.state_dict()
    with pytest.raises(DataError, match=r"m\.0"):
        own.load_state_dict({**state, "m.0": tutor.ones(15)})
    with pytest.raises(DataError, match=r"v\.1"):
        own.load_state_dict({k: t for k, t in state.items() if k != "v.1"})
    p = own.params[0]
    p.buf = Tensor.ones(15).buf
    with pytest.raises(GraphError, match="memory"):
        own.step()
