def reader():
    """A network that reads digits, (n, 1, 28, 28) bytes, made of 30,000 numbers at most."""
    return Sequential(
        lambda pixels: pixels * (1 / 255),
        Conv2d(1, 8, 5),
        MaxPool2d(2),
        Tensor.relu,
        Conv2d(8, 24, 5),
        MaxPool2d(2),
        Tensor.relu,
        Flatten(),
        Linear(384, 10),
    )
