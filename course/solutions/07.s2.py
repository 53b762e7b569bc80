import math


def temperature(logits, labels):
    """The T for which cross_entropy(logits / T, labels) is smallest."""
    scores = logits.detach()
    log_t = Tensor(0.0, dtype="float64", requires_grad=True)
    step, before = 0.5, None
    for _ in range(200):
        log_t.grad = None
        cross_entropy(scores * (-log_t).exp(), labels).backward()
        slope = log_t.grad.item()
        if before is not None and slope * before < 0:  # it went too far: shorter steps from here
            step /= 2
        before = slope
        log_t.fill([log_t.item() - step * (1 if slope > 0 else -1)])
    return math.exp(log_t.item())
