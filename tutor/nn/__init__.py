"""Neural networks: layers, and the walk that finds a model's parameters."""

from tutor.nn.layers import Linear, ReLU, Sequential
from tutor.nn.module import Module, get_parameters, load_state_dict, named_tensors, state_dict

__all__ = [
    "Linear",
    "Module",
    "ReLU",
    "Sequential",
    "get_parameters",
    "load_state_dict",
    "named_tensors",
    "state_dict",
]
