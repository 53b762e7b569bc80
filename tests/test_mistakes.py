"""Whatever is given to whatever is public, an error is a lesson in three parts.

Every public function, method and class is called with a table of wrong arguments in the place of
each of its parameters, one at a time, the others being right. It may do what was asked; if it
raises, then a TutorError that says what was asked, what was found and what to do. The only other
error is Python's own TypeError for a call with too few or too many arguments.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest
from layer_rows import settings

import tutor
from tutor import Tensor, interop, nn, optim
from tutor.errors import ArgumentError, TutorError

WRONG: dict[str, Any] = {
    "None": None, "a word": "wrong", "nothing": "", "a float": 2.5, "minus one": -1,
    "a large negative": -(10**6), "half an axis": 0.5, "nan": float("nan"), "bytes": b"x",
    "infinity": float("inf"), "complex": 1j, "too large": 10**30, "a dict": {"a": 1}, "a set": {1},
    "an object": object(), "a class": int, "a function": len, "a slice": slice(0, 1),
    "a list of words": ["a", "b"], "a list of None": [None], "ragged": [[1], [1, 2]],
    "an empty list": [], "an empty tuple": (), "too many axes": (0, 1, 2, 3, 4),
    "axes twice": (0, 0), "no pairs": [(1,)], "words in pairs": [("a", "b"), ("a", "b")],
    "a Tensor of bools": Tensor([True]), "a Tensor of floats": Tensor([0.5, 1.5, 2.5]),
    "a Tensor of nothing": Tensor([]), "a Tensor of another shape": Tensor.zeros(2, 3, 4, 5),
}  # fmt: skip

MATRIX = Tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0], [0.5, 0.25, 0.75]])
IMAGE = Tensor.ones(1, 2, 4, 4)
LINE = Tensor.ones(1, 2, 4)
SOLID = Tensor.ones(1, 2, 4, 4, 4)
WHOLE = Tensor([[1, 0, 2], [2, 1, 0], [0, 1, 2]])
MASK = Tensor([[True, False, True]] * 3)


LAYER = nn.Linear(2, 2)


def leaf() -> Tensor:
    return Tensor([1.0, 2.0], requires_grad=True)


LEAF = leaf()

# What the parameters without a default are given where nothing is wrong.
GIVEN: dict[str, Any] = {
    "other": MATRIX, "axis": 0, "index": WHOLE, "mask": MASK, "src": 1.0, "value": 0.5, "k": 2,
    "shape": (3, 3), "axes": (0, 1), "bounds": [(0, 1), (0, 2)], "widths": [(0, 1), (1, 0)],
    "sizes": 1, "n": 2, "size": 2, "shifts": 1, "repeats": 2, "source": 0, "destination": 1,
    "dtype": "float32", "target": "float64", "end": MATRIX, "weight": 0.5, "x": 1.0, "y": 2.0,
    "on": True, "hook": lambda g: None, "start": 0, "stop": 1, "num": 3, "t": MATRIX, "low": 0,
    "p": 0.5, "weights": [1.0, 2.0, 3.0], "num_samples": 2, "tensors": [MATRIX, MATRIX],
    "arrays": Tensor([1.0, 2.0]), "equation": "ij,jk->ik", "operands": MATRIX, "f": Tensor.exp,
    "inputs": 2, "outputs": 2, "seed": 1, "targets": Tensor([0, 1, 2]), "a": 0, "b": 1,
    "gradient": None, "output_size": 2, "kernel_size": 2, "layers": nn.ReLU(), "data": [1.0],
    "normalized_shape": 3, "num_groups": 3, "running_mean": MATRIX[0], "running_var": MATRIX[1],
    "query": MATRIX, "key": MATRIX,
    "params": [leaf()], "threshold": 0.1, "model": LAYER, "function": lambda x: x, "asked": MATRIX,
    "in_features": 2, "out_features": 2, "in1_features": 2, "in2_features": 3, "in_channels": 2,
    "out_channels": 2, "num_embeddings": 3, "embedding_dim": 2, "num_features": 3,
    "num_channels": 3, "unflattened_size": (2, 2), "upscale_factor": 2, "downscale_factor": 2,
    "input_size": 2, "hidden_size": 3, "embed_dim": 4, "num_heads": 2, "d_model": 4, "nhead": 2,
    "encoder_layer": nn.TransformerEncoderLayer(4, 2, 3), "num_layers": 2, "nonlinearity": "relu",
    "decoder_layer": nn.TransformerDecoderLayer(4, 2, 3), "boundaries": [1.0, 2.0],
    "tensor": Tensor.zeros(3, 3), "val": 0.5, "sparsity": 0.5, "parameters": [leaf()],
    "max_norm": 1.0, "clip_value": 1.0, "vec": Tensor([1.0, 2.0]), "input1": MATRIX,
    "input2": MATRIX, "x1": MATRIX, "x2": MATRIX, "anchor": MATRIX, "positive": MATRIX,
    "negative": MATRIX, "var": MATRIX, "indices": Tensor([[[0, 3], [1, 2]]]),
    "pad": (1, 1), "q": 0.5, "mat1": MATRIX, "mat2": MATRIX, "mat": MATRIX, "batch1": MATRIX[None],
    "batch2": MATRIX[None], "tensor1": MATRIX, "tensor2": MATRIX, "test": [1.0, 2.0],
    "xp": MATRIX[2], "fp": MATRIX[0], "array": MATRIX, "state": MATRIX, "kernel": "add",
}  # fmt: skip
ITSELF: dict[str, Any] = {  # where GIVEN or MATRIX would not do
    "where": MASK, "one_hot": WHOLE[0], "conv1d": LINE, "conv2d": IMAGE, "conv_transpose1d": LINE,
    "conv_transpose2d": IMAGE, "max_pool1d": LINE, "max_pool2d": IMAGE, "avg_pool1d": LINE,
    "avg_pool2d": IMAGE, "adaptive_avg_pool1d": LINE, "adaptive_avg_pool2d": IMAGE,
    "outer": MATRIX[0], "bitwise_and": WHOLE, "bitwise_or": WHOLE, "bitwise_xor": WHOLE,
    "bitwise_left_shift": WHOLE, "bitwise_right_shift": WHOLE, "bitwise_not": WHOLE,
    "grid_sample": IMAGE,
    "conv3d": SOLID, "conv_transpose3d": SOLID, "max_pool3d": SOLID, "avg_pool3d": SOLID,
    "adaptive_avg_pool3d": SOLID, "adaptive_max_pool1d": LINE, "adaptive_max_pool2d": IMAGE,
    "adaptive_max_pool3d": SOLID, "dropout1d": LINE, "dropout2d": IMAGE, "instance_norm": LINE,
    "interpolate": IMAGE, "pixel_shuffle": Tensor.ones(1, 4, 2, 2), "pixel_unshuffle": IMAGE,
    "max_unpool1d": LINE[:, :, :2], "max_unpool2d": Tensor.ones(1, 2, 2),
    "max_unpool3d": Tensor.ones(1, 2, 1, 2),
    "register_hook": leaf(), "from_dlpack": WHOLE, "embedding": WHOLE,
    "expand": MATRIX[:1], "broadcast_to": MATRIX[:1], "squeeze": MATRIX[:1], "item": MATRIX[0, 0],
    "glu": Tensor.ones(2, 4), "bmm": MATRIX[None], "bincount": WHOLE[0],
}  # fmt: skip
SPECIAL: dict[str, dict[str, Any]] = {
    "squeeze": {"axis": 0}, "addmv": {"vec": MATRIX[0]}, "searchsorted": {"x1": MATRIX[2]},
    "mv": {"other": MATRIX[0]}, "bmm": {"other": MATRIX[None]},
    "unflatten": {"sizes": (1, -1)}, "cartesian_prod": {"tensors": MATRIX[0]},
    "block_diag": {"tensors": MATRIX}, "tensordot": {"x": MATRIX, "y": MATRIX},
    "index_select": {"index": [0, 1]}, "index_add": {"index": [0], "source": MATRIX[:, :1]},
    "index_add_": {"index": [0], "source": MATRIX[:, :1]}, "view_as": {"other": MATRIX},
    "outer": {"other": MATRIX[0]}, "conv1d": {"weight": Tensor.ones(2, 2, 3)},
    "conv2d": {"weight": Tensor.ones(2, 2, 3, 3)},
    "conv_transpose1d": {"weight": Tensor.ones(2, 2, 3)},
    "conv_transpose2d": {"weight": Tensor.ones(2, 2, 3, 3)},
    "conv3d": {"weight": Tensor.ones(2, 2, 3, 3, 3)}, "bilinear": {"weight": Tensor.ones(2, 3, 3)},
    "conv_transpose3d": {"weight": Tensor.ones(2, 2, 3, 3, 3)}, "dirac_": {"tensor": LINE.copy()},
    "cosine_embedding_loss": {"target": Tensor([1, -1, 1])}, "Parameter": {"data": MATRIX},
    "max_unpool1d": {"indices": Tensor([[[0, 3], [1, 2]]])},
    "max_unpool2d": {"indices": Tensor([[[0, 3]], [[1, 2]]]).reshape(1, 2, 2)},
    "max_unpool3d": {"indices": Tensor([0, 3, 1, 2]).reshape(1, 2, 1, 2)},
    "linear": {"weight": Tensor.ones(2, 3)}, "embedding": {"weight": MATRIX},
    "max_pool1d": {"kernel_size": 2},
    "bitwise_and": {"other": WHOLE}, "bitwise_or": {"other": WHOLE},
    "bitwise_xor": {"other": WHOLE}, "bitwise_left_shift": {"other": 1},
    "bitwise_right_shift": {"other": 1}, "full": {"value": 1}, "unfold": {"size": 2},
    "shrink": {"bounds": [(0, 1), (0, 2)]}, "to_device": {"device": "cpu"}, "randint": {"low": 6},
    "arange": {"bounds": 3}, "einsum": {"equation": "ij->ji"},
    "load_state_dict": {"state": nn.state_dict(LAYER), "model": LAYER},
    "grid_sample": {"grid": Tensor.zeros(1, 2, 2, 2)},
    "affine_grid": {"theta": Tensor.zeros(1, 2, 3), "size": (1, 1, 4, 4)},
    "glorot_uniform": {"shape": (2, 3)}, "eye": {"n": 3}, "randperm": {"n": 4},
    "promote": {"a": "int8", "b": float}, "set_backend": {"name": tutor.registry.current()},
    "set_default_device": {"device": "cpu"},
}  # fmt: skip

# ---- what is public ------------------------------------------------------------------------------

FOR_THE_LIBRARY = {  # hot, or told by who knows that it fits: these check nothing
    "alias", "explain", "is_contiguous", "is_whole", "like", "numel", "over", "wrap",
}  # fmt: skip
NO_FUNCTIONS = {  # modules, classes, contexts and tables: tested where they are at home
    "DTYPES", "OPS", "Buffer", "Engine", "Function", "Op", "Tensor", "amp", "apply", "autocast",
    "autograd", "double", "float", "half", "int", "long", "onnx",
    "checkpoint", "data", "enable_grad",
    "engine", "errors", "functions", "graph", "inference_mode", "initial_seed", "is_grad_enabled",
    "keep_graph",
    "linalg", "load", "memory", "nn", "no_grad", "ops", "optim", "profile", "python_ref", "random",
    "registry", "save", "set_grad_enabled", "simd_cpp", "testing", "use_backend", "viz",
    *(d.name for d in tutor.DTYPES),
}  # fmt: skip


def public(place: Any, but: set[str]) -> dict[str, Any]:
    found = {
        n: getattr(place, n, None) for n in dir(place) if not n.startswith("_") and n not in but
    }
    return {n: f for n, f in found.items() if inspect.isroutine(f)}


LAYERS = [
    f for f in (getattr(nn, name) for name in nn.__all__)
    if isinstance(f, type) and issubclass(f, nn.Module) and f is not nn.Module
]  # fmt: skip
OTHERS = (
    Tensor, optim.SGD, optim.Adam, tutor.testing.gradcheck, nn.get_parameters, nn.state_dict,
    nn.load_state_dict, nn.train, nn.Parameter,
)  # fmt: skip
INITS = (
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
)  # fmt: skip
UTILS = (
    "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters",
)  # fmt: skip
CALLS: dict[str, Any] = {
    **{f"Tensor.{n}": f for n, f in public(Tensor, FOR_THE_LIBRARY).items()},
    **{f"tutor.{n}": f for n, f in public(tutor, NO_FUNCTIONS).items()},
    **{f"functional.{n}": f for n, f in public(nn.functional, set()).items()},
    "functional.interpolate": functools.partial(nn.functional.interpolate, scale_factor=2.0),
    "sized.interpolate": functools.partial(nn.functional.interpolate, size=2),
    **{f"init.{n}": getattr(nn.init, n) for n in INITS},
    **{f"utils.{n}": getattr(nn.utils, n) for n in UTILS},
    "autograd.grad": tutor.autograd.grad,
    "exchange.from_torch": interop.from_torch,
    **{f"{c.__module__}.{c.__name__}": c for c in (*LAYERS, *OTHERS)},
}


def test_every_layer_is_swept() -> None:
    assert len(set(LAYERS)) > 90 and {nn.Linear, nn.LSTM, nn.CrossEntropyLoss} < set(LAYERS)


# ---- calling it ----------------------------------------------------------------------------------


def parameters(call: str) -> list[inspect.Parameter]:
    """What may be given by the caller, without the `self` of a class that is being made."""
    made = isinstance(CALLS[call], type)
    if made and CALLS[call].__init__ is object.__init__:
        return []
    found = inspect.signature(CALLS[call].__init__ if made else CALLS[call]).parameters.values()
    return [p for p in found if p.kind is not p.VAR_KEYWORD][made:]


def right(call: str, p: inspect.Parameter) -> Any:
    """A right argument for a parameter that has no default. A plain Tensor is a copy: some calls
    change their arguments, and the next one must not see that."""
    given = _right(call, p)
    plain = isinstance(given, Tensor) and not given.requires_grad
    return given.copy() if plain else given


def _right(call: str, p: inspect.Parameter) -> Any:
    bare = call.rpartition(".")[2]
    if CALLS[call] in LAYERS and p.name in (row := settings(bare)):
        return row[p.name]
    if p.name in SPECIAL.get(bare, {}):
        return SPECIAL[bare][p.name]
    if bare == "backward" and p.name in ("self", "root"):
        return leaf().sum()  # of a graph that nobody has walked yet
    if p.name == "self" and (bare.endswith("_") or bare == "assign"):
        return MATRIX.copy()  # which will be changed
    if bare == "grad":
        return LEAF if p.name in ("xs", "inputs") else (LEAF * LEAF).sum()
    if p.name in ("self", "input") or (p.name == "x" and bare in ("from_dlpack", "linear")):
        return ITSELF.get(bare, MATRIX)
    if p.name == "target" and call.startswith("functional."):
        return Tensor([0, 1, 2]) if bare in ("cross_entropy", "nll_loss") else MATRIX
    if p.name == "value" and bare == "scaled_dot_product_attention":
        return MATRIX
    if p.name == "weight" and bare == "Tensor":
        return 0.5
    return GIVEN[p.name]


def wrong_call(call: str, at: inspect.Parameter, wrong: Any) -> None:
    """Call it with `wrong` for the parameter `at`, and right arguments for what must be given."""
    positional, named = [], {}
    for p in parameters(call):
        value = wrong if p is at or p == at else None
        if p != at:
            if p.default is not p.empty:
                continue
            value = right(call, p)
        if p.kind is p.KEYWORD_ONLY or p.default is not p.empty:
            named[p.name] = value
        else:
            positional.append(value)
    CALLS[call](*positional, **named)


def problem(call: str, at: inspect.Parameter, wrong: Any) -> str:
    """What is bad about the answer to this mistake; "" if nothing is."""
    try:
        wrong_call(call, at, wrong)
    except TutorError as error:
        return "" if error.asked and error.found and error.do else f"not in three parts: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("call", CALLS)
def test_right_arguments(call: str) -> None:
    """Else the sweep would never get beyond the first parameter."""
    must = [p for p in parameters(call) if p.default is p.empty]
    CALLS[call](*(right(call, p) for p in must))


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments(call: str) -> None:
    bad = []
    for at in parameters(call):
        if at.name == "self" and call.startswith("Tensor."):  # a method is called on a Tensor
            continue
        for title, wrong in WRONG.items():
            if said := problem(call, at, wrong):
                bad.append(f"{call}({at.name}={title}): {said}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("call", CALLS)
def test_an_unknown_keyword(call: str) -> None:
    must = [p for p in parameters(call) if p.default is p.empty]
    with pytest.raises(ArgumentError) as caught:
        CALLS[call](*(right(call, p) for p in must), no_such_thing=1)
    assert "no_such_thing" in str(caught.value) and caught.value.found and caught.value.do
