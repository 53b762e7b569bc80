"""nn.init: tutor's, whose names and formulas are PyTorch's."""

from __future__ import annotations

from typing import Any

from tutor.nn import init as ours
from tutor.torch import random
from tutor.torch.carrier import tag, watch

SIGNATURES = (
    "uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_",
    "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "constant_", "zeros_", "ones_",
    "eye_", "dirac_",
)  # fmt: skip
calculate_gain = ours.calculate_gain


def _filler(name: str) -> Any:
    function = getattr(ours, name)

    def fill(tensor: Any, *args: Any, generator: Any = None, **options: Any) -> Any:
        return tag(random.drawn(generator, function, tensor, *args, **options))

    fill.__name__, fill.__doc__ = name, function.__doc__
    return fill


for _name in SIGNATURES:
    globals()[_name] = _filler(_name)


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    return ours.fans("fans", tensor)


watch(__name__)
