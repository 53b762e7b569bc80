def softmaxed(logits):
    """Whether all rows are probabilities already."""
    return all(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in logits.tolist())