def topological(root):
    """All tensors behind root that require grad, each before those it was made from."""
    order, seen = [], set()
    waiting = [(root, False)]
    while waiting:
        t, inputs_done = waiting.pop()
        if inputs_done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            waiting.append((t, True))  # comes back when all behind it is listed
            if t.op:
                waiting += [(x, False) for x in t.op.inputs if x.requires_grad]
    return order[::-1]
