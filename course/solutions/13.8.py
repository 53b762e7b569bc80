def changed(before, after):
    """The float16 numbers for which the two functions differ, in the order of HALVES."""
    return [x for x in HALVES if not same(before(x), after(x))]
