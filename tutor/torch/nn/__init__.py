"""torch.nn: layers, losses, containers, Module and Parameter."""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from typing import Any

from tutor.torch import methods
from tutor.torch.carrier import Parameter, watch
from tutor.torch.nn import functional, init, parameter, utils
from tutor.torch.nn.layers import CLASSES
from tutor.torch.nn.module import Module
from tutor.torch.nn.more import MORE

globals().update(CLASSES)
globals().update(MORE)

watch(__name__)
