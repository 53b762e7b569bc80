import ast


def shaken(text, wanted):
    """The statements of a file that these names need, in their order, as a text."""
    statements, uses = [], {}
    for statement in ast.parse(text).body:
        nodes = list(ast.walk(statement))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            defined = {alias.asname or alias.name for alias in statement.names}
        elif hasattr(statement, "name"):
            defined = {statement.name}
        else:
            defined = {
                n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
        statements.append((statement, defined))
        for name in defined:
            uses[name] = {n.id for n in nodes if isinstance(n, ast.Name)}
    found, waiting = set(), list(wanted)
    while waiting:
        name = waiting.pop()
        if name in uses and name not in found:
            found.add(name)
            waiting += uses[name]
    return "\n".join(ast.unparse(s) for s, defined in statements if defined & found)
