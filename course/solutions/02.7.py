def flatten(data):
    """Nested lists as one flat list, and their shape, as a tuple."""
    if not isinstance(data, list | tuple):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return [x for row, _ in rows for x in row], (len(data), *inner)
