def faults(events, keep, page=4096):
    """The page faults of these events; with `keep`, freed blocks are kept for the next request."""
    touched, size_of, spare, count = {}, {}, {}, 0
    for what, name, number in events:
        if what == "new":
            size_of[name] = number
            waiting = spare.setdefault(number, [])
            touched[name] = waiting.pop() if waiting else set()
        elif what == "touch":
            if number // page not in touched[name]:
                touched[name].add(number // page)
                count += 1
        elif keep:
            spare[size_of[name]].append(touched[name])
    return count
