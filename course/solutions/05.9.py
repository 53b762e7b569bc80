def collect(arrived, x, share):
    """Add a share of the gradient to what has arrived at x so far."""
    if x.requires_grad:
        share = fit(share, x)
        arrived[id(x)] = arrived[id(x)] + share if id(x) in arrived else share
