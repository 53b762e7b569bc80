guess = [6]
