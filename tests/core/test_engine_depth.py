"""A graph may be as deep as memory allows: nothing recurses, forward, backward or freeing."""

from tutor import Tensor


def test_a_chain_of_a_million_ops():
    x = Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad.tolist() == [1]


def test_a_deep_graph_is_freed_without_a_backward():
    y = Tensor([1.0], requires_grad=True)
    for _ in range(300_000):
        y = -y
    del y
