"""torch.nn.utils: clipping, parameters as one vector, packed sequences, norms of weights."""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from typing import Any

from tutor.nn import utils as ours
from tutor.torch.carrier import Plain, watch
from tutor.torch.nn.utils import parametrizations, parametrize, rnn
from tutor.torch.nn.utils.parametrizations import older_spectral_norm as spectral_norm
from tutor.torch.nn.utils.parametrizations import older_weight_norm as weight_norm
from tutor.torch.signatures import adapted, spoken


def _row(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, Plain) else list(parameters)


@spoken
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that their common norm is at most `max_norm`; returns it as it was."""
    return ours.clip_grad_norm_(_row(parameters), max_norm, norm_type, error_if_nonfinite)


@spoken
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clip each gradient to +-clip_value."""
    ours.clip_grad_value_(_row(parameters), clip_value)


@spoken
def parameters_to_vector(parameters):
    """All parameters in one row."""
    return ours.parameters_to_vector(_row(parameters))


@spoken
def vector_to_parameters(vec, parameters):
    """The numbers of a row as those of the parameters."""
    ours.vector_to_parameters(vec, _row(parameters))


get_total_norm = adapted(
    "get_total_norm", "tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None",
    ours.get_total_norm,
)  # fmt: skip

watch(__name__)
