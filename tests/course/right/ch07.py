"""Right answers to the exercises of chapter 7, written otherwise than ours."""

RIGHT = {
    "07.1": {
        "loops": """
def logsumexp(scores):
    largest = scores[0]
    for x in scores:
        if x > largest:
            largest = x
    total = 0.0
    for x in scores:
        total += math.exp(x - largest)
    return largest + math.log(total)
""",
        "sorted, and powers of e": """
def logsumexp(scores):
    top = sorted(scores)[-1]
    return math.log(math.fsum([math.e ** (x - top) for x in scores])) + top
""",
    },
    "07.7": {
        "everything in one line": """
def log_softmax(x):
    m = x.max(1).reshape(-1, 1)
    return x - (m + (x - m).exp().sum(1).reshape(-1, 1).log())
""",
        "the sum as a matrix product": """
def log_softmax(x):
    n, classes = x.shape
    shifted = x - x.max(axis=1).reshape(n, 1)
    total = shifted.exp() @ Tensor([[1.0]] * classes, dtype=x.buf.dtype)
    return shifted - total.log()
""",
        "the largest by way of lists": """
def log_softmax(x):
    m = Tensor([[max(row)] for row in x.tolist()], dtype=x.buf.dtype)
    x = x - m
    return x - x.exp().sum(1).reshape(x.shape[0], 1).log()
""",
        "row by row, put together by products": """
def log_softmax(x):
    top = x.detach().max(1)
    shifted = x - top.reshape(x.shape[0], 1)
    sums = shifted.exp().sum((1,)).log()
    return shifted - sums.reshape(x.shape[0], 1)
""",
    },
    "07.8": {
        "one number at a time": """
def cross_entropy(logits, labels):
    log_p = log_softmax(logits)
    total = 0.0
    for i, label in enumerate(labels):
        total = total - log_p[i, label]
    return total / len(labels)
""",
        "a table that is filled in": """
def cross_entropy(logits, labels):
    mask = zeros(logits.shape)
    for i, label in enumerate(labels):
        mask.buf[i * logits.shape[1] + label] = 1.0
    return -(log_softmax(logits) * mask).sum() / logits.shape[0]
""",
        "a table with the minus and the mean in it": """
def cross_entropy(logits, labels):
    rows = []
    for label in labels:
        row = [0.0] * logits.shape[1]
        row[label] = -1.0 / len(labels)
        rows.append(row)
    return (Tensor(rows) * log_softmax(logits)).sum()
""",
        "by selecting one number of each row": """
def cross_entropy(logits, labels):
    logs = log_softmax(logits)
    total = logs[0, labels[0]] * 1.0
    for i, label in enumerate(labels[1:], 1):
        total = total + logs[i, label]
    return total * (-1.0 / len(labels))
""",
    },
    "07.2": {
        "by way of lists": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        x = self.inputs[0]
        said = log_softmax(x).exp().tolist()
        labels = self.params["labels"]
        for row, label in zip(said, labels):
            row[label] -= 1.0
        n = len(labels)
        scaled = [[v / n for v in row] for row in said]
        return [Tensor(scaled, dtype=x.buf.dtype) * g]
""",
        "the softmax is kept in the object": """
class CrossEntropy(Op):
    def forward(self, x):
        self.logs = log_softmax(x.detach())
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        n, classes = self.inputs[0].shape
        right = [[1.0 if c == label else 0.0 for c in range(classes)]
                 for label in self.params["labels"]]
        return [(self.logs.exp() - Tensor(right)) * (g / n)]
""",
    },
    "07.3": {
        "loops, and random.random": """
def glorot(inputs, outputs):
    bound = (6 / (inputs + outputs)) ** 0.5
    table = []
    for i in range(inputs):
        row = []
        for j in range(outputs):
            row.append((2 * random.random() - 1) * bound)
        table.append(row)
    return table
""",
    },
    "07.9": {
        "watched afterwards, and more attributes": """
class Linear:
    def __init__(self, inputs, outputs):
        self.inputs = inputs
        self.outputs = outputs
        self.w = Tensor(glorot(inputs, outputs))
        self.w.requires_grad = True
        self.b = zeros((outputs,))
        self.b.requires_grad = True

    def __call__(self, x):
        z = x @ self.w
        return z + self.b
""",
        "the weights are drawn row by row": """
class Linear:
    def __init__(self, inputs, outputs):
        rows = glorot(inputs, outputs)
        self.w = Tensor([list(row) for row in rows], requires_grad=True)
        self.b = zeros((outputs,))
        self.b.requires_grad = True

    def __call__(self, x):
        product = x @ self.w
        return product + self.b.reshape(1, -1)
""",
    },
    "07.10": {
        "numbers of layers": """
class MLP:
    def __init__(self, *sizes):
        self.layers = []
        for i in range(len(sizes) - 1):
            self.layers.append(Linear(sizes[i], sizes[i + 1]))

    def __call__(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number < len(self.layers) - 1:
                x = x.relu()
        return x

    def parameters(self):
        found = []
        for layer in self.layers:
            found.append(layer.w)
            found.append(layer.b)
        return found
""",
        "layers found by index": """
class MLP:
    def __init__(self, *sizes):
        self.layers = []
        for i in range(len(sizes) - 1):
            self.layers.append(Linear(sizes[i], sizes[i + 1]))

    def __call__(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
            x = x if i + 1 == len(self.layers) else x.relu()
        return x

    def parameters(self):
        found = []
        for layer in self.layers:
            found.extend([layer.w, layer.b])
        return found
""",
    },
    "07.4": {
        "loops": """
def softmaxed(logits):
    for row in logits.tolist():
        for p in row:
            if p < 0:
                return False
        if not -1e-5 <= math.fsum(row) - 1 <= 1e-5:
            return False
    return True
""",
    },
    "07.5": {
        "squares by a power": """
def mse(predictions, targets):
    if tuple(predictions.shape) != tuple(targets.shape):
        raise ValueError(
            "shapes " + str(predictions.shape) + " and " + str(targets.shape) + ": use Reshape"
        )
    square = (targets - predictions) ** 2.0
    return square.sum() / float(predictions.numel())
""",
    },
    "07.6": {
        "watched after the product": """
class Mended:
    def __init__(self, inputs, outputs):
        bound = math.sqrt(6 / (inputs + outputs))
        even = [[random.uniform(-1, 1) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even) * bound
        self.w.requires_grad = True
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]
""",
        "glorot, and a tuple": """
class Mended:
    def __init__(self, inputs, outputs):
        self.w = Tensor(glorot(inputs, outputs), requires_grad=True)
        self.b = zeros((outputs,))
        self.b.requires_grad = True

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return (self.w, self.b)
""",
    },
    "07.s1": {
        "a mean of two losses": """
def smoothed(logits, labels, share):
    everywhere = log_softmax(logits).sum() * (-1 / logits.numel())
    return cross_entropy(logits, labels) * (1 - share) + everywhere * share
""",
    },
    "07.s2": {
        "a search without a gradient": """
def temperature(logits, labels):
    low, high = 0.01, 100.0
    for _ in range(60):
        a, b = low * (high / low) ** 0.4, low * (high / low) ** 0.6
        with no_grad():
            at_a = cross_entropy(logits * (1 / a), labels).item()
            at_b = cross_entropy(logits * (1 / b), labels).item()
        if at_a < at_b:
            high = b
        else:
            low = a
    return (low * high) ** 0.5
""",
        "the factor, down its slope": """
def temperature(logits, labels):
    beta = Tensor(1.0, dtype="float64", requires_grad=True)
    for _ in range(150):
        beta.grad = None
        cross_entropy(logits * beta, labels).backward()
        slope = beta.grad.item()
        beta.fill([max(beta.item() - 0.5 * slope * beta.item(), 0.01)])
    return 1 / beta.item()
""",
    },
}
