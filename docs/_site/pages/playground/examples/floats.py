# What a float is made of, and why 0.1 + 0.2 is not 0.3.
from tutor import Tensor, viz

print(0.1 + 0.2, 0.1 + 0.2 == 0.3)
big = Tensor([2.0**24, 1.0])
print("2**24 + 1 in float32:", big.sum().item())

viz.column(
    viz.bits(0.1, "float16", "float32"),
    viz.bytes(Tensor([0.1, -2.5]), "float32", "int32", "uint8"),
)
