"""The device "cuda": against a stand-in for the driver, for no GPU is needed to find mistakes.

It has what libcuda.so.1 has of functions, and answers as that does (stand_in_libcuda.cpp); kernels
are compiled to PTX for it, and for the host, where they run (cuda_on_host.hpp). So all is tested
but NVIDIA's own part: its driver, and the device.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvidia.cuda_nvrtc")
if shutil.which("g++") is None or sys.platform != "linux":
    pytest.skip("the stand-in is compiled by g++, for Linux", allow_module_level=True)

from backends.cuda_stand_in import Library, forget, in_its_place

import tutor
from tutor import Tensor, nn, optim
from tutor.backends import registry
from tutor.backends.cuda import device, driver
from tutor.backends.cuda.launches import groups_of, parts
from tutor.backends.cuda.nvrtc import nvrtc
from tutor.backends.opencl.elementwise import Elements
from tutor.backends.opencl.kind import Kind
from tutor.backends.opencl.launch import Compiled
from tutor.backends.opencl.memory import DeviceMemory
from tutor.backends.opencl.precision import looser
from tutor.dtype import BY_NAME, float32, int64
from tutor.errors import DeviceError, OutOfMemoryError, OutOfRangeError
from tutor.testing import cases, conformance
from tutor.testing.cases.operands import execute, images, through

ROOT = Path(__file__).parents[3]
ON = "cuda:0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module")
def compiled_library(folder: Path) -> Library:
    return Library(folder)


@pytest.fixture(scope="module")
def shared(compiled_library: Library, folder: Path) -> Iterator[Kind]:
    """One device for all tests that look at no more than numbers: its kernels are compiled once."""
    with in_its_place(compiled_library, folder):
        yield device.kind()


@pytest.fixture
def library(compiled_library: Library, shared: Kind) -> Library:
    compiled_library.clear()
    return compiled_library


@pytest.fixture
def fresh(library: Library, folder: Path) -> Iterator[Library]:
    """A process that has not asked for a device before."""
    forget()
    library.clear()
    try:
        yield library
    finally:
        library.set(count=1, memory=1 << 30, major=8, minor=0)
        gc.collect()
        forget()


def bits(t: Any) -> bytes:
    return bytes(t.detach().cpu().contiguous().buf.raw)


# ---- a device is found and opened ----------------------------------------------------------------


def test_it_is_opened_when_it_is_first_asked_for(fresh: Library) -> None:
    assert fresh.calls() == []
    assert ON in tutor.devices.names()
    assert fresh.names() == ["cuInit", "cuDeviceGetCount"]
    assert device.kind().name(0) == "Stand-in 0 (compute capability 8.0)"
    calls = fresh.calls()[2:]
    assert calls[:5] == [
        ["cuDeviceGet", "0"], ["cuDeviceGetName", "256", "0"], ["cuDeviceTotalMem_v2", "0"],
        ["cuDeviceGetAttribute", "75", "0"], ["cuDeviceGetAttribute", "76", "0"],
    ]  # fmt: skip
    assert calls[5:] == [["cuDevicePrimaryCtxRetain", "0"], *[["cuStreamCreate", "1"]] * 2]


@pytest.mark.parametrize("what", ["none", "other", "does not start", "no device"])
def test_without_one_that_is_said_in_three_parts(
    fresh: Library, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {
        "none": "libcuda-of-nobody.so cannot be loaded",
        "other": "is none that is new enough",
        "does not start": "cuInit: CUDA_ERROR_NO_DEVICE, no CUDA-capable device is detected",
        "no device": "finds no device",
    }
    if what == "none":
        monkeypatch.setattr(driver, "LIBRARY", "libcuda-of-nobody.so")
    elif what == "other":
        monkeypatch.setattr(driver, "LIBRARY", "libc.so.6")
    elif what == "does not start":
        fresh.fail("cuInit", 100)
    else:
        fresh.set(count=0)
    with pytest.raises(DeviceError) as raised:
        Tensor([1.0], device="cuda")
    assert words[what] in raised.value.found
    assert raised.value.asked and raised.value.do
    if what == "does not start":
        fresh.fail("cuInit", 100)
    assert not [name for name in tutor.devices.names() if name.startswith("cuda")]
    assert "cuda" not in tutor.devices.IN_USE


def test_a_number_beyond_those_that_are_there(fresh: Library) -> None:
    with pytest.raises(DeviceError, match="there are 1 of that kind"):
        Tensor([1.0], device="cuda:1")
    with pytest.raises(DeviceError, match="the driver has 1"):
        device.kind().empty(1, float32, 3)


def test_two_devices_have_a_context_each(fresh: Library) -> None:
    fresh.set(count=2)
    assert {"cuda:0", "cuda:1"} <= {*tutor.devices.names()}
    x, y = Tensor([1.0, 2.0], device="cuda:0"), Tensor([3.0, 4.0], device="cuda:1")
    assert ((x + x).to("cuda:1") + y).tolist() == [5.0, 8.0]
    assert (y + y).tolist() == [6.0, 8.0] and (x + x).tolist() == [2.0, 4.0]
    retained = [call for call in fresh.calls() if call[0] == "cuDevicePrimaryCtxRetain"]
    assert retained == [["cuDevicePrimaryCtxRetain", "0"], ["cuDevicePrimaryCtxRetain", "1"]]


def test_a_program_is_made_for_what_the_device_is(fresh: Library) -> None:
    fresh.set(major=7, minor=5)
    Tensor([1.0], device="cuda") + 1
    assert ["cuModuleLoadData", "75"] in fresh.calls()
    assert nvrtc((999, 9)).options[-1] > "-arch=compute_100"  # PTX of an older one is translated
    with pytest.raises(DeviceError, match=r"capability 1\.3") as raised:
        nvrtc((1, 3))
    assert "NVRTC 12" in raised.value.found or "NVRTC 13" in raised.value.found


def test_import_asks_no_driver_and_the_loader_finds_it_by_name(library: Library) -> None:
    """In a process of its own, where nothing is put in place but the library itself."""
    code = (
        "import sys, tutor\n"
        "assert not [name for name in sys.modules if 'cuda' in name or name == 'pyopencl']\n"
        "assert 'cuda:0' in tutor.devices.names()\n"
        "x = tutor.Tensor([[1.0, 2.0], [3.0, 4.0]], device='cuda')\n"
        "assert x.device == 'cuda:0' and x.T.cpu().device == 'cpu'\n"
        "assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]\n"
        "from tutor.doctor import others\n"
        "print(others.Asked().lines()['cuda'])\n"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.path.parent), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 card")


# ---- memory --------------------------------------------------------------------------------------


def test_numbers_go_there_and_come_back(library: Library) -> None:
    values = [0.5 * n for n in range(1000)]
    x = Tensor(values, device="cuda")
    assert x.device == ON and library.names().count("cuMemcpyHtoDAsync_v2") == 1
    assert "cuStreamSynchronize" not in library.names()  # nobody has waited so far
    assert x.tolist() == values
    there = [call for call in library.calls() if call[0].startswith("cuMemcpy")]
    assert [call[0] for call in there] == ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"]
    assert there[0][1:] == there[1][1:]  # the same address, bytes and stream
    assert there[0][2] == "4000" and library.names()[-1] == "cuStreamSynchronize"
    assert x[10:20].cpu().tolist() == values[10:20]
    for dtype in ("int8", "uint64", "float16", "bool", "float64"):
        y = Tensor([0, 1, 1, 0, 1], dtype=dtype).to("cuda")
        assert (
            y.dtype is BY_NAME[dtype]
            and y.tolist() == Tensor([0, 1, 1, 0, 1], dtype=dtype).tolist()
        )


def test_numpy_has_a_copy_of_them() -> None:
    np = pytest.importorskip("numpy")
    image = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (tutor.from_numpy(image).to(ON).numpy() == image).all()


def test_writes_stay_within_the_memory(shared: Kind) -> None:
    memory = shared.empty(8, int64)
    memory.write(bytes(64))
    memory.write(b"\1" * 8, 56)
    assert bytes(memory.read()) == bytes(56) + b"\1" * 8
    with pytest.raises(OutOfRangeError):
        memory.write(bytes(16), 56)


def test_what_is_given_back_is_taken_again_and_counted(fresh: Library) -> None:
    kind = device.kind()
    x = kind.empty(1000, float32)
    assert fresh.calls()[-1] == ["cuMemAlloc_v2", "4096"]
    address = x.data.address
    del x
    assert "cuMemFree_v2" not in fresh.names()
    y = kind.empty(1024, float32)
    assert y.data.address == address
    stats = kind.stats()
    assert (stats.allocations, stats.hits, stats.misses, stats.in_use) == (2, 1, 1, 4096)
    del y
    fresh.clear()
    assert kind.trim() == 4096
    assert fresh.names() == ["cuStreamSynchronize", "cuStreamSynchronize", "cuMemFree_v2"]
    assert fresh.calls()[-1][1] == str(address)


def test_memory_is_freed_when_what_uses_it_has_run(fresh: Library) -> None:
    """The stand-in ends the process if it is not."""
    kind = device.kind()
    kind.configure(0)  # nothing waits unused
    x = Tensor([1.0, 2.0], device="cuda")
    y = (x * 3).exp()
    del x
    kind.stats()  # a pool looks at what was given back when it is asked for something
    assert "cuMemFree_v2" in fresh.names()
    assert y.tolist() == pytest.approx([20.085537, 403.42879])
    before = fresh.c.stand_in_blocks()
    del y
    kind.stats()
    assert fresh.c.stand_in_blocks() < before


def test_where_there_is_no_room_what_waits_unused_goes_first(fresh: Library) -> None:
    fresh.set(memory=1 << 20)
    kind = device.kind()
    small = [kind.empty(16_384, float32) for _ in range(8)]  # half of it
    assert kind.config().limit == 1 << 18
    kind.configure(1 << 20)
    del small
    assert "cuMemFree_v2" not in fresh.names()
    large = kind.empty(200_000, float32)
    assert fresh.names().count("cuMemFree_v2") == 8
    with pytest.raises(OutOfMemoryError, match=r"it has 1\.0 MiB"):
        kind.empty(200_000, float32)
    del large


def test_copies_beside_the_kernels_arrive_before_they_are_read(library: Library) -> None:
    z = Tensor.zeros(5000, device="cuda")
    staged = [device.kind().stage(bytes(Tensor.full((5000,), float(n)).buf.raw), float32)
              for n in range(6)]  # fmt: skip
    streams = {call[3] for call in library.calls() if call[0] == "cuMemcpyHtoDAsync_v2"}
    assert len(streams) == 1
    table = device.kind().table(0)
    for each in staged:
        x = through_memory(each.memory(), 5000)
        table["add", float32](operand(z), operand(z), x)
    assert {call[9] for call in library.calls() if call[0] == "cuLaunchKernel"}.isdisjoint(streams)
    assert z.tolist() == [15.0] * 5000


def test_a_copy_beside_the_kernels_waits_for_those_that_read_its_memory(library: Library) -> None:
    x = Tensor([1.0] * 5000, device="cuda")
    z, address = x * 3, x.buf.memory.data.address
    del x
    staged = device.kind().stage(bytes(20_000), float32)
    assert staged.held.data.address == address  # nobody has it, but the product is only queued
    device.kind().pool(0).copies.settle(0)
    assert z.tolist() == [3.0] * 5000


def operand(x: Any) -> Any:
    return registry.Operand(x.buf, x.shape, x.strides, x.offset)


def through_memory(memory: DeviceMemory, count: int) -> Any:
    from tutor.backends.opencl.memory import Part

    return registry.Operand(Part(memory, float32), (count,), (1,), 0)


def test_another_thread_has_the_context_too(library: Library) -> None:
    """It is a thread's own: whoever forgets it there is answered CUDA_ERROR_INVALID_CONTEXT."""
    x, found = Tensor([1.0, 2.0], device="cuda"), []
    thread = threading.Thread(target=lambda: found.append((x + x).tolist()))
    thread.start()
    thread.join()
    assert found == [[2.0, 4.0]]


