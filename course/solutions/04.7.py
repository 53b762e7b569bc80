def matmul_backward(g, x, y):
    """The gradients of x and of y, where z = x y and g is the gradient of z."""
    return product(g, transpose(y)), product(transpose(x), g)
