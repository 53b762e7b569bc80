"""What PyTorch's users write gives PyTorch's answer, or an error that says what to write."""

from __future__ import annotations

import pytest
from idiom_rows import ROWS
from idioms import run, same

from tutor.errors import TutorError

# Rows that give something else on purpose, and the page that says so.
OTHERS = {
    "torch.linalg.solve(torch.eye(2).expand(2, 2, 2) * 2, x[:2])": "array API: B is a matrix",
    "m = nn.LayerNorm(2); m(x.double())": "norms promote, as arithmetic does",
    "m = nn.BatchNorm1d(2); m(x.double())": "norms promote, as arithmetic does",
    "x.copy_(torch.ones(1, 4, 2))": "NumPy's rule: axes of size 1 in front go",
    "torch.ones(2).long() * torch.ones(2)": "docs/dtypes.md: int64 with float32 is float64",
}
# Rows that PyTorch runs and tutor refuses, with the words that help.
REFUSED = {
    'm = net(); s = m.state_dict(); s["0.bias"].fill_(7.0); m[0].bias': "no_grad",
    'm = nn.ModuleDict([("a", lin(2, 2))]); list(m.keys())': "dict of layers",
    "m = lin(2, 1); o = optim.SGD([m.weight, m.weight], lr=0.1)": "once",
    'm = net(); m.get_parameter("2.weight").shape': "dict(model.named_parameters())",
    "m = net(); m.pop(0); len(m)": "del model[i]",
    'm = nn.ModuleDict({"a": lin(2, 2)}); m.pop("a"); len(m)': "del model[name]",
    'm = nn.ModuleDict({"a": lin(2, 2)}); m.clear(); len(m)': "nn.ModuleDict()",
    'm = nn.ParameterDict({"a": torch.ones(2)}); m["a"].requires_grad': "dict of nn.Parameter",
    "m = lin(2, 1); o = optim.Adamax(m.parameters()); train(m, o); m.weight": "Adam",
    "rates(lambda o: S.MultiplicativeLR(o, lambda t: 0.9))": "LambdaLR",
    "rates(lambda o: S.CyclicLR(o, 0.1, 1.0, 3))": "LambdaLR",
    "F.unfold(torch.ones(1, 1, 3, 3), 2)": "x.unfold",
    "F.unfold(torch.ones(0, 1, 3, 3), 2)": "x.unfold",
    "torch.equal(x, x)": "all()",
    "torch.numel(x)": "x.numel()",
    "torch.is_tensor(x)": "isinstance",
    "torch.linalg.solve(torch.ones(0, 2, 2), torch.ones(0, 2)).shape": "x[:, None]",
    "rates(lambda o: S.OneCycleLR(o, 1.0, 10))": "momentum",
    "rates(lambda o: S.OneCycleLR(o, 1.0, 10), 2)": "momentum",
    "rates(lambda o: S.OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=5))": "total_steps",
    "F.cross_entropy(x, torch.tensor([0, 1, -100, 1]))": "ignore_index",
    "F.cross_entropy(x, torch.tensor([-100, -100, -100, -100]))": "ignore_index",
    "F.nll_loss(F.log_softmax(x, dim=1), torch.tensor([0, 1, -100, 1]))": "ignore_index",
    "x.std(unbiased=False)": "correction",
    "x.var(unbiased=False)": "correction",
    "x.sub(1, alpha=2)": "alpha",
    "x.add(x, alpha=2)": "alpha",
}
# Rows that end with Python's own AttributeError: a Tensor does not explain its missing names yet.
PLAIN = {"x.new_zeros(2)", "x.unbind(0)[0]"}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_pytorchs(row: str) -> None:
    theirs, ours = run(row, True), run(row, False)
    if row in OTHERS:
        assert not isinstance(ours, Exception) and not same(theirs, ours)
    elif isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"PyTorch refuses it: {theirs}"
    elif row in PLAIN:
        assert type(ours) is AttributeError
    elif isinstance(ours, Exception):
        assert isinstance(ours, TutorError), f"{ours!r} does not help"
        assert row in REFUSED and REFUSED[row] in str(ours), ours
    else:
        assert row not in REFUSED and same(theirs, ours), f"PyTorch: {theirs}, tutor: {ours}"


def test_the_tables_name_rows() -> None:
    assert {*OTHERS, *REFUSED, *PLAIN} <= {*ROWS} and len({*ROWS}) == len(ROWS)
