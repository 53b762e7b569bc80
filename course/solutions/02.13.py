def transpose(t, a=-2, b=-1):
    """Axes a and b exchanged."""
    axes = list(range(len(t.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return permute(t, axes)
