"""Models as text, and as a table."""

from __future__ import annotations

from tutor import Tensor, nn


class Net:
    """No base class is needed."""

    def __init__(self):
        self.first = nn.Linear(2, 16)
        self.shared = self.first
        self.extra = [Tensor([1.0], requires_grad=True), Tensor([2.0, 3.0])]
        self.scale = Tensor(1.0, requires_grad=True)
        self.sizes, self.name = {"a": 3}, "<net>"


def test_a_model_as_text():
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), Tensor.tanh, nn.Linear(16, 1000))
    assert repr(model) == str(model)
    assert str(model).splitlines() == [
        "Sequential: 17,048 parameters",
        "  0  Linear  weight (16, 2), bias (16)           48",
        "  1  ReLU",
        "  2  tanh",
        "  3  Linear  weight (1000, 16), bias (1000)  17,000",
    ]


def test_single_layers():
    assert repr(nn.Linear(2, 3)) == "Linear: 9 parameters  weight (3, 2), bias (3)"
    assert repr(nn.Linear(1, 1, bias=False)) == "Linear: 1 parameter  weight (1, 1)"
    assert repr(nn.ReLU()) == "ReLU: 0 parameters"


def test_any_object_is_a_model():
    assert repr(nn.Summary(Net())).splitlines() == [
        "Net: 50 parameters",
        "         Net     scale ()                    1",
        "  first  Linear  weight (16, 2), bias (16)  48",
        "  extra  list    0 (1), 1 (2) fixed          1",
    ]


def test_the_counts_are_those_of_the_parameters():
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.Sequential(nn.Flatten(), nn.Linear(8, 3)), nn.ReLU()
    )
    summary = nn.Summary(model)
    assert summary.count == sum(p.numel() for p in nn.get_parameters(model))
    assert [layer.path for layer in summary.layers] == [
        "0", "1.0", "1.1", "2",
    ]  # fmt: skip


def test_a_model_as_a_table():
    html = nn.Sequential(nn.Linear(2, 16), nn.ReLU())._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 3
    assert "<td>weight (16, 2), bias (16)</td><td>48</td>" in html
    strange = type("<b>", (nn.Module,), {})()
    assert "<b>" not in strange._repr_html_() and "&lt;b&gt;" in strange._repr_html_()
