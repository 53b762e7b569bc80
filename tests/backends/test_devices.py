"""A Tensor on a device, from making one to a trained model: the plumbing, proved without hardware.

What is right is what the same lines give on the CPU.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_device import FakeDevice

import tutor
from tutor import Buffer, Tensor, nn
from tutor.backends import devices, registry, transfers
from tutor.errors import DeviceError, KernelNotFound, OutOfMemoryError, TutorError

pytestmark = pytest.mark.usefixtures("fake")
NUMBERS = [[1.0, 2.0], [3.0, 4.0]]


def there(data: Any = NUMBERS, **options: Any) -> Tensor:
    return Tensor(data, device="fake", **options)


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("cpu", "cpu"), ("CPU", "cpu"), ("cpu:0", "cpu"), ("fake", "fake:0"), ("FAKE:1", "fake:1"),
    ],
)  # fmt: skip
def test_a_name_means_one_device_however_it_is_spelled(name: str, means: str) -> None:
    assert devices.of(name) == str(tutor.device(name)) == means
    assert Tensor([1.0], device=name).device == Tensor([1.0], device=tutor.device(name)).device
    assert tutor.device(name) == means and tutor.device(name) == tutor.device(means)
    assert tutor.device(name).type == means.partition(":")[0]
    assert tutor.device(name).index == (int(means[-1]) if means != "cpu" else None)


@pytest.mark.parametrize("name", ["nope", "fake:2", "fake:", "fake:-1", "fake:x", "cpu:1", "", 7])
def test_what_names_no_device_is_refused_wherever_it_is_given(name: Any) -> None:
    x = Tensor([1.0])
    for ask in (
        lambda: Tensor([1.0], device=name), lambda: x.to(device=name), lambda: tutor.device(name),
        lambda: Tensor.zeros(2, device=name), lambda: Tensor.rand(2, device=name),
        lambda: tutor.set_default_device(name), lambda: nn.Linear(1, 1).to(device=name),
    ):  # fmt: skip
        with pytest.raises(DeviceError, match=r"tutor\.devices\.names"):
            ask()


def test_all_devices_are_listed() -> None:
    assert {"cpu", "fake:0", "fake:1"} <= {*devices.names()}
    assert devices.kind_of("fake:1").name(1).endswith("number 1")


def test_a_kind_that_cannot_be_loaded_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loader() -> Any:
        raise ModuleNotFoundError("No module named 'driver'")

    monkeypatch.setitem(devices._loaders, "absent", loader)
    with pytest.raises(DeviceError, match=r"No module named 'driver'\n.*tutorgrad\[absent\]"):
        Tensor([1.0], device="absent")
    assert not any(name.startswith("absent") for name in devices.names())


# ---- the default ---------------------------------------------------------------------------------

MAKERS: dict[str, Callable[[], Any]] = {
    "Tensor": lambda: Tensor(NUMBERS), "zeros": lambda: Tensor.zeros(2, 3),
    "ones": lambda: tutor.ones(2), "full": lambda: tutor.full((2,), 7),
    "arange": lambda: tutor.arange(5), "linspace": lambda: tutor.linspace(0, 1, 5),
    "eye": lambda: tutor.eye(3), "rand": lambda: tutor.rand(4), "randn": lambda: tutor.randn(4),
    "randint": lambda: tutor.randint(0, 9, (4,)), "randperm": lambda: tutor.randperm(5),
    "tensor": lambda: tutor.tensor([1, 2]), "glorot": lambda: Tensor.glorot_uniform(2, 3),
    "weight": lambda: nn.Linear(3, 2).weight, "bias": lambda: nn.Conv2d(1, 2, 3).bias,
    "embedding": lambda: nn.Embedding(3, 2).weight, "norm": lambda: nn.LayerNorm(3).weight,
    "running": lambda: nn.BatchNorm1d(3).running_mean,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_from_nothing_is_made_where_the_block_says(name: str) -> None:
    tutor.manual_seed(5)
    here = MAKERS[name]()
    tutor.manual_seed(5)
    with tutor.device("fake:1"):
        made = MAKERS[name]()
        with tutor.device("cpu"):
            assert MAKERS[name]().device == "cpu"
        assert MAKERS[name]().device == "fake:1"
    assert (here.device, made.device, MAKERS[name]().device) == ("cpu", "fake:1", "cpu")
    assert made.tolist() == here.tolist()  # random numbers, too


def test_a_default_holds_for_a_thread_and_a_block() -> None:
    found = {}
    with tutor.device("cpu"):
        tutor.set_default_device("fake")
        assert devices.default() == "fake:0"
        thread = threading.Thread(target=lambda: found.update(other=Tensor([1.0]).device))
        thread.start()
        thread.join()
    assert found == {"other": "cpu"} and devices.default() == "cpu"

    @tutor.device("fake:1")
    def made() -> Tensor:
        return Tensor([1.0])

    assert made().device == "fake:1" and Tensor([1.0]).device == "cpu"


def test_likes_go_where_their_example_is() -> None:
    x = there()
    for y in (Tensor.zeros_like(x), tutor.ones_like(x), Tensor(x), x.copy(), x.like(3)):
        assert y.device == "fake:0"
    with tutor.device("fake:1"):
        assert Tensor.zeros_like(x).device == "fake:0"
    assert Tensor(x.buf).device == "fake:0"
    with pytest.raises(DeviceError, match="the Buffer is on 'fake:0'"):
        Tensor(x.buf, device="cpu")


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
from fake_device import FakeDevice
import tutor
from tutor.backends import devices
devices.register(FakeDevice())
print(tutor.Tensor([1.0]).device, tutor.nn.Linear(1, 1).weight.device)
"""


