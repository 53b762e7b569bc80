def invalidations(accesses, line):
    """How many copies of lines are thrown away because another core writes."""
    copies, count = {}, 0
    for core, address, what in accesses:
        cores = copies.setdefault(address // line, set())
        if what == "write":
            count += len(cores - {core})
            cores.clear()
        cores.add(core)
    return count
