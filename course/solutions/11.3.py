import math
import operator


def matmul(out, x, y):
    """out_ij = sum_k x_ik * y_kj, for each index of the axes before the last two"""
    m, n = out.shape[-2:]
    tables = math.prod(out.shape[:-2])
    rows, columns = parts(x.values(), tables * m), parts(transpose(y).values(), tables * n)
    sums = []
    for t in range(tables):
        for row in rows[t * m : (t + 1) * m]:
            for column in columns[t * n : (t + 1) * n]:
                sums.append(sum(map(operator.mul, row, column)))
    out.fill(sums)
