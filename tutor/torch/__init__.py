"""PyTorch's names and conventions over tutor's boxes: `import tutor.torch as torch`.

A Tensor of this wing is a tutor.Tensor of another class (tutor/torch/carrier.py): the same memory,
graph and kernels; its methods take PyTorch's arguments and give PyTorch's results. Whatever the
wing does not have raises an error that says what to write.
"""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from math import e, inf, nan, pi
from types import SimpleNamespace
from typing import Any

from tutor import dtype as _dtypes
from tutor import jit as _jit
from tutor.core.engine.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)  # fmt: skip
from tutor.torch import (
    amp,
    autograd,
    cuda,
    distributions,
    func,
    linalg,
    nn,
    optim,
    random,
    utils,
)  # fmt: skip
from tutor.torch import arithmetic as _arithmetic
from tutor.torch import carrier as _carrier
from tutor.torch import dtypes as _about
from tutor.torch import making as _making
from tutor.torch import objects as _objects
from tutor.torch import positions as _positions
from tutor.torch import reductions as _reductions
from tutor.torch import shapes as _shapes
from tutor.torch import signatures as _signatures
from tutor.torch.carrier import Size, Tensor, device, result_type
from tutor.torch.methods import FUNCTIONS as _FUNCTIONS
from tutor.torch.nn import functional as _functional
from tutor.torch.random import Generator, default_generator
from tutor.torch.serialization import load, save
from tutor.torch.signatures import formula as _formula

_names = globals()
_names.update({d.name: d for d in _dtypes.TABLE}, dtype=_dtypes.DType)
_names.update({name: _dtypes.BY_NAME[ours] for name, ours in _objects.CASTS.items()})
del _names["byte"], _names["char"]
_names.update(_FUNCTIONS)
_names.update(_making.MADE)
_names.update({name: _making.legacy(name) for name in _objects.LEGACY})
_names.update({f.__name__: f for f in _about.PLAIN}, **random.PLAIN)
_TABLES: Any = (_reductions, _shapes, _positions, _arithmetic)
for _rows in (_about.FORMULAS, *(module.ONLY_FUNCTIONS for module in _TABLES)):
    _names.update({row.partition("(")[0]: _formula(row, f) for row, f in _rows.items()})


_names.update({
    name: getattr(_functional, name)
    for name in (
        "adaptive_avg_pool1d", "avg_pool1d", "batch_norm", "bilinear", "celu", "conv1d", "conv2d",
        "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
        "dropout", "embedding", "group_norm", "layer_norm", "max_pool1d", "max_pool2d",
        "max_pool3d", "pairwise_distance", "pixel_shuffle", "rms_norm", "selu", "kl_div",
    )
})  # fmt: skip
_names.update({
    name: getattr(linalg, name)
    for name in ("cholesky", "det", "slogdet", "matrix_power", "logdet")
}, inverse=linalg.inv, pinverse=linalg.pinv, qr=linalg.qr)  # fmt: skip
_names.update({
    f"{name}_copy": _signatures.copied(getattr(Tensor, name))
    for name in (
        "diagonal", "expand", "permute", "squeeze", "t", "transpose", "unfold", "unsqueeze", "view",
    )
})  # fmt: skip
autocast, vmap = amp.autocast, func.vmap
newaxis = None
strided, contiguous_format, channels_last, preserve_format = "strided", "contiguous", "last", "kept"
backends = SimpleNamespace(
    cudnn=SimpleNamespace(benchmark=False, deterministic=True, enabled=False),
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
    mps=SimpleNamespace(is_available=lambda: False, is_built=lambda: False),
)
__version__ = "2.13.0+tutor"


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None,
            disable=False):  # fmt: skip
    """`tutor.jit(model)`: the same numbers; a warning (with fullgraph: an error) says why a call
    cannot be recorded."""
    if model is None:
        return lambda f: compile(f, fullgraph=fullgraph, disable=disable)
    return model if disable else _jit(model, strict=fullgraph)


def set_num_threads(num):
    """Nothing: TUTOR_NUM_THREADS, at the start, is the number of threads."""


def set_float32_matmul_precision(precision):
    """Nothing: products of float32 are computed in float32."""


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Nothing: all kernels are deterministic."""


def __getattr__(name: str) -> Any:
    raise _carrier.missing("", name)
