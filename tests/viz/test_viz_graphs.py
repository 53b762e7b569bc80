"""Graphs and the walk backward over them: of tutor's own tensors, and of a learner's classes."""

import re

import pytest
from drawn import all_of, check, words

import tutor
from tutor import Tensor, nn, viz
from tutor.errors import DTypeError, GraphError
from tutor.viz import layers


def chain(n):
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(n):
        y = y + x
    return y


def diamond():
    a = Tensor(2.0, requires_grad=True)
    b = a + a
    c = b + b
    return a, b, c, c * b


# ---- in words ------------------------------------------------------------------------------------


def test_the_listing_of_the_first_graph():
    x = Tensor([3.0], requires_grad=True)
    with tutor.keep_graph():
        y = (x + 2) * 3
    assert str(tutor.graph(y, names={"x": x, "y": y})) == (
        "y = Mul -> [15.0]\n|-- Add -> [5.0]\n|   |-- x = [3.0]\n|   `-- 2.0\n`-- 3.0"
    )
    y.backward()
    assert x.grad.tolist() == [3.0]


def test_numbers_that_nobody_has_kept_are_left_out_and_a_note_says_so():
    x = Tensor([3.0], requires_grad=True)
    y = (x + 2) * 3
    assert str(tutor.graph(y)) == (
        "Mul -> [15.0]\n|-- Add -> shape (1,)\n|   |-- [3.0]  (requires grad)\n|   `-- 2.0\n"
        "`-- 3.0\n(numbers that backward does not need are gone: compute in"
        " `with tutor.keep_graph():`)"
    )
    h = x + 2
    assert "gone" not in str(tutor.graph(h * 3))


def test_what_is_used_twice_is_listed_once():
    a, b, _, d = diamond()
    assert str(tutor.graph(d, names={"a": a, "b": b})) == (
        "Mul -> 32.0\n"
        "|-- Add -> 8.0\n"
        "|   |-- b = Add -> 4.0  [1]\n"
        "|   |   |-- a = 2.0\n"
        "|   |   `-- a = 2.0\n"
        "|   `-- b = Add -> 4.0  [1] again, see above\n"
        "`-- b = Add -> 4.0  [1] again, see above"
    )


def test_larger_tensors_are_listed_by_their_shapes():
    w = Tensor.ones(3, 4, requires_grad=True)
    with tutor.keep_graph():
        y = (Tensor.ones(2, 3) @ w).relu().sum()
    listing = str(tutor.graph(y))
    assert listing == (
        "Sum -> 24.0\n"
        "`-- ReLU -> shape (2, 4)\n"
        "    `-- MatMul -> shape (2, 4)\n"
        "        |-- shape (2, 3)\n"
        "        `-- shape (3, 4)  (requires grad)"
    )


def test_a_leaf_and_a_deep_graph():
    assert str(tutor.graph(Tensor(2.0))) == "2.0"
    deep = tutor.graph(chain(50_000))
    assert "49,940 more ops behind these are left out" in str(deep)
    assert deep.title == "graph of 60 ops"
    check(deep)


def test_a_freed_graph_says_so():
    _, _, _, d = diamond()
    d.backward()
    assert "backward() has freed this graph" in str(tutor.graph(d))
    with pytest.raises(GraphError, match="has freed"):
        tutor.graph(d, grads=True)


# ---- as a picture --------------------------------------------------------------------------------


def boxes(p):
    """How many boxes have an edge of their own: ops and leaves."""
    edges = {"2.25", "1.25"}
    return [
        r for r in all_of(p, "rect") if r.get("fill") == "none" and r.get("stroke-width") in edges
    ]


def arrows(p):
    return [e for e in all_of(p, "path") if e.get("fill") == "none"]


def test_each_node_is_drawn_once_and_each_use_is_an_arrow():
    a, b, c, d = diamond()
    p = check(tutor.graph(d, names={"a": a, "b": b, "c": c, "d": d}))
    assert len(boxes(p)) == 4 and len(arrows(p)) == 6
    assert {"a", "Add → b", "Add → c", "Mul → d", "32.0"} <= set(words(p))


def test_a_number_is_drawn_wherever_it_is_used():
    """Equal numbers are one object, kept for the next time; that is no fact of the graph."""
    x = Tensor(1.0, requires_grad=True)
    assert len(boxes(tutor.graph((x * 2.0 + 1.0) * 2.0))) == 3 + 1 + 3
    c = Tensor(2.0)
    assert len(boxes(tutor.graph(x * c + c, names={"c": c}))) == 2 + 2


def test_leaves_stand_at_the_left_and_the_result_at_the_right():
    a, _, _, d = diamond()
    p = tutor.graph(d, names={"a": a, "d": d})
    x = {t.text: float(t.get("x")) for t in all_of(p, "text")}
    assert x["a"] < x["Add"] < x["Mul → d"]


