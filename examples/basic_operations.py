"""A tour in thirty lines: tensors, views, indexing, gradients, and which backend did the work.

python examples/basic_operations.py
"""

import tutor
from tutor import Tensor

a = Tensor([[1.0, 2.0], [3.0, 4.0]])
b = Tensor([[10.0], [20.0]])
print("a + b =", (a + b).tolist())  # b is stretched over the columns
print("2 * a - 1 =", (2 * a - 1).tolist())
print("a @ a.T =", (a @ a.T).tolist())
print("a.T shares memory with a:", a.T.buf is a.buf, "strides", a.T.strides)

print("a[a > 1] =", a[a > 1].tolist())
print("a[[1, 0], 0] =", a[[1, 0], 0].tolist())
print("mean of rows =", a.mean(axis=1).tolist())
print("int8 + uint8 is", (Tensor([1], dtype="int8") + Tensor([1], dtype="uint8")).dtype)

x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x * x).sum() + x.exp()[0]
y.backward()
print("dy/dx =", [round(g, 4) for g in x.grad.tolist()])

with tutor.use_backend("python"):
    print("the same in plain Python:", (a @ a.T).tolist())

try:
    a @ b.T
except tutor.errors.ShapeError as error:
    print(error)