def test_tutor_device_says_it_for_a_whole_process() -> None:
    code = PROGRAM.format(folder=str(Path(__file__).parent))
    for name, found in (("fake:1", "fake:1 fake:1"), ("", "cpu cpu"), ("CPU", "cpu cpu")):
        result = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TUTOR_DEVICE": name},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert result.stdout.strip() == found
    result = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TUTOR_DEVICE": "nope"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "DeviceError" in result.stderr and "no device of the kind 'nope'" in result.stderr


# ---- to and fro ----------------------------------------------------------------------------------


def test_to_moves_and_casts_and_leaves_what_is_there_already() -> None:
    x = Tensor(NUMBERS)
    y = x.to("fake")
    assert (x.device, y.device, y.tolist()) == ("cpu", "fake:0", NUMBERS)
    assert y.to("fake:0") is y and x.to("cpu") is x and x.cpu() is x
    z = y.to("fake:1", "float64")
    assert (z.device, z.dtype, z.tolist()) == ("fake:1", tutor.float64, NUMBERS)
    assert x.to(z).device == "fake:1" and x.to(z).dtype is tutor.float64
    assert x.to(device="fake", dtype="int64").tolist() == [[1, 2], [3, 4]]
    assert y.cpu().device == y.to_device("cpu").device == "cpu"
    y.buf[0] = 9.0  # memory of its own
    assert (x.tolist()[0][0], y.tolist()[0][0], y.buf[0]) == (1.0, 9.0, 9.0)


WALKS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda t: t, "transposed": lambda t: t.T, "a row": lambda t: t[1],
    "every other": lambda t: t[:, ::2], "backwards": lambda t: t[::-1, ::-1],
    "stretched": lambda t: t[:, :1].expand(3, 4), "one": lambda t: t[1, 2],
    "none": lambda t: t[:0],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float16", "bfloat16", "uint64"])
@pytest.mark.parametrize("name", WALKS)
def test_a_part_of_memory_goes_over_as_it_is_walked(name: str, dtype: str) -> None:
    x = Tensor.arange(12).reshape(3, 4).cast(dtype)
    part, other = WALKS[name](x), WALKS[name](x.to("fake"))
    assert other.device == "fake:0" and other.tolist() == part.tolist()
    for moved in (part.to("fake"), other.to("fake:1"), other.cpu()):
        assert (moved.shape, moved.dtype, moved.tolist()) == (part.shape, x.dtype, part.tolist())


