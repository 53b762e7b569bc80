"""Right answers to the exercises of chapter 18, written otherwise than ours."""

RIGHT = {
    "18.1": {
        "by the tree, for what is free": """
import ast
import io
from tokenize import NAME, NUMBER, OP, STRING, generate_tokens


def tokens(text):
    free = {
        node.value.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return sum(
        t.type in (NAME, NUMBER, OP) or (t.type == STRING and t.start[0] not in free)
        for t in generate_tokens(io.StringIO(text).readline)
    )
""",
        "statement by statement": """
import io
import tokenize


def tokens(text):
    count, statement = 0, []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            count += len(statement) if statement != [tokenize.STRING] else 0
            statement = []
        elif token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING):
            statement.append(token.type)
    return count
""",
    },
    "18.2": {
        "in rounds": """
def needed(uses, wanted):
    found = {name for name in wanted if name in uses}
    while True:
        more = {n for name in found for n in uses[name] if n in uses} - found
        if not more:
            return found
        found |= more
""",
        "a queue": """
from collections import deque


def needed(uses, wanted):
    queue, seen = deque(n for n in wanted if n in uses), set()
    while queue:
        name = queue.popleft()
        if name in seen:
            continue
        seen.add(name)
        queue.extend(n for n in uses[name] if n in uses and n not in seen)
    return seen
""",
    },
    "18.3": {
        "pairs": """
engine = "micrograd/engine.py"
micrograd = {
    "inputs": (engine, 10),
    "order": (engine, 59),
    "mul": (engine, 29),
    "walk": (engine, 70),
    "fit": None,
}
""",
        "links": """
page = "https://github.com/karpathy/micrograd/blob/master/micrograd/engine.py#L"
micrograd = {"inputs": page + "10", "order": page + "59", "mul": page + "29", "walk": page + "70"}
micrograd["fit"] = None
""",
    },
    "18.4": {
        "the second line of the entry, and folders with a dot": """
tinygrad = {
    "Buffer": "./tinygrad/device.py:92",
    "ops": "./tinygrad/ops.py:97",
    "slopes": "./tinygrad/gradient.py:16",
    "walk": "./tinygrad/gradient.py:55",
    "fit": "./tinygrad/gradient.py:42",
}
""",
        "with the other bar": r"""
tinygrad = {
    "fit": r"tinygrad\\gradient.py:41".replace("\\\\", "\\"),
    "Buffer": r"tinygrad\device.py:92",
    "ops": r"tinygrad\ops.py:97",
    "slopes": r"tinygrad\gradient.py:16",
    "walk": r"tinygrad\gradient.py:55",
}
""",
    },
    "18.5": {
        "the function that sums": """
pytorch = {
    "Buffer": "c10/core/StorageImpl.h:56",
    "Tensor": "c10/core/TensorImpl.h:511",
    "Op": "torch/csrc/autograd/node.h:113",
    "Registry": "aten/src/ATen/core/dispatch/Dispatcher.h:72",
    "Engine": "torch/csrc/autograd/engine.h:131",
    "fit": "aten/src/ATen/ExpandUtils.h:506",
}
""",
        "the other method, in links": """
page = "https://github.com/pytorch/pytorch/blob/cf30153c4c131c8164ee7798e5022d810682e2cb/"
pytorch = {
    "Buffer": page + "c10/core/StorageImpl.h#L56",
    "Tensor": page + "c10/core/TensorImpl.h#L511",
    "Op": page + "torch/csrc/autograd/node.h#L113",
    "Registry": page + "aten/src/ATen/core/dispatch/Dispatcher.h#L72",
    "Engine": page + "torch/csrc/autograd/engine.h#L131",
    "fit": page + "torch/csrc/autograd/input_metadata.h#L78-L81",
}
""",
    },
    "18.6": {
        "with lines of their editor": """
jax = {
    "Op": " jax/_src/core.py:430 ",
    "record": "jax/_src/core.py:302",
    "apply": "jax/_src/core.py:447",
    "walk": "jax/_src/interpreters/ad.py:253",
    "collect": "jax/_src/interpreters/ad.py:791",
    "fit": "jax/_src/lax/lax.py:2247",
}
""",
        "pairs": """
core, ad = "jax/_src/core.py", "jax/_src/interpreters/ad.py"
jax = {
    "Op": (core, 430),
    "record": (core, 302),
    "apply": (core, 447),
    "walk": (ad, 253),
    "collect": [ad, 791],
    "fit": ("jax/_src/lax/lax.py", 2247),
}
""",
    },
    "18.7": {
        "by a dict": """
words = "saves once derivative integers none broadcasting".split()
faults = dict(zip("ABCDEF", words))
""",
    },
    "18.8": {
        "by softplus": """
from tutor import no_grad
from tutor.ops.elementwise import Unary


class Logsig(Unary):
    '''z = -softplus(-x)'''

    saves, wants_float = ("x",), True

    @no_grad()
    def forward(self, x):
        return -(-x).softplus()

    def backward(self, g, x):
        return g * (1 - x.sigmoid())
""",
        "it saves its result": """
from tutor import no_grad
from tutor.ops.elementwise import Unary


class Logsig(Unary):
    '''z = min(x, 0) - ln(1 + e**-|x|)'''

    saves, wants_float = ("out",), True

    @no_grad()
    def forward(self, x):
        return (x - x.abs()) / 2 - ((-x.abs()).exp() + 1).log()

    def backward(self, g, out):
        return g * (1 - out.exp())
""",
    },
    "18.s1": {
        "by source segments": """
import ast


def names_in(statement):
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}


def binds(statement):
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name for a in statement.names]
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [t.id for t in statement.targets if isinstance(t, ast.Name)]
    return []


def shaken(text, wanted):
    statements = [s for s in ast.parse(text).body if binds(s)]
    kept = set(wanted)
    while True:
        more = set(kept)
        for s in statements:
            if kept & set(binds(s)):
                more |= names_in(s)
        if more == kept:
            break
        kept = more
    chosen = [ast.get_source_segment(text, s) for s in statements if kept & set(binds(s))]
    return "\\n\\n".join(chosen)
""",
    },
    "18.s2": {
        "the first that fits": """
def weeks(files, most):
    known, plan, read = {f[0] for f in files}, [], set()
    while len(read) < len(files):
        week, lines = [], 0
        again = True
        while again:
            again = False
            for path, count, imports in files:
                free = all(i in read for i in imports if i in known)
                if path not in read and free and lines + count <= most:
                    week.append(path)
                    read.add(path)
                    lines += count
                    again = True
        plan.append(week)
    return plan
""",
    },
}
