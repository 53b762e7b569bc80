def transpose_tiled(a, out, rows, columns, down, out_down):
    """out[j, i] = a[i, j], where a row of a takes `down` numbers, and one of out `out_down`."""
    tile = 16
    for top in range(0, rows, tile):
        for left in range(0, columns, tile):
            for i in range(top, min(top + tile, rows)):
                for j in range(left, min(left + tile, columns)):
                    out[j * out_down + i] = a[i * down + j]
