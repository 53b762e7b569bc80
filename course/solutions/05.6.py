def slope_check(f, *inputs, eps=1e-6):
    """The largest difference between backward's gradients and measured slopes."""
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            worst = max(worst, abs((above - below) / (2 * eps) - g))
    return worst
