def packed_at(k, j, depth, width):
    """Where B[k][j] lies when B is packed in panels of `width` columns, each `depth` rows deep."""
    panel, column = divmod(j, width)
    return panel * depth * width + k * width + column
