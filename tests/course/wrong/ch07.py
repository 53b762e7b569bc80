"""Planted wrong answers to the exercises of chapter 7."""

from wrong import edit

WRONG = {
    "07.1": {
        "raises: it overflows, as the formula stands": """
def logsumexp(scores):
    return math.log(sum(math.exp(x) for x in scores))
""",
        "the largest is not added again": edit("return m + math.log", "return math.log"),
        "the largest is subtracted at the end, too": edit(
            "return m + math.log", "return -m + math.log"
        ),
        "raises: the smallest is subtracted": edit("max(scores)", "min(scores)"),
        "raises: the first is taken for the largest": edit("max(scores)", "scores[0]"),
        "raises: the largest in size": edit("max(scores)", "max(map(abs, scores))"),
        "only the largest": edit("m + math.log(sum(math.exp(x - m) for x in scores))", "m"),
        "exponents are cut off where they would overflow": """
def logsumexp(scores):
    return math.log(sum(math.exp(max(min(x, 700), -700)) for x in scores))
""",
        "the mean in place of the sum": edit("scores))", "scores) / len(scores))"),
        "the scores are changed on the way": """
def logsumexp(scores):
    m = max(scores)
    for i in range(len(scores)):
        scores[i] -= m
    return m + math.log(sum(math.exp(x) for x in scores))
""",
        "raises: the first score in place of the largest": edit("m = max(scores)", "m = scores[0]"),
    },
    "07.7": {
        "no shift: it overflows": edit("    x = x - x.detach().max(1).reshape(-1, 1)\n", ""),
        "over all rows together": """
def log_softmax(x):
    x = x - x.max()
    return x - x.exp().sum().log()
""",
        "down the columns": """
def log_softmax(x):
    x = x - x.max(0)
    return x - x.exp().sum(0).log()
""",
        "one shift for the whole table": edit(".max(1).reshape(-1, 1)", ".max()"),
        "the shift is forgotten at the end": """
def log_softmax(x):
    m = x.max(1).reshape(-1, 1)
    return x - (x - m).exp().sum(1).reshape(-1, 1).log()
""",
        "the shift is taken off twice": """
def log_softmax(x):
    m = x.max(1).reshape(-1, 1)
    shifted = x - m
    return shifted - (shifted.exp().sum(1).reshape(-1, 1).log() + m)
""",
        "the logarithm of the softmax: what is tiny is lost": """
def log_softmax(x):
    e = (x - x.max(1).reshape(-1, 1)).exp()
    return (e / e.sum(1).reshape(-1, 1)).log()
""",
        "through lists, which no engine follows": """
def log_softmax(x):
    return Tensor([[v - logsumexp(row) for v in row] for row in x.tolist()], dtype=x.buf.dtype)


def logsumexp(scores):
    m = max(scores)
    return m + math.log(sum(math.exp(v - m) for v in scores))
""",
        "no number has a gradient": edit("x = x - x.detach()", "x = x.detach() - x.detach()"),
        "the sum has no gradient": edit("x.exp().sum", "x.detach().exp().sum"),
        "the softmax, without the logarithm": """
def log_softmax(x):
    e = (x - x.max(1).reshape(-1, 1)).exp()
    return e / e.sum(1).reshape(-1, 1)
""",
        "the memory is taken, row by row": edit(
            "    x = x - x.detach().max(1).reshape(-1, 1)",
            "    n, classes = x.shape\n"
            "    top = [max(x.buf.read(i * classes, classes)) for i in "
            "range(n)]\n"
            "    x = x - Tensor(top, dtype=x.buf.dtype).reshape(-1, 1)",
        ),
        "float64 whatever x is": edit(
            "    x = x - x.detach().max(1).reshape(-1, 1)",
            "    x = x * Tensor(1.0, dtype='float64') - x.detach().max(1).reshape(-1, 1)",
        ),
    },
    "07.8": {
        "the sum in place of the mean": edit("(-1 / n)", "-1.0"),
        "the mean over all numbers of the table": edit("(-1 / n)", "(-1 / (n * classes))"),
        "the minus is forgotten": edit("(-1 / n)", "(1 / n)"),
        "the most likely class in place of the right one": """
def cross_entropy(logits, labels):
    return log_softmax(logits).max(1).sum() * (-1 / len(labels))
""",
        "probabilities, no logarithms": edit(
            "log_softmax(logits) *", "log_softmax(logits).exp() *"
        ),
        "scores, without a softmax": edit("log_softmax(logits) *", "logits *"),
        "the logarithm of the mean probability": """
def cross_entropy(logits, labels):
    n, classes = logits.shape
    right = [[float(c == label) for c in range(classes)] for label in labels]
    return ((log_softmax(logits).exp() * Tensor(right)).sum() * (1 / n)).log() * -1.0
""",
        "the first label for all": edit("for label in labels]", "for label in [labels[0]] * n]"),
        "only the last picture": """
def cross_entropy(logits, labels):
    return log_softmax(logits)[len(labels) - 1, labels[-1]] * -1.0
""",
        "labels counted from 1": edit("c == label", "c == label - 1"),
        "a number, which has no gradient": """
def cross_entropy(logits, labels):
    rows = log_softmax(logits).tolist()
    return Tensor(-sum(row[label] for row, label in zip(rows, labels)) / len(labels))
""",
        "one number for each picture": edit(".sum() * (-1 / n)", ".sum(1) * -1.0"),
        "the table is kept by the number of rows": edit(
            "    right = [[float(c == label) for c in range(classes)] for label in labels]",
            "    right = KNOWN.setdefault((n, classes), [[float(c == label) "
            "for c in range(classes)] for label in labels])",
            "def cross_entropy",
            "KNOWN = {}\n\n\ndef cross_entropy",
        ),
    },
    "07.2": {
        "the loss is a mean, the gradient is not": edit(" * (1 / n),)", ",)"),
        "what arrives is not multiplied in": edit("* g * (1 / n)", "* (1 / n)"),
        "the sign is wrong": edit(
            "(log_softmax(x).exp() - Tensor(right))", "(Tensor(right) - log_softmax(x).exp())"
        ),
        "the softmax overflows": edit(
            "log_softmax(x).exp()", "(x.exp() / x.exp().sum(1).reshape(-1, 1))"
        ),
        "a gradient instead of a tuple of one": edit(
            "return ((log_softmax(x).exp() - Tensor(right)) * g * (1 / n),)",
            "return (log_softmax(x).exp() - Tensor(right)) * g * (1 / n)",
        ),
        "the logarithms in place of the softmax": edit("log_softmax(x).exp()", "log_softmax(x)"),
        "divided by the number of classes": edit("(1 / n)", "(1 / classes)"),
        "only the right class gets a gradient": edit(
            "(log_softmax(x).exp() - Tensor(right))",
            "(log_softmax(x).exp() - Tensor(right)) * Tensor(right)",
        ),
        "g by itself": edit("(log_softmax(x).exp() - Tensor(right)) * g * (1 / n)", "g"),
        "a gradient for the labels, too": edit("* g * (1 / n),)", "* g * (1 / n), None)"),
        "raises: the labels are kept in the class": edit(
            '        return cross_entropy(x, self.params["labels"])',
            '        CrossEntropy.labels = self.params["labels"]\n'
            "        return cross_entropy(x, CrossEntropy.labels)",
            'for label in self.params["labels"]]',
            "for label in CrossEntropy.labels[:n]]",
        ),
        "the softmax of forward is kept in the class": edit(
            '        return cross_entropy(x, self.params["labels"])',
            "        CrossEntropy.p = log_softmax(x).exp()\n"
            '        return cross_entropy(x, self.params["labels"])',
            "(log_softmax(x).exp() - Tensor(right))",
            "(CrossEntropy.p - Tensor(right))",
        ),
    },
    "07.3": {
        "one number for each row": edit(
            "[random.uniform(-a, a) for _ in range(outputs)]", "[random.uniform(-a, a)] * outputs"
        ),
        "the spread in place of the bound": edit("6 /", "2 /"),
        "rows and columns the wrong way round": edit(
            "for _ in range(outputs)] for _ in range(inputs)",
            "for _ in range(inputs)] for _ in range(outputs)",
        ),
        "the bell curve": edit("6 /", "2 /", "random.uniform(-a, a)", "random.gauss(0, a)"),
        "only from 0 up": edit("random.uniform(-a, a)", "random.uniform(0, a)"),
        "the same row again and again": edit("] for _ in range(inputs)]", "]] * inputs"),
        "He's bound": edit("(inputs + outputs)", "inputs"),
        "no root": edit("math.sqrt(6 / (inputs + outputs))", "6 / (inputs + outputs)"),
        "a seed of its own": edit("    a = math", "    random.seed(0)\n    a = math"),
        "one long list": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [random.uniform(-a, a) for _ in range(inputs * outputs)]
""",
        "kept by the number of inputs": edit(
            "    a = math.sqrt(6 / (inputs + outputs))",
            "    a = KNOWN.setdefault(inputs, math.sqrt(6 / (inputs + "
            "outputs)))\n"
            "    a = a if outputs < 300 else KNOWN[3]",
            "def glorot",
            "KNOWN = {}\n\n\ndef glorot",
        ),
    },
    "07.9": {
        "the weights the other way round": edit(
            "glorot(inputs, outputs)", "glorot(outputs, inputs)"
        ),
        "b is not watched": edit(
            "Tensor([0.0] * outputs, requires_grad=True)", "Tensor([0.0] * outputs)"
        ),
        "w is not watched": edit(
            "Tensor(glorot(inputs, outputs), requires_grad=True)", "Tensor(glorot(inputs, outputs))"
        ),
        "w is the result of an op": edit(
            "Tensor(glorot(inputs, outputs), requires_grad=True)",
            "Tensor(glorot(inputs, outputs), requires_grad=True) * 1.0",
        ),
        "one bias for all": edit("[0.0] * outputs", "[0.0]"),
        "biases at random": edit("Tensor([0.0] * outputs,", "Tensor(glorot(1, outputs)[0],"),
        "the bias is not added": edit(" + self.b", ""),
        "the bias is subtracted": edit(" + self.b", " - self.b"),
        "weights between -1 and 1": edit(
            "glorot(inputs, outputs)",
            "[[random.uniform(-1, 1) for _ in range(outputs)] for _ in range(inputs)]",
        ),
        "all weights begin at 0": edit("glorot(inputs, outputs)", "[[0.0] * outputs] * inputs"),
        "new weights with every call": edit(
            "return x @ self.w", "return x @ Tensor(glorot(*self.w.shape), requires_grad=True)"
        ),
        "it computes with a copy of the numbers": edit(
            "return x @ self.w", "return x @ Tensor(self.w.tolist())"
        ),
        "relu, which belongs between the layers": edit(
            "return x @ self.w + self.b", "return (x @ self.w + self.b).relu()"
        ),
        "all weights the same": edit(
            "Tensor(glorot(inputs, outputs), requires_grad=True)",
            "Tensor([[glorot(inputs, outputs)[0][0]] * outputs] * inputs, requires_grad=True)",
        ),
        "the bias belongs to the class": edit(
            "        self.b = Tensor([0.0] * outputs, requires_grad=True)",
            "        Linear.b = Tensor([0.0] * outputs, requires_grad=True)",
        ),
        "w is found in the class when it is called": edit(
            "        self.w = Tensor(glorot(inputs, outputs), requires_grad=True)",
            "        self.w = Linear.last = Tensor(glorot(inputs, outputs), requires_grad=True)",
            "return x @ self.w + self.b",
            "return x @ Linear.last + self.b",
        ),
    },
    "07.10": {
        "relu after the last layer, too": edit("return last(x)", "return last(x).relu()"),
        "no relu at all": edit("layer(x).relu()", "layer(x)"),
        "relu on what comes in": edit("x = layer(x).relu()", "x = layer(x.relu())"),
        "a relu before the first layer": edit(
            "        *hidden", "        x = x.relu()\n        *hidden"
        ),
        "the last layer is forgotten": edit("pairwise(sizes)", "pairwise(sizes[:-1])"),
        "a layer from each size to itself": edit("Linear(m, n) for m, n", "Linear(m, m) for m, _"),
        "only the first layer's parameters": edit(
            "for layer in self.layers for", "for layer in self.layers[:1] for"
        ),
        "the weights alone": edit("(layer.w, layer.b)]", "(layer.w,)]"),
        "all weights, then all biases": edit(
            "[p for layer in self.layers for p in (layer.w, layer.b)]",
            "[layer.w for layer in self.layers] + [layer.b for layer in self.layers]",
        ),
        "copies of the parameters": edit(
            "[p for layer", "[Tensor(p.tolist(), requires_grad=True) for layer"
        ),
        "pairs in place of a flat list": edit(
            "[p for layer in self.layers for p in (layer.w, layer.b)]",
            "[(layer.w, layer.b) for layer in self.layers]",
        ),
        "layers made anew with every call": edit(
            "*hidden, last = self.layers",
            "*hidden, last = [Linear(*a.w.shape) for a in self.layers]",
        ),
        "return in the loop: one layer only": edit("x = layer(x).relu()", "return layer(x).relu()"),
        "the layers belong to the class": edit("self.layers = [", "MLP.layers = ["),
    },
    "07.4": {
        "negative numbers are not looked for": edit("min(row) >= 0 and ", ""),
        "one row is enough": edit("return all(", "return any("),
        "no room for rounding": edit("abs(sum(row) - 1) < 1e-5", "sum(row) == 1"),
        "far too much room": edit("1e-5", "0.01"),
        "the sum is not looked at": edit(" and abs(sum(row) - 1) < 1e-5", ""),
        "the mean over the rows": """
def softmaxed(logits):
    rows = logits.tolist()
    return min(map(min, rows)) >= 0 and abs(sum(map(sum, rows)) / len(rows) - 1) < 1e-5
""",
        "only the first row": edit("logits.tolist()", "logits.tolist()[:1]"),
        "only the last row": edit("logits.tolist()", "logits.tolist()[-1:]"),
        "columns in place of rows": edit("logits.tolist()", "zip(*logits.tolist())"),
        "a sum below 1 will do": edit("abs(sum(row) - 1) < 1e-5", "sum(row) - 1 < 1e-5"),
    },
    "07.5": {
        "no guard": """
def mse(predictions, targets):
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "reshaped without a word": """
def mse(predictions, targets):
    d = predictions.reshape(*targets.shape) - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "the number of elements is compared, not the shape": edit(
            "predictions.shape != targets.shape", "predictions.numel() != targets.numel()"
        ),
        "the number of axes is compared, not the shape": edit(
            "predictions.shape != targets.shape", "len(predictions.shape) != len(targets.shape)"
        ),
        "the sum, not the mean": edit(" * (1 / d.numel())", ""),
        "divided by the number of rows": edit("d.numel()", "d.shape[0]"),
        "the root of the sum": edit("(d * d).sum()", "(d * d).sum() ** 0.5"),
        "a message without the shapes": edit(
            'f"predictions {predictions.shape} and targets {targets.shape} differ in shape: "',
            '"the shapes differ"',
            'f"reshape one of them, as targets.reshape{predictions.shape}"',
            '": reshape one of them"',
        ),
        "an assert": """
def mse(predictions, targets):
    assert predictions.shape == targets.shape
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "a float, which has no gradient": edit("(d * d).sum() *", "(d * d).sum().item() *"),
        "the loss of all calls, in a default": edit(
            "    d = predictions - targets",
            "    d = predictions.reshape(-1) - targets.reshape(-1)[::-1]",
        ),
        "the memory, whatever walk they take": edit(
            "    d = predictions - targets",
            "    d = predictions - Tensor(targets.buf.read(0, "
            "targets.numel())).reshape(*targets.shape)",
        ),
    },
    "07.6": {
        "only b is mended": edit(
            "random.uniform(-bound, bound)",
            "random.uniform(-1, 1)",
            "Tensor(even, requires_grad=True)",
            "Tensor(even, requires_grad=True) * bound",
        ),
        "only w is mended": edit(
            "Tensor([0.0] * outputs, requires_grad=True)", "Tensor([0.0] * outputs)"
        ),
        "the bound is lost": edit("random.uniform(-bound, bound)", "random.uniform(-1, 1)"),
        "the bound is taken to the multiplication": edit(
            "random.uniform(-bound, bound)",
            "random.uniform(-1, 1)",
            "return x @ self.w",
            "return x @ (self.w * math.sqrt(6 / sum(self.w.shape)))",
        ),
        "the bound twice": edit(
            "Tensor(even, requires_grad=True)",
            "Tensor([[v * bound for v in row] for row in even], requires_grad=True)",
        ),
        "the parameters are copies": edit(
            "return [self.w, self.b]",
            "return [Tensor(p.tolist(), requires_grad=True) for p in (self.w, self.b)]",
        ),
        "the layer computes with copies": edit(
            "return x @ self.w + self.b",
            "return x @ self.w.detach() + self.b.detach() + self.w.sum() * 0.0",
        ),
        "only w among the parameters": edit("return [self.w, self.b]", "return [self.w]"),
    },
    "07.s1": {
        "share for the right class, the rest for the others": edit(
            "share / classes + (1 - share) * (c == label)",
            "(1 - share) / classes + share * (c == label)",
        ),
        "the right class has no part of the share": edit(
            "share / classes + (1 - share) * (c == label)",
            "(1 - share) if c == label else share / (classes - 1)",
        ),
        "rows that sum to more than 1": edit("(1 - share) * (c == label)", "(c == label)"),
        "the loss is softened, not the labels": """
def smoothed(logits, labels, share):
    return cross_entropy(logits, labels) * (1 - share)
""",
        "the sum in place of the mean": edit("(-1 / len(labels))", "-1.0"),
    },
    "07.s2": {
        "always 1": "def temperature(logits, labels):\n    return 1.0",
        "the factor in place of the divisor": edit("math.exp(log_t", "math.exp(-log_t"),
        "the parameter, not what it stands for": edit(
            "return math.exp(log_t.item())", "return log_t.item()"
        ),
        "too few steps": edit("range(200)", "range(3)"),
        "uphill": edit("log_t.item() - step", "log_t.item() + step"),
        "from 1 upward only": """
def temperature(logits, labels):
    best = min((cross_entropy(logits * (1 / t), labels).item(), t) for t in range(1, 10))
    return float(best[1])
""",
    },
}
