"""Right answers to the exercises of chapter 8, written otherwise than ours."""

RIGHT = {
    "08.7": {
        "a comprehension": """
def train(model, optimizer, batches):
    def one(x, y):
        loss = cross_entropy(model(x), y)
        value = loss.item()
        loss.backward()
        optimizer.step()
        return value

    return [one(x, y) for x, y in batches]
""",
    },
    "08.8": {
        "loops": """
def accuracy(model, images, labels):
    with no_grad():
        scores = model(images)
    right = []
    for row, label in zip(scores.tolist(), labels):
        best = 0
        for k in range(len(row)):
            if row[k] > row[best]:
                best = k
        right.append(best == label)
    return sum(right) / len(right)
""",
        "one minus what is wrong": """
def accuracy(model, images, labels):
    with no_grad():
        guesses = [row.index(max(row)) for row in model(images).tolist()]
        wrong = sum(1 for guess, label in zip(guesses, labels) if guess != label)
    return 1 - wrong / len(labels)
""",
    },
    "08.9": {
        "row by row through views": """
def rows(t, indices):
    out = zeros((len(indices),) + tuple(t.shape[1:]), t.buf.dtype)
    for place, i in enumerate(indices):
        out[place].fill(t[i].values())
    return out
""",
        "a bytearray that grows": """
def rows(t, indices):
    t = contiguous(t)
    n = t.numel() // t.shape[0] * t.buf.itemsize
    start = t.offset * t.buf.itemsize
    raw = bytearray()
    for i in indices:
        raw += t.buf.raw[start + i * n : start + i * n + n]
    buf = Buffer([], t.buf.dtype)
    buf.raw = raw
    return Tensor(buf, (len(indices), *t.shape[1:]))
""",
    },
    "08.10": {
        "an order that is used up": """
def batches(images, labels, size):
    order = list(range(len(labels)))
    random.shuffle(order)
    while order:
        chosen, order = order[:size], order[size:]
        picked = []
        for i in chosen:
            picked.append(labels[i])
        yield (rows(images, chosen), picked)
""",
        "two lists, shuffled together": """
import random


def batches(images, labels, size):
    both = list(enumerate(labels))
    random.shuffle(both)
    for k in range(0, len(both), size):
        chosen, picked = zip(*both[k : k + size])
        yield rows(images, list(chosen)), list(picked)
""",
        "sorted by random numbers": """
import random


def batches(images, labels, size):
    drawn = {i: random.random() for i in range(len(labels))}
    order = sorted(drawn, key=drawn.get)
    for k in range((len(order) + size - 1) // size):
        chosen = order[k * size : k * size + size]
        yield [rows(images, chosen), [labels[i] for i in chosen]]
""",
    },
    "08.11": {
        "sizes one by one": """
def read_idx(payload):
    shape = []
    for axis in range(payload[3]):
        start = 4 + 4 * axis
        shape.append(int.from_bytes(payload[start : start + 4], "big"))
    numbers = payload[4 + 4 * len(shape) :]
    return Tensor(Buffer(numbers, "uint8"), tuple(shape))
""",
        "struct.unpack, and fill": """
def read_idx(payload):
    sizes = struct.unpack(">" + "I" * payload[3], payload[4 : 4 + 4 * payload[3]])
    t = zeros(list(sizes), dtype="uint8")
    t.fill(list(payload[4 + 4 * payload[3] :]))
    return t
""",
    },
    "08.12": {
        "lists": """
def add_(t, change):
    t.fill([a + b for a, b in zip(t.values(), change.values())])
""",
        "a sum, and fill": """
def add_(t, change):
    with no_grad():
        t.fill((t + change).values())
""",
        "the operands exchanged": """
def add_(t, change):
    kernel = lookup("add", t.buf.dtype)
    kernel(t, change, t)
    return t
""",
        "number by number, through its own walk": """
def add_(t, change):
    t.fill([a + b for a, b in zip(t.values(), change.values())])
""",
    },
    "08.1": {
        "lists all the way": """
class SGD:
    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters = parameters
        self.lr = lr
        self.momentum = momentum
        self.velocities = []
        for p in parameters:
            self.velocities.append(zeros(p.shape, p.buf.dtype))

    def step(self):
        for p, v in zip(self.parameters, self.velocities):
            v.fill([self.momentum * a + g for a, g in zip(v.values(), p.grad.values())])
            p.fill([x - self.lr * a for x, a in zip(p.values(), v.values())])
            p.grad = None
""",
        "velocities that begin as numbers": """
class SGD:
    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = list(parameters), lr, momentum
        self.v = [0.0 for _ in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = p.grad + self.v[i] * self.momentum
                add_(p, -(self.v[i] * self.lr))
        for p in self.parameters:
            p.grad = None
""",
        "velocities in a list that grows at the first step": """
class SGD:
    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = list(parameters), lr, momentum
        self.v = []

    def step(self):
        with no_grad():
            if not self.v:
                self.v = [p.grad * 0 for p in self.parameters]
            self.v = [v * self.momentum + p.grad for v, p in zip(self.v, self.parameters)]
            for v, p in zip(self.v, self.parameters):
                add_(p, v * -self.lr)
                p.grad = None
""",
    },
    "08.2": {
        "other names, and zeros": """
class Adam:
    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters = parameters
        self.lr = lr
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.steps = 0
        self.m = [zeros(p.shape, p.buf.dtype) for p in parameters]
        self.v = [zeros(p.shape, p.buf.dtype) for p in parameters]

    def step(self):
        self.steps += 1
        for i in range(len(self.parameters)):
            p = self.parameters[i]
            with no_grad():
                g = p.grad.detach()
                self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
                self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g**2.0
                m = self.m[i] * (1 / (1 - self.beta1**self.steps))
                v = self.v[i] * (1 / (1 - self.beta2**self.steps))
                add_(p, m * -self.lr / (v**0.5 + self.eps))
            p.grad = None
""",
    },
    "08.13": {
        "lists, and Adam by name": """
class AdamW(Adam):
    def __init__(self, parameters, lr=0.001, decay=0.01):
        self.decay = decay
        Adam.__init__(self, parameters, lr=lr)

    def step(self):
        for p in self.parameters:
            p.fill([x * (1 - self.lr * self.decay) for x in p.values()])
        Adam.step(self)
""",
        "the shrinking as a product, filled in": """
class AdamW(Adam):
    def __init__(self, parameters, lr=0.001, decay=0.01):
        super().__init__(parameters, lr=lr)
        self.decay = decay

    def step(self):
        for p in self.parameters:
            p.fill([x - self.lr * self.decay * x for x in p.values()])
        super().step()
""",
    },
    "08.3": {
        "numbers in place of bytes": """
class Checkpoint:
    def __init__(self, optimizer):
        self.kept = {}
        for name, value in optimizer.__dict__.items():
            if isinstance(value, list):
                self.kept[name] = [list(t.values()) for t in value]
            else:
                self.kept[name] = value
        self.dice = random.getstate()

    def restore(self, optimizer):
        for name, value in self.kept.items():
            if isinstance(value, list):
                for t, numbers in zip(optimizer.__dict__[name], value):
                    t.fill(numbers)
            else:
                optimizer.__dict__[name] = value
        random.setstate(self.dice)
""",
    },
    "08.4": {
        "Adam's default, without shuffling": """
def overfit(model, images, labels):
    optimizer, losses = Adam(model.parameters(), lr=0.001), []
    for _ in range(60):
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
""",
        "longer steps, and an end when it is learned": """
def overfit(model, images, labels):
    optimizer, losses = Adam(model.parameters(), lr=0.03), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(model(x), [labels[i] for i in order])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < 0.01:
            break
    return losses
""",
        "train and batches": """
def overfit(model, images, labels):
    return [
        loss
        for _ in range(60)
        for loss in train(model, Adam(model.parameters(), lr=0.01), batches(images, labels, 10))
    ]
""",
    },
    "08.6": {
        "numbers one by one": """
def clip(parameters, limit):
    total = 0.0
    for p in parameters:
        if p.grad is None:
            continue
        for x in p.grad.values():
            total += x * x
    length = total**0.5
    for p in parameters:
        if p.grad is not None and length > limit:
            p.grad = p.grad * limit / length
    return length
""",
    },
    "08.s1": {
        "rows, and other weights": """
def train_in_parts(model, optimizer, batches, size):
    losses = []
    for x, labels in batches:
        n, at, sum_of_losses = len(labels), 0, 0.0
        while at < n:
            y = labels[at : at + size]
            chosen = list(range(at, at + len(y)))
            loss = cross_entropy(model(rows(x, chosen)), y) * len(y) * (1 / n)
            loss.backward()
            sum_of_losses += loss.item()
            at += size
        losses.append(sum_of_losses)
        optimizer.step()
    return losses
""",
    },
    "08.s2": {
        "lists, and a class of its own": """
class Averaged:
    def __init__(self, parameters, keep=0.99):
        self.parameters = parameters
        self.keep = keep
        self.means = [list(p.values()) for p in parameters]

    def update(self):
        for mean, p in zip(self.means, self.parameters):
            for i, x in enumerate(p.values()):
                mean[i] = self.keep * mean[i] + (1 - self.keep) * x

    def applied(self):
        return Exchange(self)


class Exchange:
    def __init__(self, averaged):
        self.averaged = averaged

    def __enter__(self):
        self.before = [list(p.values()) for p in self.averaged.parameters]
        for p, mean in zip(self.averaged.parameters, self.averaged.means):
            p.fill(mean)

    def __exit__(self, *error):
        for p, numbers in zip(self.averaged.parameters, self.before):
            p.fill(numbers)
        return False
""",
    },
}
