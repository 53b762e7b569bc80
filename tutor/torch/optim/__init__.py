"""torch.optim: tutor's optimizers with PyTorch's signatures, and a base class for one's own."""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from typing import Any

from tutor import optim as ours
from tutor.torch.carrier import watch
from tutor.torch.optim import lr_scheduler, swa_utils
from tutor.torch.optim.base import Optimizer, SparseAdam, adopted

END = "foreach=None, maximize=False, capturable=False, differentiable=False"
SIGNATURES = f"""
Adadelta(params, lr=1.0, rho=0.9, eps=1e-06, weight_decay=0, foreach=None, *, capturable=False, \
maximize=False, differentiable=False)
Adagrad(params, lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, \
foreach=None, *, maximize=False, differentiable=False, fused=None)
Adam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0, amsgrad=False, *, {END}, \
fused=None, decoupled_weight_decay=False)
AdamW(params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01, amsgrad=False, *, {END}, \
fused=None)
LBFGS(params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-07, tolerance_change=1e-09, \
history_size=100, line_search_fn=None)
NAdam(params, lr=0.002, betas=(0.9, 0.999), eps=1e-08, weight_decay=0, momentum_decay=0.004, \
decoupled_weight_decay=False, *, {END})
RAdam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0, \
decoupled_weight_decay=False, *, {END})
RMSprop(params, lr=0.01, alpha=0.99, eps=1e-08, weight_decay=0, momentum=0, centered=False, \
capturable=False, foreach=None, maximize=False, differentiable=False)
SGD(params, lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, \
foreach=None, differentiable=False, fused=None)
"""
globals().update(adopted(SIGNATURES, ours))

watch(__name__)
