"""tutor: a deep-learning library with a trunk that you can read, and that is still fast.

Four boxes: Buffer (numbers in a row, and the memory it has for them), Tensor (a Buffer plus walking
instructions), Op (forward and backward of one operation), Engine (runs Ops, keeps the graph, walks
it backward). Read `tutor/core` in the order buffer, tensor, op, engine. Kernels are found in one
registry; `python_ref` defines what is right, `simd_cpp` must agree with it and is fast.
"""

import os
from typing import Any

from tutor.backends import simd_cpp  # first, since it brings the Memory that Buffers have

# isort: split
from tutor import errors, functions, memory, ops, random
from tutor._util import former_names, lazy_imports
from tutor.backends import devices, registry, step, transfers  # noqa: F401 - it provides devices
from tutor.backends.devices import device, set_default_device, synchronize
from tutor.backends.registry import set_backend, use_backend
from tutor.backends.step import Step, watch
from tutor.core.buffer import Buffer
from tutor.core.engine import Engine, apply, engine
from tutor.core.engine.casting import autocast
from tutor.core.engine.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tutor.core.op import OPS, Op
from tutor.core.op.edges import keep_graph
from tutor.dtype import TABLE as DTYPES
from tutor.dtype import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tutor.dtype import bool_ as bool  # named as NumPy and the array API name it
from tutor.functions import *  # noqa: F403 - the methods as functions
from tutor.functions.checkpointing import checkpoint
from tutor.functions.custom import Function
from tutor.functions.einsum import einsum, tensordot
from tutor.functions.gradients import backward, grad
from tutor.functions.joining import (
    block_diag,
    cartesian_prod,
    column_stack,
    dstack,
    hstack,
    tril_indices,
    triu_indices,
    vstack,
)
from tutor.functions.making import from_numpy, tensor
from tutor.functions.sampling import bernoulli, multinomial, randint, randperm
from tutor.functions.sets import bucketize, interp, isin, searchsorted
from tutor.methods.tensor import Tensor
from tutor.ops import native
from tutor.ops.movement import cat, concatenate, meshgrid, stack
from tutor.random import initial_seed, manual_seed

__version__ = "0.1.0"
former_names.install()
lazy_imports.PLACES.update(
    amp="tutor.amp",
    array_api="tutor.array_api",
    arrays="tutor.methods.arrays",
    autograd="tutor.autograd",
    chains="tutor.backends.chains",
    costs="tutor.backends.costs",
    cuda="tutor.backends.cuda",
    data="tutor.data",
    detect_anomaly="tutor.profiler.anomaly",
    dist="tutor.distributed",
    distributed="tutor.distributed",
    graph="tutor.viz",
    jit="tutor.programs.jit",
    lazy="tutor.programs.lazy",
    linalg="tutor.linalg",
    listing="tutor.profiler.listing",
    missing_names="tutor.interop.missing_names",
    nn="tutor.nn",
    opencl="tutor.backends.opencl",
    numpy_protocol="tutor.interop.numpy_protocol",
    load="tutor.nn.saving",
    onnx="tutor.onnx",
    optim="tutor.optim",
    profile="tutor.profiler.profile",
    Program="tutor.programs.program",
    python_ref="tutor.backends.python_ref",
    realize="tutor.programs.lazy",
    save="tutor.nn.saving",
    schedule="tutor.programs.lazy",
    testing="tutor.testing",
    training="tutor.training",
    viz="tutor.viz",
)
if lazy_imports.AT_ONCE:  # and a type checker knows by this what the names are
    from tutor import (
        amp,
        autograd,
        data,
        distributed,
        linalg,
        nn,
        onnx,
        optim,
        testing,
        training,
        viz,
    )
    from tutor import distributed as dist
    from tutor.backends import python_ref
    from tutor.nn.saving import load, save
    from tutor.profiler.anomaly import detect_anomaly
    from tutor.profiler.listing import listing
    from tutor.profiler.profile import profile
    from tutor.programs.jit import jit
    from tutor.programs.lazy import lazy, realize, schedule
    from tutor.programs.program import Program
    from tutor.viz import graph
if os.environ.get("TUTOR_DEBUG"):
    from tutor.profiler import debug  # noqa: F401 - it watches, and tells at the end
__all__ = [  # and the names of tutor.functions.__all__
    "DTYPES", "OPS", "Buffer", "Engine", "Function", "Op", "Program", "Step", "Tensor", "amp",
    "apply", "arange", "autocast", "autograd", "backward", "bernoulli", "bfloat16", "block_diag",
    "bool", "bucketize", "cartesian_prod", "cat", "checkpoint", "column_stack", "concatenate",
    "data", "detect_anomaly", "device", "devices", "dist", "distributed", "double", "dstack",
    "einsum",
    "enable_grad", "engine", "errors", "eye", "float", "float16", "float32", "float64",
    "from_dlpack", "from_numpy", "full", "functions", "grad", "graph", "half", "hstack",
    "inference_mode", "initial_seed", "int", "int8", "int16", "int32", "int64", "interp",
    "is_grad_enabled", "isin", "jit", "keep_graph", "lazy", "linalg", "linspace", "listing", "load",
    "long",
    "manual_seed",
    "memory", "meshgrid", "multinomial", "nn", "no_grad", "ones", "ones_like", "onnx", "ops",
    "optim", "profile", "promote", "python_ref", "rand", "randint", "randn", "random", "randperm",
    "realize", "registry", "save", "schedule", "searchsorted", "set_backend", "set_default_device",
    "set_grad_enabled", "simd_cpp", "stack", "synchronize", "tensor", "tensordot", "testing",
    "training", "tril_indices", "triu_indices", "uint8", "uint16", "uint32", "uint64",
    "use_backend", "viz", "vstack", "watch", "zeros", "zeros_like",
]  # fmt: skip
__all__ += functions.__all__


def __getattr__(name: str) -> Any:
    """A public name of PLACES, imported when it is first asked for, and kept."""
    if name not in __all__ or name not in lazy_imports.PLACES:
        plain = f"module 'tutor' has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(plain)
        raise lazy_imports.load("missing_names").missing(("tutor",), name, plain)
    module = lazy_imports.load(name)
    found = globals()[name] = vars(module).get(name, module)  # what it is called after, or itself
    return found


def __dir__() -> list[str]:
    """The public names, without the modules that they come from."""
    return sorted([*__all__, "__doc__", "__name__", "__version__"])


# dtypes as PyTorch calls them, too
float, double, half, int, long = float32, float64, float16, int32, int64
zeros, ones, full, arange, eye = Tensor.zeros, Tensor.ones, Tensor.full, Tensor.arange, Tensor.eye
linspace, from_dlpack = Tensor.linspace, Tensor.from_dlpack
zeros_like, ones_like = Tensor.zeros_like, Tensor.ones_like
rand, randn = Tensor.rand, Tensor.randn
step.on_step.provide(costs=lambda: lazy_imports.load("costs"))
devices.register_loader("cuda", lambda: lazy_imports.load("cuda").kind())
devices.register_loader("opencl", lambda: lazy_imports.load("opencl").DEVICE)
registry.register_loader("python_ref", lambda: lazy_imports.load("chains").table())
native.hand_over()
