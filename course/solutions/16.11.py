import math
from functools import reduce


def verify(lines, results):
    """What is wrong with a program, in words, one for each fault; an empty list if nothing is."""
    shapes, wrong = {}, []
    for line in lines:
        if line.name in shapes:
            wrong.append(f"{line.name} is made twice")
        missing = [name for name in line.inputs if name not in shapes]
        if missing:
            wrong.append(f"{line.name} uses {missing[0]}, which is not made before it")
        elif line.op not in FREE and (fault := _unfit(line, [shapes[n] for n in line.inputs])):
            wrong.append(f"{line.name}: {fault}")
        shapes[line.name] = tuple(line.shape)
    return wrong + [f"nothing makes {name}" for name in results if name not in shapes]


def _unfit(line, shapes):
    """Why a line cannot have this shape, or None."""
    counts = {"add": 2, "mul": 2, "pow": 2, "gt": 2, "where": 3, "matmul": 2}
    if len(shapes) != counts.get(line.op, 1):
        return f"{len(shapes)} inputs"
    if line.op in ELEMENTWISE:
        if line.op == "expand":
            shapes = [*shapes, line.shape]
        try:
            wanted = reduce(broadcast_shapes, shapes)
        except ValueError as error:
            return str(error)
    elif line.op in REDUCTIONS:
        axis = line.params["axis"]
        if any(a not in range(len(shapes[0])) for a in axis) or len(set(axis)) < len(axis):
            return f"axis {axis} of {shapes[0]}"
        wanted = tuple(n for a, n in enumerate(shapes[0]) if a not in axis)
    elif line.op == "reshape":
        sizes = math.prod(shapes[0]), math.prod(line.shape)
        return None if sizes[0] == sizes[1] else f"{sizes[0]} numbers as {sizes[1]}"
    elif line.op == "matmul":
        (m, k), (other, n) = shapes
        if k != other:
            return f"matmul of {shapes[0]} and {shapes[1]}"
        wanted = m, n
    else:
        return f"no op is called {line.op}"
    return None if tuple(line.shape) == wanted else f"its shape is {wanted}"
