"""Planted wrong answers to the exercises of chapter 7."""

WRONG = {
    "07.1": {
        "raises: it overflows, as the formula stands": """
def logsumexp(scores):
    return math.log(sum(math.exp(x) for x in scores))
""",
        "the largest is not added again": """
def logsumexp(scores):
    m = max(scores)
    return math.log(sum(math.exp(x - m) for x in scores))
""",
        "raises: the smallest is subtracted": """
def logsumexp(scores):
    m = min(scores)
    return m + math.log(sum(math.exp(x - m) for x in scores))
""",
        "only the largest": """
def logsumexp(scores):
    return max(scores)
""",
        "the scores are changed on the way": """
def logsumexp(scores):
    m = max(scores)
    for i in range(len(scores)):
        scores[i] -= m
    return m + math.log(sum(math.exp(x) for x in scores))
""",
    },
    "07.2": {
        "the loss is a mean, the gradient is not": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        labels = self.params["labels"]
        right = Tensor([[float(c == label) for c in range(x.shape[1])] for label in labels])
        return ((log_softmax(x).exp() - right) * g,)
""",
        "what arrives is not multiplied in": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        labels = self.params["labels"]
        right = Tensor([[float(c == label) for c in range(x.shape[1])] for label in labels])
        return ((log_softmax(x).exp() - right) * (1 / x.shape[0]),)
""",
        "the sign is wrong": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        labels = self.params["labels"]
        right = Tensor([[float(c == label) for c in range(x.shape[1])] for label in labels])
        return ((right - log_softmax(x).exp()) * g * (1 / x.shape[0]),)
""",
        "the softmax overflows": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        labels = self.params["labels"]
        right = Tensor([[float(c == label) for c in range(x.shape[1])] for label in labels])
        return ((softmax(x) - right) * g * (1 / x.shape[0]),)
""",
        "a gradient instead of a tuple of one": """
class CrossEntropy(Op):
    def forward(self, x):
        return cross_entropy(x, self.params["labels"])

    def backward(self, g):
        (x,) = self.inputs
        labels = self.params["labels"]
        right = Tensor([[float(c == label) for c in range(x.shape[1])] for label in labels])
        return (log_softmax(x).exp() - right) * g * (1 / x.shape[0])
""",
    },
    "07.3": {
        "one number for each row": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a)] * outputs for _ in range(inputs)]
""",
        "the spread in place of the bound": """
def glorot(inputs, outputs):
    a = math.sqrt(2 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(outputs)] for _ in range(inputs)]
""",
        "rows and columns the wrong way round": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(inputs)] for _ in range(outputs)]
""",
        "the bell curve": """
def glorot(inputs, outputs):
    a = math.sqrt(2 / (inputs + outputs))
    return [[random.gauss(0, a) for _ in range(outputs)] for _ in range(inputs)]
""",
        "only from 0 up": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(0, a) for _ in range(outputs)] for _ in range(inputs)]
""",
        "the same row again and again": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(outputs)]] * inputs
""",
        "He's bound": """
def glorot(inputs, outputs):
    a = math.sqrt(6 / inputs)
    return [[random.uniform(-a, a) for _ in range(outputs)] for _ in range(inputs)]
""",
    },
    "07.4": {
        "negative numbers are not looked for": """
def softmaxed(logits):
    return all(abs(sum(row) - 1) < 1e-5 for row in logits.tolist())
""",
        "one row is enough": """
def softmaxed(logits):
    return any(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in logits.tolist())
""",
        "no room for rounding": """
def softmaxed(logits):
    return all(min(row) >= 0 and sum(row) == 1 for row in logits.tolist())
""",
        "the mean over the rows": """
def softmaxed(logits):
    rows = logits.tolist()
    return min(map(min, rows)) >= 0 and abs(sum(map(sum, rows)) / len(rows) - 1) < 1e-5
""",
        "only the first row": """
def softmaxed(logits):
    row = logits.tolist()[0]
    return min(row) >= 0 and abs(sum(row) - 1) < 1e-5
""",
    },
    "07.5": {
        "no guard": """
def mse(predictions, targets):
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "the number of elements is compared, not the shape": """
def mse(predictions, targets):
    if predictions.numel() != targets.numel():
        raise ValueError(f"reshape {predictions.shape} or {targets.shape}")
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "the sum, not the mean": """
def mse(predictions, targets):
    if predictions.shape != targets.shape:
        raise ValueError(f"reshape {predictions.shape} or {targets.shape}")
    d = predictions - targets
    return (d * d).sum()
""",
        "a message without the shapes": """
def mse(predictions, targets):
    if predictions.shape != targets.shape:
        raise ValueError("the shapes differ: reshape")
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "an assert": """
def mse(predictions, targets):
    assert predictions.shape == targets.shape
    d = predictions - targets
    return (d * d).sum() * (1 / d.numel())
""",
        "a float, which has no gradient": """
def mse(predictions, targets):
    if predictions.shape != targets.shape:
        raise ValueError(f"reshape {predictions.shape} or {targets.shape}")
    d = predictions - targets
    return (d * d).sum().item() / d.numel()
""",
    },
    "07.6": {
        "only b is mended": """
class Mended:
    def __init__(self, inputs, outputs):
        bound = math.sqrt(6 / (inputs + outputs))
        even = [[random.uniform(-1, 1) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even, requires_grad=True) * bound
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]
""",
        "only w is mended": """
class Mended:
    def __init__(self, inputs, outputs):
        bound = math.sqrt(6 / (inputs + outputs))
        even = [[random.uniform(-bound, bound) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even, requires_grad=True)
        self.b = Tensor([0.0] * outputs)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]
""",
        "the bound is lost": """
class Mended:
    def __init__(self, inputs, outputs):
        even = [[random.uniform(-1, 1) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even, requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]
""",
        "the parameters are copies": """
class Mended:
    def __init__(self, inputs, outputs):
        bound = math.sqrt(6 / (inputs + outputs))
        even = [[random.uniform(-bound, bound) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even, requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [Tensor(p.tolist(), requires_grad=True) for p in (self.w, self.b)]
""",
    },
}
