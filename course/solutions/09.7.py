def mixes_rows(layer, x):
    """Whether what the layer says to a row of x depends on the other rows."""
    with no_grad():
        together = layer(x).tolist()
        alone = [layer(x[i : i + 1]).tolist()[0] for i in range(x.shape[0])]
    pairs = [
        (a, b)
        for one, other in zip(together, alone, strict=True)
        for a, b in zip(flatten(one)[0], flatten(other)[0], strict=True)
    ]
    return any(abs(a - b) > 1e-4 * (1 + abs(a)) for a, b in pairs)
