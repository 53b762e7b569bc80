def beside(number, dtype):
    """The tensor's dtype, unless that is of a kind too poor for the number; then its own."""
    own = "float32"
    if isinstance(number, bool):
        own = "bool"
    elif isinstance(number, int):
        own = "int64"
    return dtype if SIZES[dtype][0] >= SIZES[own][0] else own