def test_it_looks_like_any_other() -> None:
    x = there(NUMBERS, requires_grad=True)
    text = "Tensor([[1., 2.],\n        [3., 4.]], device='fake:0', requires_grad=True)"
    assert repr(x) == str(x) == text
    assert repr(x * 2).endswith("device='fake:0', op=Mul)")
    assert repr(x.buf) == "Buffer([1.0, 2.0, 3.0, 4.0], 4 x float32)"
    assert f"{x.sum():.1f}" == "10.0" and float(x[0, 1]) == 2.0 and bool(x[0, 0] == 1)
    assert [row.tolist() for row in x] == NUMBERS and len(x) == 2 and 3.0 in x.detach()
    assert x.buf.tolist() == list(x.buf) == [1, 2, 3, 4] and x[1, 1].item() == x.buf[-1] == 4
    assert Tensor.zeros(3000, device="fake").__repr__().endswith("device='fake:0')")


def test_numpy_and_dlpack_get_a_copy() -> None:
    np = pytest.importorskip("numpy")
    x = there()
    a = x.T.numpy()
    a[0, 0] = 7
    assert a.tolist() == [[7, 3], [2, 4]] and x.tolist() == NUMBERS
    assert np.asarray(x).sum() == 10 and np.from_dlpack(x).tolist() == NUMBERS
    with pytest.raises(BufferError, match="fake:0"):
        x.__dlpack__(copy=False)
    assert Tensor.from_dlpack(np.ones(2), device="fake").device == "fake:0"
    assert (np.ones((2, 2), "float32") + x).tolist() == [[2, 3], [4, 5]]


def test_a_copy_and_a_pickle_come_back_where_they_were(fake: FakeDevice) -> None:
    x = there(requires_grad=True)
    (x * x).sum().backward()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (y.device, y.tolist(), y.requires_grad) == ("fake:0", NUMBERS, True)
        assert (y.grad.device, y.grad.tolist()) == ("fake:0", [[2, 4], [6, 8]])
        assert y.buf is not x.buf
    shared = copy.copy(x)
    assert shared.buf is x.buf
    payload = pickle.dumps(x.detach())
    devices.unregister("fake")
    with pytest.warns(UserWarning, match="were on the device 'fake:0' are on 'cpu' now"):
        assert pickle.loads(payload).tolist() == NUMBERS  # nothing is lost
    devices.register(fake)


# ---- what is refused -----------------------------------------------------------------------------

TWO: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y, "matmul": lambda x, y: x @ y, "cat": lambda x, y: tutor.cat([x, y]),
    "where": lambda x, y: tutor.where(x > 0, x, y), "in place": lambda x, y: x.add_(y),
    "in place, other": lambda x, y: y.mul_(x), "gather": lambda x, y: x.gather(0, y.cast("int64")),
    "linear": lambda x, y: nn.functional.linear(x, y), "compare": lambda x, y: x == y,
    "loss": lambda x, y: nn.functional.mse_loss(x, y), "einsum": lambda x, y: tutor.einsum(
        "ij,jk->ik", x, y), "index": lambda x, y: x[y.cast("int64") * 0], "stack":
    lambda x, y: tutor.stack([x, y]), "layer norm": lambda x, y: nn.functional.layer_norm(
        x, (2,), y[0]), "solve": lambda x, y: tutor.linalg.solve(x, y), "buffer":
    lambda x, y: x.buf + y.buf, "backward": lambda x, y: (
        x.requires_grad_() * 1).backward(y), "attention":
    lambda x, y: nn.functional.scaled_dot_product_attention(x, y, y),
}  # fmt: skip


@pytest.mark.parametrize("off", ["cpu", "fake:1"])
@pytest.mark.parametrize("name", TWO)
def test_operands_on_two_devices_are_refused_with_both_names(name: str, off: str) -> None:
    x, y = there(), Tensor(NUMBERS, device=off)
    with pytest.raises(DeviceError) as caught:
        TWO[name](x, y)
    assert "fake:0" in str(caught.value) and off in str(caught.value)
    assert "x.to(" in caught.value.do
    assert x.tolist() == y.tolist() == NUMBERS


def test_a_single_number_of_the_host_may_stand_beside_a_device() -> None:
    x, one = there(), Tensor(10.0)
    assert (x + one).tolist() == (one + x).tolist() == [[11, 12], [13, 14]]
    assert (x * 2 - 1).tolist() == [[1, 3], [5, 7]] and (2**x).device == "fake:0"
    assert (x + one.expand(2, 2)).device == "fake:0" and (x + Tensor([[10.0]])).device == "fake:0"
    assert tutor.where(x > 2, x, 0).tolist() == [[0, 0], [3, 4]]
    y = x * one
    one.assign(0.0)  # the number was taken when it was asked for, whenever the kernel runs
    assert y.tolist() == [[10, 20], [30, 40]]
    x += Tensor(1.0)
    assert (x.device, x.tolist()) == ("fake:0", [[2, 3], [4, 5]])
    with pytest.raises(DeviceError):
        Tensor(1.0).add_(x.sum())  # which stays where it is


