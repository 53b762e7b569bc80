"""Engine: the graph, the walk backward, and what it refuses."""

import gc
import weakref
from pathlib import Path

import pytest
from at_once import at_once

import tutor
from tutor import Tensor, no_grad, simd_cpp
from tutor.core.op import Op
from tutor.core.op.catalogue import on_op
from tutor.errors import DTypeError, GraphError, ShapeError

pytestmark = pytest.mark.usefixtures("place")


def leaf(*values):
    return Tensor(list(values), requires_grad=True)


def test_the_product_rule():
    x, y = leaf(1.0, 2.0, 3.0), leaf(4.0, 5.0, 6.0)
    z = (x * y).sum()
    z.backward()
    assert x.grad.tolist() == [4, 5, 6]
    assert y.grad.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("f", "at", "slope"),
    [
        (lambda x: x * x * x, 2.0, 12.0),
        (lambda x: (x + 2) * 3, 2.0, 3.0),
        (lambda x: (x + x) + (x + x), 1.0, 4.0),
        (lambda x: 1 / x, 2.0, -0.25),
        (lambda x: 2**x, 0.0, 0.6931472),
        (lambda x: 1 - x, 0.0, -1.0),
    ],
)
def test_known_slopes(f, at, slope):
    x = leaf(at)
    f(x).backward()
    assert x.grad.tolist() == pytest.approx([slope])


def test_a_node_knows_its_op_and_inputs():
    a, b = leaf(2.0), leaf(3.0)
    y = a * b
    assert y.op.name == "mul"
    assert y._ctx is y.op
    assert y.op.inputs[0] is a
    assert y.op.inputs[1] is b
    assert (a.op, a.grad, a.is_leaf) == (None, None, True)
    assert repr(y.op) == "Mul((1,), (1,))"


def test_gradients_accumulate_in_leaves_only():
    x = leaf(1.0)
    b = x + x
    c = b + b
    c.backward()
    assert x.grad.tolist() == [4]
    assert b.grad is None
    (x * 10).backward()
    assert x.grad.tolist() == [14]


def test_retain_grad_keeps_it_elsewhere_too():
    x = leaf(1.0)
    b = (x + x).retain_grad()
    (b * b).backward()
    assert b.grad.tolist() == [4]
    assert x.grad.tolist() == [8]


def test_no_two_gradients_share_memory():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = Tensor([1.0, 1.0])
    (a + b).backward(seed)
    assert len({id(t.buf) for t in (a.grad, b.grad, seed)}) == 3
    c = leaf(1.0, 2.0)
    c.reshape(2, 1).sum().backward()
    c.grad[0] = 7.0  # a gradient can be written to: it is no expanded view
    assert c.grad.tolist() == [7, 1]


def test_gradients_stored_are_never_expanded():
    """A gradient that was stretched over its tensor is one number in memory for all of it."""
    for make in (lambda x: x.sum(), lambda x: (x + 1.0).mean(), lambda x: x.T.sum(axis=0).sum()):
        x = Tensor.ones(3, 4, requires_grad=True)
        make(x).backward()
        assert 0 not in x.grad.strides
        x.grad[0, 0] = 7.0
        assert x.grad.tolist()[0][0] == 7
        assert len(set(x.grad.flatten().tolist()[1:])) == 1
        y = (x * 2).retain_grad()
        make(y).backward()
        assert 0 not in y.grad.strides
        y.grad[0, 0] = 7.0
        assert len(set(y.grad.flatten().tolist()[1:])) == 1


def test_two_leaves_never_share_one_gradient():
    for make in (
        lambda a, b: ((a + b) * 2).sum(),
        lambda a, b: ((a.reshape(2, 1) + b.reshape(2, 1)) * 2).sum(),
        lambda a, b: ((a + b).retain_grad() * 2).sum(),
    ):
        a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
        make(a, b).backward()
        a.grad[0] = 100.0
        assert b.grad.tolist() == [2, 2]
        a.grad.zero_()
        assert b.grad.tolist() == [2, 2]
    a = leaf(1.0)
    h = (a + 0.0).retain_grad()
    (h + 0.0).sum().backward()
    h.grad.zero_()
    assert a.grad.tolist() == [1]


def test_what_a_hook_returns_is_not_what_is_stored():
    """The hook may keep it, and change it later."""
    x, mine = leaf(1.0), Tensor([5.0])
    x.register_hook(lambda g: mine)
    (x * 2).sum().backward()
    mine.zero_()
    assert x.grad.tolist() == [5]


