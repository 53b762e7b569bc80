# One memory, walked in several ways: a view copies nothing.
from tutor import Tensor, viz

x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
views = {"x": x, "x.T": x.T, "x[:, 1]": x[:, 1], "x[:, ::2]": x[:, ::2]}

for name, view in views.items():
    print(name, view.shape, "strides", view.strides, "offset", view.offset)

x.T[0, 1] = 40.0  # written through one of them, seen by all
print(x.tolist())

together = viz.shared(*views.values(), names=list(views))
viz.column(x.T.explain(), together)
