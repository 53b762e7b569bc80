"""What the programs of state_fuzz.py are made of: lines of Python, with holes for what is drawn."""

from __future__ import annotations

import re

# Before the first call. Each line but the first two may be left out where nothing needs it.
SETUP = (
    "class C:\n    k, t, act = 2.0, vec(1, 2, 3), staticmethod(lambda t: t * 0.5)", "c = C()",
    "c.a = vec(1, 2, 3)", "c.b = vec(3, 2, 1)", "c.best = vec(0, 1, 0)",
    "c.w = vec(1, -1, 2).requires_grad_()", "c.v = vec(2, 1, 1)",
    "c.xs = [vec(1, 0, 0), vec(0, 2, 0), vec(0, 0, 3)]", "c.q = deque([vec(1, 1, 1)], maxlen=3)",
    'c.d = {"p": vec(2, 2, 2)}', "c.o = OrderedDict(u=1.0, v=0.5)", "c.n = 1.0", "c.flag = False",
    'c.s = {"on"}', "c.count = Counter()", "c.view = c.a[:2]", "c.hooks = []",
    "c.child = SimpleNamespace(t=vec(0, 0, 1), n=1.0)", "c.other = c.child",
    "G = vec(1, 1, 2)", "N = 0.5", "base = vec(*range(8))", "h = lambda t: t * 2",
    "sgd = optim.SGD([c.w], lr=0.1, momentum=0.5)",
)  # fmt: skip
MORE = (
    "{T} = {T}", "c.best = c.w", "c.view = {T}[1:]", "c.b = c.a", "c.v = c.w", "c.xs.append(c.a)",
    "c.best = c.a.detach()", "c.a = base[:3]",
)  # fmt: skip
PLACES = (
    "c.a", "c.b", "c.best", "c.v", "c.xs[0]", "c.xs[-1]", 'c.d["p"]', "c.q[0]", "C.t", "G",
    "c.child.t", "c.other.t",
)  # fmt: skip
HOLES = {
    "T": PLACES,  # a Tensor that may be set
    "R": (*PLACES, "c.a", "c.b", "c.w.detach()", "c.view.sum()", "c.q[-1]", "{T}.flip(0)"),
    "M": ("c.n", "c.n", "C.k", "N", 'c.o["u"]', "c.child.n"),  # a number that may be set
    "N": ("c.n", "C.k", "c.k", "N", 'c.o["u"]', "next(iter(c.o.values()))", "len(c.q)", "0.5",
          'getattr(c, "extra", 1.0)', '(1 + c.count["n"])', "c.child.n", "sgd.lr", "c.other.n"),
    "B": ("c.flag", '"on" in c.s', 'hasattr(c, "extra")', "c.a is c.b", "c.best is c.w", "c.n > 1",
          "len(c.xs) > 2", '"e" in c.d', "c.w.grad is None", "c.w.requires_grad", "x is z",
          "c.child is c.other", "tutor.is_grad_enabled()", "x is c.a"),
    "F": ("0.5", "-1.0", "2.0", "1", "0.25", "True", "-0.0"),
}  # fmt: skip

# ---- lines of a function -------------------------------------------------------------------------

READS = (
    "y = y + {R}", "y = y * {N} + {R}", "y = y - {R} * {N}", "y = y * 2 if {B} else y + {R}",
    "y = y + sum(c.xs)", "y = y + sum(c.q)", "y = y * c.w", "y = (y * 0.5).tanh()", "y = y + z",
    "y = y + (0 if c.w.grad is None else c.w.grad)", "y = y + sum(c.d.values())", "y = h(y)",
    "for t in c.xs: y = y * 0.5 + t", "y = c.act(y) + {R}", "y = y + Tensor.rand(3)",
)  # fmt: skip
INSIDE = (
    "{T} = y.detach()", "{T} = {T} * 0.5 + y.detach()", "c.best = y.detach()", "x += 0.5",
    "c.q.append(y.detach())", "(y * c.w).sum().backward()", "(y * c.w + c.v).sum().backward()",
    "z.mul_(0.5)", "c.view = y.detach()[1:]", "c.xs[0] = y.detach()", "c.a = x", "c.b = z[:]",
    "(x * c.w * 0.5).sum().backward()", "sgd.step()", "sgd.zero_grad()", "x.copy_(z)",
    "c.child.t = y.detach() * 0.5", "c.xs = [y.detach(), *c.xs[:2]]",
)  # fmt: skip
RESULTS = (
    "y", "y", "y, {R}", '{{"y": y, "n": {N}}}', "[y, {T}[:2]]", "y.sum()", "{T}, y", "c.view, y",
    "x, y", "y, y", "y[:2], y", "z[1:], y", "y, x is c.a",
)  # fmt: skip

