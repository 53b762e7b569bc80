def all_heads(q, k, heads):
    """The scores of all heads, (heads, places, places), by one product of views."""
    places, width = q.shape
    size = width // heads
    asked = q.over((heads, places, size), (size, width, 1), q.offset)
    offered = k.over((heads, size, places), (size, 1, width), k.offset)
    return asked @ offered
