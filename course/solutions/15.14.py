def joules(counts):
    """What operations and bytes cost: {"add": ..., "L1": ...}, by the table PICOJOULES."""
    found = 0.0
    for what, count in counts.items():
        per = PICOJOULES[what] if what in ("add", "multiply") else PICOJOULES[what] / 8
        found += 1e-12 * per * count
    return found
