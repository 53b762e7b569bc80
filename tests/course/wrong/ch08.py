"""Planted wrong answers to the exercises of chapter 8."""

from wrong import edit

WRONG = {
    "08.7": {
        "tensors in the list": edit("losses.append(loss.item())", "losses.append(loss)"),
        "only the last loss": edit("return losses", "return loss.item()"),
        "the mean of the losses": edit("return losses", "return sum(losses) / len(losses)"),
        "nothing is given back": edit("\n    return losses", ""),
        "return in the loop: one batch only": edit("    return losses", "        return losses"),
        "the step before backward": edit(
            "        loss.backward()\n        optimizer.step()",
            "        optimizer.step()\n        loss.backward()",
        ),
        "no backward": edit("        loss.backward()\n", ""),
        "no step": edit("        optimizer.step()\n", ""),
        "one step at the end": edit(
            "        optimizer.step()\n",
            "",
            "    return losses",
            "    optimizer.step()\n    return losses",
        ),
        "the loss after the step": edit("loss.item()", "cross_entropy(model(x), labels).item()"),
        "a softmax too many": edit(
            "cross_entropy(model(x)", "cross_entropy(log_softmax(model(x)).exp()"
        ),
        "the first batch again and again": edit(
            "    for x, labels in batches:",
            "    batches = list(batches)\n    for _ in batches:\n        x, labels = batches[0]",
        ),
        "gradients are thrown away": edit(
            "        optimizer.step()",
            "        for p in model.parameters():\n            p.grad = None\n"
            "        optimizer.step()",
        ),
    },
    "08.8": {
        "how many, not which share": edit("right / len(labels)", "right"),
        "in percent": edit("right / len(labels)", "100 * right / len(labels)"),
        "the share that is wrong": edit("== label", "!= label"),
        "the smallest score": edit("row.index(max(row))", "row.index(min(row))"),
        "the score in place of its place": edit(
            "row.index(max(row)) == label", "max(row) == label"
        ),
        "the largest in size": edit(
            "row.index(max(row))", "[abs(x) for x in row].index(max(abs(x) for x in row))"
        ),
        "the Engine records": edit("with no_grad():\n        scores", "if True:\n        scores"),
        "only the last picture": edit("right += row", "right = row"),
        "return in the loop": edit(
            "    return right / len(labels)", "        return right / len(labels)"
        ),
        "divided by the number of classes": edit("len(labels)", "len(row)"),
        "how many are right": edit("return right / len(labels)", "return float(right)"),
        "of 100": edit("right / len(labels)", "100 * right / len(labels)"),
    },
    "08.9": {
        "raises: a row further": edit("first + i * size", "first + (i + 1) * size"),
        "the offset is forgotten": edit("first + i * size", "i * size"),
        "the offset is taken for bytes": edit(
            "first = t.buf.itemsize * t.offset", "first = t.offset"
        ),
        "views are not made contiguous": edit("t = contiguous(t)", "t = t"),
        "the first row for all": edit("for i in indices", "for i in [indices[0]] * len(indices)"),
        "the indices in order": edit("for i in indices", "for i in sorted(indices)"),
        "each row once": edit(
            "for i in indices",
            "for i in list(dict.fromkeys(indices)) + indices[len(set(indices)):]",
        ),
        "everything becomes float32": """
def rows(t, indices):
    lists = t.tolist()
    return Tensor([lists[i] for i in indices])
""",
        "all pictures as lists, for each batch": """
def rows(t, indices):
    lists = t.tolist()
    return Tensor([lists[i] for i in indices], dtype=t.buf.dtype)
""",
        "a view of one row": """
def rows(t, indices):
    return t[indices[0] : indices[0] + 1].expand(len(indices), *t.shape[1:])
""",
        "raises: the sizes of a row are counted with the number of rows": edit(
            "t.shape[1:])  #", "t.shape)  #"
        ),
    },
    "08.10": {
        "the last batch is dropped": edit("len(order), size)", "len(order) - size + 1, size)"),
        "in the order of the file": edit(
            "random.sample(range(len(labels)), len(labels))", "list(range(len(labels)))"
        ),
        "the labels are not shuffled": edit(
            "[labels[i] for i in chosen]", "labels[start : start + size]"
        ),
        "the pictures are not shuffled": edit(
            "rows(images, chosen)", "rows(images, range(start, start + len(chosen)))"
        ),
        "some twice, some never": edit(
            "random.sample(range(len(labels)), len(labels))",
            "random.choices(range(len(labels)), k=len(labels))",
        ),
        "the same order in each epoch": edit("random.sample(", "random.Random(0).sample("),
        "an order that no seed repeats": edit("random.sample(", "random.SystemRandom().sample("),
        "the caller's labels are shuffled": """
def batches(images, labels, size):
    random.shuffle(labels)
    for start in range(0, len(labels), size):
        chosen = [label - 100 for label in labels[start : start + size]]
        yield rows(images, chosen), labels[start : start + size]
""",
        "one picture too many": edit("start : start + size]", "start : start + size + 1]"),
        "numbers in place of pictures": edit("rows(images, chosen)", "chosen"),
        "the first batch only": edit("for start in range(0, len(order), size)", "for start in [0]"),
        "labels as a tensor": edit(
            "[labels[i] for i in chosen]", "Tensor([labels[i] for i in chosen])"
        ),
        "the order begins elsewhere, and goes on as in the file": edit(
            "order = random.sample(range(len(labels)), len(labels))",
            "first = random.randrange(len(labels))\n"
            "    order = [(first + i) % len(labels) for i in "
            "range(len(labels))]",
        ),
        "the batches are shuffled, not the pictures": """
def batches(images, labels, size):
    begins = list(range(0, len(labels), size))
    short = begins.pop() if len(labels) % size else None
    random.shuffle(begins)
    for start in begins + ([] if short is None else [short]):
        chosen = list(range(start, min(start + size, len(labels))))
        yield rows(images, chosen), [labels[i] for i in chosen]
""",
        "two pictures change places, and that is all": """
def batches(images, labels, size):
    order = list(range(len(labels)))[::-1] if random.random() < 0.5 else list(range(len(labels)))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield rows(images, chosen), [labels[i] for i in chosen]
""",
        "the first one stays first": edit(
            "order = random.sample(range(len(labels)), len(labels))",
            "order = [0, *random.sample(range(1, len(labels)), len(labels) - 1)]",
        ),
    },
    "08.11": {
        "raises: the lowest byte first": edit(">{count}I", "<{count}I"),
        "raises: a header of 16 bytes always": edit(
            "t.buf.raw[:] = payload[4 + 4 * count :]", "t.buf.raw[:] = payload[16:]"
        ),
        "raises: pictures of 28 x 28 always": edit(
            'struct.unpack_from(f">{count}I", payload, 4)',
            "(struct.unpack_from('>I', payload, 4)[0], 28, 28)",
        ),
        "the header is taken for numbers": edit("payload[4 + 4 * count :]", "payload[: t.numel()]"),
        "floats": edit(
            'zeros(shape, "uint8")\n    t.buf.raw[:] = payload[4 + 4 * count :]',
            "zeros(shape)\n    t.fill(list(payload[4 + 4 * count :]))",
        ),
        "signed bytes": edit('"uint8"', '"int8"'),
        "one long row": edit("    return t", "    return t.reshape(-1)"),
        "the numbers of the file's end first": edit(
            "payload[4 + 4 * count :]", "payload[: 3 + 4 * count : -1]"
        ),
        "raises: memory that cannot be changed": edit("t.buf.raw[:] =", "t.buf.raw ="),
    },
    "08.12": {
        "a new tensor under the old name": edit(
            'lookup("add", t.buf.dtype)(t, t, change)', "t = t + change"
        ),
        "another Buffer": edit(
            'lookup("add", t.buf.dtype)(t, t, change)', "t.buf = (t + change).buf"
        ),
        "the change itself": edit(
            'lookup("add", t.buf.dtype)(t, t, change)', "t.fill(change.values())"
        ),
        "into the change": edit("(t, t, change)", "(change, t, change)"),
        "twice": edit(
            "(t, t, change)", "(t, t, change)\n    lookup('add', t.buf.dtype)(t, t, change)"
        ),
        "subtracted": edit("(t, t, change)", "(t, t, change * -1.0)"),
        "byte by byte, from the Buffer's beginning": edit(
            'lookup("add", t.buf.dtype)(t, t, change)',
            "new = (t.detach() + change).values()\n    t.buf.write(0, new)",
        ),
        "multiplied": edit('"add"', '"mul"'),
        "raises: float64 is taken for granted": edit(
            'lookup("add", t.buf.dtype)(t, t, change)',
            'lookup("add", "float64" if t.requires_grad else t.buf.dtype)(t, '
            "t, change)\n"
            '    if t.buf.dtype == "float32":\n'
            "        t.fill([x * 2 for x in t.values()])",
        ),
        "the change is read row by row from its memory": edit(
            'lookup("add", t.buf.dtype)(t, t, change)',
            "t.fill([a + b for a, b in zip(t.values(), change.buf.read(0, change.numel()))])",
        ),
    },
    "08.1": {
        "the gradient is not cleared": edit("\n                p.grad = None", ""),
        "no momentum": edit("self.v[i] * self.momentum + p.grad", "p.grad * 1"),
        "one velocity for all": edit(
            "[p.detach() * 0 for p in parameters]",
            "[parameters[0].detach() * 0]",
            "self.v[i] = self.v[i] * self.momentum + p.grad",
            "v = self.v[0].sum() * self.momentum + p.grad",
            "add_(p, self.v[i] *",
            "add_(p, v *",
        ),
        "uphill": edit("* -self.lr", "* self.lr"),
        "the name is bound anew, the parameter stays": edit(
            "add_(p, self.v[i] * -self.lr)", "p = p - self.v[i] * self.lr"
        ),
        "the velocities have a history, which grows": edit(
            "p.detach() * 0", "p * 0", "with no_grad():", "if True:"
        ),
        "the gradient is damped, too": edit("+ p.grad", "+ p.grad * (1 - self.momentum)"),
        "the velocity is the gradient's own memory": edit(
            "self.v[i] = self.v[i] * self.momentum + p.grad",
            "add_(p.grad, self.v[i] * self.momentum)\n                self.v[i] = p.grad",
        ),
        "the first velocity is the gradient itself": edit(
            "[p.detach() * 0 for p in parameters]",
            "[None] * len(parameters)",
            "self.v[i] * self.momentum + p.grad",
            "p.grad if self.v[i] is None else self.v[i] * self.momentum + p.grad",
        ),
        "lr is read once": edit(
            "self.v = [", "self.down = -lr\n        self.v = [", "* -self.lr", "* self.down"
        ),
        "v = m * v - lr * g": edit(
            "+ p.grad", "- p.grad * self.lr", "self.v[i] * -self.lr", "self.v[i]"
        ),
        "the momentum of the constructor's default": edit(
            "self.momentum = parameters, lr, momentum", "self.momentum = parameters, lr, 0.0"
        ),
        "only the first parameter": edit(
            "                p.grad = None", "                p.grad = None\n                return"
        ),
        "the velocity forgets everything": edit(
            "self.v[i] = self.v[i] *", "self.v[i] = self.v[i] * 0 *"
        ),
        "the velocities in a dict": edit(
            "[p.detach() * 0 for p in parameters]",
            "{i: p.detach() * 0 for i, p in enumerate(parameters)}",
        ),
        "a copy of the parameters": edit(
            "= parameters, lr, momentum", "= [p.detach() * 1 for p in parameters], lr, momentum"
        ),
        "velocities of all of them in one list of the class": edit(
            "        self.v = [p.detach() * 0 for p in parameters]",
            "        SGD.v = [p.detach() * 0 for p in parameters]",
        ),
        "lr in the velocity": edit(
            "self.v[i] * self.momentum + p.grad",
            "self.v[i] * self.momentum + p.grad * self.lr",
            "self.v[i] * -self.lr",
            "self.v[i] * -1.0",
        ),
    },
    "08.2": {
        "the means are not corrected": edit(
            "self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)", "self.m[i], self.v[i]"
        ),
        "t is never counted up": edit(
            "        self.t += 1\n",
            "",
            "= parameters, lr, betas, eps, 0",
            "= parameters, lr, betas, eps, 1",
        ),
        "t counts parameters, not steps": edit(
            "        self.t += 1\n",
            "",
            "                self.m[i] =",
            "                self.t += 1\n                self.m[i] =",
        ),
        "eps inside of the root": edit("(v**0.5 + self.eps)", "((v + self.eps) ** 0.5)"),
        "eps is forgotten": edit("lr, betas, eps, 0", "lr, betas, 1e-8, 0"),
        "the betas the wrong way round": edit("b1, b2 = self.betas", "b2, b1 = self.betas"),
        "the usual betas, whatever was asked for": edit(
            "b1, b2 = self.betas", "b1, b2 = 0.9, 0.999"
        ),
        "the corrected means are kept": edit(
            "m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)",
            "m = self.m[i] = self.m[i] / (1 - b1**self.t)\n"
            "                v = self.v[i] = self.v[i] / (1 - b2**self.t)",
        ),
        "no root": edit("v**0.5", "v"),
        "sums in place of means": edit(
            "p.grad * (1 - b1)", "p.grad", "p.grad * p.grad * (1 - b2)", "p.grad * p.grad"
        ),
        "the gradient in place of its mean": edit("add_(p, m /", "add_(p, p.grad /"),
        "one v for the whole tensor": edit("p.grad * p.grad *", "(p.grad * p.grad).sum() *"),
        "uphill": edit("* -self.lr", "* self.lr"),
        "lr is read once": edit(
            "        self.m = [",
            "        self.down = -lr\n        self.m = [",
            "* -self.lr",
            "* self.down",
        ),
        "the gradient is squared in place": edit(
            "self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)",
            "p.grad.fill([x * x for x in p.grad.values()])\n"
            "                self.v[i] = self.v[i] * b2 + p.grad * (1 - b2)",
        ),
        "t is counted in the class": edit(
            "        self.t += 1",
            "        Adam.t = getattr(Adam, 't', 0) + 1",
            "self.eps, self.t = parameters, lr, betas, eps, 0",
            "self.eps = parameters, lr, betas, eps",
        ),
        "eps under the root": edit("(v**0.5 + self.eps)", "((v + self.eps) ** 0.5)"),
    },
    "08.13": {
        "the decay goes into the gradient": edit(
            "add_(p, p * (-self.lr * self.decay))", "p.grad = p.grad + p * self.decay"
        ),
        "lr is forgotten": edit("(-self.lr * self.decay)", "-self.decay"),
        "the decay is forgotten": edit("(-self.lr * self.decay)", "-self.lr"),
        "the weights grow": edit("-self.lr *", "self.lr *"),
        "Adam's own step is forgotten": edit("\n        super().step()", ""),
        "after Adam's step": edit(
            "        with no_grad():",
            "        super().step()\n        with no_grad():",
            "self.decay))\n        super().step()",
            "self.decay))",
        ),
        "all weights shrink by the same amount": edit(
            "p * (-self.lr * self.decay)", "p * 0 - self.lr * self.decay"
        ),
        "lr is read once": edit(
            "self.decay = decay",
            "self.decay, self.shrink = decay, -lr * decay",
            "(-self.lr * self.decay)",
            "self.shrink",
        ),
        "only the first parameter": edit("in self.parameters:", "in self.parameters[:1]:"),
        "plain steps in place of Adam's": edit(
            "\n        super().step()",
            "\n            for p in self.parameters:\n                add_(p, p.grad * -self.lr)\n"
            "                p.grad = None",
        ),
        "the decay is added to the gradient": """
class AdamW(Adam):
    def __init__(self, parameters, lr=0.001, decay=0.01):
        super().__init__(parameters, lr)
        self.decay = decay

    def step(self):
        with no_grad():
            for p in self.parameters:
                p.grad = p.grad + p * self.decay
        super().step()
""",
    },
    "08.3": {
        "no copy: the bytes go on changing": edit(
            "copy.deepcopy(vars(optimizer))", "dict(vars(optimizer))"
        ),
        "the order of the batches is forgotten": edit("        random.setstate(self.random)\n", ""),
        "only the parameters": """
class Checkpoint:
    def __init__(self, optimizer):
        self.raw = [bytes(p.buf.raw) for p in optimizer.parameters]
        self.random, self.lr = random.getstate(), optimizer.lr

    def restore(self, optimizer):
        random.setstate(self.random)
        optimizer.lr = self.lr
        for p, raw in zip(optimizer.parameters, self.raw):
            p.buf.raw[:] = raw
""",
        "the counter t is forgotten": edit("            else:", '            elif name != "t":'),
        "lr is forgotten": edit("            else:", '            elif name != "lr":'),
        "only plain values": edit("t.buf.raw[:] = kept.buf.raw", "pass"),
        "the tensors are put in place of the new ones": edit(
            "copy.deepcopy(vars(optimizer))",
            "dict(vars(optimizer))",
            "isinstance(part, list)",
            "False",
        ),
        "copies are put in place of the parameters": edit("isinstance(part, list)", "False"),
        "what was kept becomes the tensors' memory": edit(
            "t.buf.raw[:] = kept", "t.buf.raw = kept"
        ),
        "a seed in place of the state": edit(
            "random.getstate()",
            "random.random()",
            "random.setstate(self.random)",
            "random.seed(self.random)",
        ),
        "only the first tensor of each list": edit(
            "t.buf.raw[:] = kept.buf.raw", "t.buf.raw[:] = kept.buf.raw\n                    break"
        ),
        "what was kept belongs to the class": edit(
            "self.random, self.parts = random.getstate(), copy.deepcopy(vars(optimizer))",
            "self.random = random.getstate()\n"
            "        Checkpoint.parts = copy.deepcopy(vars(optimizer))",
        ),
    },
    "08.4": {
        "only the learning rate": edit(
            "cross_entropy(model(x), [labels[i] for i in order])",
            "cross_entropy(log_softmax(model(x)).exp(), labels)",
        ),
        "the labels are still out of order": edit("[labels[i] for i in order]", "labels"),
        "the labels in the other order": edit(
            "[labels[i] for i in order]", "[labels[order.index(i)] for i in range(len(order))]"
        ),
        "still two softmaxes": edit(
            "cross_entropy(model(x)", "cross_entropy(log_softmax(model(x)).exp()"
        ),
        "still too short a step": edit("0.01", "0.00001"),
        "a longer step, but not long enough": edit("0.01", "0.0002"),
        "uphill": edit("0.01", "-0.01"),
        "more steps in place of longer ones": edit("0.01", "0.001", "range(60)", "range(200)"),
        "more steps than losses": edit(
            "    for _ in range(60):",
            "    for k in range(400):",
            "0.01",
            "0.0003",
            "        losses.append(loss.item())",
            "        if k % 10 == 0:\n            losses.append(loss.item())",
        ),
        "no step": edit("        optimizer.step()\n", ""),
        "return in the loop": edit("    return losses", "        return losses"),
    },
    "08.5": {
        "two mixed up": edit('"B": 1', '"B": 2', '"D": 2', '"D": 1'),
        "the flat one taken for weights of 0": edit('"A": 5', '"A": 6'),
        "the floor taken for a small learning rate": edit('"C": 4', '"C": 3'),
        "the flat one and the floor mixed up": edit('"A": 5', '"A": 4', '"C": 4', '"C": 5'),
        "one cause for all": 'causes = dict.fromkeys("ABCD", 2)',
        "words": 'causes = {"A": "labels", "B": "gradients", "C": "softmax", "D": "rate"}',
        "one curve is left out": 'causes = {"A": 5, "B": 1, "C": 4}',
        "counted from 0": 'causes = {"A": 4, "B": 0, "C": 3, "D": 1}',
    },
    "08.6": {
        "in place": edit(
            "p.grad = p.grad * (limit / length)",
            "p.grad.fill([x * limit / length for x in p.grad.values()])",
        ),
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
        "each tensor once, but views of it again": edit(
            "for p in moving:",
            "for g in {id(p.grad): p.grad for p in moving}.values():",
            "p.grad = p.grad * (limit / length)",
            "g.fill([x * limit / length for x in g.values()])",
        ),
        "one gradient for each Buffer": edit(
            "for p in moving:",
            "for g in {id(p.grad.buf): p.grad for p in moving}.values():",
            "p.grad = p.grad * (limit / length)",
            "g.fill([x * limit / length for x in g.values()])",
        ),
        "lengthens short ones": edit("if length > limit:", "if length > 0:"),
        "raises: a gradient of None": edit(" if p.grad is not None]", "]"),
        "the length afterwards": edit("return length", "return min(length, limit)"),
        "the sum of the squares, without a root": edit(
            "math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))",
            "sum((p.grad * p.grad).sum().item() for p in moving)",
        ),
        "each number cut off at the limit": edit(
            "p.grad = p.grad * (limit / length)",
            "cut = [max(-limit, min(limit, x)) for x in p.grad.values()]\n"
            "            p.grad = p.grad * 0\n"
            "            p.grad.fill(cut)",
        ),
        "the parameters are shortened, too": edit(
            "p.grad = p.grad * (limit / length)",
            "p.grad = p.grad * (limit / length)\n            p.fill([x + 1 for x in p.values()])",
        ),
    },
    "08.s1": {
        "the sum of the means": edit(" * (len(part) / len(labels))", ""),
        "all parts count the same": edit(
            "(len(part) / len(labels))", "(1 / -(-len(labels) // size))"
        ),
        "a step for each part": edit(
            "            whole += loss.item()\n        optimizer.step()",
            "            whole += loss.item()\n            optimizer.step()",
        ),
        "all at once": edit(
            "range(0, len(labels), size)",
            "[0]",
            "part = labels[start : start + size]",
            "part, size = labels, len(labels)",
        ),
        "the last, shorter part is dropped": edit(
            "len(labels), size)", "len(labels) - size + 1, size)"
        ),
        "the last part's loss for the whole": edit("whole += loss.item()", "whole = loss.item()"),
        "gradients cleared between the parts": edit(
            "            loss.backward()",
            "            for p in model.parameters():\n                p.grad = None\n"
            "            loss.backward()",
        ),
    },
    "08.s2": {
        "the means share the parameters' memory": edit("[p.detach() * 1 for", "[p.detach() for"),
        "they begin at 0": edit("p.detach() * 1", "p.detach() * 0"),
        "keep and its rest exchanged": edit(
            "* self.keep +",
            "* (1 - self.keep) +",
            "p.detach() * (1 - self.keep)",
            "p.detach() * self.keep",
        ),
        "not put back after an error": edit(
            "        try:\n            yield\n        finally:\n",
            "        yield\n        if True:\n",
        ),
        "never put back": edit("p.fill(numbers)", "pass"),
        "raises: other tensors in the list": edit(
            "            p.fill(mean.values())", "            p.buf = mean.buf"
        ),
        "the block leaves the means as they were at first": edit("p.fill(mean.values())", "pass"),
        "the means have a history": edit(
            "with no_grad():", "if True:", "p.detach() * (1", "p * (1"
        ),
        "the means belong to the class": edit(
            "self.means = [p.detach() * 1", "Averaged.means = [p.detach() * 1"
        ),
    },
}
