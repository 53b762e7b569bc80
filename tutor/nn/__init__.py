"""Neural networks: layers, and the walk that finds a model's parameters."""

from tutor.nn import functional
from tutor.nn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential
from tutor.nn.module import Module, get_parameters, load_state_dict, state_dict
from tutor.nn.parts import named_tensors
from tutor.nn.summary import Summary

__all__ = [
    "Conv2d",
    "Flatten",
    "Linear",
    "MaxPool2d",
    "Module",
    "ReLU",
    "Sequential",
    "Summary",
    "functional",
    "get_parameters",
    "load_state_dict",
    "named_tensors",
    "state_dict",
]
