"""Shared by Buffers, Tensors and kernels: memory, its bytes as numbers, and layout arithmetic."""
