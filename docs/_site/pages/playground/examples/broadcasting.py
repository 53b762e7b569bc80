# A row and a column meet: both are read again and again, not copied.
from tutor import Tensor, viz

row = Tensor([10.0, 20.0, 30.0], requires_grad=True)
column = Tensor([[1.0], [2.0]], requires_grad=True)
table = row + column
print(table.tolist())

# On the way back, what comes in from all the copies is added up.
table.sum().backward()
print("row.grad =", row.grad.tolist(), "each was read twice")
print("column.grad =", column.grad.tolist(), "each three times")

viz.column(viz.broadcast(row, column), row.expand(2, 3).explain())
