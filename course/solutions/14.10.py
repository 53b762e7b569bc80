def objections(claim):
    """The set of what is wrong with a claim; empty if it is sound."""
    mine, theirs = claim["mine"], claim["theirs"]
    found = set()
    for fault in ("dtype", "threads", "n"):
        if mine[fault] is None or mine[fault] != theirs[fault]:
            found.add(fault)
    if not (mine["warmed"] and theirs["warmed"]):
        found.add("warm-up")
    if min(len(mine["seconds"]), len(theirs["seconds"])) < 15:
        found.add("few")
    before, after = claim["probes"]
    if max(before, after) > 1.15 * min(before, after):
        found.add("noise")
    if min(theirs["seconds"]) < claim["factor"] * min(mine["seconds"]):
        found.add("factor")
    for side in (mine, theirs):
        if 2 * side["n"] ** 3 / min(side["seconds"]) > claim["peak"]:
            found.add("peak")
    return found
