faults = {"A": 4, "B": 5, "C": 3, "D": 1}
