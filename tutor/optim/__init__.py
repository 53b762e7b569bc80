"""Optimizers: how parameters move when their gradients are known.

Each step is one kernel call per parameter, which reads the gradient and updates the parameter and
the optimizer's state in place. The formulas are in the class docstrings; python_ref has them in
plain Python.

What changes between steps, the settings and the count of steps, stands in cells: Tensors of one
number, which the kernels read when they run. `optimizer.lr = 0.1` writes into such a cell, and the
end of a step adds 1 to the count. So the same kernel calls, made again, are the next step.
"""

from tutor.optim.adam import Adam
from tutor.optim.limits import BETAS, EPS, MOMENTUM, RATE, Limit
from tutor.optim.optimizer import Optimizer
from tutor.optim.sgd import SGD

__all__ = ["BETAS", "EPS", "MOMENTUM", "RATE", "SGD", "Adam", "Limit", "Optimizer"]
