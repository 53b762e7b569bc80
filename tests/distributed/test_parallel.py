"""DataParallel: one training on however many ranks."""

import pytest
from on_ranks import results
from rank_programs import normed

import tutor
from tutor import Tensor, dist, nn, optim
from tutor.distributed import sums
from tutor.distributed.buckets import NOTHING, bucketed
from tutor.distributed.leaves import Tree, both, own_leaves
from tutor.distributed.statistics import Statistics
from tutor.errors import DomainError, DTypeError, ShapeError

# ---- the same bits -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one():
    """What one rank finds."""
    return {**results(1, "bits")[0], "long": results(1, "long")[0]}


@pytest.mark.crossed("ranks")
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_the_bits_of_one_rank(one, ranks):
    """Parameters, running statistics and the optimizer's state; batches that cannot be cut into
    equal leaves, and with fewer rows than leaves; dropout; recorded or not; sharded or not."""
    for found in results(ranks, "bits"):
        assert found == {name: bits for name, bits in one.items() if name != "long"}


@pytest.mark.sweep
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_bits_of_one_rank_after_hundreds_of_steps(one, ranks):
    assert results(ranks, "long") == [one["long"]] * ranks


def test_without_ranks_it_is_the_same_too(one):
    assert one["adam"] == one["recorded"] == one["sharded"]
    assert len({checksum for checksum, *_ in one.values()}) == 4  # and they are not all alike


def test_one_leaf_a_rank_learns_alike_with_other_bits():
    found = {n: results(n, "one_leaf") for n in (1, 3)}
    assert found[3][0] == found[3][1] == found[3][2]
    assert found[1][0][0] != found[3][0][0]
    assert found[1][0][2] == pytest.approx(found[3][0][2], rel=0.15)


def test_ranks_drop_the_same_places_in_a_plain_loop_and_others_in_leaves():
    """As docs/ranks.md says. The gradients are those of all ranks in each of the ways."""
    found = results(2, "dropout")
    same = {}
    for name in found[0]:
        first, second = (one[name] for one in found)
        assert first["grads"] == second["grads"]
        same[name] = first["kept"] == second["kept"], first["state"] == second["state"]
    assert same == {
        "plain": (True, True),
        "one leaf a rank": (False, True),
        "other rows": (False, False),
        "own seeds": (False, False),
        "leaves": (False, True),
    }
    first, second = (one["other rows"]["kept"][0] for one in found)
    assert second[:4] == first and len(second) == 8  # where both have a row, it is the same mask
    assert found[0]["own seeds"]["kept"] != found[1]["own seeds"]["kept"]


def expected(model, x, y):
    for p in nn.get_parameters(model):
        p.grad = None
    loss = model(x).cross_entropy(y)
    loss.backward()
    return loss, [p.grad for p in nn.get_parameters(model)]


@pytest.mark.parametrize("rows", [1, 3, 8, 21])
@pytest.mark.parametrize("jit", [False, True])
def test_the_gradients_are_those_of_the_batch_as_a_whole(rows, jit):
    tutor.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    parallel = dist.DataParallel(model, jit=jit)
    x, y = tutor.randn(rows, 4), tutor.randint(0, 3, (rows,))

    def loss_of(x, y):
        return parallel(x).cross_entropy(y)

    loss, grads = expected(model, x, y)
    before = [p.grad.copy() for p in parallel.parameters()]
    for _ in range(3 if jit else 1):
        for p, g in zip(parallel.parameters(), before, strict=True):
            p.grad = g.copy()
        found = parallel.backward(loss_of, x, y, gradient=0.5)
    assert found.item() == pytest.approx(loss.item(), rel=1e-5)
    for p, g in zip(parallel.parameters(), grads, strict=True):
        assert p.grad.flatten().tolist() == pytest.approx((1.5 * g).flatten().tolist(), abs=1e-6)


def test_the_running_statistics_are_the_mean_of_those_of_the_leaves():
    model = nn.BatchNorm1d(2)
    x = tutor.randn(16, 2)
    parallel = dist.DataParallel(model, 4)
    parallel.backward(lambda x: parallel(x).mean(), x)
    means = [x[i : i + 4].mean(axis=0) for i in range(0, 16, 4)]
    wanted = 0.1 * sum(means) / 4
    assert model.running_mean.tolist() == pytest.approx(wanted.tolist(), abs=1e-6)
    assert model.num_batches_tracked.item() == 1
    nn.train(parallel, False)
    kept = model.running_mean.tolist()
    parallel.backward(lambda x: parallel(x).mean(), x)
    assert model.running_mean.tolist() == kept
    assert Statistics([model.running_mean]).take(3) == [None]


