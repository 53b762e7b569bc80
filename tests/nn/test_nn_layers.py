"""Layers: under tutor.jit to the bit, by definition where PyTorch has none such, and misused."""

from __future__ import annotations

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import DataError, DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it

ROWS, LINE, PICTURE, SEQUENCE = (6, 4), (3, 4, 6), (2, 3, 6, 6), (5, 2, 4)


class First(nn.Module):
    """The first of several results."""

    def __init__(self, layer, **options):
        self.layer, self.options = layer, options

    def forward(self, x):
        return self.layer(x, **self.options)[0]


# Every kind of layer whose forward keeps something, draws, or has steps of its own.
RECORDED = {
    "batch norm": (lambda: nn.BatchNorm1d(4), ROWS),
    "batch norm of pictures, cumulative": (lambda: nn.BatchNorm2d(3, momentum=None), PICTURE),
    "instance norm": (lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), LINE),
    "group norm": (lambda: nn.GroupNorm(2, 4), LINE),
    "layer norm": (lambda: nn.LayerNorm(4), ROWS),
    "rms norm": (lambda: nn.RMSNorm(4), ROWS),
    "dropout": (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.4)), ROWS),
    "dropout1d": (lambda: nn.Sequential(nn.Conv1d(4, 5, 2), nn.Dropout1d(0.4)), LINE),
    "dropout2d": (lambda: nn.Sequential(nn.Conv2d(3, 5, 2), nn.Dropout2d(0.4)), PICTURE),
    "convolution": (lambda: nn.Sequential(nn.Conv2d(3, 2, 3), nn.MaxPool2d(2)), PICTURE),
    "transposed": (lambda: nn.ConvTranspose2d(3, 2, 3, stride=2), PICTURE),
    "upsample": (lambda: nn.Sequential(
        nn.Conv2d(3, 2, 3), nn.Upsample(scale_factor=1.5, mode="bilinear"),
        nn.AdaptiveMaxPool2d(4)), PICTURE),
    "prelu": (lambda: nn.Sequential(nn.Linear(4, 3), nn.PReLU(3), nn.GLU(0)), ROWS),
    "attention": (lambda: First(nn.MultiheadAttention(4, 2, dropout=0.3), is_causal=True),
                  SEQUENCE),
    "attention without weights": (
        lambda: First(nn.MultiheadAttention(4, 2, dropout=0.3), need_weights=False), SEQUENCE),
    "block": (lambda: nn.TransformerBlock(4, 2, dropout=0.2), SEQUENCE),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), 2), SEQUENCE),
    "rnn": (lambda: First(nn.RNN(4, 3, 2, dropout=0.3)), SEQUENCE),
    "lstm": (lambda: First(nn.LSTM(4, 3, 2, dropout=0.3, bidirectional=True)), SEQUENCE),
    "gru": (lambda: First(nn.GRU(4, 3, batch_first=True)), SEQUENCE),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_steps_are_eager_steps_to_the_bit(name):
    make, shape = RECORDED[name]

    def run(record):
        tutor.manual_seed(1)
        model = make()
        sgd = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        xs = [Tensor.randn(*shape) for _ in range(3)]

        def step(x):
            sgd.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            sgd.step()
            return loss

        def look(x):
            return model(x).sum()

        step, look = (tutor.jit(step), tutor.jit(look)) if record else (step, look)
        found = [step(xs[i % 3]).item() for i in range(5)]
        found += [look(xs[0]).item() for _ in range(3)]
        model.eval()
        found += [look(xs[0]).item() for _ in range(3)]
        model.train()
        found.append(step(xs[1]).item())
        if record:
            assert step.stats()["replayed"] >= 3
        return found, [t.tolist() for t in model.state_dict().values()]

    assert run(False) == run(True)


def test_running_numbers_are_kept_and_used():
    norm = nn.BatchNorm1d(1, momentum=0.5)
    norm(Tensor([[1.0], [3.0]]))
    assert norm.running_mean.tolist() == [1.0] and norm.running_var.tolist() == [1.5]
    assert norm.num_batches_tracked.item() == 1
    assert norm.eval()(Tensor([[1.0]])).tolist() == [[0.0]] and norm.num_batches_tracked.item() == 1


