def decays(parameters):
    """Those of the parameters that may shrink: of two axes or more."""
    return [p for p in parameters if len(p.shape) >= 2]
