"""Images read between their pixels.

Pixel (i, j) of an image is the point (i, j). In between, with i <= r < i + 1, a = r - i and
j <= c < j + 1, b = c - j, the value is the bilinear mean of the four pixels around,

    v(r, c) = (1-a)(1-b) x[i, j] + (1-a) b x[i, j+1] + a (1-b) x[i+1, j] + a b x[i+1, j+1]

and beyond the border every pixel is 0.
"""

from __future__ import annotations

from tutor.methods.tensor import Tensor


def bilinear(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """images (n, c, h, w) at the points (rows, columns), each (n, y, x): (n, c, y, x).

    A border of zeros is put around the images, and points beyond it are put on it: so nothing has
    to be asked of the single points. All four pixels are read with the same index, from views of
    the images that begin 0, 1, w' and w' + 1 elements later (w' is the width with the border).
    """
    n, channels, height, width = images.shape
    framed = images.pad(((0, 0), (0, 0), (1, 1), (1, 1)))
    h, w = height + 2, width + 2
    r, c = rows.clip(-1.0, float(height)), columns.clip(-1.0, float(width))
    i, j = r.floor().clip(-1.0, height - 1.0), c.floor().clip(-1.0, width - 1.0)
    a, b = r - i, c - j
    wide = "float32" if h * w < 1 << 24 else "float64"  # in which every index is exact
    places = (i.cast(wide) * float(w) + j.cast(wide) + float(w + 1)).cast("int64")
    places = (places + Tensor.arange(0, n * h * w, h * w).reshape(n, 1, 1)).flatten()
    if channels == 1:
        pixels, shape = framed.flatten(), rows.shape
    else:  # all channels of a pixel side by side
        pixels, shape = framed.permute(0, 2, 3, 1).reshape(-1, channels), (*rows.shape, channels)
        a, b = a.reshape(*rows.shape, 1), b.reshape(*rows.shape, 1)
    nw, ne, sw, se = (
        pixels[later:].index_select(0, places).reshape(shape) for later in (0, 1, w, w + 1)
    )
    north, south = nw + b * (ne - nw), sw + b * (se - sw)
    found = north + a * (south - north)
    return found.reshape(n, 1, *rows.shape[1:]) if channels == 1 else found.permute(0, 3, 1, 2)