def test_gradients_are_those_of_backward_which_is_not_run():
    a, b, c, d = diamond()
    p = check(tutor.graph(d, grads=True, names={"a": a, "b": b, "c": c}))
    assert a.grad is None
    for t in (b, c):
        t.retain_grad()
    d.backward()
    for t in (a, b, c):
        assert f"grad {t.grad.item()}" in words(p)


def test_gradients_of_a_model_and_of_several_numbers():
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    loss = model(Tensor.randn(5, 4)).cross_entropy(Tensor([0, 1, 2, 0, 1]))
    shown = words(check(tutor.graph(loss, grads=True)))
    assert "grad shape (8, 4)" in shown and "grad 1.0" in shown
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert "grad [2.0, 4.0]" in words(tutor.graph(x * x, grads=True))


def test_odd_names_and_values_are_escaped():
    x = Tensor([float("nan"), float("inf")], requires_grad=True)
    p = check(tutor.graph(x * 1e30, names={'<x> & "y"': x}))
    assert '<x> & "y"' in words(p) and "[nan, inf]" in words(p)


@pytest.mark.parametrize("y", [3, "y", [1.0], None])
def test_what_has_no_graph_is_refused(y):
    with pytest.raises(DTypeError, match="it is no tensor"):
        tutor.graph(y)


def test_names_are_a_dict():
    with pytest.raises(DTypeError, match="give a dict"):
        tutor.graph(Tensor(1.0), names=["x"])


# ---- where boxes stand ---------------------------------------------------------------------------


def test_boxes_of_a_layer_do_not_overlap():
    sizes = [(60, 40)] * 9
    edges = [(0, 4), (1, 4), (2, 4), (3, 5), (4, 6), (5, 6), (0, 6), (7, 8), (6, 8), (0, 8)]
    where, routes, wide, tall = layers.arrange(sizes, edges, 30, 10)
    for i, (x, y) in enumerate(where):
        assert 30 <= x <= wide - 30 + 1e-9 and 20 <= y <= tall - 20 + 1e-9
        for u, v in where[:i]:
            assert abs(x - u) >= 60 or abs(y - v) >= 50 - 1e-9
    layer = layers.layers_of(9, edges)
    assert all(layer[a] < layer[b] for a, b in edges)
    assert [len(r) for r in routes] == [layer[b] - layer[a] - 1 for a, b in edges]


def test_a_chain_is_straight():
    where, *_ = layers.arrange([(50, 30)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)], 20, 10)
    assert max(y for _, y in where[1:4]) - min(y for _, y in where[1:4]) < 0.1


def test_a_cycle_has_no_order():
    assert layers.topological(3, [(0, 1), (1, 2), (2, 0)]) is None
    assert layers.topological(3, [(2, 1), (1, 0), (2, 0)]) == [2, 1, 0]
    assert layers.arrange([], [], 1, 1) == ([], [], 0.0, 0.0)


# ---- a learner's classes -------------------------------------------------------------------------


class Value:
    """As in chapter 5: a number, and the op that made it."""

    def __init__(self, data, ctx=None):
        self.data, self._ctx, self.grad, self.requires_grad = data, ctx, None, True


class Op:
    def __init__(self, name, *inputs):
        self.name, self.inputs = name, inputs


class Times:
    def __init__(self, *inputs):
        self.inputs = inputs


def own():
    x = Value(3.0)
    s = Value(6.0, Op("plus", x, x))
    return x, s, Value(36.0, Times(s, s))


def test_a_class_of_one_s_own_is_drawn():
    x, s, y = own()
    x.grad = 24.0
    p = check(viz.graph(y, grads=True, names={"x": x}))
    assert str(p) == (
        "Times -> 36.0\n"
        "|-- plus -> 6.0  [1]\n"
        "|   |-- x = 3.0\n"
        "|   `-- x = 3.0\n"
        "`-- plus -> 6.0  [1] again, see above"
    )
    assert "grad 24.0" in words(p)
    s._ctx.inputs = (x, 2, Value([1.0, 2.0]), Value(None))
    assert {"2", "[1.0, 2.0]", "Value"} <= set(words(check(viz.graph(y))))


def test_a_graph_that_reads_what_it_made_is_refused():
    _, s, y = own()
    s._ctx.inputs = (y,)
    with pytest.raises(GraphError, match="it has a cycle"):
        viz.graph(y)


# ---- the walk ------------------------------------------------------------------------------------


