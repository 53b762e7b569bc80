"""Optimizers: how parameters move when their gradients are known.

Each step of SGD, Adam, AdamW, RMSprop, Adagrad and Lion is one kernel call per parameter, which
reads the gradient and updates the parameter and the optimizer's state in place; python_ref has
these in plain Python. The others are written with Tensor operations. The formulas are in the class
docstrings, and in docs/optimizers.md with pictures.

The settings and the step count, which change between steps, are kept in cells: Tensors of one
number, which the kernels read when they run. `optimizer.lr = 0.1` writes into such a cell, and the
end of a step adds 1 to the count. So repeating the same kernel calls makes the next step.
"""

from __future__ import annotations

from tutor.interop import missing_names
from tutor.optim import lr_scheduler
from tutor.optim.adam import Adam, AdamW, NAdam, RAdam
from tutor.optim.adaptive import Adadelta, Adagrad, RMSprop
from tutor.optim.averages import EMA, Average
from tutor.optim.clipping import clip_grad_norm_, clip_grad_value_, get_total_norm
from tutor.optim.group import Group
from tutor.optim.lbfgs import LBFGS
from tutor.optim.limits import BETAS, EPS, MOMENTUM, RATE, SHARE, Limit
from tutor.optim.lion import Lion
from tutor.optim.muon import Muon, orthogonalized
from tutor.optim.optimizer import Optimizer
from tutor.optim.sgd import SGD

__all__ = [
    "BETAS", "EMA", "EPS", "LBFGS", "MOMENTUM", "RATE", "SGD", "SHARE", "Adadelta", "Adagrad",
    "Adam", "AdamW", "Average", "Group", "Limit", "Lion", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "lr_scheduler",
    "orthogonalized",
]  # fmt: skip
missing_names.watch(__name__)
