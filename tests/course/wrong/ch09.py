"""Planted wrong answers to the exercises of chapter 9."""

from wrong import edit

WRONG = {
    "09.1": {
        "the square of the spread": edit("math.sqrt(2 / inputs)", "2 / inputs"),
        "without relu": edit("2 / inputs", "1 / inputs"),
        "the outputs are counted": edit("2 / inputs", "2 / outputs"),
        "Glorot's": edit("2 / inputs", "2 / (inputs + outputs)"),
        "even, with the spread for a bound": edit(
            "random.gauss(0, spread)", "random.uniform(-spread, spread)"
        ),
        "rows and columns exchanged": edit(
            "for _ in range(outputs)] for _ in range(inputs)",
            "for _ in range(inputs)] for _ in range(outputs)",
        ),
        "not around 0": edit("random.gauss(0, spread)", "random.gauss(spread, spread)"),
        "one row for all": edit(
            "return [[random.gauss(0, spread) for _ in range(outputs)] for _ in range(inputs)]",
            "return [[random.gauss(0, spread) for _ in range(outputs)]] * inputs",
        ),
        "a seed in it": edit("    spread =", "    random.seed(0)\n    spread ="),
        "a tensor": edit(
            "return [[random.gauss(0, spread) for _ in range(outputs)] for _ in range(inputs)]",
            "return Tensor([[random.gauss(0, spread) for _ in range(outputs)] "
            "for _ in range(inputs)])",
        ),
        "half of the weights are 0": edit(
            "random.gauss(0, spread)", "random.choice((0, 1)) * random.gauss(0, spread)"
        ),
    },
    "09.2": {
        "the zeros are counted": """
def dead(h):
    return sum(row.count(0.0) for row in h.tolist())
""",
        "rows in place of columns": edit("h.T.tolist()", "h.tolist()"),
        "those that live": edit("if not any(column)", "if any(column)"),
        "those that are 0 for some picture": edit("if not any(column)", "if not all(column)"),
        "the share": edit("if not any(column))", "if not any(column)) / h.shape[1]"),
        "only the first picture": """
def dead(h):
    return h.tolist()[0].count(0.0)
""",
        "those whose mean is small": edit("not any(column)", "sum(column) < 1e-6"),
        "the memory, column by column": edit(
            "h.T.tolist()", "[h.buf.read(0, h.numel())[j :: h.shape[1]] for j in range(h.shape[1])]"
        ),
    },
    "09.3": {
        "its own attributes only": """
class Module:
    training = True

    def parameters(self):
        return [t for t in vars(self).values() if isinstance(t, Tensor) and t.requires_grad]

    def train(self, on=True):
        self.training = on
        return self
""",
        "also what is not watched": edit(" and t.requires_grad", ""),
        "one that is held twice comes twice": """
class Module:
    training = True

    def parameters(self):
        found = []

        def look(part):
            if isinstance(part, Tensor):
                found.extend([part] if part.requires_grad else [])
            elif isinstance(part, dict):
                for value in part.values():
                    look(value)
            elif isinstance(part, (list, tuple)):
                for value in part:
                    look(value)
            elif hasattr(part, "__dict__") and not isinstance(part, type):
                look(vars(part))

        look(self)
        return found

    def train(self, on=True):
        self.training = on
        return self
""",
        "in the wrong order": edit("reversed(inside)", "inside"),
        "into tensors as well: their gradients are parameters": edit("Tensor | type", "type"),
        "no dicts": edit("inside = list(part.values())", "inside = []"),
        "no tuples": edit("list | tuple", "list"),
        "only into Modules": edit(
            'hasattr(part, "__dict__") and not isinstance(part, Tensor | type)',
            "isinstance(part, Module)",
        ),
        "train says nothing": edit(
            "                part.training = on\n        return self",
            "                part.training = on",
        ),
        "train is for itself alone": edit("for part in self.parts():\n", "for part in [self]:\n"),
        "train always switches on": edit("part.training = on", "part.training = True"),
        "everything gets training": edit(
            "if isinstance(part, Module):", 'if hasattr(part, "__dict__"):'
        ),
        "training belongs to the class": edit("part.training = on", "Module.training = on"),
        "a set: without order": edit(
            "return [t for t in self.parts() if isinstance(t, Tensor) and t.requires_grad]",
            "return {t for t in self.parts() if isinstance(t, Tensor) and t.requires_grad}",
        ),
        "copies": edit("return [t for", "return [t.detach() for"),
        "raises: in a circle train never ends": """
class Module:
    training = True

    def inside(self, part, seen):
        if id(part) in seen or isinstance(part, type):
            return
        seen[id(part)] = part
        if isinstance(part, Tensor):
            return
        if isinstance(part, dict):
            held = list(part.values())
        elif isinstance(part, (list, tuple)):
            held = list(part)
        else:
            held = list(getattr(part, "__dict__", {}).values())
        for one in held:
            self.inside(one, seen)

    def parameters(self):
        seen = {}
        self.inside(self, seen)
        return [t for t in seen.values() if isinstance(t, Tensor) and t.requires_grad]

    def train(self, on=True):
        self.training = on

        def go(part):
            if isinstance(part, Module):
                part.train(on)
            elif isinstance(part, dict):
                for one in part.values():
                    go(one)
            elif isinstance(part, (list, tuple)):
                for one in part:
                    go(one)

        for part in vars(self).values():
            go(part)
        return self
""",
        "names that begin with _ are left out": edit(
            "inside = list(vars(part).values())",
            "inside = [v for name, v in vars(part).items() if name[:1] != '_']",
        ),
        "what was found first is kept": edit(
            "        return [t for t in self.parts() if isinstance(t, Tensor) and t.requires_grad]",
            "        if not hasattr(self, 'kept'):\n"
            "            self.kept = tuple(id(t) for t in self.parts())\n"
            "        return [t for t in self.parts() if id(t) in self.kept and "
            "isinstance(t, Tensor) and t.requires_grad]",
        ),
    },
    "09.4": {
        "no mean": edit("away = x - x.mean(axis, keep=True)", "away = x"),
        "no root": edit("** -0.5", "** -1.0"),
        "multiplied by the root": edit("** -0.5", "** 0.5"),
        "eps outside of the root": edit(
            'scale = ((away * away).mean(axis, keep=True) + self.params["eps"]) ** -0.5',
            'scale = 1 / ((away * away).mean(axis, keep=True) ** 0.5 + self.params["eps"])',
        ),
        "eps is fixed": edit('self.params["eps"]', "1e-5"),
        "the last axis always": edit(
            '        axis = self.params["axis"]\n        away',
            "        axis = (len(x.shape) - 1,)\n        away",
        ),
        "the sum of squares": edit(
            "(away * away).mean(axis, keep=True)",
            "(away * away).sum(axis).reshape("
            "*[1 if a in axis else n for a, n in enumerate(x.shape)])",
        ),
        "backward: mean and spread held fast": edit(
            "((g - g.mean(axis, keep=True) - z * along) * scale,)", "(g * scale,)"
        ),
        "backward: the spread held fast": edit(" - z * along", ""),
        "backward: the mean held fast": edit("g - g.mean(axis, keep=True) - z", "g - z"),
        "backward: a sign": edit("- z * along", "+ z * along"),
        "backward: x in place of z": edit("z * along) *", "self.inputs[0] * along) *"),
        "backward: divided by the spread twice": edit("* scale,)", "* scale * scale,)"),
        "backward: the scale forgotten": edit(" * scale,)", ",)"),
        "backward: no tuple": edit(
            "return ((g - g.mean(axis, keep=True) - z * along) * scale,)",
            "return (g - g.mean(axis, keep=True) - z * along) * scale",
        ),
        "backward: the means are over everything": edit(
            "along = (g * z).mean(axis, keep=True)", "along = (g * z).mean()"
        ),
        "raises: z is kept in the class, by forward": edit(
            "        return self.parts(x)[0]",
            "        Normalize.kept = self.parts(x)\n        return Normalize.kept[0]",
            "z, scale = self.parts(*self.inputs)",
            "z, scale = Normalize.kept",
        ),
        "the variance is divided by n - 1": edit(
            "scale = ((away * away).mean(axis, keep=True)",
            "n = math.prod(x.shape[a] for a in axis)\n"
            "        scale = ((away * away).mean(axis, keep=True) * (n / (n - "
            "1))",
        ),
        "float64 whatever x is": edit(
            "away = x - x.mean(axis, keep=True)",
            "away = cast(x - x.mean(axis, keep=True), 'float64')",
        ),
    },
    "09.5": {
        "the first axis": edit("(len(x.shape) - 1,)", "(0,)"),
        "axis 1, which is not always the last": edit(
            "last = (len(x.shape) - 1,)", "last = (min(1, len(x.shape) - 1),)"
        ),
        "all axes but the first": edit("(len(x.shape) - 1,)", "tuple(range(1, len(x.shape)))"),
        "w forgotten": edit(" * self.w", ""),
        "b forgotten": edit(" + self.b", ""),
        "w begins at 0": edit("[1.0] * features", "[0.0] * features"),
        "b is not watched": edit(
            "self.b = Tensor([0.0] * features, requires_grad=True)",
            "self.b = Tensor([0.0] * features)",
        ),
        "eps forgotten": edit("eps=self.eps).", "eps=1e-5)."),
        "no Module": edit("class LayerNorm(Module)", "class LayerNorm"),
        "a norm of its own, without a way back": edit(
            "Normalize(x, axis=last, eps=self.eps).apply()",
            "Normalize(x.detach(), axis=last, eps=self.eps).apply()",
        ),
        "b is scaled as well": edit(
            ".apply() * self.w + self.b", ".apply() * self.w + self.b * self.w"
        ),
        "eps outside of the root": edit(
            "return Normalize(x, axis=last, eps=self.eps).apply() * self.w + self.b",
            "away = x - x.mean(last, keep=True)\n"
            "        spread = (away * away).mean(last, keep=True) ** 0.5\n"
            "        return away / (spread + self.eps) * self.w + self.b",
        ),
        "eps belongs to the class": edit("        self.eps = eps", "        LayerNorm.eps = eps"),
        "raises: w is found in the class": edit(
            "self.w = Tensor([1.0]",
            "self.w = LayerNorm.last = Tensor([1.0]",
            "* self.w + self.b",
            "* LayerNorm.last + self.b",
        ),
    },
    "09.6": {
        "raises: the last axis": edit(
            "axis = (0, *range(2, len(x.shape)))", "axis = (len(x.shape) - 1,)"
        ),
        "raises: only axis 0": edit("axis = (0, *range(2, len(x.shape)))", "axis = (0,)"),
        "raises: w along the last axis": edit("* (len(x.shape) - 2)", "* 0"),
        "always as in training": edit("if self.training:", "if True:"),
        "never as in training": edit("if self.training:", "if False:"),
        "the running numbers are used in training, too": edit(
            "            z = Normalize(x, axis=axis, eps=self.eps).apply()\n        else:\n"
            "            scale",
            "        if True:\n            scale",
        ),
        "the shares exchanged": edit(
            "self.mean * (1 - self.momentum) + mean * self.momentum",
            "self.mean * self.momentum + mean * (1 - self.momentum)",
        ),
        "only the mean is moved": edit(
            "self.var = self.var * (1 - self.momentum) + var * self.momentum", "pass"
        ),
        "the running numbers have a history": edit("with no_grad():", "if True:"),
        "the last batch instead of a running mean": edit(
            "self.mean * (1 - self.momentum) + mean * self.momentum", "mean"
        ),
        "moved when it is not training": edit(
            "        if self.training:\n            self.remember(x, axis, under)\n",
            "        self.remember(x, axis, under)\n        if self.training:\n",
        ),
        "the spread in place of the variance": edit(
            "var = (away * away).mean(axis)", "var = (away * away).mean(axis) ** 0.5"
        ),
        "the mean is remembered with its sign lost": edit(
            "z = (x - self.mean", "z = (x + self.mean"
        ),
        "eps forgotten after the training": edit("(self.var + self.eps)", "self.var"),
        "momentum is fixed": edit(
            "self.momentum, self.eps = momentum, eps", "self.momentum, self.eps = 0.1, eps"
        ),
        "the running numbers are parameters": edit(
            "Tensor([0.0] * features), Tensor([1.0] * features)",
            "Tensor([0.0] * features, requires_grad=True), "
            "Tensor([1.0] * features, requires_grad=True)",
        ),
        "the variance is divided by n - 1": edit(
            "            var = (away * away).mean(axis)\n",
            "            n = x.numel() // x.shape[1]\n"
            "            var = (away * away).mean(axis) * (n / (n - 1))\n",
        ),
        "the running numbers belong to the class": edit(
            "        self.mean, self.var = Tensor([0.0] * features), Tensor([1.0] * features)",
            "        BatchNorm.mean, BatchNorm.var = Tensor([0.0] * features), "
            "Tensor([1.0] * features)",
            "            self.mean = self.mean *",
            "            BatchNorm.mean = self.mean *",
            "            self.var = self.var *",
            "            BatchNorm.var = self.var *",
        ),
        "momentum belongs to the class": edit(
            "self.momentum, self.eps = momentum, eps",
            "self.eps = eps\n        BatchNorm.momentum = momentum",
        ),
        "not in training eps stands outside of the root": edit(
            "(self.var + self.eps) ** -0.5", "(self.var**0.5 + self.eps) ** -1.0"
        ),
    },
    "09.7": {
        "only the first row": edit(
            "for i in range(x.shape[0])]",
            "for i in range(1)]",
            "strict=True)\n        for",
            "strict=False)\n        for",
        ),
        "only the last row": """
def mixes_rows(layer, x):
    n = x.shape[0]
    with no_grad():
        together, alone = layer(x).tolist()[-1], layer(x[n - 1 : n]).tolist()[0]
    return any(abs(a - b) > 1e-4 * (1 + abs(a)) for a, b in zip(together, alone))
""",
        "to the last bit": edit("abs(a - b) > 1e-4 * (1 + abs(a))", "a != b"),
        "much room": edit("1e-4 * (1 + abs(a))", "1.5"),
        "the wrong way round": edit("return any(", "return not any("),
        "all must differ": edit("return any(", "return all("),
        "asked twice in the same company": edit(
            "layer(x[i : i + 1]).tolist()[0]", "layer(x).tolist()[i]"
        ),
        "BatchNorm by its name": """
def mixes_rows(layer, x):
    return isinstance(layer, BatchNorm) and layer.training
""",
        "room that does not grow with the numbers": edit("1e-4 * (1 + abs(a))", "1e-6"),
        "the memory of x, not x": edit(
            "layer(x[i : i + 1])", "layer(Tensor([x.buf.read(i * x.shape[1], x.shape[1])]))"
        ),
    },
    "09.9": {
        "no path around": edit("return x + self.inner(x)", "return self.inner(x)"),
        "only the first layer": edit("Sequential(*layers)", "layers[0]"),
        "times in place of plus": edit("x + self.inner(x)", "x * self.inner(x)"),
        "around each of the layers": """
class Residual(Module):
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x
""",
        "the path is cut off": edit("x + self.inner(x)", "x.detach() + self.inner(x)"),
        "the layers are cut off": edit("x + self.inner(x)", "x + self.inner(x.detach())"),
        "hidden in a function": edit(
            "self.inner = Sequential(*layers)",
            "inner = Sequential(*layers)\n        self.inner = lambda x: inner(x)",
        ),
        "no Module": edit("class Residual(Module)", "class Residual"),
        "minus": edit("x + self.inner(x)", "x - self.inner(x)"),
        "the layers belong to the class": edit(
            "self.inner = Sequential",
            "Residual.inner = Sequential",
            "return x + self.inner(x)",
            "return x + Residual.inner(x)",
        ),
        "only what the layers give": edit("return x + self.inner(x)", "return self.inner(x)"),
    },
    "09.10": {
        "not scaled": edit("1 / (1 - self.p)", "1.0"),
        "scaled by 1 - p": edit("1 / (1 - self.p)", "1 - self.p"),
        "divided by p": edit("1 / (1 - self.p)", "1 / max(self.p, 1e-9)"),
        "p is the share that is kept": edit(
            "if draw() < self.p else kept", "if draw() >= self.p else kept"
        ),
        "after the training as well": edit("if not self.training or self.p == 0", "if self.p == 0"),
        "only after the training": edit("if not self.training or", "if self.training or"),
        "scaled after the training, too": edit(
            "            return x\n", "            return x * (1 - self.p)\n"
        ),
        "from the order of the batches": edit(
            "draw, kept = self.random.random", "draw, kept = random.random"
        ),
        "the same places at each call": edit(
            "        draw, kept", "        self.random.seed(1)\n        draw, kept"
        ),
        "the seed is forgotten": edit("if seed is None else seed", "if True else seed"),
        "all layers leave out the same places": edit(
            "random.random() if seed is None else seed", "0 if seed is None else seed"
        ),
        "no seed repeats it": edit(
            "random.Random(random.random() if seed is None else seed)",
            "random.SystemRandom() if seed is None else random.Random(seed)",
        ),
        "whole rows": edit(
            "mask = [0.0 if draw() < self.p else kept for _ in range(x.numel())]",
            "n = x.shape[-1] * (x.shape[-2] if len(x.shape) > 2 else 1)\n"
            "        mask = []\n        for _ in range(x.numel() // n):\n"
            "            mask += [0.0 if draw() < self.p else kept] * n",
        ),
        "any p is taken": edit("if not 0 <= p < 1:", "if False:"),
        "no way back": edit("return x * Tensor", "return x.detach() * Tensor"),
        "float32 always, and no dtype of x": edit(
            "return x * Tensor(mask, dtype=x.buf.dtype).reshape(*x.shape)",
            "return cast(x.detach(), 'float32') * Tensor(mask).reshape(*x.shape)",
        ),
        "seed 0 is taken for none": edit(
            "random.random() if seed is None else seed", "seed or random.random()"
        ),
        "the generator belongs to the class": edit(
            "self.random = random.Random", "Dropout.random = random.Random"
        ),
        "training belongs to the class": edit(
            "    def __call__(self, x):",
            "    def train(self, on=True):\n"
            "        Dropout.training = on\n"
            "        return self\n"
            "\n"
            "    def __call__(self, x):",
        ),
        "float64 whatever x is": edit("dtype=x.buf.dtype", "dtype='float64'"),
    },
    "09.8": {
        "always back to training": edit("module.training = training", "module.training = True"),
        "not put back": edit("            module.training = training", "            pass"),
        "not after an error": edit(
            "    try:\n        yield model\n    finally:\n        for module, training in "
            "zip(modules, before, strict=True):\n            module.training = training",
            "    yield model\n    for module, training in zip(modules, before, strict=True):\n"
            "        module.training = training",
        ),
        "only the model itself": edit("model.train(False)", "model.training = False"),
        "switched on": edit("model.train(False)", "model.train(True)"),
        "as the model itself was": edit(
            "module.training = training", "module.training = before[0]"
        ),
        "an error is swallowed": edit(
            "    finally:", "    except Exception:\n        pass\n    finally:"
        ),
        "remembered too late": edit(
            "    before = [module.training for module in modules]\n    model.train(False)",
            "    model.train(False)\n    before = [module.training for module in modules]",
        ),
        "nothing is changed": edit("    model.train(False)\n", ""),
    },
    "09.11": {
        "the gradient itself is not divided": edit(
            "p.grad / (self.v[i] ** 0.5 + self.eps)", "p.grad"
        ),
        "no root": edit("self.v[i] ** 0.5", "self.v[i]"),
        "eps under the root": edit(
            "(self.v[i] ** 0.5 + self.eps)", "((self.v[i] + self.eps) ** 0.5)"
        ),
        "the shares exchanged": edit(
            "self.v[i] * self.beta + p.grad * p.grad * (1 - self.beta)",
            "self.v[i] * (1 - self.beta) + p.grad * p.grad * self.beta",
        ),
        "a sum and no mean": edit(" * (1 - self.beta)", ""),
        "a mean of the gradient, not of its square": edit("p.grad * p.grad * (1", "p.grad * (1"),
        "v is used before it is moved": edit(
            "                self.v[i] = self.v[i]",
            "                before = self.v[i]\n                self.v[i] = self.v[i]",
            "(self.v[i] ** 0.5",
            "(before ** 0.5",
        ),
        "corrected, as Adam does it": edit(
            "self.v[i] ** 0.5 + self.eps",
            "(self.v[i] / (1 - self.beta)) ** 0.5 + self.eps",
        ),
        "uphill": edit("* -self.lr", "* self.lr"),
        "the gradients are left": edit("                p.grad = None", ""),
        "one v for all": edit(
            "self.v = [p.detach() * 0 for p in parameters]",
            "self.v = [p.detach() for p in parameters]",
        ),
        "v belongs to the class": edit("        self.v = [", "        RMSprop.v = ["),
    },
    "09.13": {
        "those of one axis": edit(">= 2", "< 2"),
        "of exactly two axes": edit(">= 2", "== 2"),
        "all": edit("if len(p.shape) >= 2", "if True"),
        "by the first size": edit("len(p.shape) >= 2", "p.shape and p.shape[0] > 1"),
        "raises: by the number of elements in the last axis": edit(
            "len(p.shape) >= 2", "p.shape[-1] > 1"
        ),
        "by how many numbers there are": edit("len(p.shape) >= 2", "p.numel() > 4"),
        "every second one": """
def decays(parameters):
    return parameters[::2]
""",
        "of three axes or more": edit(">= 2", "> 2"),
        "their shapes": edit("[p for p", "[p.shape for p"),
    },
    "09.14": {
        "all of them decay": edit("decays(self.parameters)", "self.parameters"),
        "the others decay": edit(
            "decays(self.parameters)", "[p for p in self.parameters if len(p.shape) < 2]"
        ),
        "only weights are moved at all": edit(
            "        super().step()",
            "        self.parameters = decays(self.parameters)\n        super().step()",
        ),
        "the weights grow": edit("(-self.lr * self.decay)", "(self.lr * self.decay)"),
        "without lr": edit("(-self.lr * self.decay)", "(-self.decay)"),
        "the rate of the beginning": edit(
            "self.decay = decay", "self.decay, self.first = decay, lr", "-self.lr", "-self.first"
        ),
        "in the gradient": edit(
            "add_(p, p * (-self.lr * self.decay))", "p.grad = p.grad + p * self.decay"
        ),
        "decay is forgotten": edit("add_(p, p * (-self.lr * self.decay))", "pass"),
        "after the step": edit(
            "        with no_grad():\n            for p in decays(self.parameters):\n"
            "                add_(p, p * (-self.lr * self.decay))\n        super().step()",
            "        super().step()\n        with no_grad():\n"
            "            for p in decays(self.parameters):\n"
            "                add_(p, p * (-self.lr * self.decay))",
        ),
        "the decay without lr": edit("-self.lr * self.decay", "-self.decay"),
    },
    "09.12": {
        "begins at 0": edit("(step + 1) / steps", "step / steps"),
        "one step too late": edit(
            "if step < steps",
            "if step <= steps",
            "(step + 1) / steps",
            "(step + 1) / max(steps, 1)",
        ),
        "the cosine begins at step 0": edit("(step - steps) / (total - steps)", "step / total"),
        "the cosine is as long as the whole": edit("/ (total - steps)", "/ total"),
        "a whole wave": edit("math.pi * done", "2 * math.pi * done"),
        "in a line": edit("(1 + math.cos(math.pi * done)) / 2", "1 - done"),
        "up, and no more": edit("(1 + math.cos(math.pi * done)) / 2", "1.0"),
        "as large as 2": edit("(1 + math.cos(math.pi * done)) / 2", "1 + math.cos(math.pi * done)"),
        "both at once, as in chapter 8": """
import math


def warmup(step, steps, total):
    return min(1, (step + 1) / max(steps, 1)) * (1 + math.cos(math.pi * step / total)) / 2
""",
        "arrives a step too early": edit(
            "(total - steps)", "(total - steps - 1 + (total - steps < 2))"
        ),
        "a line down": edit("(1 + math.cos(math.pi * done)) / 2", "1 - done"),
        "step / steps": edit("(step + 1) / steps", "step / steps"),
    },
    "09.15": {
        "not scaled": edit("(loss * self.scale).backward()", "loss.backward()"),
        "not divided": edit(
            "p.grad * (1 / self.scale) if finite else None", "p.grad if finite else None"
        ),
        "multiplied again": edit("p.grad * (1 / self.scale)", "p.grad * self.scale"),
        "steps anyway": edit(
            "self.scale, self.good = self.scale / 2, 0\n            return False",
            "self.scale, self.good = self.scale / 2, 0\n            optimizer.step()\n"
            "            return False",
        ),
        "the gradients are left": edit("if finite else None", ""),
        "not halved": edit("self.scale / 2, 0", "self.scale, 0"),
        "never doubled": edit("self.scale * 2, 0", "self.scale, 0"),
        "the counter goes on after an infinity": edit(
            "self.scale / 2, 0", "self.scale / 2, self.good"
        ),
        "the counter is not set back after doubling": edit(
            "self.scale * 2, 0", "self.scale * 2, self.good"
        ),
        "only the first parameter is looked at": edit("for p in moving)", "for p in moving[:1])"),
        "only infinity, no nan": edit(
            "(p.grad * 0.0).sum().item() == 0.0", "abs(p.grad.sum().item()) != float('inf')"
        ),
        "the largest number: minus infinity passes": edit(
            "(p.grad * 0.0).sum().item() == 0.0", "p.grad.max().item() < float('inf')"
        ),
        "in place: a shared gradient is divided twice": edit(
            "p.grad = p.grad * (1 / self.scale) if finite else None",
            "if finite:\n                p.grad.fill([x / self.scale for x in p.grad.values()])\n"
            "            else:\n                p.grad = None",
        ),
        "says nothing": edit("\n        return True", ""),
        "raises: every parameter must have a gradient": edit(" if p.grad is not None]", "]"),
        "one step too late": edit("self.good == self.patience", "self.good > self.patience"),
        "the sum of finite numbers may be infinite": edit(
            "(p.grad * 0.0).sum().item() == 0.0",
            "math.isfinite(p.grad.sum().item())",
            "class LossScaler",
            "import math\n\n\nclass LossScaler",
        ),
        "the scale belongs to the class": edit(
            "        self.scale, self.patience, self.good = scale, patience, 0",
            "        self.patience, self.good = patience, 0\n        LossScaler.scale = scale",
            "            self.scale, self.good = self.scale / 2, 0",
            "            LossScaler.scale, self.good = self.scale / 2, 0",
            "            self.scale, self.good = self.scale * 2, 0",
            "            LossScaler.scale, self.good = self.scale * 2, 0",
        ),
        "too large is taken for infinite": edit(
            "(p.grad * 0.0).sum().item() == 0.0", "(p.grad * p.grad).sum().item() < float('inf')"
        ),
    },
    "09.16": {
        "not trained": edit(
            "        losses += train(champion, optimizer, [batch])", "        losses.append(0.0)"
        ),
        "three layers": edit("for _ in range(10)]", "for _ in range(1)]"),
        "eleven layers": edit("for _ in range(10)]", "for _ in range(9)]"),
        "stands still": edit(
            "started(Linear(width, width), he)",
            "started(Linear(width, width), small)",
            "Residual(BatchNorm(width), Tensor.relu, ",
            "Sequential(Tensor.relu, ",
        ),
        "the accuracy, in place of the network": edit(
            "losses += train(champion, optimizer, [batch])",
            "losses += [0.0]",
            "AdamW(champion.parameters(), decay=0.05), []",
            "AdamW(champion.parameters(), decay=0.05), []\nchampion = 0.99",
        ),
        "all layers side by side": edit(
            "*[block(WIDTH) for _ in range(10)],",
            "lambda x: sum((f(x) for f in SIDE[1:]), SIDE[0](x)),",
            "random.seed(0)\n",
            "random.seed(0)\nSIDE = [block(WIDTH) for _ in range(10)]\n",
            "    Linear(WIDTH, 10),\n)",
            "    Linear(WIDTH, 10),\n)\nchampion.side = SIDE",
        ),
        "its probabilities upside down": edit(
            "    Linear(WIDTH, 10),\n)",
            "    Linear(WIDTH, 10),\n)",
            "        losses += train(champion, optimizer, [batch])",
            "        losses += train(champion, optimizer, [batch])\n"
            "champion.layers.append(lambda scores: -scores)",
        ),
    },
    "09.s1": {
        "the scale without the root": edit("** -0.5", "** -1.0"),
        "the mean forgotten": edit("(layer.b - norm.mean) * scale", "layer.b * scale"),
        "b is not scaled": edit("(layer.b - norm.mean) * scale", "(layer.b - norm.mean * scale)"),
        "norm.b forgotten": edit(" + norm.b)", ")"),
        "norm.w forgotten": edit("norm.w * (norm.var", "(norm.var"),
        "raises: rows are scaled": edit("layer.w * scale", "(layer.w.T * scale).T"),
        "eps forgotten": edit("(norm.var + norm.eps)", "norm.var"),
        "the layer itself is changed": edit("one = Linear(inputs, outputs)", "one = layer"),
        "a function": edit("    return one", "    return lambda x: one(x)"),
        "the memory of w, whatever walk": edit(
            "norm.w * (norm.var + norm.eps)",
            "Tensor(norm.w.buf.read(0, outputs)) * (norm.var + norm.eps)",
        ),
    },
    "09.s2": {
        "to the nearest": """
def by_chance(x):
    return Buffer([x], "float16")[0]
""",
        "half of the time each": edit("random.random() < share", "random.random() < 0.5"),
        "the chances exchanged": edit("random.random() < share", "random.random() > share"),
        "always further away from 0": edit("(-1 if beyond else 1)", "1"),
        "a little noise": """
import random


def by_chance(x):
    return Buffer([x * (1 + random.uniform(-1, 1) * 2.0**-11)], "float16")[0]
""",
        "down to 0 only": edit("random.random() < share", "abs(other[0]) < abs(nearest[0])"),
    },
}
