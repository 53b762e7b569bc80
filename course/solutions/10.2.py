def filtered(picture, weights):
    """The sum of products with the weights, at every place where they fit into the picture."""
    size, found = len(weights), []
    for top in range(len(picture) - size + 1):
        row = []
        for left in range(len(picture[0]) - size + 1):
            total = 0.0
            for i in range(size):
                for j in range(size):
                    total += picture[top + i][left + j] * weights[i][j]
            row.append(total)
        found.append(row)
    return found
