"""What Buffers, Tensors and kernels share: memory, its bytes as numbers, and how it is walked."""
