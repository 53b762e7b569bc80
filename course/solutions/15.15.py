def cheapest(work, modes, idle, deadline):
    """The mode that needs the fewest joules until the deadline."""
    costs = {}
    for name, (speed, watts) in modes.items():
        busy = work / speed
        if busy <= deadline:
            costs[name] = busy * watts + (deadline - busy) * idle
    if not costs:
        raise ValueError("no mode is done in time")
    return min(costs, key=costs.get)
