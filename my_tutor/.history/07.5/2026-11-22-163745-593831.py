def mse(predictions, targets):
    """The mean of (prediction - target)**2; ValueError unless the shapes are the same."""
    if predictions.shape != targets.shape:
        raise ValueError(
            f"predictions {predictions.shape} and targets {targets.shape} differ in shape: "
            f"reshape one of them, as targets.reshape{predictions.shape}"
        )
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())