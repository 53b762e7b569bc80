"""What a function can reach is found: in places that it names, and in no others."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import RecordError
from tutor.programs import captured_state, naming
from tutor.programs.captured_state import Reached
from tutor.programs.checks import check_known
from tutor.programs.code_names import chains
from tutor.programs.guards import Guards
from tutor.programs.ran import Ran, is_users

NUMBER, OTHER, SHAPES = 1, 2, [3, 4]


class Part:
    def __init__(self, scale: float) -> None:
        self.scale, self.unused = scale, [scale]

    def __call__(self, x: Any) -> Any:
        return x * self.scale


class Whole:
    __slots__ = ("__dict__", "fixed")

    def __init__(self) -> None:
        self.fixed, self.step, self.log = 5, 0, [1.0]
        self.parts, self.w = [Part(2.0), Part(3.0)], Tensor([1.0])
        self.machine = Machine()

    @property
    def twice(self) -> float:
        return 2 * self.parts[0].scale

    def run(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        self.machine.step()
        return x * self.w + self.fixed + self.twice

    def report(self) -> list[float]:
        return self.log


class Machine:
    def __init__(self) -> None:
        self.lr, self.name = 0.1, "machine"

    def step(self) -> float:
        return (lambda: self.lr)()


def uses_globals() -> Any:
    return NUMBER + len(SHAPES)


def uses_a_function() -> Any:
    return uses_globals()


def with_a_default(x: Any = SHAPES) -> Any:
    return x


def closing(n: int) -> Callable[[], int]:
    return lambda: n


def paths(root: Any, name: str = "f") -> set[str]:
    return {place.path for place in Reached([(root, name)]).places.values()}


whole = Whole()
CASES: dict[str, tuple[Any, set[str], set[str]]] = {
    "globals": (uses_globals, {"NUMBER", "SHAPES", "SHAPES[0]"}, {"OTHER"}),
    "functions": (uses_a_function, {"uses_globals", "NUMBER"}, {"OTHER"}),
    "defaults": (with_a_default, {"f.__defaults__[0][0]"}, {"NUMBER"}),
    "closure": (closing(3), {"n"}, set()),
    "partial": (functools.partial(closing(3)), {"n"}, set()),
    "decorated": (functools.lru_cache(closing(3)), {"n"}, set()),
    "method": (
        whole.run,
        {"f.parts", "f.parts[0]", "f.parts[1].scale", "f.w", "f.machine.lr", "f.fixed"},
        {"f.step", "f.log", "f.machine.name", "f.parts[0].unused"},
    ),
    "instance": (Part(2.0), {"f.scale"}, {"f.unused"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_named_is_reached_and_nothing_else(name: str) -> None:
    root, found, left = CASES[name]
    reached = paths(root)
    assert found <= reached, found - reached
    assert not left & reached


def test_a_training_step_reaches_parameters_and_cells() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    optimizer = optim.Adam(nn.get_parameters(model))

    def step(x: Tensor) -> None:
        model(x).sum().backward()
        optimizer.step()

    tensors = Reached([(step, "step")]).tensors
    wanted = [*optimizer.params, optimizer.count]
    wanted += [t for cells in (*optimizer.cells.values(), *optimizer.state.values()) for t in cells]
    assert {id(t) for t in wanted} <= tensors.keys()


def test_a_text_makes_every_attribute_count() -> None:
    def f() -> Any:
        return getattr(whole, "lo" + "g")

    assert "whole.log" in paths(f)


def test_guards_say_what_has_changed() -> None:
    part = Part(2.0)
    reached = Reached([(part, "part")])
    guards = Guards(reached, reached, lambda place: False)
    assert guards.changed() is None
    part.unused.append(1.0)
    assert guards.changed() is None
    part.scale = 2.0 * 1.0  # another object, the same number
    assert guards.changed() is None
    part.scale = 2  # an int is not the float: x * 2 may be of another dtype
    assert guards.changed() == "part.scale"


class Two:
    """Of which there are two, each with attributes of its own."""


def test_what_one_of_two_objects_names_counts_in_their_class() -> None:
    first: Any = Two()
    second: Any = Two()
    orders = lambda: (first.absent, second.other), lambda: (second.other, first.absent)
    for f in orders:
        for name in ("absent", "other"):
            found = Reached([(f, "f")])
            guards = Guards(found, found, lambda place: False)
            assert guards.changed() is None
            setattr(Two, name, 1.0)
            assert guards.changed() == f"Two.{name}"
            delattr(Two, name)


def test_what_stands_in_a_list_is_trusted_only_where_no_code_of_the_users_leads_to_it() -> None:
    box = nn.Module()
    box.parts = parts = [iter([1.0])]
    for f in (lambda: (box.parts, parts), lambda: (parts, box.parts)):
        assert Reached([(f, "f")]).unknown.keys() == {"parts[0]"}
    assert not Reached([(lambda: box.parts, "f")]).unknown


def test_code_that_no_name_leads_to_is_noticed() -> None:
    ran = Ran()
    ran.run(uses_a_function)
    check_known(Reached([(uses_a_function, "f")], ran, only=True), ran)
    with pytest.raises(RecordError, match="uses_a_function ran, and no name leads"):
        check_known(Reached([(uses_globals.__code__, "f")], ran, only=True), ran)


def test_a_generator_that_was_begun_before_is_noticed() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2, 3)

    begun = numbers()
    next(begun)
    ran = Ran()
    assert ran.run(lambda: (next(numbers()), list(numbers()))) == (1, [1, 2, 3])
    assert ran.unknown == []
    assert ran.run(lambda: next(begun)) == 2
    assert "begun before" in ran.unknown[0][1] and __file__ in ran.unknown[0][0]


def test_what_ran_counts_and_what_did_not_does_not() -> None:
    def f(other: bool) -> int:
        return OTHER if other else NUMBER

    ran = Ran()
    ran.run(lambda: f(False))
    assert not Reached([(uses_a_function, "f")], ran, only=True).places
    found = Reached([(f, "f")], ran, only=True).places
    assert "NUMBER" in {place.path for place in found.values()}


def test_of_a_jitted_function_what_it_stands_for_is_reached() -> None:
    jitted = tutor.jit(closing(3))
    for _ in range(3):
        jitted()
    found = paths(lambda: jitted())
    assert "n" in found
    assert not [path for path in found if "_traces" in path or "_latest" in path]


class Deep:
    """Each level is named by code that only the level above it leads to."""

    def __init__(self, levels: int, by: str) -> None:
        self.n, self.by = Tensor(float(levels)), by
        self.kept = {"a": [self.n]}
        self.inner = Deep(levels - 1, by) if levels else None

    def first(self) -> Any:
        return self.inner.second() if self.inner else self.n

    def second(self) -> Any:
        inner = getattr(self, "inner") if self.by == "text" else self.inner  # noqa: B009
        return inner.third() if inner else self.n

    def third(self) -> Any:
        return (self.inner.first() if self.inner else self.kept["a"][0]) * type(self).__len__(self)

    def __len__(self) -> int:
        return len(SHAPES)


def everything(found: Reached) -> list[Any]:
    absent = {i: keys.names and set[str]().union(*keys.names) for i, keys in found.keys.items()}
    return [
        found.places.keys(), absent, found.contents.keys(), found.things.keys(), found.codes,
        found.tensors.keys(), found.members.keys(), found.ways, sorted(found.unknown.values()),
    ]  # fmt: skip


def names_of(found: Reached) -> list[Any]:
    named = {i: set(names) for i, names in found.named.items() if names}
    return [named, *map(set, (found.anywhere, found.in_libraries, found.whole)), found.by_text]


def give_names(found: Reached, known: Reached) -> None:
    for i, names in known.named.items():
        found.named[i] |= names
    found.anywhere |= known.anywhere
    found.in_libraries |= known.in_libraries
    found.whole |= known.whole
    found.by_text |= known.by_text


def walks_anew(step: Any, ran: Ran, only: bool, patch: pytest.MonkeyPatch) -> list[Reached]:
    """Walks that do not continue, but start over with the names that the one before has found."""
    walks, real = list[Reached](), Reached._walk

    def walk(found: Reached, unseen: Any) -> None:
        if walks:
            give_names(found, walks[-1])
        real(found, unseen)

    patch.setattr(naming.Known, "concerned", lambda known, objects: [])
    patch.setattr(Reached, "_walk", walk)
    while len(walks) < 2 or names_of(walks[-1]) != names_of(walks[-2]):
        walks.append(Reached([(step, "step")], ran, only))
    return walks


@pytest.mark.parametrize("by", ["name", "text"])
@pytest.mark.parametrize("kind", ["deep", "layers"])
def test_the_walk_continues_where_there_is_a_new_name(
    kind: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds what walks find that start over until there is no more to be named."""
    deep, net = Deep(9, by), nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer, x = optim.Adam(net.parameters()), tutor.randn(4, 2)

    def step() -> Any:
        if kind == "deep":
            return deep.first()
        optimizer.zero_grad()
        net(x).sum().backward()
        return optimizer.step()

    ran = Ran()
    ran.run(step)
    for only in (False, True):
        one = Reached([(step, "step")], ran, only)
        with monkeypatch.context() as patch:
            walks = walks_anew(step, ran, only, patch)
        assert len(walks) > 2  # else there was no need to continue
        assert everything(one) == everything(walks[-1]) and len(one.tensors) > 5


