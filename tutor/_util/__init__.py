"""Small helpers that know nothing of tensors: checks of arguments, files, settings, types."""
