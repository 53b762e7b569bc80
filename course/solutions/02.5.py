table = Tensor([[1, 2], [3, 4]])
evidence = {
    "added": (table, transpose(table)),
    "reshaped": (transpose(table), (4,)),
    "element": (table, 0, 2),
}
