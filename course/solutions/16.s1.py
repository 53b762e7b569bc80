def once(lines, results):
    """The same program, in which nothing is calculated twice."""
    kept, known, now = [], {}, {}
    for line in lines:
        inputs = tuple(now.get(name, name) for name in line.inputs)
        key = line.op, inputs, repr(line.params)
        if line.op not in FREE and key in known:
            now[line.name] = known[key]
        else:
            known[key] = line.name
            kept.append(line._replace(inputs=inputs))
    return kept, [now.get(name, name) for name in results]
