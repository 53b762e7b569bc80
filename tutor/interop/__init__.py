"""Interfaces to other libraries: NumPy's protocols, the inspection functions of the array API, and
exchange of weights with PyTorch."""

from tutor.interop.pytorch import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]
