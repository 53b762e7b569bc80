def transpose_anywhere(a, out, rows, columns, down, out_down):
    """out[j, i] = a[i, j], with few misses in a cache of any size and any lines."""

    def part(top, bottom, left, right):
        if bottom - top <= 1 and right - left <= 1:
            out[left * out_down + top] = a[top * down + left]
        elif bottom - top >= right - left:
            middle = (top + bottom) // 2
            part(top, middle, left, right)
            part(middle, bottom, left, right)
        else:
            middle = (left + right) // 2
            part(top, bottom, left, middle)
            part(top, bottom, middle, right)

    part(0, rows, 0, columns)
