def needed(uses, wanted):
    """All names of `uses` that these need, directly or not, and these themselves."""
    found, waiting = set(), list(wanted)
    while waiting:
        name = waiting.pop()
        if name in uses and name not in found:
            found.add(name)
            waiting += uses[name]
    return found
