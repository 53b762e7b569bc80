def transfer(source, target, amount):
    """Move an amount from one account to another."""
    for place in sorted({source, target}):
        yield "lock", f"lock of {place}"
    old = yield "load", source
    new = yield "add", old, -amount
    yield "store", source, new
    old = yield "load", target
    new = yield "add", old, amount
    yield "store", target, new
    for place in {source, target}:
        yield "unlock", f"lock of {place}"
