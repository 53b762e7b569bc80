"""Layers of PyTorch's that tutor.nn does not have, each of a few lines."""

from __future__ import annotations

from typing import Any

from tutor.nn.functional import pad
from tutor.torch.carrier import Parameter
from tutor.torch.nn import functional as F  # noqa: N812
from tutor.torch.nn.layers import CLASSES, ModuleDict
from tutor.torch.nn.module import Module, ModuleClass

MORE: dict[str, Any] = {}
_Embedding: Any = CLASSES["Embedding"]


class Padding(Module):
    """Elements around the last axes: `padding` is a number, or (left, right, top, bottom, ...)."""

    axes, mode, value = 1, "constant", 0.0

    def __init__(self, padding: Any, value: Any = None) -> None:
        self.padding = (padding,) * (2 * self.axes) if isinstance(padding, int) else tuple(padding)
        if value is not None:
            self.value = value

    def forward(self, input):
        """The padded tensor."""
        return pad(input, self.padding, self.mode, self.value if self.mode == "constant" else None)


for _kind, _mode in (
    ("Zero", "constant"), ("Constant", "constant"), ("Reflection", "reflect"),
    ("Replication", "replicate"), ("Circular", "circular"),
):  # fmt: skip
    for _axes in (1, 2, 3):
        _name = f"{_kind}Pad{_axes}d"
        MORE[_name] = ModuleClass(_name, (Padding,), {"axes": _axes, "mode": _mode})


class Unfold(Module):
    """Windows as columns."""

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1) -> None:
        self.how = kernel_size, dilation, padding, stride

    def forward(self, input):
        """(N, C, H, W) -> (N, C kh kw, L)"""
        return F.unfold(input, *self.how)


class Fold(Module):
    """Columns added up where their windows lie."""

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1) -> None:
        self.how = output_size, kernel_size, dilation, padding, stride

    def forward(self, input):
        """(N, C kh kw, L) -> (N, C, H, W)"""
        return F.fold(input, *self.how)


class EmbeddingBag(_Embedding):  # type: ignore[misc]
    """The sum, mean or maximum of the rows of each bag."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, mode="mean", sparse=False, _weight=None,
                 include_last_offset=False, padding_idx=None, device=None, dtype=None):  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type,
                         scale_grad_by_freq, sparse, _weight, dtype=dtype)  # fmt: skip
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        """(N, L), or all indices in one row and where each bag starts"""
        return F.embedding_bag(input, self.weight, offsets, mode=self.mode,
                               per_sample_weights=per_sample_weights,
                               include_last_offset=self.include_last_offset,
                               padding_idx=self.padding_idx)  # fmt: skip


class CTCLoss(Module):
    """-ln of the probability of all alignments."""

    def __init__(self, blank=0, reduction="mean", zero_infinity=False) -> None:
        self.how = blank, reduction, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        """(T, N, C), (N, S) or one row, and the lengths of both"""
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, *self.how)


class Softmax2d(Module):
    """Softmax over the channels of each place."""

    def forward(self, input):
        """(N, C, H, W) or (C, H, W)"""
        return F.softmax(input, -3)


class UpsamplingNearest2d(Module):
    """Each pixel several times."""

    mode: str = "nearest"
    align: bool | None = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        self.size, self.scale_factor = size, scale_factor

    def forward(self, input):
        """A larger image."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align)


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Bilinear, with the corners in their places."""

    mode, align = "bilinear", True


class ParameterDict(ModuleDict):
    """Parameters by name; those of a plain dict in the order of their names."""

    def __init__(self, parameters: Any = None) -> None:
        given = dict(parameters or {})
        super().__init__(dict(sorted(given.items())) if type(parameters) is dict else given)

    def __setitem__(self, key: str, value: Any) -> None:
        self.layers[key] = value if isinstance(value, Parameter) else Parameter(value)


_CLASSES: Any = (
    Unfold, Fold, EmbeddingBag, CTCLoss, Softmax2d, UpsamplingNearest2d, UpsamplingBilinear2d,
    ParameterDict,
)  # fmt: skip
MORE |= {c.__name__: c for c in _CLASSES}
