def bound(operations, moved, peak, bandwidth):
    """(the highest rate that both roofs allow, the name of the lower one)"""
    by_memory = operations / moved * bandwidth
    return (by_memory, "memory") if by_memory < peak else (peak, "compute")