def test_broadcasting_is_undone():
    x, b, s = (
        Tensor.ones(2, 3, requires_grad=True),
        leaf(1.0, 1.0, 1.0),
        Tensor(2.0).requires_grad_(),
    )
    ((x + b) * s).sum().backward()
    assert b.grad.tolist() == [4, 4, 4]
    assert s.grad.item() == 12
    assert s.grad.shape == ()
    assert x.grad.shape == (2, 3)
    column = Tensor.ones(2, 1, requires_grad=True)
    (column * Tensor.ones(4, 2, 3)).sum().backward()
    assert column.grad.tolist() == [[12], [12]]


def test_gradient_flows_through_views():
    w = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (w.transpose(0, 1)[::-1, 0].reshape(2, 1) * Tensor([[10.0], [20.0]])).sum().backward()
    assert w.grad.tolist() == [[20, 10], [0, 0]]


def test_a_diamond_of_depth_64_is_walked_once_per_op():
    x = leaf(1.0)
    y = x
    for _ in range(64):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**64


def test_the_graph_is_freed_as_the_walk_passes():
    gc.disable()
    try:
        x = leaf(1.0)
        y = x.exp()
        alive = weakref.ref(y)
        z = y * y
        del y
        assert alive() is not None
        z.backward()
        assert alive() is None  # by reference counts alone
        u = x.exp()
        ghost = weakref.ref(u.op)
        del u
        assert ghost() is None
    finally:
        gc.enable()


def test_second_backward_and_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12]
    with pytest.raises(GraphError, match="freed") as caught:
        y.backward()
    assert "Mul" in str(caught.value)
    assert "retain_graph=True" in str(caught.value)
    assert x.grad.tolist() == [12]


def test_higher_orders():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.backward(create_graph=True)
    second = x.grad
    x.grad = None
    second.backward()
    assert (first.item(), second.item(), x.grad.item()) == (12, 12, 6)


def test_a_changed_value_is_noticed_and_the_line_named():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = x * 1.0
    z = (h * y).sum()
    with no_grad():
        h[0] = 100.0  # this line
    with pytest.raises(GraphError) as caught:
        z.backward()
    text = str(caught.value)
    assert "Mul" in text
    assert "'x'" in text
    rows = Path(__file__).read_text().splitlines()
    line = next(i for i, row in enumerate(rows, 1) if "# this line" in row)
    assert f"{__file__}, line {line}" in text
    assert x.grad is None
    assert y.grad is None


def test_the_output_of_exp_is_watched_too():
    x = leaf(1.0)
    y = x.exp()
    y.assign([0.0])
    with pytest.raises(GraphError, match="'out'"):
        y.backward()


@pytest.mark.parametrize(
    "replace",
    [
        lambda y: setattr(y, "buf", tutor.Buffer([30.0, 40.0])),
        lambda y: setattr(y, "shape", (1, 2)),
        lambda y: setattr(y, "strides", (0,)),
        lambda y: (setattr(y, "shape", (1,)), setattr(y, "offset", 1)),
    ],
    ids=["buf", "shape", "strides", "offset"],
)
def test_what_was_saved_is_known_though_its_memory_or_walk_is_replaced(replace):
    x, y = leaf(1.0, 2.0), Tensor([3.0, 4.0])
    z = (x * y).sum()
    replace(y)
    with pytest.raises(GraphError, match=r"(?s)'y'.*another buf, shape, strides or offset"):
        z.backward()
    assert x.grad is None


def test_what_a_graph_pinned_goes_with_it():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = x * x
        op, numbers = y.op, tutor.memory.stats().in_use
        big = leaf(*map(float, range(1000)))
        z = (big * big * big).sum()
        z.backward()
        z = big = None
        assert tutor.memory.stats().in_use == numbers
        y.sum().backward()
        assert (op.saved, op.inputs, op.states) == (None, (), ())
    finally:
        gc.enable()


def test_changes_of_what_was_not_saved_are_allowed():
    x, y = leaf(1.0), leaf(2.0)
    h = x * 1.0
    z = h + y
    h.assign([50.0])
    z.backward()
    assert x.grad.tolist() == [1]


def test_no_grad_and_detach():
    x = leaf(2.0)
    with no_grad():
        assert not (x * x).requires_grad
        with pytest.raises(ZeroDivisionError), no_grad():
            raise ZeroDivisionError
        assert not (x * x).requires_grad
    assert (x * x).requires_grad

    @no_grad()
    def f():
        return x * x

    assert not f().requires_grad
    d = (x * x).detach()
    assert (d.requires_grad, d.op) == (False, None)
    (x * d).backward()
    assert x.grad.tolist() == [4]