def test_lists_and_arrays_beside_a_device_go_there() -> None:
    x = there()
    assert (x + [[1.0, 1.0], [0.0, 0.0]]).tolist() == [[2, 3], [3, 4]]
    assert x.index_select(0, [1]).device == x[[1, 0]].device == x.gather(1, [[0], [1]]).device
    assert x[[True, False]].tolist() == [[1, 2]] and x.cross_entropy([0, 1]).device == "fake:0"


def test_the_bytes_of_a_device_are_nobodys() -> None:
    x = there()
    for ask in (
        lambda: memoryview(x.buf),
        lambda: x.buf.raw,
        lambda: x.buf.address,
        lambda: registry.lookup("neg", "python_ref", tutor.float32)(Tensor(NUMBERS), x),
        lambda: registry.kernel("neg", tutor.float32)(x, x),
    ):
        if registry.current() == "python_ref" and sys.version_info < (3, 12):
            continue
        with pytest.raises(DeviceError) as caught:
            ask()
        assert "'fake:0'" in caught.value.found and "'cpu'" in caught.value.found
        assert 'x.to("cpu")' in caught.value.do
    with pytest.raises(KernelNotFound, match=r"solve.*\n.*\n.*x\.to\(.cpu"):
        tutor.linalg.solve(x, x)


def test_values_are_written_from_anywhere() -> None:
    x, y = there(), Tensor([[5.0, 6.0], [7.0, 8.0]])
    x[...] = y
    assert (x.device, x.tolist()) == ("fake:0", y.tolist())
    y.assign(there() * 2)
    assert (y.device, y.tolist()) == ("cpu", [[2, 4], [6, 8]])
    x[0] = 0
    x[:, 1] = Tensor([3, 4], device="fake:1")
    assert x.tolist() == [[0, 3], [7, 4]]
    x[x > 3] = -1.0
    x[[0], [0]] = Tensor([9.0])
    assert x.tolist() == [[9, 3], [-1, -1]]
    x.data = x + 1
    x.zero_().fill_(2).clamp_(0, 1)
    assert x.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(TutorError):
        x.T[0] = [1.0, 2.0, 3.0]


def test_arithmetic_on_buffers() -> None:
    a = there([1.0, 2.0]).buf
    assert ((a + a) * 2 - 1).device == "fake:0" and ((a + a) * 2 - 1).tolist() == [3, 7]
    a -= 1.0
    assert a.tolist() == [0, 1] and isinstance(a, Buffer)


# ---- gradients -----------------------------------------------------------------------------------


def test_gradients_are_where_their_tensors_are() -> None:
    x, w = there(requires_grad=True), there([[1.0], [2.0]], requires_grad=True)
    loss = ((x @ w).relu() * 2).sum()
    loss.backward()
    assert x.grad.device == w.grad.device == "fake:0"
    assert (x.grad.tolist(), w.grad.tolist()) == ([[2, 4], [2, 4]], [[8], [12]])
    (x.sum() + x.sum()).backward()
    assert x.grad.tolist() == [[4, 6], [4, 6]]
    x.sum().backward(Tensor(3.0))  # one number
    assert x.grad.tolist() == [[7, 9], [7, 9]] and x.grad.device == "fake:0"


def test_a_gradient_comes_back_by_the_way_its_tensor_went() -> None:
    x = Tensor(NUMBERS, requires_grad=True)
    ((x.to("fake") * 3).to("fake:1").exp().log().cpu() * x).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [[6, 12], [18, pytest.approx(24)]]
    (g,) = tutor.grad((x.to("fake") ** 3).sum(), (x,), create_graph=True)
    (second,) = tutor.grad(g.sum(), (x,))
    assert second.device == "cpu" and second.tolist() == [[6, 12], [18, 24]]


