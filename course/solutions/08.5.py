causes = {"A": 5, "B": 1, "C": 4, "D": 2}