# ---- launches ------------------------------------------------------------------------------------


def test_sizes_become_groups() -> None:
    assert groups_of((512,), (256,)) == ((2, 1, 1), (256, 1, 1))
    assert groups_of((32, 48, 5), (16, 16, 1)) == ((2, 3, 5), (16, 16, 1))
    assert groups_of((96, 3), None) == ((3, 3, 1), (32, 1, 1))
    with pytest.raises(ValueError, match="are no groups"):
        groups_of((100,), (64,))
    with pytest.raises(ValueError, match="counts from 0"):
        groups_of((64,), (64,), (64,))
    assert list(parts((2, 3, 4))) == [((0, 0), (2, 3, 4))]
    assert list(parts((7, 70_000, 65_536))) == [
        ((0, 0), (7, 65_535, 65_535)), ((65_535, 0), (7, 4_465, 65_535)),
        ((0, 65_535), (7, 65_535, 1)), ((65_535, 65_535), (7, 4_465, 1)),
    ]  # fmt: skip


def test_more_groups_than_a_dimension_has_are_launched_in_parts(library: Library) -> None:
    x, y = tutor.rand((65, 70_000)), tutor.rand((70_000, 65))
    z = x.to(ON).T * y.to(ON)
    assert bits(z) == bits(x.T * y)
    found = [groups for name, groups, _, _ in library.launches() if name == "mul_float32"]
    assert found == [(1, 65_535, 1), (1, 4_465, 1)]
    begins = [int(call[2]) for call in library.calls() if call[0] == "cuMemsetD32Async"]
    assert begins == [0, 0, 65_535, 0, 0, 0]
    assert bits(x.to(ON).T * y.to(ON)) == bits(z)  # it was left at 0