# ---- how it is put together ----------------------------------------------------------------------


def test_a_tree_of_leaves_goes_on_as_the_tree_of_ranks():
    def plus(a, b):
        return f"({a}+{b})"

    class Named(str):
        def __add__(self, other):
            return Named(plus(str(self), str(other)))

    for leaves in (1, 2, 4, 8, 16):
        whole = sums.tree([str(i) for i in range(leaves)], plus)
        for ranks in (n for n in (1, 2, 4, 8, 16) if n <= leaves):
            own, of_ranks = own_leaves(leaves, ranks), []
            for rank in range(ranks):
                tree = Tree()
                names = [Named(i) for i in range(rank * own, (rank + 1) * own)]
                for name in names[:-1]:
                    tree.add([name])
                of_ranks.append(str(tree.with_last(0, names[-1])))
            assert sums.tree(of_ranks, plus) == whole


def test_nothing_changes_no_bit():
    values = Tensor([0.0, -0.0, 1.5, -2.5, float("inf"), -float("inf"), 1e-45])
    same = values + NOTHING
    assert same.buf.raw == values.buf.raw
    assert (values + 0.0).buf.raw != values.buf.raw
    assert both(None, None) is None and both(1, None) == both(None, 1) == 1


def test_buckets_hold_so_many_bytes_of_one_dtype_the_last_first():
    sizes = [(4, "float32"), (2, "float64"), (3, "float32"), (1, "float64"), (9, "float32")]
    tensors = [Tensor.zeros(n, dtype=dtype) for n, dtype in sizes]
    assert bucketed(tensors, 20) == [[4], [3], [2], [1], [0]][:1] + [[3], [2], [1], [0]]
    assert bucketed(tensors, 64) == [[4, 2, 0], [3, 1]]
    assert bucketed(tensors, 1 << 20) == [[4, 2, 0], [3, 1]]


def test_hooks_and_parts_that_are_computed_again_change_nothing():
    (alone,) = results(1, "hooked")
    assert results(2, "hooked") == [alone] * 2
    assert alone[0][1] == alone[1][1]  # of a bias, which has no hook


def test_a_bucket_leaves_while_backward_goes_on():
    for leaf, seen in results(2, "overlap"):
        assert leaf == [
            "backward of 4", "bucket 0 leaves", "backward of 3",
            "backward of 2", "bucket 1 leaves", "backward of 1",
            "backward of 0", "bucket 2 leaves",
        ]  # fmt: skip
        assert seen == [f"bucket {i} leaves" for i in range(3)]


def test_all_begin_with_the_numbers_of_rank_0():
    first, other = results(2, "same_start")
    assert other == first


# ---- loss.backward() -----------------------------------------------------------------------------


def flat(lists):
    return Tensor([n for one in lists for n in Tensor(one).flatten().tolist()])


