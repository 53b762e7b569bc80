C = {
    "add": lambda x, y: f"{x} + {y}",
    "mul": lambda x, y: f"{x} * {y}",
    "pow": lambda x, y: f"pow({x}, {y})",
    "neg": lambda x: f"-{x}",
    "exp": lambda x: f"exp({x})",
    "log": lambda x: f"log({x})",
    "relu": lambda x: f"{x} < 0 ? 0 : {x}",
}


def c_body(kernel, arrays, results):
    """The statements in C that make element i of each result."""
    made, statements = {line.name for line in kernel}, []
    for line in kernel:
        words = [name if name in made or name not in arrays else f"{name}[i]"
                 for name in line.inputs]  # fmt: skip
        statements.append(f"float {line.name} = {C[line.op](*words)};")
    return statements + [f"{name}_out[i] = {name};" for name in results]
