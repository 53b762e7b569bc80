def recorded(f, *inputs):
    """f(*inputs), and a list of (op, result) for each op in it that is made of no other ops."""
    notes, execute = [], Op.execute

    def noting(op):
        before = len(notes)
        out = execute(op)
        if len(notes) == before:  # no other op has run inside it
            notes.append((op, out))
        return out

    Op.execute = staticmethod(noting)
    try:
        return f(*inputs), notes
    finally:
        Op.execute = staticmethod(execute)
