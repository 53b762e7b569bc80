"""Learning on a device: layers, optimizers, checkpoints, jit and lazy give there what they give on
the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_device import FakeDevice

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import DeviceError

pytestmark = pytest.mark.usefixtures("fake")

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9), "Adam": lambda p: optim.Adam(p, lr=0.05),
    "AdamW": lambda p: optim.AdamW(p, lr=0.05), "NAdam": lambda p: optim.NAdam(p, lr=0.05),
    "RAdam": lambda p: optim.RAdam(p, lr=0.05), "RMSprop": lambda p: optim.RMSprop(p, lr=0.01),
    "Lion": lambda p: optim.Lion(p, lr=0.01), "Muon": lambda p: optim.Muon(p, lr=0.01),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1), "Adadelta": lambda p: optim.Adadelta(p),
}  # fmt: skip


def model() -> nn.Module:
    tutor.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))


def data(device: str) -> tuple[Tensor, Tensor]:
    x = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], device=device)
    return x, Tensor([0, 1, 1, 0], device=device)


def losses(net: Any, optimizer: Any, device: str, steps: int = 4, jit: bool = False) -> list[float]:
    x, y = data(device)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = net(x).cross_entropy(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = tutor.jit(step) if jit else step
    return [run(x, y).item() for _ in range(steps)]


def only_matrices(net: Any, name: str) -> list[Tensor]:
    return [p for p in net.parameters() if p.ndim == 2 or name != "Muon"]


def test_a_replay_is_of_the_device_that_it_was_recorded_on(fake: FakeDevice) -> None:
    f, x = tutor.jit(lambda x: x * 2 + 1), Tensor([1.0, 2.0])
    for place in (
        "fake:0",
        "fake:0",
        "fake:0",
        "fake:1",
        "cpu",
        "fake:1",
        "fake:0",
        "cpu",
        "fake:1",
    ):
        made = f(x.to(place))
        assert made.buf.device == place and made.tolist() == [3.0, 5.0]
    assert f.stats()["recorded"] == 3


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_network_learns_as_on_the_cpu(name: str, jit: bool, fake: FakeDevice) -> None:
    with tutor.use_backend("python_ref"):
        here = model()
        expected = losses(here, OPTIMIZERS[name](only_matrices(here, name)), "cpu")
    with tutor.device("fake"):
        net = model()
    optimizer = OPTIMIZERS[name](only_matrices(net, name))
    assert losses(net, optimizer, "fake:0", jit=jit) == pytest.approx(expected, rel=1e-6)
    for p, q in zip(net.parameters(), here.parameters(), strict=True):
        assert p.device == p.grad.device == "fake:0"
        assert p.cpu().allclose(q, rtol=1e-5)
    if jit and name == "Adam":
        assert "fused" in fake.called


def test_a_model_and_its_optimizer_move_while_they_learn() -> None:
    with tutor.use_backend("python_ref"):
        here = model()
        expected = losses(here, optim.Adam(here.parameters(), lr=0.05), "cpu", 6)
    net = model()
    optimizer, found = optim.Adam(net.parameters(), lr=0.05), []
    with tutor.use_backend("python_ref"):
        for device in ("cpu", "fake:0", "fake:1"):
            assert net.to(device) is net
            assert {t.device for t in net.parameters()} == {device}
            found += losses(net, optimizer, device, 2)
    assert found == pytest.approx(expected, rel=1e-6)
    assert {t.device for ts in optimizer.state.values() for t in ts} == {"fake:1"}
    assert {c.device for cells in optimizer.cells.values() for c in cells} == {"cpu"}
    assert {t.device for t in net.cpu().parameters()} == {"cpu"}


def test_to_takes_what_tensors_take_and_moves_all_there_is() -> None:
    net: Any = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net[0].weight.grad = Tensor.ones(2, 2)
    net.shared = net[0].weight.buf
    net.view = Tensor(net[0].weight.buf, (4,))
    net.to("fake", "float64")
    assert {(t.device) for t in net.state_dict().values()} == {"fake:0"}
    assert net[0].weight.dtype is net[1].running_mean.dtype is tutor.float64
    net = nn.Sequential(nn.Linear(2, 2))
    net[0].weight.grad, net.view = Tensor.ones(2, 2), Tensor(net[0].weight.buf, (4,))
    net.to(Tensor([1.0], device="fake:1"))
    assert net[0].weight.grad.device == "fake:1" and net.view.buf is net[0].weight.buf
    assert net.to(tutor.device("cpu"))[0].weight.device == "cpu"
    with pytest.raises(DeviceError):
        net.to("gpu")


def test_a_model_elsewhere_than_its_batch_is_refused() -> None:
    with pytest.raises(DeviceError, match="fake:0"):
        model().to("fake")(Tensor([[1.0, 2.0]]))


def test_checkpoints_go_from_any_device_to_any(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    net = model().to("fake")
    optimizer = optim.Adam(net.parameters(), lr=0.05)
    losses(net, optimizer, "fake:0", 2)
    tutor.save(path, model=net, optimizer=optimizer, extra=Tensor([1.0, 2.0], device="fake:1"))
    went_on = losses(net, optimizer, "fake:0", 2)
    for device in ("cpu", "fake:1"):
        other = model().to(device)
        again = optim.Adam(other.parameters(), lr=0.05)
        found = tutor.load(path, device=device, model=other, optimizer=again)
        assert found["extra"].device == device and found["extra"].tolist() == [1, 2]
        assert {p.device for p in other.parameters()} == {device}
        assert losses(other, again, device, 2) == pytest.approx(went_on, rel=1e-5)
    assert tutor.load(path)["extra"].device == "cpu"
    with tutor.device("fake"):
        assert tutor.load(path)["extra"].device == "fake:0"


LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "conv": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 2, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), (2, 2, 4, 4)),
    "batch norm": (lambda: nn.BatchNorm1d(3), (4, 3)),
    "layer norm": (lambda: nn.LayerNorm(3), (4, 3)), "rms norm": (lambda: nn.RMSNorm(3), (4, 3)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3)), "gru": (lambda: nn.GRU(3, 4), (5, 2, 3)),
    "lstm": (lambda: nn.LSTM(3, 4), (5, 2, 3)), "dropout": (lambda: nn.Dropout(0.5), (4, 8)),
    "dropout2d": (lambda: nn.Dropout2d(0.5), (2, 3, 2, 2)), "pool": (lambda: nn.MaxPool2d(2),
    (1, 2, 4, 4)), "average": (lambda: nn.AvgPool2d(2), (1, 2, 4, 4)),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d(3), (1, 2, 5, 5)),
    "upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "attention": (lambda: Attention(), (2, 3, 4)),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (2, 3, 4)),
    "gelu": (lambda: nn.GELU(), (4, 3)), "prelu": (lambda: nn.PReLU(), (4, 3)),
    "softmax": (lambda: nn.Softmax(), (4, 3)), "flatten": (lambda: nn.Flatten(), (2, 3, 4)),
}  # fmt: skip


class Attention(nn.Module):
    def __init__(self) -> None:
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x, x, x, is_causal=True, attn_mask=None)[0]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_there_what_they_compute_here(name: str) -> None:
    """The same bits: the kernels are python_ref's on both sides, and so are random numbers."""
    make, shape = LAYERS[name]
    found = []
    for device in ("cpu", "fake:0"):
        tutor.manual_seed(2)
        with tutor.use_backend("python_ref"), tutor.device(device):
            layer = make()
            x = Tensor.randn(*shape, requires_grad=True)
            z = layer(x)
            z = z[0] if isinstance(z, tuple) else z
            (z * z).sum().backward()
            assert z.device == x.grad.device == device
            grads = [p.grad for p in nn.get_parameters(layer) if p.grad is not None]
            assert all(g.device == device for g in grads)
            found.append([t.tolist() for t in (z.detach(), x.grad, *grads)])
    assert found[0] == found[1]


