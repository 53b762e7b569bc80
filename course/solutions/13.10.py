def agrees(kernel):
    """Whether the kernel does what `larger` does, for all that may differ from call to call."""
    values = [1.0, -2.0, math.nan, 0.0, -0.0, math.inf, 3.5, -math.inf, 0.25, -7.0, 100.0]
    for n in [*range(20), 31, 32, 33, 40, 64, 67]:
        for start in (0, 1, 5):
            for aliased in ("no", "x", "y"):
                for turn in (1, 3):
                    one = [values[i * turn % 11] for i in range(n)]
                    two = [values[(i * 7 + turn) % 11] for i in range(n)]
                    wanted = [larger(p, q) for p, q in zip(one, two)]
                    if not _right(kernel, one, two, wanted, start, aliased):
                        return False
    return True


def _right(kernel, one, two, wanted, start, aliased):
    n, border = len(one), [9.0] * start
    rows = [Row([*border, *numbers, 9.0]) for numbers in (one, two, [5.0] * n)]
    x, y, out = (row.part(start, n) for row in rows)
    if aliased != "no":
        out = {"x": x, "y": y}[aliased]
        rows[2] = rows[0] if aliased == "x" else rows[1]
    try:
        kernel(Lanes(), out, x, y, n)
    except OutsideError:
        return False
    found = [rows[2][i] for i in range(start + n + 1)]
    return all(same(p, q) for p, q in zip(found, [*border, *wanted, 9.0]))
