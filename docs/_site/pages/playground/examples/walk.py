# The walk back: what each op receives, and what it hands on.
from tutor import Tensor, viz

x = Tensor([1.0, -2.0], requires_grad=True)
w = Tensor([0.5, 1.0], requires_grad=True)
loss = ((x * w).relu() + x).sum()
loss.backward()
print("x.grad =", x.grad.tolist())
print("w.grad =", w.grad.tolist())

# That walk has freed the graph as it went: here is a new one.
loss = ((x * w).relu() + x).sum()
viz.walk(loss, names={"x": x, "w": w, "loss": loss})
