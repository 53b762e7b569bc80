"""Right answers to the exercises of chapter 9, written otherwise than ours."""

RIGHT = {
    "09.1": {
        "even, between bounds of its own": """
import math
import random


def he(inputs, outputs):
    a = math.sqrt(6 / inputs)
    table = []
    for _ in range(inputs):
        table.append([random.uniform(-a, a) for _ in range(outputs)])
    return table
""",
        "two values only, of the right spread": """
import random


def he(inputs, outputs):
    bound = (6 / inputs) ** 0.5
    return [[(2 * random.random() - 1) * bound for _ in range(outputs)] for _ in range(inputs)]
""",
    },
    "09.2": {
        "by sums of ops": """
def dead(h):
    return h.shape[1] - int((h.max(0) > 0).sum().item())
""",
        "a loop": """
def dead(h):
    count = 0
    for j in range(h.shape[1]):
        alive = False
        for value in h[:, j].tolist():
            if value != 0:
                alive = True
        if not alive:
            count += 1
    return count
""",
    },
    "09.3": {
        "by recursion, twice": """
class Module:
    training = True

    def __inside(self, thing, seen):
        if id(thing) in seen or isinstance(thing, type):
            return
        seen[id(thing)] = thing
        if isinstance(thing, Tensor):
            return
        if isinstance(thing, dict):
            held = thing.values()
        elif isinstance(thing, (list, tuple, set)):
            held = thing
        else:
            held = getattr(thing, "__dict__", {}).values()
        for one in held:
            self.__inside(one, seen)

    def parameters(self):
        seen = {}
        self.__inside(self, seen)
        return [t for t in seen.values() if isinstance(t, Tensor) and t.requires_grad]

    def train(self, on=True):
        seen = {}
        self.__inside(self, seen)
        for thing in seen.values():
            if isinstance(thing, Module):
                thing.training = bool(on)
        return self
""",
        "what looks like a tensor, by its buffer": """
def held_by(thing):
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple)):
        return list(thing)
    if hasattr(thing, "buf") or isinstance(thing, type) or not hasattr(thing, "__dict__"):
        return []
    return list(thing.__dict__.values())


def all_of(thing):
    found = []

    def go(one):
        if any(one is other for other in found):
            return
        found.append(one)
        for part in held_by(one):
            go(part)

    go(thing)
    return found


class Module:
    def __init__(self):
        self.training = True

    def parameters(self):
        return [t for t in all_of(self) if hasattr(t, "buf") and t.requires_grad]

    def train(self, on=True):
        for m in all_of(self):
            if isinstance(m, Module):
                m.training = on
        return self
""",
        "train by recursion, with what was seen": """
class Module:
    training = True

    def _walk(self, thing, seen, visit):
        if id(thing) in seen or isinstance(thing, type):
            return
        seen.add(id(thing))
        visit(thing)
        if isinstance(thing, Tensor):
            return
        if isinstance(thing, dict):
            held = list(thing.values())
        elif isinstance(thing, (list, tuple)):
            held = list(thing)
        else:
            held = list(getattr(thing, "__dict__", {}).values())
        for one in held:
            self._walk(one, seen, visit)

    def parameters(self):
        found = []

        def visit(thing):
            if isinstance(thing, Tensor) and thing.requires_grad:
                found.append(thing)

        self._walk(self, set(), visit)
        return found

    def train(self, on=True):
        def visit(thing):
            if isinstance(thing, Module):
                thing.training = on

        self._walk(self, set(), visit)
        return self
""",
    },
    "09.4": {
        "what forward found is kept": """
class Normalize(Op):
    def forward(self, x):
        axis, eps = self.params["axis"], self.params["eps"]
        with no_grad():
            self.centre = x - x.mean(axis, keep=True)
            var = (self.centre**2.0).mean(axis, keep=True)
            self.s = (var + eps) ** 0.5
            self.z = self.centre / self.s
        return self.z * 1.0

    def backward(self, g):
        axis = self.params["axis"]
        inner = g - g.mean(axis, keep=True)
        return [(inner - self.z * (g * self.z).mean(axis, keep=True)) / self.s]
""",
        "the long formula, by way of the variance": """
class Normalize(Op):
    def moments(self, x):
        axis = self.params["axis"]
        mu = x.mean(axis, keep=True)
        return mu, ((x - mu) * (x - mu)).mean(axis, keep=True) + self.params["eps"]

    def forward(self, x):
        mu, v = self.moments(x)
        return (x - mu) * v**-0.5

    def backward(self, g):
        (x,) = self.inputs
        axis = self.params["axis"]
        mu, v = self.moments(x)
        n = x.numel() / v.numel()
        dv = (g * (x - mu)).mean(axis, keep=True) * n * -0.5 * v**-1.5
        dmu = (g * v**-0.5).mean(axis, keep=True) * (-n)
        return (g * v**-0.5 + dv * 2.0 * (x - mu) / n + dmu / n,)
""",
    },
    "09.5": {
        "by operators alone": """
class LayerNorm(Module):
    def __init__(self, features, eps=1e-5):
        self.b = Tensor([0.0 for _ in range(features)], requires_grad=True)
        self.w = Tensor([1.0 for _ in range(features)], requires_grad=True)
        self.eps = eps

    def __call__(self, x):
        mu = x.mean(-1, keep=True)
        v = ((x - mu) * (x - mu)).mean(-1, keep=True)
        return self.b + self.w * (x - mu) / (v + self.eps) ** 0.5
""",
        "by hand, without Normalize": """
class LayerNorm(Module):
    def __init__(self, features, eps=1e-5):
        self.eps = eps
        self.w = Tensor([1.0] * features, requires_grad=True)
        self.b = Tensor([0.0] * features, requires_grad=True)

    def __call__(self, x):
        last = len(x.shape) - 1
        away = x - x.mean((last,), keep=True)
        var = (away * away).mean((last,), keep=True)
        return self.b + self.w * (away / (var + self.eps) ** 0.5)
""",
    },
    "09.6": {
        "by operators, everything at size 1": """
class BatchNorm(Module):
    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.features, self.momentum, self.eps = features, momentum, eps
        self.w = Tensor([1.0] * features, requires_grad=True)
        self.b = Tensor([0.0] * features, requires_grad=True)
        self.mean = zeros((features,))
        self.var = Tensor([1.0] * features)

    def __call__(self, x):
        around = [a for a in range(len(x.shape)) if a != 1]
        shape = [self.features if a == 1 else 1 for a in range(len(x.shape))]
        if self.training:
            mu = x.mean(tuple(around), keep=True)
            v = ((x - mu) * (x - mu)).mean(tuple(around), keep=True)
            for name, new in (("mean", mu), ("var", v)):
                old = getattr(self, name)
                kept = [
                    a + self.momentum * (b - a)
                    for a, b in zip(old.values(), new.values(), strict=True)
                ]
                setattr(self, name, Tensor(kept))
        else:
            mu, v = self.mean.reshape(*shape), self.var.reshape(*shape)
        z = (x - mu) / (v + self.eps) ** 0.5
        return z * self.w.reshape(*shape) + self.b.reshape(*shape)
""",
        "the running numbers are filled in place": """
class BatchNorm(Module):
    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.momentum, self.eps = momentum, eps
        self.w = Tensor([1.0] * features, requires_grad=True)
        self.b = Tensor([0.0] * features, requires_grad=True)
        self.mean = Tensor([0.0] * features)
        self.var = Tensor([1.0] * features)

    def __call__(self, x):
        axis = tuple(a for a in range(len(x.shape)) if a != 1)
        under = [x.shape[1]] + [1] * (len(x.shape) - 2)
        if self.training:
            z = Normalize(x, axis=axis, eps=self.eps).apply()
            with no_grad():
                mean = x.mean(axis)
                away = x - mean.reshape(*under)
                var = (away * away).mean(axis)
                m = self.momentum
                for old, new in ((self.mean, mean), (self.var, var)):
                    old.fill([a + m * (b - a) for a, b in zip(old.values(), new.values())])
        else:
            z = (x - self.mean.reshape(*under)) / ((self.var + self.eps) ** 0.5).reshape(*under)
        return z * self.w.reshape(*under) + self.b.reshape(*under)
""",
    },
    "09.7": {
        "the other rows are changed": """
import math


def mixes_rows(layer, x):
    n = x.shape[0]
    first = layer(x).tolist()
    for i in range(n):
        table = x.tolist()
        for j in range(n):
            if j != i:
                table[j] = [3.0 - 2.0 * value for value in table[j]]
        again = layer(Tensor(table, dtype=x.buf.dtype)).tolist()
        for a, b in zip(first[i], again[i]):
            if not math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5):
                return True
    return False
""",
    },
    "09.9": {
        "a loop of its own": """
class Residual(Module):
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        y = x
        for layer in self.layers:
            y = layer(y)
        return y + x
""",
        "one layer after the other, in a loop": """
class Residual(Module):
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        y = x
        for layer in self.layers:
            y = layer(y)
        return y + x
""",
    },
    "09.10": {
        "through nested lists of floats": """
import random


class Dropout(Module):
    def __init__(self, p, seed=None):
        if p < 0 or p >= 1:
            raise ValueError("p has to be in [0, 1)")
        self.p = p
        seed = seed if seed is not None else random.getrandbits(64)
        self.generator = random.Random(seed)

    def __call__(self, x):
        if not self.training:
            return x
        mask = zeros(x.shape, x.buf.dtype)
        mask.fill([float(self.generator.random() >= self.p) for _ in range(x.numel())])
        return x * mask * (1 / (1 - self.p))
""",
        "choices, and a list of the shape": """
import random


class Dropout(Module):
    def __init__(self, p, seed=None):
        if p < 0 or p >= 1:
            raise ValueError("p has to be from 0 to below 1")
        if seed is None:
            seed = random.randrange(2**32)
        self.p, self.draw = p, random.Random(seed)

    def __call__(self, x):
        if not self.training:
            return x * 1.0
        kept = self.draw.choices([0.0, 1.0 / (1.0 - self.p)], [self.p, 1.0 - self.p], k=x.numel())
        mask = zeros(x.shape, x.buf.dtype)
        mask.fill(kept)
        return x * mask
""",
    },
    "09.8": {
        "a class": """
class evaluating:
    def __init__(self, model):
        self.model, self.states = model, []

    def __enter__(self):
        todo, seen = [self.model], set()
        while todo:
            one = todo.pop()
            if id(one) in seen or isinstance(one, (Tensor, type)):
                continue
            seen.add(id(one))
            if isinstance(one, Module):
                self.states.append((one, one.training))
                one.training = False
            if isinstance(one, (list, tuple)):
                todo.extend(one)
            elif isinstance(one, dict):
                todo.extend(one.values())
            else:
                todo.extend(getattr(one, "__dict__", {}).values())
        return self.model

    def __exit__(self, *error):
        for module, state in self.states:
            module.training = state
        return False
""",
    },
    "09.11": {
        "v moved by a difference": """
class RMSprop:
    def __init__(self, parameters, lr=0.001, beta=0.99, eps=1e-8):
        self.parameters = parameters
        self.lr, self.beta, self.eps = lr, beta, eps
        self.means = [zeros(p.shape, p.buf.dtype) for p in parameters]

    def step(self):
        with no_grad():
            for p, v in zip(self.parameters, self.means):
                g = p.grad
                add_(v, (g * g - v) * (1 - self.beta))
                root = v**0.5
                add_(p, (g * -self.lr) / (root + self.eps))
        for p in self.parameters:
            p.grad = None
""",
        "the mean of the squares in one comprehension": """
class RMSprop:
    def __init__(self, parameters, lr=0.001, beta=0.99, eps=1e-8):
        self.parameters, self.lr, self.beta, self.eps = list(parameters), lr, beta, eps
        self.v = [zeros(p.shape, p.buf.dtype) for p in self.parameters]

    def step(self):
        with no_grad():
            keep = self.beta
            self.v = [
                v * keep + p.grad**2.0 * (1 - keep) for v, p in zip(self.v, self.parameters)
            ]
            for v, p in zip(self.v, self.parameters):
                add_(p, p.grad * -self.lr / (v**0.5 + self.eps))
                p.grad = None
""",
    },
    "09.13": {
        "a loop": """
def decays(parameters):
    found = []
    for p in parameters:
        if len(p.strides) > 1:
            found.append(p)
    return found
""",
    },
    "09.14": {
        "written out": """
class AdamW(Adam):
    def __init__(self, parameters, lr=0.001, decay=0.01):
        Adam.__init__(self, parameters, lr=lr)
        self.decay = decay

    def step(self):
        with no_grad():
            for p in self.parameters:
                if len(p.shape) > 1:
                    p.fill([x - self.lr * self.decay * x for x in p.values()])
        Adam.step(self)
""",
    },
    "09.12": {
        "the smaller of two": """
import math


def warmup(step, steps, total):
    if steps > step:
        return min(1.0, (1 + step) * (1 / steps))
    return math.cos(math.pi / 2 * (step - steps) / (total - steps)) ** 2
""",
    },
    "09.15": {
        "number by number": """
import math


class LossScaler:
    def __init__(self, scale=2.0**16, patience=200):
        self.scale = scale
        self.patience = patience
        self.good = 0

    def backward(self, loss):
        scaled = loss * self.scale
        scaled.backward()

    def step(self, optimizer):
        found = True
        for p in optimizer.parameters:
            if p.grad is not None:
                for x in p.grad.values():
                    if math.isinf(x) or math.isnan(x):
                        found = False
        for p in optimizer.parameters:
            if not found:
                p.grad = None
            elif p.grad is not None:
                p.grad = p.grad / self.scale
        if found:
            optimizer.step()
            self.good = self.good + 1
            if self.good >= self.patience:
                self.scale, self.good = 2 * self.scale, 0
        else:
            self.scale, self.good = 0.5 * self.scale, 0
        return found
""",
        "each number by itself": """
import math


class LossScaler:
    def __init__(self, scale=2.0**16, patience=200):
        self.scale, self.patience, self.count = float(scale), patience, 0

    def backward(self, loss):
        scaled = loss * self.scale
        scaled.backward()

    def step(self, optimizer):
        with_grad = [p for p in optimizer.parameters if p.grad is not None]
        if not all(math.isfinite(v) for p in with_grad for v in p.grad.values()):
            for p in optimizer.parameters:
                p.grad = None
            self.scale *= 0.5
            self.count = 0
            return False
        for p in with_grad:
            p.grad = p.grad / self.scale
        optimizer.step()
        self.count = (self.count + 1) % self.patience
        if self.count == 0:
            self.scale *= 2.0
        return True
""",
    },
    "09.16": {
        "LayerNorm, plain Adam, a class of its own": """
import math


class Tall(Module):
    def __init__(self):
        self.first = started(Linear(784, WIDTH), he)
        self.blocks = {}
        for k in range(11):
            self.blocks[k] = [LayerNorm(WIDTH), started(Linear(WIDTH, WIDTH), he)]
        self.last = Linear(WIDTH, 10)

    def __call__(self, pixels):
        x = self.first(standard(pixels))
        for norm, layer in self.blocks.values():
            x = x + layer(norm(x).relu())
        return self.last(x)


random.seed(3)
champion = Tall()
optimizer = Adam(champion.parameters())
total, done = EPOCHS * math.ceil(len(labels) / 64), 0
for _ in range(EPOCHS):
    for x, y in batches(images, labels, 64):
        optimizer.lr = 0.003 * warmup(done, 10, total)
        cross_entropy(champion(x), y).backward()
        optimizer.step()
        done += 1
""",
    },
    "09.s1": {
        "from lists": """
def fold(layer, norm):
    scale = [
        w / (v + norm.eps) ** 0.5 for w, v in zip(norm.w.tolist(), norm.var.tolist())
    ]
    one = Linear(*layer.w.shape)
    one.w = Tensor([[x * s for x, s in zip(row, scale)] for row in layer.w.tolist()])
    pairs = zip(layer.b.tolist(), norm.mean.tolist(), scale, norm.b.tolist())
    one.b = Tensor([(b - m) * s + shift for b, m, s, shift in pairs])
    return one
""",
    },
    "09.s2": {
        "by the spacing": """
import math
import random


def by_chance(x):
    if x == 0:
        return x
    power = max(math.floor(math.log2(abs(x))), -14)
    spacing = 2.0 ** (power - 10)
    low = math.floor(x / spacing) * spacing
    return low if random.random() >= (x - low) / spacing else low + spacing
""",
    },
}
