def walk_back(root):
    """Put d root / d t into t.grad, for all tensors t of the graph behind root."""
    topo, visited = [], set()

    def build(t):
        if t not in visited:
            visited.add(t)
            for x in t.op.inputs if t.op else ():  # a leaf has no op
                build(x)
            topo.append(t)

    build(root)
    root.grad = root * 0 + 1
    for t in reversed(topo):
        if t.op is None:
            continue
        for x, g in zip(t.op.inputs, t.op.backward(t.grad), strict=True):
            if x.grad is not None:  # not: is it true?
                x.grad = x.grad + g
            else:
                x.grad = g
