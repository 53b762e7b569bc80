"""The whole library in a few seconds: what pre-commit runs before anything longer."""

import pytest

import tutor
from tutor import Tensor, data, nn, optim

pytestmark = pytest.mark.usefixtures("backend")


def test_a_line_is_fitted():
    tutor.manual_seed(0)
    x = Tensor.rand(32, 1)
    y = 3 * x - 1
    layer = nn.Linear(1, 1)
    opt = optim.SGD(nn.get_parameters(layer), lr=0.2, momentum=0.9)
    for _ in range(80):
        opt.zero_grad()
        ((layer(x) - y) ** 2).mean().backward()
        opt.step()
    assert layer.weight.item() == pytest.approx(3, abs=0.1)
    assert layer.bias.item() == pytest.approx(-1, abs=0.1)


def test_digits_are_learned():
    tutor.manual_seed(0)
    digits = data.load("digits", limit=200)
    model = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 10))
    opt = optim.Adam(nn.get_parameters(model), lr=0.01)
    losses = []
    for epoch in range(2):
        for x, y in data.batches(digits.train_images, digits.train_labels, 50, epoch=epoch):
            loss = model(x.reshape(-1, 784).cast("float32") / 255).cross_entropy(y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
