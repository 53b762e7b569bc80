"""Planted wrong answers to the exercises of chapter 18."""

from __future__ import annotations

from wrong import Edit, edit

TOKENS = "tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING"
BROKEN = "            alone = begun = False\n"
TAKES = (
    "        if name in uses and name not in found:\n"
    "            found.add(name)\n"
    "            waiting += uses[name]\n"
)

WRONG: dict[str, dict[str, str | Edit]] = {
    "18.1": {
        "words between blanks": "def tokens(text):\n    return len(text.split())",
        "comments count": edit(TOKENS, TOKENS + ", tokenize.COMMENT"),
        "line ends count": edit(BROKEN, BROKEN + "            count += 1\n"),
        "docstrings count": edit("            count -= alone\n", ""),
        "no string counts": edit(", tokenize.STRING)", ")"),
        "operators do not count": edit("tokenize.OP, ", ""),
        "a string at the end is taken for a docstring": edit(" and not begun", ""),
    },
    "18.2": {
        "only what is used directly": (
            "def needed(uses, wanted):\n"
            "    found = set(wanted) & set(uses)\n"
            "    return found | {n for w in found for n in uses[w] if n in uses}"
        ),
        "the wanted ones are left out": edit("    return found", "    return found - set(wanted)"),
        "also what the library does not have": edit(
            TAKES, TAKES.replace("name in uses and ", "").replace("[name]", ".get(name, ())")
        ),
        "a ring never ends": edit(" and name not in found", ""),
        "a list": edit("    return found", "    return sorted(found)"),
        "raises: names that are not in the library": edit("name in uses and ", ""),
        "changes what it is given": edit("list(wanted)", "wanted"),
    },
    "18.3": {
        "off by one": edit("engine.py:59", "engine.py:58"),
        "without the folder": edit('"micrograd/engine.py:10"', '"engine.py:10"'),
        "the right factor": edit("engine.py:29", "engine.py:30"),
        "the loop, not the call": edit("engine.py:70", "engine.py:69"),
        "a fit that does not exist": edit("None", '"micrograd/engine.py:54"'),
        "a sum's share": edit("engine.py:29", "engine.py:18"),
        "no line": edit('"micrograd/engine.py:10"', '"micrograd/engine.py"'),
        "one is missing": edit('    "walk": "micrograd/engine.py:70",\n', ""),
    },
    "18.4": {
        "stretching, and not its derivative": edit("gradient.py:41", "tensor.py:3361"),
        "the method backward": edit("gradient.py:55", "tensor.py:928"),
        "the class of nodes": edit("ops.py:97", "ops.py:245"),
        "the derivative of a sum": edit("gradient.py:41", "gradient.py:7"),
        "None": edit('"tinygrad/gradient.py:41"', "None"),
        "another class of the file": edit("device.py:92", "device.py:83"),
        "where the graph is sorted": edit("gradient.py:55", "gradient.py:48"),
    },
    "18.5": {
        "the Tensor for the Buffer": edit("core/StorageImpl.h:56", "core/TensorImpl.h:511"),
        "Python's backward": edit("torch/csrc/autograd/engine.h:131", "torch/_tensor.py:566"),
        "an edge for a node": edit("node.h:113", "edge.h:15"),
        "the folder of the installed copy": edit(
            "torch/csrc/autograd/node.h", "torch/include/torch/csrc/autograd/node.h"
        ),
        "the name only": edit("node.h:113", "node.h:31"),
        "no fit": edit('"torch/csrc/autograd/input_metadata.h:76"', "None"),
        "a number": edit('"c10/core/TensorImpl.h:511"', "511"),
    },
    "18.6": {
        "forward derivatives for the walk": edit("ad.py:253", "ad.py:376"),
        "a whole program for one line of it": edit("core.py:302", "core.py:86"),
        "the derivative of an addition": edit("interpreters/ad.py:791", "lax/lax.py:2793"),
        "an op's own rule for fit": edit("lax.py:2247", "lax.py:2794"),
        "vjp for the walk": edit("ad.py:253", "ad.py:222"),
        "another bind": edit("core.py:447", "core.py:467"),
        "not a dict": "jax = list(range(6))",
    },
    "18.7": {
        "F is taken": edit('"broadcasting"', '"none"'),
        "E and A exchanged": edit('"A": "saves"', '"A": "none"', '"E": "none"', '"E": "saves"'),
        "B has a wrong derivative": edit('"once"', '"derivative"'),
        "C is taken": edit('"derivative"', '"none"'),
        "D cannot be differentiated again": edit('"integers"', '"once"'),
        "a word that is not in the list": edit('"saves"', '"memory"'),
        "a letter is missing": edit('    "F": "broadcasting",\n', ""),
    },
    "18.8": {
        "overflows for large negative x": edit(
            "-(-x).relu() - (-x.abs()).exp().log1p()", "-((-x).exp() + 1).log()"
        ),
        "the sigmoid of x, not of -x": edit("g * (-x).sigmoid()", "g * x.sigmoid()"),
        "a wrong factor": edit("g * (-x).sigmoid()", "g * (-x).sigmoid() * 2"),
        "the sign": edit("return -(-x).relu() -", "return (-x).relu() +"),
        "cannot be differentiated again": edit("(-x).sigmoid()", "(-x).sigmoid().detach()"),
        "raises: nothing is saved": edit('saves, wants_float = ("x",), True', "wants_float = True"),
        "a function, and no op": "def Logsig(x):\n    return -(-x).softplus()",
        "e is raised to twice the number": edit("x.abs()", "x.abs() * 2"),
    },
    "18.s1": {
        "all of it": "def shaken(text, wanted):\n    return text",
        "only what is wanted": edit("            waiting += uses[name]\n", ""),
        "raises: no imports": edit("alias.asname or alias.name for alias", "0 for alias"),
        "raises: no constants": edit("isinstance(n.ctx, ast.Store)", "isinstance(n.ctx, ast.Del)"),
        "an empty text": 'def shaken(text, wanted):\n    return ""',
    },
    "18.s2": {
        "a file a week": "def weeks(files, most):\n    return [[path] for path, _, _ in files]",
        "all in one week": "def weeks(files, most):\n    return [[path for path, _, _ in files]]",
        "by length alone": edit("set(file[2]) & paths <= done and ", ""),
        "one more than fits": edit("file[1] <= room", "room > 0"),
        "one file, and the next week": edit("            room -= file[1]\n",
                                            "            room = 0\n"),
    },
}  # fmt: skip
