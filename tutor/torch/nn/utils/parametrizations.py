"""torch.nn.utils.parametrizations, and the older functions of the same names: norms of weights."""

from __future__ import annotations

from typing import Any

from tutor.core.engine.grad_mode import no_grad
from tutor.torch.carrier import Parameter, tag, watch
from tutor.torch.making import MADE
from tutor.torch.nn.functional import normalize
from tutor.torch.nn.module import Module
from tutor.torch.nn.utils.parametrize import register_parametrization


def length(v: Any, dim: Any) -> Any:
    """The length of v along all axes but one."""
    axes = [i for i in range(v.ndim) if dim is None or i != dim % v.ndim]
    return v.square().sum(axes, keepdim=dim is not None).sqrt()


class WeightNorm(Module):
    """g v / |v|"""

    def __init__(self, dim: Any) -> None:
        self.dim = None if dim is None or dim == -1 else dim

    def forward(self, g, v):
        """The weight of that length and direction."""
        return v * (g / length(v, self.dim))

    def right_inverse(self, weight):
        """g = |weight|, v = weight"""
        return length(weight.detach(), self.dim), weight.detach()


class SpectralNorm(Module):
    """W / sigma, with sigma its largest singular value, by steps of power iteration in training."""

    def __init__(self, weight: Any, steps: int, eps: float, dim: int, older: bool = False) -> None:
        self.steps, self.eps, self.dim, self.older = steps, eps, dim, older
        rows = self.matrix(weight.detach())
        for name, size in (("_u", rows.shape[0]), ("_v", rows.shape[1])):
            self.register_buffer(name, normalize(MADE["randn"](size), dim=0, eps=eps))
        self.iterate(rows, 15)

    def matrix(self, weight: Any) -> Any:
        """The weight with one axis for rows."""
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad
    def iterate(self, rows: Any, steps: int) -> None:
        """u, v <- the singular vectors, nearly; the older form begins with v."""
        for turn in range(2 * steps):
            if turn % 2 == self.older:
                self._u.copy_(normalize(rows @ self._v, dim=0, eps=self.eps))
            else:
                self._v.copy_(normalize(rows.T @ self._u, dim=0, eps=self.eps))

    def forward(self, weight):
        """The weight with a largest singular value of 1."""
        rows = self.matrix(weight)
        if self.training:
            self.iterate(rows, self.steps)
        return weight / (self._u.clone() @ (rows @ self._v.clone()))


def axis_of(module: Any, dim: Any) -> int:
    """By default the axis of the outputs."""
    transposed = type(module).__name__.startswith("ConvTranspose")
    return (1 if transposed else 0) if dim is None else dim


def weight_norm(module, name="weight", dim=0):
    """The weight from its lengths and directions: `original0`, `original1`."""
    return register_parametrization(module, name, WeightNorm(dim))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight divided by its largest singular value."""
    weight, axis = getattr(module, name), axis_of(module, dim)
    return register_parametrization(
        module, name, SpectralNorm(weight, n_power_iterations, eps, axis)
    )


# ---- the older form, with hooks ------------------------------------------------------------------


def hooked(module: Any, name: str, compute: Any) -> Any:
    """Have `compute(module)` set the attribute before each call; now as well."""

    def update(module: Any, *inputs: Any) -> None:
        vars(module)[name] = tag(compute(module))

    update(module)
    module.register_forward_pre_hook(update)
    return module


def older_weight_norm(module, name="weight", dim=0):
    """nn.utils.weight_norm: the parameters `weight_g` and `weight_v`, and a hook."""
    step = WeightNorm(dim)
    g, v = map(Parameter, step.right_inverse(vars(module).pop(name)))
    setattr(module, f"{name}_g", g)
    setattr(module, f"{name}_v", v)

    def compute(module: Any) -> Any:
        return step(getattr(module, f"{name}_g"), getattr(module, f"{name}_v"))

    return hooked(module, name, compute)


def older_spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """nn.utils.spectral_norm: the parameter `weight_orig`, two buffers, and a hook."""
    weight = vars(module).pop(name)
    step = SpectralNorm(weight, n_power_iterations, eps, axis_of(module, dim), True)
    setattr(module, f"{name}_orig", weight)
    for part in ("_u", "_v"):
        module.register_buffer(f"{name}{part}", getattr(step, part))

    def compute(module: Any) -> Any:
        step.training = module.training
        vars(step).update({part: getattr(module, f"{name}{part}") for part in ("_u", "_v")})
        return step(getattr(module, f"{name}_orig"))

    return hooked(module, name, compute)


watch(__name__)
