"""Planted wrong answers to the exercises of chapter 8."""

WRONG = {
    "08.1": {
        "the gradient is not cleared": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad
                add_(p, self.v[i] * -self.lr)
''',
        "no momentum": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = p.grad
                add_(p, self.v[i] * -self.lr)
                p.grad = None
''',
        "one velocity for all": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [parameters[0].detach() * 0]

    def step(self):
        with no_grad():
            for p in self.parameters:
                v = self.v[0].sum() * self.momentum + p.grad
                add_(p, v * -self.lr)
                p.grad = None
''',
        "uphill": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad
                add_(p, self.v[i] * self.lr)
                p.grad = None
''',
        "the name is bound anew, the parameter stays": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad
                p = p - self.v[i] * self.lr
                p.grad = None
''',
        "the velocities have a history, which grows": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p * 0 for p in parameters]

    def step(self):
        for i, p in enumerate(self.parameters):
            self.v[i] = self.v[i] * self.momentum + p.grad
            add_(p, self.v[i] * -self.lr)
            p.grad = None
''',
        "the gradient is damped, too": '''
class MySGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad * (1 - self.momentum)
                add_(p, self.v[i] * -self.lr)
                p.grad = None
''',
    },
    "08.2": {
        "the means are not corrected": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i], self.v[i]
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None
''',
        "t is never counted up": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 1
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None
''',
        "eps inside of the root": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / ((v + self.eps) ** 0.5) * -self.lr)
                p.grad = None
''',
        "the betas the wrong way round": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b2, b1 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None
''',
        "the corrected means are kept": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m = self.m[i] = self.m[i] / (1 - b1**self.t)
                v = self.v[i] = self.v[i] / (1 - b2**self.t)
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None
''',
        "no root": '''
class MyAdam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / (v + self.eps) * -self.lr)
                p.grad = None
''',
    },
    "08.3": {
        "no copy: the bytes go on changing": '''
class MyCheckpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), dict(vars(optimizer))
        for name, part in self.parts.items():
            if isinstance(part, list):
                self.parts[name] = [t.buf.raw for t in part]

    def restore(self, optimizer):
        random.setstate(self.random)
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, raw in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = raw
            else:
                setattr(optimizer, name, part)
''',
        "the order of the batches is forgotten": '''
class MyCheckpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), dict(vars(optimizer))
        for name, part in self.parts.items():
            if isinstance(part, list):
                self.parts[name] = [bytes(t.buf.raw) for t in part]

    def restore(self, optimizer):
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, raw in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = raw
            else:
                setattr(optimizer, name, part)
''',
        "only the parameters": """
class MyCheckpoint:
    def __init__(self, optimizer):
        self.raw = [bytes(p.buf.raw) for p in optimizer.parameters]
        self.random, self.lr = random.getstate(), optimizer.lr

    def restore(self, optimizer):
        random.setstate(self.random)
        optimizer.lr = self.lr
        for p, raw in zip(optimizer.parameters, self.raw):
            p.buf.raw[:] = raw
""",
        "the counter t is forgotten": '''
class MyCheckpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), dict(vars(optimizer))
        for name, part in self.parts.items():
            if isinstance(part, list):
                self.parts[name] = [bytes(t.buf.raw) for t in part]

    def restore(self, optimizer):
        random.setstate(self.random)
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, raw in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = raw
            elif name == "lr":
                setattr(optimizer, name, part)
''',
        "the tensors are put in place of the new ones": """
class MyCheckpoint:
    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), dict(vars(optimizer))

    def restore(self, optimizer):
        random.setstate(self.random)
        vars(optimizer).update(self.parts)
""",
        "copies are put in place of the parameters": """
import copy


class MyCheckpoint:
    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), copy.deepcopy(vars(optimizer))

    def restore(self, optimizer):
        random.setstate(self.random)
        vars(optimizer).update(copy.deepcopy(self.parts))
""",
        "lr is forgotten": '''
class MyCheckpoint:
    """All that the next step depends on, as it is now."""

    def __init__(self, optimizer):
        self.random, self.parts = random.getstate(), dict(vars(optimizer))
        for name, part in self.parts.items():
            if isinstance(part, list):
                self.parts[name] = [bytes(t.buf.raw) for t in part]

    def restore(self, optimizer):
        random.setstate(self.random)
        for name, part in self.parts.items():
            if isinstance(part, list):
                for t, raw in zip(getattr(optimizer, name), part, strict=True):
                    t.buf.raw[:] = raw
            elif name == "t":
                setattr(optimizer, name, part)
''',
    },
    "08.4": {
        "only the learning rate": '''
def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.01), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(log_softmax(model(x)).exp(), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
''',
        "the labels are still out of order": '''
def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.01), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
''',
        "still two softmaxes": '''
def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.01), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(log_softmax(model(x)).exp(), [labels[i] for i in order])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
''',
        "still too short a step": '''
def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.00001), []
    for _ in range(60):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(model(x), [labels[i] for i in order])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
''',
        "more steps in place of longer ones": '''
def overfit(model, images, labels):
    """Train on these few until they are known by heart; the loss of each step."""
    optimizer, losses = Adam(model.parameters(), lr=0.005), []
    for _ in range(100):
        order = random.sample(range(len(labels)), len(labels))
        x = rows(images, order)
        loss = cross_entropy(model(x), [labels[i] for i in order])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
''',
    },
    "08.5": {
        "two mixed up": """
causes = {"A": 5, "B": 2, "C": 4, "D": 1}
""",
        "the flat one taken for weights of 0": """
causes = {"A": 6, "B": 1, "C": 4, "D": 2}
""",
        "the floor taken for a small learning rate": """
causes = {"A": 5, "B": 1, "C": 3, "D": 2}
""",
        "words": """
causes = {"A": "labels", "B": "gradients", "C": "softmax", "D": "rate"}
""",
    },
    "08.6": {
        "in place": """
def clip(parameters, limit):
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for p in moving:
            p.grad.fill([x * limit / length for x in p.grad.values()])
    return length
""",
        "each parameter by itself": """
def clip(parameters, limit):
    total = 0.0
    for p in parameters:
        if p.grad is not None:
            length = math.sqrt((p.grad * p.grad).sum().item())
            total += length**2
            if length > limit:
                p.grad = p.grad * (limit / length)
    return math.sqrt(total)
""",
        "each tensor once, but views of it again": """
def clip(parameters, limit):
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for g in {id(p.grad): p.grad for p in moving}.values():
            g.fill([x * limit / length for x in g.values()])
    return length
""",
        "one gradient for each Buffer": """
def clip(parameters, limit):
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for g in {id(p.grad.buf): p.grad for p in moving}.values():
            g.fill([x * limit / length for x in g.values()])
    return length
""",
        "lengthens short ones": '''
def clip(parameters, limit):
    """Shorten the gradients to `limit` in all; how long they were."""
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    for p in moving:
        p.grad = p.grad * (limit / max(length, 1e-12))
    return length
''',
        "raises: a gradient of None": '''
def clip(parameters, limit):
    """Shorten the gradients to `limit` in all; how long they were."""
    moving = list(parameters)
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for p in moving:
            p.grad = p.grad * (limit / length)
    return length
''',
    },
}