def test_a_causal_block_sees_nothing_that_comes_later():
    block, x = nn.TransformerBlock(4, 2), Tensor.randn(1, 5, 4)
    changed = x.copy()
    changed[:, 3:] = 9.0
    assert block(x)[:, :3].tolist() == block(changed)[:, :3].tolist()
    free = nn.TransformerBlock(4, 2, is_causal=False)
    assert free(x)[:, :3].tolist() != free(changed)[:, :3].tolist()


def test_dropped_channels_are_dropped_whole():
    tutor.manual_seed(0)
    z = nn.Dropout2d(0.5)(Tensor.ones(20, 10, 3, 3)).numpy().reshape(200, 9)
    assert set(z.flatten()) == {0.0, 2.0} and (z == z[:, :1]).all()
    assert 60 < (z[:, 0] == 0).sum() < 140
    z = nn.Dropout1d(0.5)(Tensor.ones(4, 5)).numpy()
    assert (z == z[:, :1]).all()


def test_the_padding_of_an_embedding():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3 and layer.weight[3].tolist() == [0.0, 0.0]
    layer(Tensor([[0, 3]])).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    layer.zero_grad()
    nn.functional.embedding(Tensor([[0, 3]]), layer.weight, padding_idx=-4).sum().backward()
    assert layer.weight.grad.tolist() == [[0, 0], [0, 0], [0, 0], [1, 1]]
    table = nn.Embedding.from_pretrained(Tensor([[1.0], [2.0]]))
    assert table(Tensor([1, 0])).tolist() == [[2.0], [1.0]] and not table.weight.requires_grad
    assert nn.Embedding.from_pretrained(Tensor([[1.0]]), freeze=False).parameters()


def test_multi_head_attention_by_the_papers_spelling():
    assert nn.MultiHeadAttention is nn.MultiheadAttention
    layer, x = nn.MultiheadAttention(4, 2), Tensor.randn(3, 1, 4)
    assert layer(x)[0].tolist() == layer(x, x, x)[0].tolist()  # of itself
    causal = layer(x, is_causal=True)[1]
    assert causal[0, 0].tolist() == [1.0, 0.0, 0.0]


def test_linear_draws_as_ever():
    tutor.manual_seed(0)
    ours = nn.Linear(3, 2).weight.tolist()
    tutor.manual_seed(0)
    assert ours == Tensor.glorot_uniform(2, 3).tolist()
    tutor.manual_seed(0)
    conv = nn.Conv2d(3, 2, 2).weight.tolist()
    tutor.manual_seed(0)
    assert conv == Tensor.glorot_uniform(2, 3, 2, 2).tolist()


