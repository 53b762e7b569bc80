def walk_back(root):
    """Put d root / d t into t.grad, for all tensors t of the graph behind root."""
    topo, visited = [], set()

    def build(t):
        if t not in visited:
            visited.add(t)
            if t.op is not None:  # a leaf has no op
                for x in t.op.inputs:
                    build(x)
            topo.append(t)

    build(root)
    root.grad = root * 0 + 1
    for t in reversed(topo):
        if t.op is None:  # the same here
            continue
        for x, g in zip(t.op.inputs, t.op.backward(t.grad), strict=True):
            if x.grad is not None:  # has anything arrived? Not: is it true?
                x.grad = x.grad + g
            else:
                x.grad = g
