causes = {"A": "process", "B": "heat", "C": "faults", "D": "frequency", "E": "migration"}
