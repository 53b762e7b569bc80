def together(made, line):
    """Whether one loop over rows can make `made`, and use it at once to make `line`."""
    if made.rows is None or made.rows != line.rows:
        return False
    if made.op in REDUCTIONS and 0 in made.params["axis"]:
        return False
    return line.op not in ELEMENTWISE or len(made.shape) == len(line.shape)
