causes = {"A": 3, "B": 4, "C": 5, "D": 2}
