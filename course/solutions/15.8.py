def speedup(operations, nbytes, n, machine):
    """How many times as fast n cores are as one."""

    def time(n):
        computing = operations / (n * machine["operations"])
        moving = nbytes / min(n * machine["bytes"], machine["all bytes"])
        return max(computing, moving)

    return time(1) / time(n)