# ---- jit and lazy --------------------------------------------------------------------------------


def test_a_recorded_call_is_steps_on_the_device(fake: FakeDevice) -> None:
    w = Tensor([[1.0, 2.0], [3.0, 4.0]], device="fake")

    @tutor.jit
    def f(x: Tensor) -> Tensor:
        return ((x @ w) * 2 + 1).relu().sum(axis=1)

    x = Tensor([[1.0, -1.0]], device="fake")
    expected = ((x @ w) * 2 + 1).relu().sum(axis=1).tolist()
    for _ in range(4):
        assert f(x).tolist() == expected
    assert f.stats()["replayed"] == 2 and len(f.program) < len(f.recorded)
    assert all(step.device == "fake:0" for step in f.program) and "on fake:0" in f.program.text()
    fake.called.clear()
    y = f(x)
    assert "fused" in fake.called and len(fake.called) == len(f.program) and y.device == "fake:0"
    f(x.cpu().to("fake:0") * 2)
    with pytest.raises(DeviceError):
        f(x.cpu())  # another kind of call: recorded anew, and refused there
    g = tutor.jit(lambda x: x * x.sum().item(), strict=True)
    g(x)
    with pytest.raises(tutor.errors.RecordError, match="item"):
        g(x)


def test_a_jitted_function_may_move_numbers_and_make_some() -> None:
    @tutor.jit
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        there = x.to("fake") * 2 + Tensor.ones(2, device="fake")
        return there, there.cpu() + Tensor.full((2,), 3.0) + x

    for i in range(4):
        a, b = f(Tensor([i, 2.0 * i]))
        assert (a.device, a.tolist()) == ("fake:0", [2 * i + 1, 4 * i + 1])
        assert (b.device, b.tolist()) == ("cpu", [3 * i + 4, 6 * i + 4])
    assert f.stats()["replayed"] == 2


