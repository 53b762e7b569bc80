"""What changes from step to step stands in memory: the kernel calls of a step, made again, go on.

One training step is watched, and its kernels are called again with the very same operands and
parameters. They must do what the next step would have done: the next random numbers, the next
correction of Adam, the learning rate that a schedule has set meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.backends import registry

Calls = list[Callable[[], None]]
RECORDED = "every kernel is written down"


@pytest.fixture
def calls(backend: str) -> Iterator[Calls]:
    """All kernel calls of the test's `with tutor.use_backend(RECORDED)`, each to be made again."""
    made: Calls = []

    def watched(kernel: Callable[..., None]) -> Callable[..., None]:
        def run(*operands: Any, **params: Any) -> None:
            made.append(lambda: kernel(*operands, **params))
            kernel(*operands, **params)

        return run

    table = registry.table(backend)
    registry.register(RECORDED, {key: watched(kernel) for key, kernel in table.items()})
    yield made
    registry._tables.pop(RECORDED)


class Training:
    """A small net with dropout, and how it is trained: a rate that falls from step to step."""

    def __init__(self, make: Callable[[list[Tensor]], optim.Optimizer]) -> None:
        tutor.manual_seed(3)
        self.model = [nn.Linear(5, 8), nn.Linear(8, 3)]
        self.x, self.y = Tensor.randn(6, 5), tutor.randint(0, 3, (6,))
        self.optimizer = make(nn.get_parameters(self.model))

    def schedule(self, n: int) -> None:
        self.optimizer.lr = 0.1 / (1 + n)
        if n == 3 and isinstance(self.optimizer, optim.Adam):
            self.optimizer.betas, self.optimizer.eps = (0.8, 0.95), 1e-6
        elif n == 3:
            self.optimizer.weight_decay = 0.125

    def step(self) -> None:
        h = self.model[0](self.x).relu()
        h = h * (Tensor.rand(*h.shape) < 0.75).cast(h.dtype) + 0.01 * Tensor.randn(*h.shape)
        self.optimizer.zero_grad()
        self.model[1](h).cross_entropy(self.y).backward()
        self.optimizer.step()

    def reached(self) -> tuple[Any, ...]:
        numbers = [p.tolist() for p in self.optimizer.params]
        kept = {n: t.tolist() for n, t in self.optimizer.state_dict().items() if n != "steps"}
        return numbers, kept, self.optimizer.steps, tutor.random.get_state()


MAKES: dict[str, Callable[[list[Tensor]], optim.Optimizer]] = {
    "Adam": lambda params: optim.Adam(params, weight_decay=0.01),
    "SGD": optim.SGD,
    "SGD with momentum": lambda params: optim.SGD(params, momentum=0.9),
}


@pytest.mark.parametrize("name", MAKES)
def test_the_calls_of_one_step_made_again_are_the_next_steps(name: str, calls: Calls) -> None:
    expected, real = [], Training(MAKES[name])
    for n in range(6):
        real.schedule(n)
        real.step()
        expected.append(real.reached())
    assert len({str(reached) for reached in expected}) == 6

    again = Training(MAKES[name])
    again.schedule(0)
    with tutor.use_backend(RECORDED):
        again.step()
    assert again.reached() == expected[0]
    assert len(calls) > 20
    for n in range(1, 6):
        again.schedule(n)
        for call in calls:
            call()
        assert again.reached() == expected[n], f"step {n}"


DRAWS: dict[str, Callable[[], Tensor]] = {
    "rand": lambda: Tensor.rand(3, 5),
    "rand, float64": lambda: Tensor.rand(7, dtype="float64"),
    "randn": lambda: Tensor.randn(9, dtype="float16"),
    "glorot_uniform": lambda: Tensor.glorot_uniform(4, 3),
    "randint": lambda: tutor.randint(-5, 2**40, (4,)),
    "randperm": lambda: tutor.randperm(20),
    "bernoulli": lambda: tutor.bernoulli(Tensor.full((20,), 0.5)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_made_again_gives_the_next_numbers(name: str, calls: Calls) -> None:
    tutor.manual_seed(8)
    expected = [DRAWS[name]().tolist() for _ in range(4)]
    assert len({str(numbers) for numbers in expected}) == 4
    tutor.manual_seed(8)
    with tutor.use_backend(RECORDED):
        drawn = DRAWS[name]()
    assert drawn.tolist() == expected[0]
    for numbers in expected[1:]:
        for call in calls:
            call()
        assert drawn.tolist() == numbers


def test_a_seed_is_written_to_where_the_draws_look(calls: Calls) -> None:
    with tutor.use_backend(RECORDED):
        drawn = Tensor.rand(5)
    tutor.manual_seed(8)
    expected, state = Tensor.rand(5).tolist(), (8, 1000)
    tutor.manual_seed(8)
    calls[-1]()
    assert drawn.tolist() == expected
    tutor.random.set_state(state)
    calls[-1]()
    tutor.random.set_state(state)
    assert drawn.tolist() == Tensor.rand(5).tolist() != expected


@pytest.mark.usefixtures("backend")
def test_a_setting_is_a_number_in_memory() -> None:
    """It reads as what it was set to, by whoever has written it: Python, or a kernel."""
    adam = optim.Adam([Tensor([1.0], requires_grad=True)], lr=0.3, betas=(0.5, 0.75))
    assert (adam.lr, adam.betas, adam.eps, adam.weight_decay) == (0.3, (0.5, 0.75), 1e-8, 0.0)
    (rate,) = adam.cells["lr"]
    with tutor.no_grad():
        rate *= 0.5
    assert adam.lr == 0.15
    adam.lr = 2
    assert rate.tolist() == adam.lr == 2.0
    assert adam.cells["lr"][0] is rate
    assert type(adam.lr) is float
    assert (adam.steps, adam.count.tolist()) == (0, 0)
    adam.step()
    assert (adam.steps, adam.count.tolist()) == (1, 1)
    assert not hasattr(adam, "momentum")
