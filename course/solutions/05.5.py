def topological(root):
    """All tensors behind root that require grad, each before those it was made from."""
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        t, inputs_done = stack.pop()
        if inputs_done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            stack.append((t, True))
            stack += [(x, False) for x in (t.op.inputs if t.op else ()) if x.requires_grad]
    return order[::-1]
