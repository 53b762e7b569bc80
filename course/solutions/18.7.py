faults = {
    "A": "saves",
    "B": "once",
    "C": "derivative",
    "D": "integers",
    "E": "none",
    "F": "broadcasting",
}
