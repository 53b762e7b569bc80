causes = {"A": 4, "B": 1, "C": 3, "D": 2}
