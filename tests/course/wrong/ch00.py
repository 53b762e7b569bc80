"""Planted wrong answers to the exercises of chapter 0."""

WRONG = {
    "00.1": {
        "the sign of the target was lost": """
x = 0.0
for step in range(20):
    here = Tensor(x, requires_grad=True)
    loss = (here - 4.0) ** 2
    loss.backward()
    x = x - 0.1 * here.grad.item()
reached = x
""",
        "it walks with the gradient, not against it": """
x = 0.0
for step in range(20):
    here = Tensor(x, requires_grad=True)
    loss = (here - -4.0) ** 2
    loss.backward()
    x = x + 0.1 * here.grad.item()
reached = x
""",
        "one step only": """
here = Tensor(0.0, requires_grad=True)
loss = (here - -4.0) ** 2
loss.backward()
reached = 0.0 - 0.1 * here.grad.item()
""",
        "the tensor, not the number": "reached = Tensor(-4.0)",
        "text": "reached = '-4'",
    },
}
