"""einops (einops.rocks) on Tensors: import this module once, and einops knows them.

    import tutor.einops
    einops.rearrange(images, "n c h w -> n (c h w)")

einops finds a backend among the subclasses of its AbstractBackend, so one must have been made; but
`import tutor` imports nothing that is not needed, and einops is not. Every method below is made of
Tensor's own, so gradients flow. Without this module `einops.array_api` does nearly all the same.
"""

from __future__ import annotations

from typing import Any

from einops import _backends  # type: ignore[import-not-found,unused-ignore]

from tutor.core.engine import apply
from tutor.functions.einsum import einsum
from tutor.methods.tensor import Tensor


class TutorBackend(_backends.AbstractBackend):  # type: ignore[misc,unused-ignore]
    """What einops asks of a library."""

    framework_name = "tutor"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return Tensor(x)

    def to_numpy(self, x: Tensor) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return Tensor.arange(start, stop)

    def transpose(self, x: Tensor, axes: Any) -> Tensor:
        return x.permute(tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
        reduced: Tensor = getattr(x, operation)(axis=tuple(axes))
        return reduced

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        return apply("cat", *(x.unsqueeze(0) for x in tensors), axis=0)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x.unsqueeze(new_position)

    def tile(self, x: Tensor, repeats: tuple[int, ...]) -> Tensor:
        return x.tile(repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        return apply("cat", *tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.is_float

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return einsum(pattern, *x)
