def add_safely():
    """Add 1 to n, whatever others do."""
    while True:
        old = yield "load", "n"
        new = yield "add", old, 1
        if (yield "swap", "n", old, new):
            return
