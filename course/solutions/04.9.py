import operator


def matmul(out, x, y):
    """out_ij = sum_k x_ik * y_kj"""
    rows, columns = parts(x.values(), x.shape[0]), parts(transpose(y).values(), y.shape[1])
    out.fill([sum(map(operator.mul, row, column)) for row in rows for column in columns])