def some_work(on: str) -> None:
    tutor.manual_seed(1)
    with tutor.device(on):
        model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 5))
        adam = optim.Adam(nn.get_parameters(model), lr=0.01)
        x, y = tutor.randn((16, 20)), tutor.randint(0, 5, (16,))
        loss = model(x).cross_entropy(y)
        loss.backward()
        adam.step()
        (x.T.softmax() * 2.5).sum(axis=0).tolist()


def test_each_launch_is_what_opencl_is_given(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel, work-items, groups, and arguments; and they come to the driver as they are."""
    if "opencl:0" not in tutor.devices.names():
        pytest.skip("no OpenCL driver with a device is here")
    from tutor.backends.opencl.device_context import place

    monkeypatch.setattr(place(0), "is_cpu", False)
    gc.unfreeze()  # conftest.py hides what stands there since the tests were found
    for kernel in gc.get_objects():  # what was planned for a CPU before
        if issubclass(type(kernel), Elements):  # isinstance would ask PyTorch's lazy objects, too
            monkeypatch.setattr(kernel, "plans", {})
    gc.freeze()
    seen: dict[str, list[Any]] = {ON: [], "opencl:0": []}
    call = Compiled.__call__

    def noted(self: Compiled, sizes: Any, local: Any, *args: Any, first: Any = None) -> None:
        values = [
            None if kind is None else value for kind, value in zip(self.types, args, strict=True)
        ]
        blocks = [getattr(value, "address", None) for value in args]
        seen[self.place.name].append((self, sizes, local, values, blocks))
        call(self, sizes, local, *args, first=first)

    monkeypatch.setattr(Compiled, "__call__", noted)
    for on in seen:
        some_work(on)
    there, here = ([(one[0].name, *one[1:4]) for one in found] for found in seen.values())
    assert len(there) > 30 and there == here
    launches = library.launches()
    assert len(launches) == len(there)
    for (name, groups, block, args), (one, sizes, local, values, blocks) in zip(
        launches, seen[ON], strict=True
    ):
        assert name == one.name and block[: len(local)] == local
        assert tuple(a * b for a, b in zip(groups, block, strict=True))[: len(sizes)] == sizes
        for kind, got, value, address in zip(one.types, args, values, blocks, strict=True):
            assert got == (address if kind is None else packed(kind, value)), (name, kind)


def packed(kind: str, value: Any) -> int:
    import struct

    return int.from_bytes(struct.pack(kind, value), "little")


# ---- numbers -------------------------------------------------------------------------------------

ROWS = [  # generated and by hand; products, sorting and more have groups that meet at barriers
    "add float32", "mul bfloat16", "div float64", "exp float32", "tanh float16", "where int32",
    "remainder float32", "pow int8", "cast int64", "sum float32", "argmax int16", "prod float64",
    "matmul float32", "linear float64", "softmax float32", "cross_entropy float32", "adam float32",
    "sgd float16", "gather int32", "scatter_add float32", "argsort float32", "scan float32",
    "layer_norm float32", "attention float32", "conv2d float32", "max_pool2d float32",
    "random_bits uint32", "uniform float32",
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_kernels_agree_with_python_ref(row: str, shared: Kind) -> None:
    """Compiled for the host, they compute what they should: the text, its arguments, the sizes."""
    kernel, dtype = row.split()[0], BY_NAME[row.split()[1]]
    table: Any = shared.table(0)
    how, limit = conformance.agreement(kernel, dtype)
    limit = max(limit, looser().get((kernel, dtype), 0.0))
    run = through(kernel, dtype, table[kernel, dtype])
    reference = through(kernel, dtype, registry.table("python_ref")[kernel, dtype])
    drawn = list(itertools.islice(cases.draw(kernel, dtype, 5), 300))
    for case in drawn[:: max(1, len(drawn) // 5)]:
        before = images(case)
        expected = execute(reference, case, before)
        got = execute(run, case, before, table.room)
        for off, say in conformance.differences(kernel, dtype, how, case, before, expected, got):
            assert off <= limit, say(off, how, limit)


def trained(on: str, steps: int = 5) -> tuple[list[float], list[bytes]]:
    """All losses, and the bits of the parameters at the end."""
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).to(on)
    adam = optim.Adam(nn.get_parameters(model), lr=0.05)
    x, y = tutor.randn((12, 6)).to(on), tutor.randint(0, 3, (12,)).to(on)

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        adam.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        adam.step()
        return loss

    losses = [step(x, y).item() for _ in range(steps)]
    return losses, [bits(p) for p in nn.get_parameters(model)]


def test_a_model_learns_on_it(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    losses, parameters = trained(ON)
    assert losses == pytest.approx(trained("cpu")[0], rel=1e-5)
    assert losses[-1] < losses[0]
    monkeypatch.setenv("TUTOR_NATIVE", "0")  # its launches are not noted, but made one by one
    assert trained(ON) == (losses, parameters)


# ---- what a driver answers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "code", "kind", "words"),
    [
        ("cuLaunchKernel", 700, DeviceError, "given up: cuLaunchKernel: CUDA_ERROR_ILLEGAL_"),
        ("cuLaunchKernel", 1, DeviceError, "refused: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"),
        ("cuLaunchKernel", 12345, DeviceError, "refused: cuLaunchKernel: error 12345"),
        ("cuMemcpyDtoHAsync_v2", 700, DeviceError, "gone"),
        ("cuStreamSynchronize", 700, DeviceError, "gone"),
        ("cuLaunchKernel", 2, OutOfMemoryError, "no room: cuLaunchKernel: CUDA_ERROR_OUT_OF_"),
    ],
)  # fmt: skip
def test_errors_have_three_parts(
    library: Library, function: str, code: int, kind: type, words: str
) -> None:
    x = Tensor([1.0, 2.0], device="cuda")
    (x + x).tolist()
    library.fail(function, code)
    with pytest.raises(kind, match=words) as raised:
        (x + x).tolist()
    error: Any = raised.value
    assert error.asked.startswith("cuda:0, ") and error.do
    assert "conformance opencl" not in error.do
    assert (x + x).tolist() == [2.0, 4.0]


def test_no_room_is_an_error_of_memory(fresh: Library) -> None:
    Tensor([1.0], device="cuda")
    fresh.fail("cuMemAlloc_v2", 2)
    x = device.kind().empty(5000, float32)  # asked for twice: it was there the second time
    assert fresh.names()[-3:] == ["cuStreamSynchronize", "cuStreamSynchronize", "cuMemAlloc_v2"]
    fresh.fail("cuMemAlloc_v2", 700)
    with pytest.raises(DeviceError, match="gone"):
        device.kind().empty(50_000, float32)
    del x


def test_a_driver_older_than_the_compiler_is_named_with_both_versions(fresh: Library) -> None:
    x = Tensor([1.0], device="cuda")
    fresh.fail("cuModuleLoadData", 222)
    with pytest.raises(DeviceError, match=r"to compile kernel add_float32 for cuda:0") as raised:
        x + x
    assert "the driver's CUDA is 12.4" in raised.value.found
    assert f"NVRTC's {nvrtc().version()}" in raised.value.found


def test_what_cannot_be_opened_is_said(fresh: Library) -> None:
    fresh.fail("cuDevicePrimaryCtxRetain", 46)
    with pytest.raises(DeviceError, match="gone or has given up") as raised:
        Tensor([1.0], device="cuda")
    assert raised.value.asked == "cuda:0, to open it"
