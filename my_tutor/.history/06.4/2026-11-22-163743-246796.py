def hvp(f, x, v):
    """The Hessian of f at x, times v."""
    x.grad = None
    f(x).backward(create_graph=True)
    g, x.grad = x.grad, None
    (g * v).sum().backward()
    product, x.grad = x.grad, None
    return product