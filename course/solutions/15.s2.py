def guarded(me):
    """Add 1 to n, in a thread that is called `me`: 0 or 1."""
    other = 1 - me
    yield "store", f"flag{me}", 1
    yield "store", "turn", other
    while (yield "load", f"flag{other}"):
        if (yield "load", "turn") == me:
            break
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "store", f"flag{me}", 0