def test_a_gradient_of_constants_goes_to_its_tensor() -> None:
    class Slope(tutor.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return Tensor([[2.0, 2.0], [2.0, 2.0]], device="cpu")

    x = there(requires_grad=True)
    Slope.apply(x).sum().backward()
    assert (x.grad.device, x.grad.tolist()) == ("fake:0", [[2, 2], [2, 2]])


# ---- waiting, and what goes wrong ----------------------------------------------------------------


def test_nobody_waits_before_numbers_are_asked_for(fake: FakeDevice) -> None:
    x = there()
    fake.reads = 0
    y = (x * 2 + 1).exp()
    assert len(fake.queue) == 3 and fake.reads == 0
    tutor.synchronize()
    assert not fake.queue and fake.reads == 0
    z = y + 1
    tutor.synchronize("cpu")
    assert len(fake.queue) == 1
    tutor.synchronize(tutor.device("fake:0"))
    assert not fake.queue and z.device == "fake:0"


ASKS: dict[str, Callable[[Tensor], Any]] = {
    "a kernel": lambda x: x + x, "item": lambda x: x[0, 0].item(), "repr": repr,
    "tolist": lambda x: x.tolist(), "numpy": lambda x: x.numpy(), "to": lambda x: x.cpu(),
    "write": lambda x: x.buf.__setitem__(0, 1.0), "assign": lambda x: x.assign(Tensor(NUMBERS)),
    "pickle": lambda x: pickle.dumps(x), "synchronize": lambda x: tutor.synchronize(),
    "room": lambda x: Tensor([1.0], device="fake"), "lazy": lambda x: lazily(x),
    "jit": lambda x: ASK_JIT(x), "backward": lambda x: x.requires_grad_().sum().backward(),
}  # fmt: skip


def lazily(x: Tensor) -> Any:
    with tutor.lazy():
        y = x.exp() + 1
    return y.tolist()


ASK_JIT = tutor.jit(lambda x: x * 2 + 1)


@pytest.mark.parametrize("name", ASKS)
def test_a_device_that_is_gone_is_an_error_of_ours(name: str, fake: FakeDevice) -> None:
    pytest.importorskip("numpy")
    if name == "jit":
        for _ in range(3):
            ASK_JIT(there())
    x = there()
    fake.gone = True
    for _ in range(2):  # the second time, too: nothing hangs, no lock is kept
        with pytest.raises(DeviceError, match="DEVICE_NOT_AVAILABLE"):
            ASKS[name](x)
    fake.gone = False
    assert (x.detach() + 0).tolist() == NUMBERS
    assert (Tensor(NUMBERS) + 1).tolist() == [[2, 3], [4, 5]]


def test_no_room_on_a_device_says_so(fake: FakeDevice) -> None:
    fake.most = 100
    with pytest.raises(OutOfMemoryError, match="100 numbers of float32 on the device 'fake:0'"):
        Tensor.zeros(100, device="fake")


def test_an_index_out_of_range_is_found_at_the_call() -> None:
    with pytest.raises(tutor.errors.OutOfRangeError):
        there().index_select(0, Tensor([7], device="fake"))


def test_what_lies_about_its_memory_is_found() -> None:
    t = there()
    t.shape = (4000, 2)
    for ask in (repr, lambda t: t.tolist(), lambda t: t + t, lambda t: t.cpu(), pickle.dumps):
        with pytest.raises(TutorError):
            ask(t)
    t = there([1, 2])
    t.buf.dtype = tutor.float64
    for ask in (repr, lambda t: t.tolist(), lambda t: t + t, lambda t: t.buf[0],
                lambda t: t.buf.__setitem__(0, 1)):  # fmt: skip
        with pytest.raises(TutorError):
            ask(t)


def test_two_devices_of_a_kind_have_kernels_each(fake: FakeDevice) -> None:
    for name, backend in (("fake:0", "fake"), ("fake:1", "fake:1")):
        assert (Tensor([1.0], device=name) + 1).device == name
        assert registry.backend_of(name) == backend
    found = [registry.kernel("add", tutor.float32, f"fake:{i}") for i in range(2)]
    assert found[0] is not found[1]
    assert registry.kernel("transfer", tutor.float32, "fake:0") is transfers.transfer
    with tutor.use_backend("python_ref"):  # which is about the host
        assert registry.kernel("add", tutor.float32, "fake:0") is found[0]
