"""Answers to chapters 0 and 0b that are right, and not written as ours are."""

RIGHT = {
    "00.2": {
        "a helper, and lines of its own": """
class Value:
    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.grad = float(data), 0
        self.inputs, self.slopes = inputs, slopes

    def as_value(self, x):
        if isinstance(x, Value):
            return x
        return Value(x)

    def __add__(self, other):
        other = self.as_value(other)
        return Value(other.data + self.data, (self, other), (1, 1))

    def __mul__(self, other):
        other = self.as_value(other)
        out = Value(self.data * other.data)
        out.inputs = (self, other)
        out.slopes = (other.data, self.data)
        return out

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + other * -1
""",
    },
    "00.4": {
        "by exponentials": """
def tanh(value):
    e = math.exp(2 * value.data)
    t = (e - 1) / (e + 1)
    return Value(t, inputs=(value,), slopes=(1 - t**2,))
""",
    },
    "00.5": {
        "with a stack": """
def order(last):
    found, seen, waiting = [], set(), [(last, False)]
    while waiting:
        value, done = waiting.pop()
        if done:
            found.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            waiting.append((value, True))
            waiting.extend((before, False) for before in value.inputs)
    return found
""",
        "a dict remembers, and the function calls itself": """
def order(last, found=None):
    found = {} if found is None else found
    for before in last.inputs:
        if before not in found:
            order(before, found)
    found[last] = True
    return list(found)
""",
        "with a list of its own, and no recursion": """
def order(last):
    found, seen, waiting = [], set(), [(last, iter(last.inputs))]
    seen.add(id(last))
    while waiting:
        value, rest = waiting[-1]
        for before in rest:
            if id(before) not in seen:
                seen.add(id(before))
                waiting.append((before, iter(before.inputs)))
                break
        else:
            found.append(value)
            waiting.pop()
    return found
""",
    },
    "00.6": {
        "who is used how often is counted first": """
def backward(last):
    users, waiting = {last: 0}, [last]
    while waiting:
        for before in waiting.pop().inputs:
            if before not in users:
                users[before] = 0
                waiting.append(before)
            users[before] += 1
    for value in users:
        value.grad = 0
    last.grad = 1
    ready = [last]
    while ready:
        value = ready.pop()
        for before, slope in zip(value.inputs, value.slopes):
            before.grad = before.grad + value.grad * slope
            users[before] -= 1
            if users[before] == 0:
                ready.append(before)
""",
    },
    "00.7": {
        "by sum": """
def neuron(weights, inputs):
    *factors, bias = weights
    return tanh(sum(w * x for w, x in zip(factors, inputs)) + bias)
""",
        "the other way round": """
def neuron(weights, inputs):
    total = 0
    for i in range(len(inputs)):
        total = total + inputs[i] * weights[i]
    return tanh(total + weights[len(inputs)])
""",
        "the pairs first, the bias last": """
def neuron(weights, inputs):
    *factors, bias = weights
    products = [w * x for w, x in zip(factors, inputs)]
    total = products[0]
    for product in products[1:]:
        total = total + product
    return tanh(total + bias)
""",
    },
    "00.8": {
        "the loss first": """
def step(parameters, loss, rate):
    before = loss.data
    backward(loss)
    for p in parameters:
        p.data = p.data - p.grad * rate
    return before
""",
    },
}
