by_hand = [
    {"a": -4.0, "b": -1.5, "ab": 1.0, "c": 1.0},
    {"a": 0.0, "b": 0.0, "ab": 0.0, "c": 0.0},  # the sum is -2: relu lets nothing through
]
