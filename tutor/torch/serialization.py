"""torch.save and torch.load: tutor.interop.torch_files with PyTorch's signatures."""

from __future__ import annotations

from tutor.interop import torch_files
from tutor.torch.carrier import Parameter, Size, tag


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None):
    """What torch.save has written. DataError for anything else, or a damaged file."""
    return tag(torch_files.load(f, Parameter, Size))


def save(obj, f, pickle_module=None, pickle_protocol=2):
    """Write tensors in containers to a path or a file, as PyTorch can read them."""
    torch_files.save(obj, f, Parameter)
