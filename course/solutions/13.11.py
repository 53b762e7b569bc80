def choose(builds, flags, wish=None):
    """The name of the best build that a processor with these flags can run, or of the wish."""
    runs = [name for name, needs in builds if set(needs) <= set(flags)]
    if wish is None:
        return runs[-1]
    if wish not in runs:
        raise ValueError(f"{wish} does not run here; these do: {', '.join(runs)}")
    return wish