ROW, IMAGE = Tensor.ones(2, 3), Tensor.ones(1, 3, 4, 4)
MISTAKES = [
    (lambda: nn.Linear(2, 3)(ROW), ShapeError, "k is 3 in x and 2 in weight"),
    (lambda: nn.Linear(3, 3)(np.ones((2, 3))), DTypeError, "no Tensor"),
    (lambda: nn.Conv2d(2, 3, 3)(IMAGE), ShapeError, "channels must be equal"),
    (lambda: nn.Conv2d(2, 3, 3, groups=2), ShapeError, "multiples of groups"),
    (lambda: nn.Conv2d(3, 3, 3)(IMAGE.numpy()), DTypeError, "no Tensor"),
    (lambda: nn.ConvTranspose2d(2, 3, 3, output_padding=1), ShapeError, "below stride"),
    (lambda: nn.BatchNorm2d(2)(IMAGE), ShapeError, r"make it BatchNorm2d\(3\)"),
    (lambda: nn.BatchNorm2d(3)(ROW), ShapeError, r"\(N, C, H, W\)"),
    (lambda: nn.BatchNorm1d(3)(ROW[:1]), ShapeError, "larger batch"),
    (lambda: nn.BatchNorm1d(3)(ROW.numpy()), DTypeError, "no Tensor"),
    (lambda: nn.BatchNorm1d(3, momentum=2), DomainError, "0 to 1"),
    (lambda: nn.LayerNorm(4)(ROW), ShapeError, "normalized_shape"),
    (lambda: nn.LayerNorm(()), ShapeError, "no axis"),
    (lambda: nn.GroupNorm(2, 3), ShapeError, "multiple of num_groups"),
    (lambda: nn.GroupNorm(3, 6)(ROW), ShapeError, "3 channels"),
    (lambda: nn.InstanceNorm2d(3)(ROW), ShapeError, r"\(C, H, W\)"),
    (lambda: nn.InstanceNorm1d(3)(Tensor.ones(2, 3, 1)), ShapeError, "more places"),
    (lambda: nn.Dropout(1.5), DomainError, "0 to 1"),
    (lambda: nn.Dropout(-0.1), DomainError, "0 to 1"),
    (lambda: nn.Dropout2d(0.5)(ROW), ShapeError, "behind the channels"),
    (lambda: nn.Sequential([nn.ReLU()]), DTypeError, r"Sequential\(\*layers\)"),
    (lambda: nn.Embedding(3, 2)(Tensor([3])), OutOfRangeError, "0 to 2"),
    (lambda: nn.Embedding(3, 2)(Tensor([0.5])), DTypeError, "whole"),
    (lambda: nn.Embedding(3, 2, padding_idx=3), OutOfRangeError, "0 to 2"),
    (lambda: nn.MultiheadAttention(6, 4), ShapeError, "multiple of num_heads"),
    (lambda: nn.MultiheadAttention(4, 2)(ROW), ShapeError, "do not fit"),
    (lambda: nn.MultiheadAttention(3, 1)(ROW, attn_mask=Tensor([True])), ShapeError, "attn_mask"),
    (lambda: nn.MultiheadAttention(3, 1)(ROW.numpy()), DTypeError, "no Tensor"),
    (lambda: nn.TransformerBlock(6, 4), ShapeError, "multiple of num_heads"),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), DomainError, "gelu"),
    (lambda: nn.LSTM(4, 2)(ROW), ShapeError, r"LSTM\(4, 2\) of shape \(2, 3\)"),
    (lambda: nn.LSTM(3, 2)(ROW, ROW), ShapeError, "pair"),
    (lambda: nn.GRU(3, 2)(ROW, ROW), ShapeError, "with a state"),
    (lambda: nn.GRU(3, 2)(ROW[:0]), ShapeError, "no places"),
    (lambda: nn.RNN(3, 2, nonlinearity="gelu"), DomainError, "tanh"),
    (lambda: nn.RNN(3, 2, num_layers=10**9), ShapeError, "the most is"),
    (lambda: nn.GRUCell(4, 2)(ROW), ShapeError, "rows"),
    (lambda: nn.CrossEntropyLoss(reduction="average"), DomainError, "mean"),
    (lambda: nn.Upsample(scale_factor=2, mode="cubic"), DomainError, "bilinear"),
    (lambda: F.interpolate(IMAGE), ShapeError, "give size="),
    (lambda: F.interpolate(IMAGE, 2, align_corners=True), DomainError, "bilinear"),
    (lambda: F.interpolate(IMAGE, scale_factor=0.1), ShapeError, "larger factor"),
    (lambda: nn.PixelShuffle(2)(IMAGE), ShapeError, "multiple"),
    (lambda: nn.Unflatten(1, (2, 2))(ROW), ShapeError, "product"),
    (lambda: nn.MaxUnpool2d(2)(IMAGE, ROW), ShapeError, "axes"),
    (lambda: nn.Sequential(nn.Linear(1, 1)).load_state_dict({}), DataError, "0.weight"),
    (lambda: F.cosine_embedding_loss(ROW, ROW, [1, 1, 1]), ShapeError, "one target"),
    (lambda: F.gaussian_nll_loss(ROW, ROW, Tensor.ones(5)), ShapeError, "one variance"),
    (lambda: F.triplet_margin_loss(ROW, ROW, ROW[0]), ShapeError, "shapes differ"),
    (lambda: F.kl_div(ROW, ROW, reduction="batch"), DomainError, "mean"),
]


@pytest.mark.parametrize(("call", "error", "words"), MISTAKES)
def test_mistakes_are_explained(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert caught.value.asked and caught.value.found and caught.value.do
