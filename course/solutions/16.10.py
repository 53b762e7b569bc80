def tells(make):
    """What is wrong with make(f), a jit: "alias", "stale", "reused", "branch"; or "right"."""
    weight = Tensor([1.0, 2.0])
    jitted = make(lambda x: x * weight)
    results, wanted = [], []
    for i in range(6):
        x = Tensor([float(i), 3.0 - i])
        results.append(jitted(x))
        wanted.append((x * weight).tolist())
    if [result.tolist() for result in results] != wanted:
        return "alias"
    weight.fill([5.0, 7.0])
    if jitted(Tensor([1.0, 1.0])).tolist() != [5.0, 7.0]:
        return "stale"

    def turned(x):
        return x.T + 1.0

    jitted = make(turned)
    for x in (
        Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        Tensor([[1.0, 2.0, 3.0, 4.0]]),
        Tensor([[0.1, 0.7], [3.0, 4.0], [5.0, 6.0]], dtype="float64"),
    ):
        for _ in range(3):
            got, right = jitted(x), turned(x)
            if (got.tolist(), got.buf.dtype) != (right.tolist(), right.buf.dtype):
                return "reused"

    def branching(x):
        y = x * 2.0 if (x.max() > 10).item() else x + 1.0
        return -y if (y.sum() > 0).item() else y * 3.0

    jitted = make(branching)
    for _ in range(3):
        for numbers in ([1.0, 2.0], [20.0, 1.0], [-5.0, 1.0], [-90.0, 11.0]):
            x = Tensor(numbers)
            if jitted(x).tolist() != branching(x).tolist():
                return "branch"
    return "right"
