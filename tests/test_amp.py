"""Mixed precision: what is cast where, scaling of the loss, and a network that learns with both."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

import tutor
from tutor import Tensor, amp, nn, optim
from tutor.backends.signatures import SIGNATURES
from tutor.core.engine import casting
from tutor.errors import DataError, DomainError, DTypeError

_simd = pytest.importorskip("tutor.backends.simd_cpp._simd")
X = Tensor([[0.5, -1.0], [2.0, 0.25]])
IMAGES, FILTERS = Tensor.ones(1, 1, 3, 3), Tensor.ones(2, 1, 2, 2)
TARGET = Tensor([0, 1])

# What runs a rule's op, on operands of the dtype.
RUNS: dict[str, Any] = {
    "matmul": lambda x: x @ x,
    "linear": lambda x: nn.functional.linear(x, x, x[0]),
    "conv2d": lambda x: IMAGES.cast(x.dtype).conv2d(FILTERS.cast(x.dtype)),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(axis=0),
    "prod": lambda x: x.prod(),
    "scan": lambda x: x.cumsum(axis=0),
    "softmax": lambda x: x.softmax(axis=-1),
    "log_softmax": lambda x: x.log_softmax(axis=-1),
    "cross_entropy": lambda x: x.cross_entropy(TARGET),
    **{name: lambda x, name=name: getattr(x, name)() for name in ("exp", "log", "expm1", "tan")},
    "pow": lambda x: x**2.5,
}
AS_THEY_COME: dict[str, Any] = {
    "add": lambda x: x + x, "mul": lambda x: x * x, "relu": lambda x: x.relu(),
    "max": lambda x: x.max(), "where": lambda x: tutor.where(x > 0, x, x), "view": lambda x: x.T,
}  # fmt: skip


@pytest.fixture(params=["native", "python"], autouse=True)
def engine(request: pytest.FixtureRequest) -> Any:
    """The Engine in C++, and the one in Python: the same casts."""
    _simd.use_twin(request.param == "native")
    yield
    _simd.use_twin(True)


@pytest.mark.parametrize("lower", [tutor.float16, tutor.bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("name", [*RUNS, *AS_THEY_COME])
def test_the_dtype_of_each_op(name: str, lower: tutor.dtype.DType) -> None:
    run = RUNS.get(name) or AS_THEY_COME[name]
    wanted = {casting.LOWER: lower, casting.FULL: tutor.float32}.get(casting.RULES.get(name, ""))
    for dtype in (tutor.float32, lower):
        with tutor.autocast(lower):
            assert run(X.cast(dtype)).dtype is (wanted or dtype)
        assert run(X.cast(dtype)).dtype is dtype
    with tutor.autocast(lower):
        assert run(X.cast(tutor.float64)).dtype is tutor.float64


def test_every_kernel_that_adds_up_has_a_rule() -> None:
    """A new one is to be thought about."""
    ops = {name: cls for name, cls in tutor.OPS.items() if "." not in name}
    adds = {n for n, cls in ops.items() if cls.kernel and SIGNATURES[cls.kernel].agree == "sum"}
    inner = {"conv2d_weight", "max_pool2d_grad", "cross_entropy_grad", "scatter_add"}  # of a walk
    assert adds - inner - set(casting.RULES) == set()


def test_gradients_come_back_in_the_dtype_of_the_weights() -> None:
    w = Tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
    for _ in range(2):  # also where backward is called within the block
        w.grad = None
        with tutor.autocast("bfloat16"):
            loss = ((X @ w).relu() + 1.0).log().sum()
            assert loss.dtype is tutor.float32
            if _:
                loss.backward()
        if not _:
            loss.backward()
        assert w.grad.dtype is tutor.float32
        (g,) = tutor.grad(((X @ w).relu() + 1.0).log().sum(), [w])
        assert tutor.allclose(w.grad, g, 0.02)
    with tutor.autocast("float16"):
        y = (X @ w).sum()
        (g,) = tutor.grad(y, [w])
    assert g.dtype is tutor.float32


def test_blocks_nest_end_and_belong_to_their_thread() -> None:
    seen: list[Any] = []

    def note() -> None:
        seen.append((X @ X).dtype.name)

    with tutor.autocast("float16"):
        with tutor.autocast("bfloat16"):
            note()
            with tutor.autocast(enabled=False):
                note()
        note()
        thread = threading.Thread(target=note)
        thread.start()
        thread.join()
    note()
    with pytest.raises(DomainError), tutor.autocast():
        tutor.autocast("int8")
    note()
    tutor.autocast("float16")(note)()
    note()
    assert seen == ["bfloat16", "float32", "float16", "float32", "float32", "float32",
                    "float16", "float32"]  # fmt: skip
    assert casting.autocast_dtype() is None and not casting.CASTING


@pytest.mark.parametrize("given", ["float32", "int8", tutor.float64, None, 16])
def test_other_dtypes_are_refused(given: Any) -> None:
    with pytest.raises(DomainError, match="autocast"):
        tutor.autocast(given)


def test_a_generator_is_not_decorated() -> None:
    def steps() -> Any:
        yield 1

    with pytest.raises(DomainError, match="inside of it"):
        tutor.autocast()(steps)


def test_a_recorded_function_follows_the_block() -> None:
    jitted = tutor.jit(lambda x: x @ x)
    for _ in range(4):
        with tutor.autocast("float16"):
            assert jitted(X).dtype is tutor.float16
        assert jitted(X).dtype is tutor.float32
    inside: Any = tutor.jit(tutor.autocast("bfloat16")(lambda x: (x @ x).exp()))
    found = [inside(X) for _ in range(4)]
    with tutor.autocast("bfloat16"):
        wanted = (X @ X).exp()
    assert all(y.dtype is tutor.float32 and y.tolist() == wanted.tolist() for y in found)
    assert inside.stats()["replayed"] == 2
    with tutor.lazy(), tutor.autocast("bfloat16"):
        y = (X @ X).exp()
    assert y.tolist() == wanted.tolist()


# ---- GradScaler ----------------------------------------------------------------------------------


def test_small_gradients_vanish_without_a_scale_and_are_there_with_one() -> None:
    x, w = Tensor([[1.0]]), Tensor([[1.0]], requires_grad=True)
    found = []
    for scaler in (amp.GradScaler(enabled=False), amp.GradScaler(2.0**16)):
        w.grad = None
        with tutor.autocast("float16"):
            loss = (x @ w).cast("float32").sum() * 1e-9
        scaler.scale(loss).backward()
        scaler.unscale_(optim.SGD([w]))
        found.append(w.grad.item())
    assert found[0] == 0.0
    assert found[1] == pytest.approx(1e-9, rel=1e-3)


class Scaled:
    """Steps by gradients that are given."""

    def __init__(self, jitted: bool) -> None:
        self.w = Tensor([1.0, 2.0], requires_grad=True)
        self.adam = optim.Adam([self.w], lr=0.1)
        self.scaler = amp.GradScaler(8.0, growth_interval=2)
        self.run: Any = tutor.jit(self.step) if jitted else self.step

    def step(self, g: Tensor) -> None:
        self.adam.zero_grad()
        self.scaler.scale((self.w * g).sum()).backward()
        self.scaler.step(self.adam)
        self.scaler.update()

    def left(self) -> Any:
        return (self.w.tolist(), self.adam.steps, self.scaler.get_scale(),
                [t.tolist() for t in self.adam.state["v"]])  # fmt: skip


GIVEN = [1.0, 1.0, 1.0, math.inf, 1.0, math.nan, 1.0, 1.0, 1.0, 1.0]


def test_steps_with_infinite_gradients_are_left_out() -> None:
    eager, jitted, scales = Scaled(False), Scaled(True), []
    for given in GIVEN:
        before, steps = eager.w.tolist(), eager.adam.steps
        g = Tensor([given, 1.0])
        eager.run(g)
        jitted.run(g)
        assert eager.left() == jitted.left()
        moved = math.isfinite(given)
        assert (eager.w.tolist() != before, eager.adam.steps - steps) == (moved, moved)
        scales.append(eager.scaler.get_scale())
    assert scales == [8, 16, 16, 8, 8, 4, 4, 8, 8, 16]
    assert jitted.run.stats()["replayed"] == len(GIVEN) - 2


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("unscaled", [False, True])
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_one_bad_gradient_of_several_stops_all(
    bad: float, which: int, unscaled: bool, jitted: bool
) -> None:
    """Wherever it is; and who unscales before the step, to clip, has the same steps."""
    params = [Tensor([1.0, 2.0], requires_grad=True) for _ in range(3)]
    adam, scaler = optim.Adam(params, lr=0.1), amp.GradScaler(8.0, growth_interval=1)

    def step(x: Tensor, has: tuple[bool, ...]) -> None:
        adam.zero_grad()
        loss = sum(
            ((p * g).sum() for p, g, h in zip(params, x, has, strict=True) if h), x.sum() * 0
        )
        scaler.scale(loss).backward()
        if unscaled:
            scaler.unscale_(adam)
        scaler.step(adam)
        scaler.update()

    run: Any = tutor.jit(step) if jitted else step
    numbers, all_there = [1.0, 1.0, 1.0], (True, True, True)
    for n in range(8):
        before = [p.tolist() for p in params], adam.counts.tolist(), scaler.get_scale()
        there = tuple(i == which for i in range(3)) if n == 5 else all_there
        stopped = n in (3, 5)
        given = [bad if stopped and i == which else x for i, x in enumerate(numbers)]
        run(Tensor(given), there)
        after = [p.tolist() for p in params], adam.counts.tolist(), scaler.get_scale()
        assert after[2] == before[2] * (0.5 if stopped else 2)
        assert (after[:2] == before[:2]) == stopped
        assert all(math.isfinite(x) for p in after[0] for x in p)
    assert adam.counts.tolist() == [6, 6, 6, 6]


CLIPPED = [0.3, 3.0, 0.01, 40.0]


@pytest.mark.parametrize("jitted", [False, True])
def test_unscaled_then_clipped_then_stepped_is_the_step_without_a_scale(jitted: bool) -> None:
    """The sequence of the docs. The scale is a power of 2: the bits are the same."""
    found = []
    for enabled in (False, True):
        p, q = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        sgd = optim.SGD([p, q], lr=0.5, momentum=0.5)
        scaler = amp.GradScaler(2.0**10, enabled=enabled)
        norms: list[float] = []

        def step(x: Tensor, p: Any = p, q: Any = q, sgd: Any = sgd, scaler: Any = scaler) -> Tensor:
            sgd.zero_grad()
            scaler.scale(((p + 2 * q) * x).sum()).backward()
            scaler.unscale_(sgd)
            norm = optim.clip_grad_norm_([p, q], 1.0)
            scaler.step(sgd)
            scaler.update()
            return norm

        run: Any = tutor.jit(step) if jitted else step
        for x in CLIPPED:
            norms.append(run(Tensor(x)).item())
        found.append((norms, p.tolist(), q.tolist()))
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx([math.sqrt(10) * x for x in CLIPPED], rel=1e-6)


PARTS = "backward", "unscale", "clip", "step", "update"


def of_parts(p: Tensor, sgd: Any, scaler: Any, wrap: Any, inside: tuple[str, ...], calls: int = 6
             ) -> list[Any]:  # fmt: skip
    """A training in which some parts of a step are in one function, the others around it."""

    def of(part: str, x: Tensor) -> None:
        if part == "backward":
            p.grad = None
            scaler.scale((p * x).sum()).backward()
        elif part == "unscale":
            scaler.unscale_(sgd)
        elif part == "clip":
            p.grad.clamp_(-3, 3)
        else:
            scaler.step(sgd) if part == "step" else scaler.update()

    def run(x: Tensor) -> None:
        for part in inside:
            of(part, x)

    found, jitted = [], wrap(run)
    at = [PARTS.index(part) for part in inside]
    for call in range(calls):
        x = Tensor([1.0 + call, 8.0])
        for part in PARTS[: at[0]]:
            of(part, x)
        jitted(x)
        for part in PARTS[at[-1] + 1 :]:
            of(part, x)
        found.append((bits(p), scaler.get_scale()))
    return found


def bits(t: Tensor) -> bytes:
    return bytes(t.detach().cpu().copy().buf.raw)


@pytest.mark.filterwarnings("ignore:tutor.jit. of_parts")  # where it is left unscaled: not replayed
@pytest.mark.parametrize(
    "inside",
    [PARTS[a:b] for a in range(5) for b in range(a + 1, 6)],
    ids=lambda inside: "-".join(inside),
)
def test_what_is_unscaled_is_known_inside_jit_and_outside(inside: tuple[str, ...]) -> None:
    """Whichever parts of a step are in the jitted function, gradients are unscaled once."""

    def play(wrap: Any) -> list[Any]:
        p = Tensor([4.0, -4.0], requires_grad=True)
        return of_parts(p, optim.SGD([p], lr=0.25), amp.GradScaler(2.0**10), wrap, inside)

    assert play(tutor.jit) == play(lambda run: run)


@pytest.mark.parametrize("jitted", [False, True])
def test_the_scale_grows_as_far_as_there_are_numbers(jitted: bool) -> None:
    scaler = amp.GradScaler(2.0**126, growth_interval=1)
    sgd = optim.SGD([Tensor([1.0], requires_grad=True)])
    scales: list[float] = []

    def step(g: Tensor) -> None:
        for p in sgd.params:
            p.grad = g * 1.0
        scaler.step(sgd)
        scaler.update()

    run: Any = tutor.jit(step) if jitted else step
    for g in (1.0, 1.0, 1.0, 1.0, math.inf, 1.0):
        run(Tensor([g]))
        scales.append(scaler.get_scale())
    assert scales == [2.0**n for n in (127, 127, 127, 127, 126, 127)]


def test_its_state_is_saved() -> None:
    one, other = Scaled(False), amp.GradScaler()
    for given in GIVEN[:5]:
        one.run(Tensor([given, 1.0]))
    other.load_state_dict(one.scaler.state_dict())
    assert other.get_scale() == 8 and other.good.item() == 1
    bad: list[dict[str, Any]] = [{}, {"scale": 3.0}, {**other.state_dict(), "scale": Tensor(-1.0)}]
    for state in bad:
        with pytest.raises(DataError):
            other.load_state_dict(state)
    assert other.get_scale() == 8


@pytest.mark.parametrize(
    "options",
    [{"init_scale": 0}, {"growth_factor": 0.5}, {"backoff_factor": 2}, {"growth_interval": 0.5},
     {"enabled": 1}],
)  # fmt: skip
def test_factors_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="GradScaler"):
        amp.GradScaler(**options)


@pytest.mark.parametrize("method", ["scale", "unscale_", "step"])
@pytest.mark.parametrize("enabled", [True, False])
def test_what_it_cannot_scale_or_step(method: str, enabled: bool) -> None:
    with pytest.raises(DTypeError, match=f"GradScaler.{method}"):
        getattr(amp.GradScaler(enabled=enabled), method)(3.0)


def test_unscaling_twice_is_refused() -> None:
    one = Scaled(False)
    one.scaler.unscale_(one.adam)
    with pytest.raises(DomainError, match="unscaled already"):
        one.scaler.unscale_(one.adam)


@pytest.mark.crossed("lower", "engine")
@pytest.mark.parametrize("lower", ["float16", "bfloat16"])
def test_drawn_digits_are_learned_as_well_as_in_float32(lower: str, engine: Any) -> None:
    digits = tutor.data.load("digits")
    found = []
    for enabled in (False, True):
        tutor.manual_seed(0)
        pixels = math.prod(digits.train_images.shape[1:])
        model = nn.Sequential(nn.Flatten(), nn.Linear(pixels, 64), nn.ReLU(), nn.Linear(64, 10))
        adam, scaler = optim.Adam(model.parameters(), lr=0.002), amp.GradScaler(enabled=enabled)

        def step(
            x: Tensor, y: Tensor, model: Any = model, adam: Any = adam, s: Any = scaler
        ) -> None:
            with tutor.autocast(lower, enabled=s.enabled):
                loss = model(x / 255.0).cross_entropy(y)
            adam.zero_grad()
            s.scale(loss).backward()
            s.step(adam)
            s.update()

        run = tutor.jit(step)
        for _ in range(6):
            for x, y in tutor.data.batches(digits.train_images, digits.train_labels, size=50):
                run(x, y)
        right = model(digits.test_images / 255.0).argmax(axis=-1) == digits.test_labels
        found.append(right.cast("float32").mean().item())
    assert found[0] > 0.96
    assert abs(found[0] - found[1]) <= 0.003