def test_what_needs_no_gradient_gets_none_and_saves_nothing():
    x, c = leaf(2.0), Tensor([3.0])
    (x * c).backward()
    assert c.grad is None
    assert not (c * c).requires_grad
    assert (c * c).op is None
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad
    assert not x.cast("int64").requires_grad


def test_gradients_keep_the_dtype_of_their_tensor():
    h = Tensor([1.0, 2.0], dtype="float16", requires_grad=True)
    d = Tensor([3.0, 4.0], dtype="float64", requires_grad=True)
    (h * d).sum().backward()
    assert h.grad.dtype is tutor.float16
    assert d.grad.dtype is tutor.float64
    assert h.grad.tolist() == [3, 4]


class Broken(Op):
    """z = -x, with a gradient of the wrong shape"""

    name, kernel, promotes = "broken", "neg", 0

    def backward(self, g):
        return Tensor.ones(7)


class Turned(Op):
    """z = -x, with a gradient of as many numbers in another shape"""

    name, kernel, promotes = "turned", "neg", 0

    def backward(self, g):
        return g.T


class Two(Op):
    """z = -x, with a gradient too many"""

    name, kernel, promotes = "two", "neg", 0

    def backward(self, g):
        return -g, g


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Two(leaf(1.0)).apply().backward(), GraphError, "returned 2"),
        (lambda: Tensor([1.0, 2.0], requires_grad=True).backward(), GraphError, "sum"),
        (lambda: Tensor([1.0]).backward(), GraphError, "requires_grad=True"),
        (lambda: Tensor([1.0, 2.0]).sum().backward(), GraphError, "requires_grad=True"),
        (lambda: Tensor([1, 2], requires_grad=True), DTypeError, "float"),
        (lambda: Tensor([True]).requires_grad_(), DTypeError, "float"),
        (lambda: leaf(1.0, 2.0).backward([1.0]), ShapeError, "same shape"),
        (lambda: leaf(1.0).__setitem__(0, 2.0), GraphError, "in place"),
        (lambda: leaf(1.0)[:].__setitem__(0, 2.0), GraphError, "in place"),
        (lambda: (leaf(1.0) * 2).requires_grad_(False), GraphError, "detach"),
        (lambda: Broken(leaf(1.0, 2.0)).apply().sum().backward(), ShapeError, "Broken"),
        (
            lambda: Turned(Tensor.ones(2, 3, requires_grad=True)).apply().sum().backward(),
            ShapeError,
            "Turned",
        ),
    ],
)
def test_mistakes_are_explained(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert str(caught.value).count("\n") >= 2


@pytest.mark.parametrize(
    "value",
    [5, [1.0, 2.0], Tensor([1.0]), Tensor([1, 2]), Tensor([1.0, 2.0], dtype="float64"), "a"],
)
def test_grad_is_a_gradient_or_none(value):
    x = leaf(1.0, 2.0)
    with pytest.raises(DTypeError, match=r"x\.grad = ") as caught:
        x.grad = value
    assert str(caught.value).count("\n") >= 2
    assert x.grad is None
    x.grad = Tensor([3.0, 4.0])
    assert x.grad.tolist() == [3, 4]
    with pytest.raises(DTypeError, match="x itself"):
        x.grad = x
    x.grad = None
    assert x.grad is None


def test_a_hook_is_a_function():
    for wrong in (3, None, "f"):
        with pytest.raises(DTypeError, match="lambda g"):
            leaf(1.0).register_hook(wrong)
        with pytest.raises(DTypeError, match="lambda g"):
            (leaf(1.0) * 2).register_hook(wrong)


def test_a_hook_may_walk_a_graph_of_its_own():
    x, w = leaf(2.0), leaf(3.0)
    inside = []

    def hook(g):
        loss = (w * w * g.detach()).sum()
        inside.append(loss.requires_grad)
        loss.backward()
        return g * w  # which leaves its graph behind

    for tensor in (x, x * 1):
        tensor.register_hook(hook)
    y = x * 1
    y.register_hook(hook)
    (y * y).sum().backward()
    assert inside == [True, True]  # y's, and x's
    assert not x.grad.requires_grad
    assert x.grad.tolist() == [4 * 3 * 3]
    assert w.grad.tolist() == [2 * 3 * 4 + 2 * 3 * 12]
    with no_grad():  # as the caller has it
        y = x * 1
    z = (x * x).sum()
    with no_grad(), pytest.raises(GraphError, match="no_grad"):
        z.backward()  # in the hook: recording is off there, too


@pytest.mark.parametrize("native", [True, False])
def test_the_hook_of_a_leaf_follows_the_last_op_that_reads_it(native):
    """What it starts, a message to another process for one, then runs beside the rest of the
    walk."""
    simd_cpp.use_twins(native)
    try:
        v, w, often, unseen = leaf(2.0), leaf(3.0), leaf(5.0), leaf(7.0)
        seen = []
        for name, tensor in (("v", v), ("w", w), ("often", often), ("unseen", unseen)):
            tensor.register_hook(lambda g, name=name: seen.append((name, g.item())))
        h = v * 1.0 * often
        h.register_hook(lambda g: seen.append(("h", g.item())))
        (h * w * w * often).sum().backward()
        assert seen == [("w", 300), ("h", 45), ("often", 180), ("v", 225)]
        assert [t.grad.item() for t in (v, w, often)] == [225, 300, 180]
        leaf(4.0).register_hook(seen.append)
        w.backward()  # itself the root of the walk
        assert seen[4:] == [("w", 1)]
    finally:
        simd_cpp.use_twins(True)


def test_with_create_graph_what_a_hook_does_is_part_of_it():
    x = leaf(2.0)
    x.register_hook(lambda g: g * x)
    y = (x * x).sum()
    with no_grad():
        y.backward(create_graph=True)
    first = x.grad  # 2 x * x
    assert (first.item(), first.requires_grad) == (8, True)
    assert tutor.grad(first.sum(), x).item() == pytest.approx(8 * 2)  # 4 x, and x's hook again


def test_enable_grad_within_a_backward_of_ones_own():
    class Inner(tutor.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with tutor.enable_grad():
                y = x.detach().requires_grad_()
                (slope,) = tutor.grad((y * y * y).sum(), (y,))
            return g * slope

    x = leaf(2.0)
    Inner.apply(x).sum().backward()
    assert x.grad.item() == 12


def test_a_gradient_changed_in_place_is_refused():
    """It may be another op's, too: of a + b both get the same one."""

    def changed(g):
        g *= 2
        return g

    a, b = leaf(1.0), leaf(2.0)
    h = a * 1
    h.register_hook(changed)
    with pytest.raises(GraphError, match=r"(?s)a hook.*in place"):
        ((h + b) * 3).sum().backward()

    class Double(Op):
        name, kernel, promotes = "doubled", "neg", 0

        def backward(self, g):
            return changed(g)

    with pytest.raises(GraphError, match=r"(?s)Double.*in place"):
        ((Double(a).apply() + b) * 3).sum().backward()


def test_threads_that_add_to_one_leaf_lose_nothing():
    x, times = leaf(1.0, 2.0), 150

    def work():
        for _ in range(times):
            (x * 1.0).sum().backward()

    at_once([work] * 8)
    assert x.grad.tolist() == [8 * times] * 2


def test_one_graph_in_two_threads_is_walked_once():
    x = leaf(3.0)
    y = x * x
    op = y.op
    walk = tutor.engine.walk(y, [op], y.like(1), False, False, None)
    next(walk)
    for _ in walk:
        pass
    again = tutor.engine.walk(y, [op], y.like(1), False, False, None)
    with pytest.raises(GraphError, match="freed"):
        next(again)


def test_a_leaf_can_be_its_own_root():
    x = leaf(5.0)
    x.backward()
    assert x.grad.tolist() == [1]


def test_threads_have_their_own_recording_mode():
    import threading

    seen = []
    x = leaf(1.0)
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * x).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


@pytest.mark.parametrize("recording", [True, False])
def test_observers_of_ops_see_each_one_with_its_result(recording):
    """Views too, and those of which no graph is kept: the Engine in Python shows them."""
    seen = []

    def observer(op, out):
        seen.append((op.name, out.op is op, out))

    x = leaf(2.0, 3.0)
    simd_cpp.use_twins(False)
    on_op.provide(observers=(observer,))
    try:
        with tutor.set_grad_enabled(recording):
            y = (x.reshape(1, 2) * 2 > 5).cast("int64")
    finally:
        on_op.provide(observers=())
        simd_cpp.use_twins(True)
    assert [name for name, _, _ in seen] == ["reshape", "mul", "gt", "cast"]
    assert [linked for _, linked, _ in seen] == [recording, recording, False, False]
    assert seen[-1][2] is y
    _ = x * 2
    assert len(seen) == 4
