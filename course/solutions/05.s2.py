def paths(root, leaf):
    """How many paths lead from root back to leaf."""
    arrived = {id(root): 1}
    for t in topological(root):
        count = arrived.get(id(t), 0)
        if t is leaf:
            return count
        if t.op:
            for x in t.op.inputs:
                arrived[id(x)] = arrived.get(id(x), 0) + count
    return 0
