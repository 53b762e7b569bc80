"""Small helpers independent of tensors: argument checks, files, settings, types."""
