"""What other libraries call: NumPy's protocols, the inquiries of the array API; and what goes to
and from PyTorch."""

from tutor.interop.pytorch import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]