# ---- in a function, and between calls ------------------------------------------------------------

SETS = (
    "{T} = {R}", "{T} = {R}", "{T} = {R} * 0.5", "{T}, {T} = {R}, {R}", "c.a, c.b = c.b, c.a",
    "{T} += {R} * 0.5", "{T}.mul_(0.5)", "{T}.copy_({R})", "{T}[:1] += 1", "{T}.assign({R})",
    "c.xs.append(c.xs.pop(0))", "c.xs[:] = c.xs[1:] + c.xs[:1]", "c.xs.reverse()", "c.q.rotate(1)",
    "c.q.append({R})", "c.q.appendleft({R})", "c.view = {T}[:2]", "c.view = {T}[-2:]",
    "c.view += 1", 'c.d["e"] = {R}', 'c.d.pop("e", None)', 'c.d["p"] = c.d.pop("p")',
    'c.s.add("on")', 'c.s.discard("on")', 'c.o.move_to_end("u")', 'c.count["n"] += 1',
    "{M} = {F}", "{M} = {F}", "c.flag = not c.flag", "c.flag = {B}", "c.k = {F}",
    'c.__dict__.pop("k", None)', "c.extra = {F}", 'c.__dict__.pop("extra", None)',
    "c.w.grad = None", "c.w.grad = {R} * 1", "c.w.requires_grad_({B})",
    "c.v.requires_grad_(not c.v.requires_grad)", "c.w.data = {R}", "c.w.data.mul_(0.5)",
    "c.hooks.append(c.w.register_hook(lambda g: g * {F}))", "c.hooks.pop()() if c.hooks else None",
    "c.best = c.w.detach()", "c.other = SimpleNamespace(t={R}, n={F})", "c.child = c.other",
)  # fmt: skip

# ---- between calls -------------------------------------------------------------------------------

BETWEEN = (
    "{T} = vec({F}, 2, 3)", "c.w = vec({F}, 1, 1).requires_grad_()", "h = lambda t: t * {F}",
    "c.act = lambda t: t * {F}", "C.act = staticmethod(lambda t: t - {F})", "c.xs.append({R})",
    "del c.xs[:-2]", "c.o = OrderedDict(v={F}, u={F})", "sgd.lr = 0.25", "sgd.momentum = 0.25",
    "{T} = last[0] if type(last) is tuple else c.a", "last[1].mul_(2) if type(last) is list else 0",
    "tutor.manual_seed(1)", "{T}.requires_grad_()", "{T} = {T}.double()", "{T} = {T}.float()",
    "sgd = optim.SGD([c.w], lr=0.5)", "base.add_(1)", "c.view = c.view * 1", "c.child = c.other",
)  # fmt: skip
ARGUMENTS = (
    "vec({F}, 1, 2), vec(1, {F}, 1)", "vec({F}, 1, 2), vec(1, {F}, 1)", "{T}, vec(1, {F}, 1)",
    "{T}, {T}", "base[{i}:{i} + 3], base[{i} + 1:{i} + 4]", "base[{i}:{i} + 3], {T}",
    "base[:3], base[:3]", "c.w.detach(), vec({F}, 1, 2)", "vec({F}, 1, 2).requires_grad_(), {T}",
    "c.w, vec({F}, 1, 1)", "c.a, c.a[:]", "base[::2][:3], base[1::2][:3]",
)  # fmt: skip

# What cannot be replayed, in lines of a function. Of most programs the functions have none of it.
WILD = re.compile(
    r"(c\.n|c\.k|C\.k|N|c\.flag|c\.extra|c\.child\.n|c\.o\[\"u\"\]|c\.other|c\.child|c\.xs) = "
    r"|c\.(q|s|o|count|hooks|extra|__dict__)\b|C\.t|c\.act|getattr|hasattr|sgd\.lr"
    r'|c\.d\["e"\] =|c\.d\.pop|requires_grad_'
)
