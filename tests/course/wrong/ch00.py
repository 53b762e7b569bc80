"""Planted wrong answers to the exercises of chapters 0 and 0b."""

from wrong import edit


def by_hand(**wrong: object) -> str:
    right: dict[str, object] = {"d": -6.0, "c": -6.0, "e": -2.0, "a": 6.0, "b": -4.0}
    return f"by_hand = {right | wrong!r}"


WRONG = {
    "00.1": {
        "the sign of the target was lost": edit("here - -4.0", "here - 4.0"),
        "it walks with the gradient, not against it": edit("x - 0.1", "x + 0.1"),
        "one step only": edit("range(20)", "range(1)"),
        "the tensor, not the number": "reached = Tensor(-4.0)",
        "text": "reached = '-4'",
        "typed in, not found": "reached = -4.0",
        "it still looks for 3": edit("here - -4.0", "here - 3.0"),
        "the loss, not x": edit("reached = x", "reached = loss.item()"),
    },
    "00.2": {
        "forgets where it came from": edit(", (self, other), (1.0, 1.0)", ""),
        "the product's slopes are exchanged": edit(
            "(other.data, self.data)", "(self.data, other.data)"
        ),
        "the product has the slopes of a sum": edit("(other.data, self.data)", "(1.0, 1.0)"),
        "inputs are numbers, not Values": edit(
            "self.data + other.data, (self, other)",
            "self.data + other.data, (self.data, other.data)",
        ),
        "a number as it is": edit(
            "self.data * other.data, (self, other), (other.data, self.data)",
            "self.data * other.data, (self,), (other.data,)",
        ),
        "slopes are Values": edit("(other.data, self.data)", "(other, self)"),
        "the plus changes its left side": edit(
            "        return Value(self.data + other.data, (self, other), (1.0, 1.0))",
            "        self.data += other.data\n        return self",
        ),
        "other before self": edit(
            "self.data + other.data, (self, other)", "self.data + other.data, (other, self)"
        ),
        "raises: no plain numbers": edit(
            "        other = other if isinstance(other, Value) else Value(other)\n"
            "        return Value(self.data + other.data",
            "        return Value(self.data + other.data",
        ),
        "lists for tuples": edit("(1.0, 1.0)", "[1.0, 1.0]"),
        "no return": edit(
            "        return Value(self.data + other.data", "        Value(self.data + other.data"
        ),
        "numbers, not Values": edit(
            "return Value(self.data * other.data, (self, other), (other.data, self.data))",
            "return self.data * other.data",
        ),
        "the inputs are kept in the class": edit(
            "        self.inputs, self.slopes = inputs, slopes",
            "        Value.inputs, Value.slopes = inputs, slopes",
        ),
        "whole numbers stay whole, and are divided so": edit("float(data), 0.0", "int(data), 0.0"),
    },
    "00.3": {
        "e on one of its ways only": by_hand(e=4.0),
        "e on the other of them only": by_hand(e=-6.0),
        "the other factor's own number": by_hand(d=4.0),
        "a and b exchanged": by_hand(a=-4.0, b=6.0),
        "the first way of e is handed on to a": by_hand(a=-12.0),
        "the sign is lost": by_hand(b=4.0),
        "c has no share": by_hand(c=0.0),
        "a text": by_hand(d="-6"),
        "one is left out": "by_hand = {'d': -6.0, 'c': -6.0, 'e': -2.0, 'a': 6.0}",
    },
    "00.4": {
        "the slope is that of the input": edit("1 - t * t", "1 - value.data * value.data"),
        "the slope is the result": edit("(1 - t * t,)", "(t,)"),
        "no commas": edit("(value,), (1 - t * t,)", "(value), (1 - t * t)"),
        "nothing is remembered": edit("t, (value,), (1 - t * t,)", "t"),
        "a number": edit("Value(t, (value,), (1 - t * t,))", "t"),
        "another bend": edit("math.tanh(value.data)", "math.atan(value.data)"),
        "it bends the Value it was given": edit(
            "return Value(t, (value,), (1 - t * t,))",
            "value.data, value.inputs, value.slopes = t, (value,), (1 - t * t,)\n    return value",
        ),
        "a table of what was computed, by the rounded number": edit(
            "def tanh(value):",
            "known = {}\n\n\ndef tanh(value):",
            "    t = math.tanh(value.data)\n    return Value(t, (value,), (1 - t * t,))",
            "    key = round(value.data)\n"
            "    if key not in known:\n"
            "        known[key] = Value(math.tanh(value.data), (value,), (1 - "
            "math.tanh(value.data) ** 2,))\n"
            "    return known[key]",
        ),
    },
    "00.5": {
        "users before inputs": edit("return found", "return found[::-1]"),
        "as often as it is used": edit("if value not in seen", "if True"),
        "itself is left out": edit("return found", "return found[:-1]"),
        "only what was computed": edit(
            "            found.append(value)",
            "            if value.inputs:\n                found.append(value)",
        ),
        "each is appended before its inputs": """
def order(last):
    found, waiting = [], [last]
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.append(value)
            waiting.extend(value.inputs)
    return found[::-1]
""",
        "layer by layer": """
def order(last):
    found, layer = [], [last]
    while layer:
        found += [value for value in layer if value not in found]
        layer = [before for value in layer for before in value.inputs if before not in found]
    return found[::-1]
""",
        "equal numbers are taken for the same": edit(
            "value not in seen", "value.data not in seen", "seen.add(value)", "seen.add(value.data)"
        ),
        "the first input only": edit("in value.inputs", "in value.inputs[:1]"),
        "numbers, not Values": edit("found.append(value)", "found.append(value.data)"),
        "a set, which has no order": edit("return found", "return set(found)"),
        "what was seen is kept from call to call, in a default": edit(
            "def order(last):",
            "def order(last, seen=set()):",
            "found, seen = [], set()",
            "found = []",
        ),
        "by the numbers, of which two may be the same": edit(
            "if value not in seen",
            "if value.data not in seen",
            "seen.add(value)",
            "seen.add(value.data)",
        ),
    },
    "00.6": {
        "it sets where it should add": edit("before.grad += slope", "before.grad = slope"),
        "from the beginning, not the end": edit("reversed(values)", "values"),
        "what stood there stays": edit("value.grad = 0.0", "pass"),
        "the slopes are forgotten": edit("slope * value.grad", "value.grad"),
        "the slope alone": edit("slope * value.grad", "slope"),
        "the last one is 0": edit("last.grad = 1.0", "last.grad = 0.0"),
        "the last one stays as it was": edit("    last.grad = 1.0\n", ""),
        "what came from nowhere is set to 0 only": edit(
            "        value.grad = 0.0",
            "        value.grad = 0.0 if not value.inputs else value.grad",
        ),
        "each way by itself, without an order": """
def backward(last):
    for value in order(last):
        value.grad = 0.0

    def visit(value, grad):
        value.grad += grad
        for before, slope in zip(value.inputs, value.slopes):
            visit(before, slope * grad)

    visit(last, 1.0)
""",
        "it hands on whatever it has by then": """
def backward(last):
    for value in order(last):
        value.grad = 0.0
    last.grad = 1.0
    waiting = [last]
    while waiting:
        value = waiting.pop(0)
        for before, slope in zip(value.inputs, value.slopes):
            before.grad += slope * value.grad
            if before not in waiting:
                waiting.append(before)
""",
        "times its own number": edit("slope * value.grad", "slope * value.grad * value.data"),
        "its slopes are used up": edit(
            "            before.grad += slope * value.grad",
            "            before.grad += slope * value.grad\n        value.slopes = ()",
        ),
        "only the last one is set to 0": edit(
            "    for value in values:\n        value.grad = 0.0\n", ""
        ),
    },
    "00.7": {
        "no bias": edit("total = weights[-1]", "total = 0.0"),
        "the first weight for a bias": edit("weights[-1]", "weights[0]"),
        "no bend": edit("return tanh(total)", "return total"),
        "two inputs, as in the example": """
def neuron(weights, inputs):
    return tanh(weights[0] * inputs[0] + weights[1] * inputs[1] + weights[2])
""",
        "one input": edit("total = total + weight * x", "total = weights[-1] + weight * x"),
        "weights without inputs": edit("weight * x", "weight"),
        "a number, which has forgotten the weights": edit(
            "return tanh(total)", "return Value(math.tanh(total.data))"
        ),
        "it bends every product": edit("total + weight * x", "total + tanh(weight * x)"),
        "returns early": edit("    return tanh(total)", "        return tanh(total)"),
        "the bias is multiplied as well": edit(
            "zip(weights, inputs)", "zip(weights, [*inputs, 2.0])"
        ),
        "the first weight is the bias": edit(
            "total = weights[-1]",
            "total = weights[0]",
            "zip(weights, inputs)",
            "zip(weights[1:], inputs)",
        ),
    },
    "00.8": {
        "uphill": edit("-= rate", "+= rate"),
        "without a walk back": edit("    backward(loss)\n", ""),
        "the walk back comes last": edit(
            "    backward(loss)\n",
            "",
            "    return loss.data",
            "    backward(loss)\n    return loss.data",
        ),
        "the first parameter only": edit(
            "-= rate * parameter.grad", "-= rate * parameter.grad\n        break"
        ),
        "the last parameter only": edit(
            "    for parameter in parameters:\n        parameter.data",
            "    for parameter in parameters:\n        pass\n    parameter.data",
        ),
        "the loss as a Value": edit("return loss.data", "return loss"),
        "it returns nothing": edit("    return loss.data", "    return None"),
        "the rate of the text": edit("rate * parameter.grad", "0.1 * parameter.grad"),
        "the gradient for the number": edit("parameter.data -= rate", "parameter.data = -rate"),
        "it moves the loss, too": edit(
            "    return loss.data", "    loss.data -= rate * loss.grad\n    return loss.data"
        ),
        "the loss is that of after the step": edit(
            "return loss.data", "return loss.data - rate * sum(p.grad**2 for p in parameters)"
        ),
    },
}
