"""The lessons this project follows, as they are written: each must run, and learn."""

import importlib.util
import random

import pytest

import tutor
from tutor import Buffer, Tensor, backward, nn, optim
from tutor.nn import Linear, get_parameters
from tutor.ops import Add, CrossEntropy, MatMul, Mul, ReLU

pytestmark = pytest.mark.usefixtures("backend")


def spots(n=64):
    """Points in the unit square, labelled by the quarter they lie in."""
    rng = random.Random(0)
    points = [[rng.random(), rng.random()] for _ in range(n)]
    return Tensor(points), Tensor([2 * (x > 0.5) + (y > 0.5) for x, y in points])


def test_the_classic_lesson():
    tutor.manual_seed(0)
    x, y = spots()
    W1 = Tensor.randn(2, 16, requires_grad=True)
    W2 = Tensor((Tensor.randn(16, 4) * 0.5).tolist(), requires_grad=True)
    losses = []
    for _ in range(150):
        h = ReLU(MatMul(x, W1).apply()).apply()
        logits = MatMul(h, W2).apply()
        loss = CrossEntropy(logits, y).apply()
        backward(loss)
        for p in (W1, W2):
            p.buf.data -= 0.5 * p.grad.buf.data
            p.grad = None
        losses.append(loss.item())
    assert losses[-1] < 0.7 < 1.2 < losses[0]


def test_ops_by_hand():
    a, b = Tensor(Buffer([1.0, 2.0, 3.0, 4.0]), (2, 2), requires_grad=True), Tensor([[1.0], [2.0]])
    c = Add(Mul(a, 2).apply(), b).apply()
    assert c.tolist() == [[3, 5], [8, 10]]
    assert c._ctx.name == "add"
    c.sum().backward()
    assert a.grad.tolist() == [[2, 2], [2, 2]]


def test_manual_updates_equal_the_optimizer_s():
    x, y = spots(16)
    results = []
    for by_hand in (True, False):
        tutor.manual_seed(1)
        layer = Linear(2, 4)
        opt = optim.SGD(get_parameters(layer), lr=0.1)
        for _ in range(5):
            opt.zero_grad()
            layer(x).cross_entropy(y).backward()
            if by_hand:
                for p in get_parameters(layer):
                    p.buf.data -= 0.1 * p.grad.contiguous().buf.data
            else:
                opt.step()
        results.append(layer.weight.tolist())
    assert results[0] == [pytest.approx(row, rel=1e-5) for row in results[1]]


class SimpleNet:
    """A plain class: no base class is needed."""

    def __init__(self):
        self.fc1 = Linear(2, 16)
        self.fc2 = Linear(16, 4)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


def test_a_plain_class_and_adam():
    tutor.manual_seed(0)
    x, y = spots()
    model = SimpleNet()
    optimizer = optim.Adam(get_parameters(model), lr=0.05)
    assert len(get_parameters(model)) == 4
    for _ in range(40):
        loss = model.forward(x).sparse_categorical_crossentropy(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.3
    if importlib.util.find_spec("numpy"):  # as lessons print a loss
        assert f"{loss.numpy():.2f}" == f"{loss.item():.2f}"


def test_an_optimizer_of_one_s_own():
    class MySGD:
        def __init__(self, params, lr):
            self.params, self.lr = params, lr

        def step(self):
            for param in self.params:
                param.assign(param - self.lr * param.grad)

    w = Tensor([3.0], requires_grad=True)
    for _ in range(50):
        w.grad = None
        ((w - 1) ** 2).sum().backward()
        MySGD([w], 0.1).step()
    assert w.item() == pytest.approx(1, abs=1e-3)
    assert w.op is None


def test_module_and_sequential():
    model = nn.Sequential(Linear(2, 3), nn.ReLU(), Linear(3, 1, bias=False))
    assert sorted(model.state_dict()) == [
        "0.bias", "0.weight", "2.weight",
    ]  # fmt: skip
    other = nn.Sequential(Linear(2, 3), nn.ReLU(), Linear(3, 1, bias=False))
    other.load_state_dict(model.state_dict())
    x = Tensor([[1.0, 2.0]])
    assert other(x).tolist() == model(x).tolist()
    with pytest.raises(tutor.errors.DataError, match="missing"):
        nn.Sequential(Linear(2, 3)).load_state_dict({})
