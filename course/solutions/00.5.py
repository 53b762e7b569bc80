def order(last):
    """All Values that `last` was computed from, and itself: each once, after its inputs."""
    found, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for before in value.inputs:
                visit(before)
            found.append(value)

    visit(last)
    return found
