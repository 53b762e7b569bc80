def assign(costs, speeds):
    """The tasks of each core, by their costs."""
    parts, busy = [[] for _ in speeds], [0.0 for _ in speeds]
    for cost in sorted(costs, reverse=True):
        first = min(range(len(speeds)), key=lambda i: busy[i] + cost / speeds[i])
        parts[first].append(cost)
        busy[first] += cost / speeds[first]
    return parts