def test_chains_of_names() -> None:
    def f(x: Any) -> Any:
        x.a.b = whole.machine.step()
        return [part.c for part in x.parts], NUMBER

    found = {(c.kind, c.name, c.attributes) for c in chains(f.__code__)}
    assert {
        ("local", "x", ("a", "b")),
        ("global", "whole", ("machine", "step")),
        ("local", "part", ("c",)),
        ("local", "x", ("parts",)),
        ("global", "NUMBER", ()),
    } <= found


@pytest.mark.parametrize(
    ("module", "users"),
    [(__name__, True), ("tutor.nn", False), ("json", False), ("pytest", False)],
)
def test_whose_a_module_is(module: str, users: bool) -> None:
    assert is_users(module) is users


def test_what_runs_as_main_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where __main__ is an installed program that runs somebody's code."""
    monkeypatch.setitem(sys.modules, "__main__", pytest)
    is_users.cache_clear()
    assert is_users("__main__")
    is_users.cache_clear()


def test_a_deep_network_has_many_methods_and_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its layers and Tensors is reached with some forty methods: they are not counted."""
    depth = 60
    model = nn.Sequential(*(layer for _ in range(depth) for layer in (nn.Linear(2, 2), nn.ReLU())))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return model[0].weight.detach()

    monkeypatch.setattr(captured_state, "MOST", 20 * depth)
    jitted, x = tutor.jit(step), Tensor.ones(3, 2)
    jitted(x), jitted(x)
    assert ": replay\n" in jitted.explain()


def test_what_reaches_too_many_objects_runs_as_without_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Part(float(i)) for i in range(100)]

    def scaled(x: Tensor) -> Tensor:
        return x * sum(part.scale for part in parts)

    monkeypatch.setattr(captured_state, "MOST", 50)
    jitted = tutor.jit(scaled)
    with pytest.warns(UserWarning, match="one of more than 50 objects that are reached"):
        assert [jitted(Tensor([2.0])).tolist() for _ in range(2)] == [[9900.0]] * 2
    parts[7].scale = 8.0
    assert jitted(Tensor([2.0])).tolist() == [9902.0]