def test_the_same_on_two_devices_is_made_on_both() -> None:
    @tutor.jit
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        halves = [x.to(name) for name in ("fake:0", "fake:1")]
        return halves[0] * 2, halves[1] * 2

    for i in range(4):
        a, b = f(Tensor([1.0 * i, 2.0]))
        assert (a.device, b.device) == ("fake:0", "fake:1")
        assert a.tolist() == b.tolist() == [2 * i, 4]


def test_the_default_device_is_a_part_of_what_was_recorded() -> None:
    f = tutor.jit(lambda: Tensor.ones(2) * 3)
    for _ in range(3):
        assert f().device == "cpu"
        with tutor.device("fake"):
            assert f().device == "fake:0"


def test_rows_of_something_larger_are_arguments_too() -> None:
    rows = Tensor.arange(12, dtype="float32").reshape(6, 2).to("fake")
    f = tutor.jit(lambda x: x * 2)
    for i in (0, 0, 2, 4, 2):
        assert f(rows[i : i + 2]).tolist() == (rows[i : i + 2] * 2).tolist()


def test_two_slices_that_overlap_are_written_on_the_device() -> None:
    ours, here = (Tensor.arange(20, dtype="float32").to(on) for on in ("fake", "cpu"))

    def follow(x: Tensor, y: Tensor) -> Tensor:
        x += y
        return y[1:] * 2

    f = tutor.jit(follow)
    for i in (0, 3, 9, 4, 11):
        found = f(ours[i : i + 5], ours[i + 2 : i + 7])
        assert found.tolist() == follow(here[i : i + 5], here[i + 2 : i + 7]).tolist()
        assert ours.tolist() == here.tolist()
    assert f.stats()["recorded"] == 1 and f.stats()["replayed"] == 3


@pytest.mark.parametrize("kernel", ["uniform", "normal", "dropout"])
def test_random_numbers_go_on_in_a_replay(kernel: str) -> None:
    def drawn() -> Tensor:
        if kernel == "dropout":
            return nn.functional.dropout(Tensor.ones(8), 0.5, True)
        return Tensor.rand(3) if kernel == "uniform" else Tensor.randn(3)

    tutor.manual_seed(7)
    with tutor.use_backend("python_ref"):
        expected = [drawn().tolist() for _ in range(4)]
    tutor.manual_seed(7)
    f = tutor.jit(drawn)
    with tutor.device("fake"):
        assert [f().tolist() for _ in range(4)] == expected
    assert len({*map(str, expected)}) == 4


def test_lazy_notes_steps_on_the_device_and_runs_those_that_are_asked_for(
    fake: FakeDevice,
) -> None:
    x = Tensor([1.0, 2.0, 3.0], device="fake")
    fake.called.clear()
    with tutor.lazy():
        y = (x * 2 + 1).relu()
        unused = x.exp()
        z = x + y
        z.add_(10)
    assert not fake.called and y.device == unused.device == "fake:0"
    assert y.tolist() == [3, 5, 7] and z.tolist() == [14, 17, 20] and x.tolist() == [1, 2, 3]
    assert "exp" not in fake.called
    with tutor.lazy():
        pending = x * 5
    assert (pending + 1).tolist() == [6, 11, 16]  # a kernel outside of the block asks for it
    big = Tensor.ones(1 << 9, 1 << 9, device="fake")
    with tutor.lazy():
        a, b = Tensor.zeros(2, device="fake") + 1, big[:1, :2] * 3
        here = Tensor.ones(2) * 5
    assert (a.tolist(), b.tolist(), here.tolist()) == ([1, 1], [[3, 3]], [5, 5])


def test_autocast_and_the_scaled_loss() -> None:
    with tutor.device("fake"):
        net, scaler = model(), tutor.amp.GradScaler()
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        x, y = data("fake:0")
        for _ in range(2):
            with tutor.autocast("float16"):
                loss = net(x).cast("float32").cross_entropy(y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert loss.device == "fake:0" and loss.isfinite().item()


def test_batches_of_images_on_the_device() -> None:
    images, labels = Tensor.arange(12).reshape(6, 2).to("fake"), Tensor.arange(6).to("fake")
    found = list(tutor.data.batches(images, labels, 4))
    assert [len(x) for x, _ in found] == [4, 2] and {x.device for x, _ in found} == {"fake:0"}
    assert sorted(n for _, y in found for n in y.tolist()) == [*range(6)]


def test_images_are_changed_where_they_are_whatever_the_default() -> None:
    crop = tutor.data.transforms.RandomCrop(4, padding=1)
    images = Tensor.arange(72).reshape(2, 6, 6)
    expected = crop(images, seed=3)
    with tutor.device("fake"):
        assert crop(images, seed=3).device == "cpu"
        assert crop(images, seed=3).tolist() == expected.tolist()
    assert crop(images.to("fake"), seed=3).tolist() == expected.tolist()