def test_the_walk_visits_as_backward_does():
    a, b, c, d = diamond()
    film = check(viz.walk(d, names={"a": a, "b": b, "c": c}))
    assert [step.title for step in film.steps] == [
        "seed: the gradient of the result is 1",
        "Mul gets 1.0, hands on 4.0 and 8.0",
        "Add gets 4.0, hands on 4.0 and 4.0",
        "Add gets 16.0, hands on 16.0 and 16.0",
        "done: every leaf has its gradient",
    ]
    assert a.grad is None
    d.backward()  # the graph is still there
    assert a.grad.item() == 32.0
    assert "grad 32.0" in words(film.steps[-1]) and "grad 32.0" not in words(film.steps[1])
    assert "grad 8.0" in words(film.steps[1])  # b has one share of two
    assert "grad 16.0" in words(film.steps[2])
    for step in film.steps:
        check(step)


def test_the_film_shows_each_step_once_and_its_last_state_without_motion():
    film = viz.walk(diamond()[-1])
    seconds = int(re.search(r"(\d+)s step-end infinite", film.svg)[1])
    assert seconds == len(film.steps) + 2
    assert "@media(prefers-reduced-motion:no-preference){@keyframes" in film.svg
    parts = [e for e in all_of(film, "g") if "-" in e.get("class", "")]
    still = [e for e in parts if e.get("opacity") is None]
    seen = {t.text for e in still for t in e.iter() if t.tag.endswith("text")}
    assert {"done: every leaf has its gradient", "grad 32.0"} <= seen
    assert seen <= set(words(film.steps[-1]))


def test_two_films_in_a_page_do_not_share_their_keyframes():
    x = Tensor(1.0, requires_grad=True)
    names = [set(re.findall(r"@keyframes (\S+?)\{", viz.walk(y).svg)) for y in (x * 2, x * 3)]
    assert names[0] and not names[0] & names[1]


def test_broadcasting_is_undone_on_the_way():
    w = Tensor([1.0, 2.0], requires_grad=True)
    film = viz.walk((Tensor.ones(3, 2) * w).sum())
    assert "grad [3.0, 3.0]" in words(film.steps[-1])
    several = viz.walk(w * 2.0)
    assert several.steps[0].title == "seed: the gradient of the sum of it is 1"
    assert "grad [2.0, 2.0]" in words(several.steps[-1])


def test_a_small_matrix_stands_in_rows_and_nothing_of_it_is_cut():
    a = Tensor([[0.25, -1.5, 2.0], [1.0, 0.125, 3.0]], requires_grad=True)
    b = Tensor([[0.2, 0.1], [1 / 3, 1.0], [2.0, -0.7]], requires_grad=True)
    y = (a @ b).tanh().sum()
    film = check(viz.walk(y))
    first, last = words(film.steps[0]), words(film.steps[-1])
    assert {"0.25   -1.5  2.0", " 1.0  0.125  3.0", "0.3333   1.0"} <= set(first)
    assert "grad" not in first
    y.backward()
    shown = [numbers for line in last if (numbers := numbers_of(line))]
    for row in a.grad.tolist() + b.grad.tolist():
        assert any(found == pytest.approx(row, abs=2e-3) for found in shown), (row, last)
    assert not any("…" in line for step in film.steps for line in words(step))
    assert "(2, 3)" in words(film.steps[3])  # beside the edge, where its numbers have no room
    assert str(film).splitlines() == [step.title for step in film.steps]
    assert "<desc>seed: the gradient of the result is 1" in film.svg
    w = Tensor.ones(5, 2, requires_grad=True)
    assert "grad shape (5, 2)" in words(viz.graph(w * w, grads=True))


def numbers_of(line):
    try:
        return [float(word) for word in line.split()]
    except ValueError:
        return []


def test_visits_of_a_class_of_one_s_own_may_repeat():
    _, s, y = own()
    visits = [(y._ctx, 1), (s._ctx, 6.0), (s._ctx, "12.0")]
    film = check(viz.walk(y, visits=visits))
    assert [step.title for step in film.steps] == [
        "seed: the gradient of the result is 1", "Times gets 1", "plus gets 6.0",
        "plus gets 12.0", "done: every op was visited",
    ]  # fmt: skip
    assert "grad 6.0" in words(film.steps[2]) and "grad 12.0" in words(film.steps[3])


def test_a_walk_needs_something_to_walk():
    with pytest.raises(GraphError, match="it is a leaf"):
        viz.walk(Tensor(1.0, requires_grad=True))
    with pytest.raises(GraphError, match="no op of tutor"):
        viz.walk(own()[2])
    with pytest.raises(GraphError, match="not in the graph"):
        viz.walk(own()[2], visits=[(Op("other"), 1)])
    _, _, _, d = diamond()
    d.backward()
    with pytest.raises(GraphError, match="has freed"):
        viz.walk(d)


def test_a_long_walk_is_cut():
    film = check(viz.walk(chain(200)))
    assert len(film.steps) == 62 and len(film.svg) < 400_000
