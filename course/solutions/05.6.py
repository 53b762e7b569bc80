def gradcheck(f, *inputs, eps=1e-6):
    """The largest difference between the engine's gradient of f(*inputs) and a measured slope."""
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values(), strict=True):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            slope = (above - below) / (2 * eps)
            worst = max(worst, abs(slope - g))
    return worst
