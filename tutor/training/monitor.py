"""Monitor: curves of what happens inside a network while it learns.

    monitor = Monitor(model)
    for x, y in batches:
        step(x, y)
        monitor.note()
    monitor.picture()

Three quantities tell a network that learns from one that does not, layer by layer: the size of the
gradients, how far a step moves the weights (usually about 1e-3 of their size), and the activations
(their spread, and the share that is 0).
"""

from __future__ import annotations

from typing import Any

from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import DataError, GraphError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.nn.parts import named_modules, state_of
from tutor.programs.call import within
from tutor.training.diagnosis import _ratio, _rms

KINDS = ("gradients", "updates", "activations", "zeros")


@spelled
class Monitor:
    """`Monitor(model)`; `note()` after each step. `curves[kind][name]` are the numbers so far:

    - "gradients": sqrt(mean(g²)) of each parameter that has one
    - "updates": the size of the last step relative to that of the parameter
    - "activations": the standard deviation of each layer's result, in the last call
    - "zeros": the share of that result that is 0

    Layers are observed by hooks, so only Modules have activations; under tutor.jit a layer runs no
    Python, and only parameters and gradients are seen. `close()` removes the hooks, as does the end
    of `with Monitor(model) as monitor:`.
    """

    def __init__(self, model: object) -> None:
        self.parameters = {s.name: s.tensor for s in state_of(model) if s.tensor.requires_grad}
        if not self.parameters:
            raise DataError(
                "to monitor a model",
                "it has no Tensor that requires a gradient",
                "make its weights with requires_grad=True, and keep them in attributes",
            )
        self.curves: dict[str, dict[str, list[float]]] = {kind: {} for kind in KINDS}
        self._before = {n: t.detach().copy() for n, t in self.parameters.items()}
        self._seen: dict[str, Tensor] = {}  # the last result of each layer
        modules = dict(named_modules(model))
        inner = {n: m for n, m in modules.items() if isinstance(m, Module) and not any(
            o.startswith(f"{n}." if n else "") and o != n for o in modules)}  # fmt: skip
        self._handles = [
            module.register_forward_hook(self._hook(name)) for name, module in inner.items()
        ]

    def _hook(self, name: str) -> Any:
        seen = self._seen  # not self, which has the hooks: a reference cycle

        def see(module: Any, inputs: Any, result: Any) -> None:
            if within.get():  # recording for jit: leave nothing behind
                return
            if isinstance(result, Tensor) and result.dtype.is_float and result.numel() > 1:
                seen[name or type(module).__name__] = result.detach()

        return see

    @no_grad()
    def note(self) -> None:
        """Add a point to each curve, after a step."""
        if not all(t.requires_grad for t in self.parameters.values()):
            raise GraphError(
                "to monitor a model", "one of its parameters is frozen", "make a new Monitor"
            )
        for name, t in self.parameters.items():
            now = t.detach()
            if t.grad is not None:
                self._add("gradients", name, _rms(t.grad))
            self._add("updates", name, _ratio(now - self._before[name], self._before[name]))
            self._before[name] = now.copy()
        for name, result in self._seen.items():
            self._add("activations", name, float(result.cast("float64").std().item()))
            self._add("zeros", name, float((result == 0).cast("float64").mean().item()))
        self._seen.clear()

    def _add(self, kind: str, name: str, value: float) -> None:
        self.curves[kind].setdefault(name, []).append(value)

    def picture(self) -> Any:
        """The curves below one another, sizes on a log scale. DataError if nothing was noted."""
        from tutor import viz

        drawn = []
        for kind, title in zip(KINDS, ("size of the gradients", "step / weight", "spread of the "
                               "activations", "share of zeros"), strict=True):  # fmt: skip
            log = kind != "zeros"
            series = {n: v for n, v in self.curves[kind].items() if not log or max(v) > 0}
            if series:
                drawn.append(viz.curves(series, title, "step", log=log))
        if not drawn:
            raise DataError("a picture of a training", "nothing was noted", "call note() first")
        return viz.column(*drawn)

    def close(self) -> None:
        """Stop observing the model."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
