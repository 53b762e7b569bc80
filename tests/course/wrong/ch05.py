"""Wrong answers to the exercises of chapter 5, each a mistake that one makes."""

WRONG = {
    "05.1": {
        "each factor got its own value instead of the other's": """
by_hand = [
    {"a": -1.5, "b": -4.0, "ab": 1.0, "c": 1.0},
    {"a": 0.0, "b": 0.0, "ab": 0.0, "c": 0.0},
]
""",
        "relu forgotten where it blocks": """
by_hand = [
    {"a": -4.0, "b": -1.5, "ab": 1.0, "c": 1.0},
    {"a": -2.0, "b": 3.0, "ab": 1.0, "c": 1.0},
]
""",
        "only the first case, as a dict": """
by_hand = {"a": -4.0, "b": -1.5, "ab": 1.0, "c": 1.0}
""",
        "words": """
by_hand = [{"a": "b", "b": "a", "ab": 1.0, "c": 1.0}, {"a": 0, "b": 0, "ab": 0, "c": 0}]
""",
    },
    "05.2": {
        "inputs from left to right, breadth first": 'order = ["y", "w", "u", "v", "a", "b"]',
        "depth first": 'order = ["y", "w", "u", "a", "b", "v"]',
        "forward": 'order = ["a", "b", "u", "v", "w", "y"]',
        "u once per arrival": 'order = ["y", "w", "u", "v", "u", "a", "b"]',
        "one string": 'order = "y w v u a b"',
        "a name that is none": 'order = ["y", "w", "v", "u", "a", "c"]',
    },
    "05.3": {
        "a leaf used often": """
def breaks(a):
    return a * a * a + a
""",
        "a result with nothing behind it that counts, used once": """
def breaks(a):
    b = a + a
    return b * 3
""",
        "no return": """
def breaks(a):
    b = a + a
    b + b
""",
        "a number": """
def breaks(a):
    return 3.0
""",
        "it never ends": """
def breaks(a):
    while True:
        a = a + a
""",
        "more doublings than anybody can walk": """
def breaks(a):
    for _ in range(60):
        a = a + a
    return a
""",
    },
    "05.4": {
        "raises: a leaf has no op in the walk either": """
def walk_back(root):
    topo, visited = [], set()
    def build(t):
        if t not in visited:
            visited.add(t)
            for x in t.op.inputs if t.op else ():
                build(x)
            topo.append(t)
    build(root)
    root.grad = root * 0 + 1
    for t in reversed(topo):
        for x, g in zip(t.op.inputs, t.op.backward(t.grad)):
            if x.grad:
                x.grad = x.grad + g
            else:
                x.grad = g
""",
        "raises: truth left as it was": """
def walk_back(root):
    topo, visited = [], set()
    def build(t):
        if t not in visited:
            visited.add(t)
            for x in t.op.inputs if t.op else ():
                build(x)
            topo.append(t)
    build(root)
    root.grad = root * 0 + 1
    for t in reversed(topo):
        if t.op is None:
            continue
        for x, g in zip(t.op.inputs, t.op.backward(t.grad)):
            if x.grad:
                x.grad = x.grad + g
            else:
                x.grad = g
""",
        "assigned instead of added": """
def walk_back(root):
    topo, visited = [], set()
    def build(t):
        if t not in visited:
            visited.add(t)
            for x in t.op.inputs if t.op else ():
                build(x)
            topo.append(t)
    build(root)
    root.grad = root * 0 + 1
    for t in reversed(topo):
        if t.op is not None:
            for x, g in zip(t.op.inputs, t.op.backward(t.grad)):
                x.grad = g
""",
        "not reversed": """
def walk_back(root):
    topo, visited = [], set()
    def build(t):
        if t not in visited:
            visited.add(t)
            for x in t.op.inputs if t.op else ():
                build(x)
            topo.append(t)
    build(root)
    root.grad = root * 0 + 1
    for t in topo:
        if t.op is None or t.grad is None:
            continue
        for x, g in zip(t.op.inputs, t.op.backward(t.grad)):
            x.grad = g if x.grad is None else x.grad + g
""",
    },
    "05.5": {
        "raises: recursion": """
def topological(root):
    order, seen = [], set()
    def visit(t):
        if id(t) not in seen:
            seen.add(id(t))
            for x in t.op.inputs if t.op else ():
                if x.requires_grad:
                    visit(x)
            order.append(t)
    visit(root)
    return order[::-1]
""",
        "listed when first met": """
def topological(root):
    order, seen, stack = [], set(), [root]
    while stack:
        t = stack.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        order.append(t)
        stack += [x for x in (t.op.inputs if t.op else ()) if x.requires_grad]
    return order
""",
        "nothing remembered: every path": """
def topological(root):
    order, stack = [], [root]
    while stack:
        t = stack.pop()
        order.append(t)
        stack += [x for x in (t.op.inputs if t.op else ()) if x.requires_grad]
    return order
""",
        "a higher limit, and recursion": """
import sys
def topological(root):
    sys.setrecursionlimit(100_000)
    return sorted_by_recursion(root)
""",
        "constants too": """
def topological(root):
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        t, done = stack.pop()
        if done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            stack.append((t, True))
            stack += [(x, False) for x in (t.op.inputs if t.op else ())]
    return order[::-1]
""",
        "not turned around": """
def topological(root):
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        t, done = stack.pop()
        if done:
            order.append(t)
        elif id(t) not in seen:
            seen.add(id(t))
            stack.append((t, True))
            stack += [(x, False) for x in (t.op.inputs if t.op else ()) if x.requires_grad]
    return order
""",
    },
    "05.6": {
        "old gradients not cleared": """
def slope_check(f, *inputs, eps=1e-6):
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            worst = max(worst, abs((above - below) / (2 * eps) - g))
    return worst
""",
        "a signed difference": """
def slope_check(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            worst = max(worst, (above - below) / (2 * eps) - g)
    return worst
""",
        "the numbers not put back": """
def slope_check(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            t.buf[p] = t.buf[p] + eps
            above = f(*inputs).item()
            t.buf[p] = t.buf[p] - 2 * eps
            below = f(*inputs).item()
            worst = max(worst, abs((above - below) / (2 * eps) - g))
    return worst
""",
        "positions counted from 0, without strides": """
def slope_check(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in enumerate(t.grad.values()):
            here = t.buf[p]
            t.buf[p] = here + eps
            above = f(*inputs).item()
            t.buf[p] = here - eps
            below = f(*inputs).item()
            t.buf[p] = here
            worst = max(worst, abs((above - below) / (2 * eps) - g))
    return worst
""",
        "only one side": """
def slope_check(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    worst = 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            before, here = f(*inputs).item(), t.buf[p]
            t.buf[p] = here + eps
            worst = max(worst, abs((f(*inputs).item() - before) / eps - g))
            t.buf[p] = here
    return worst
""",
        "only one side, divided as if it were two": """
def slope_check(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    middle, worst = f(*inputs).item(), 0.0
    for t in inputs:
        for p, g in zip(t.positions(), t.grad.values()):
            here = t.buf[p]
            t.buf[p] = here + eps
            worst = max(worst, abs((f(*inputs).item() - middle) / (2 * eps) - g))
            t.buf[p] = here
    return worst
""",
    },
}