def test_loss_backward_leaves_the_mean_over_all_rows_though_ranks_have_not_as_many():
    """7 rows on 3 ranks: 2, 2 and 3."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    x, y = Tensor.arange(28, dtype="float32").reshape(7, 4) / 28, Tensor.arange(7) / 7
    ((model(x)[:, 0] - y) ** 2).mean().backward()
    wanted = flat([p.grad.tolist() for p in model.parameters()]).tolist()
    model.zero_grad()
    some = Tensor([i for rank in range(3) for i in range(1 + 2 * rank)])
    ((model(x[some])[:, 0] - y[some]) ** 2).mean().backward()
    others = flat([p.grad.tolist() for p in model.parameters()]).tolist()
    ranks = results(3, "plain")
    for found in ranks:
        assert flat(found["uneven"]).tolist() == pytest.approx(wanted, abs=1e-6)
        twice = [2 * g for g in wanted]
        assert flat(found["twice"]).tolist() == pytest.approx(twice, abs=1e-6)
        assert flat(found["after no_sync"]).tolist() == pytest.approx(twice, abs=1e-6)
        assert found["still"] == found["after no_sync"]
        thrice = [3 * g for g in wanted]
        assert flat(found["leaf by leaf"]).tolist() == pytest.approx(thrice, abs=1e-6)
        assert flat(found["other rows"]).tolist() == pytest.approx(others, abs=1e-6)
        assert flat(found["grad"]).tolist() == pytest.approx(flat(found["alone"]).tolist())
    assert ranks[0]["alone"] != ranks[1]["alone"]
    assert ranks[0]["after no_sync"] == ranks[1]["after no_sync"]


def test_rows_count_where_the_batch_goes_in_by_name_and_the_result_is_a_dict():
    tutor.manual_seed(0)
    layer = nn.Linear(4, 1)
    (layer(Tensor.arange(28, dtype="float32").reshape(7, 4) / 28) ** 2).mean().backward()
    wanted = flat([p.grad.tolist() for p in layer.parameters()]).tolist()
    for found in results(3, "by_name"):
        assert flat(found).tolist() == pytest.approx(wanted, abs=1e-6)


def test_what_no_rank_uses_has_no_gradient_and_what_one_uses_is_that_of_all():
    for once, again, later in results(2, "unused"):
        assert once[:2] == again[:2] == later[:2] == [None, None]
        for found in (once, again):
            assert all(g is not None for g in found[2:])
            assert found[5] == [0.5, 0.5]  # of always.bias: both ranks have it
            assert any(flat(found[2:4]).tolist())
        assert flat(once[2:]).tolist() == pytest.approx(flat(again[2:]).tolist(), abs=1e-7)
        assert later[3] == [0.25, 0.25]  # of some.bias: rank 0's, kept in no_sync, half of all
        assert later[5] == [0.75, 0.75]


# ---- what is refused -----------------------------------------------------------------------------


def test_mistakes_are_told_in_words():
    for said in results(2, "mistakes"):
        assert said["recorded"].startswith("RecordError") and "jit" in said["recorded"]
        assert said["within"].startswith("DomainError") and "no_sync" in said["within"]
        assert "no rank has a row" in said["no rows"]
        assert said["several"].startswith("ShapeError") and "one number" in said["several"]
        assert "1 leaves on 2 ranks" in said["leaves"]


def test_mistakes_of_one_rank():
    for wrong in (3, 0, -8, 2.0, True):
        with pytest.raises(DomainError, match="power of two"):
            own_leaves(wrong, 1)
    with pytest.raises(DomainError, match="as many leaves"):
        own_leaves(8, 3)
    with pytest.raises(DTypeError, match="no parameters"):
        dist.DataParallel(nn.ReLU())
    parallel = dist.DataParallel(nn.Linear(2, 2))
    with pytest.raises(ShapeError, match="rows"):
        parallel.backward(lambda x, y: parallel(x).mean(), tutor.ones(4, 2), tutor.ones(3))
    with pytest.raises(DTypeError, match="no rows"):
        parallel.backward(lambda: parallel(tutor.ones(2)).mean(), 3)


def test_an_error_in_a_leaf_leaves_all_as_it_was():
    model = normed()
    parallel = dist.DataParallel(model)
    x = tutor.randn(32, 6)
    parallel.backward(lambda x: parallel(x).mean(), x)
    state = [t.tolist() for t in nn.state_dict(model).values()]
    grads = [p.grad.tolist() for p in model.parameters()]
    where, calls = tutor.random.get_state(), []

    def broken(x):
        calls.append(len(x))
        if len(calls) == 3:
            raise ValueError("here")
        return parallel(x).mean()

    with pytest.raises(ValueError, match="here"):
        parallel.backward(broken, x)
    assert calls == [4, 4, 4]
    assert [t.tolist() for t in nn.state_dict(model).values()] == state
    assert [p.grad.tolist() for p in model.parameters()] == grads
    assert tutor.random.get_state() == where
    parallel.backward(lambda x: parallel(x).mean(), x)  # and it goes on
    assert tutor.random.get_state() != where


def test_it_is_the_model_by_another_name():
    model = normed()
    parallel = dist.DataParallel(model)
    assert list(nn.state_dict(parallel)) == list(nn.state_dict(model))
    nn.train(parallel, False)
    assert not model.training and not model[1].training and not parallel.training
    x = tutor.ones(2, 6)
    assert parallel(x).tolist() == model(x).tolist()
    optim.SGD(parallel.parameters(), lr=0.1)
    assert parallel.waited == 0
