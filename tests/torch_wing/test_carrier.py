"""The class that carries PyTorch's conventions: through ops, and not into tutor's own code."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import tutor
import tutor.torch as torch
from tutor.errors import TutorError

ROWS = [[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]


def test_results_have_the_class() -> None:
    x = torch.tensor(ROWS, requires_grad=True)
    results = [
        x + 1, 1 + x, -x, x @ x.T, x[0], x.T, x.max(1)[0], x.sum(), x > 2, x.clone(), x.detach(),
        x.to(torch.float64), *x.unbind(), *x.split(1), torch.cat([x, x]), x.data, *iter(x),
        torch.nn.functional.relu(x), torch.nn.Linear(3, 2)(x),
        *torch.nn.Linear(3, 2).parameters(),
    ]  # fmt: skip
    (x * x).sum().backward()
    assert all(isinstance(t, torch.Tensor) for t in (*results, x.grad))
    assert isinstance(x + tutor.Tensor(ROWS), torch.Tensor)
    assert isinstance(tutor.Tensor(ROWS) + x, torch.Tensor)


def test_a_tensor_of_tutor_keeps_its_conventions() -> None:
    program = (
        "import tutor; x = tutor.Tensor([[1.0, 3.0]]); before = (x.max(1), x.var(), x.size + 0);"
        "import tutor.torch; after = (x.max(1), x.var(), x.size + 0);"
        "assert [type(t) for t in before] == [type(t) for t in after];"
        "assert after[0].tolist() == [3.0] and after[1].item() == 1.0"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_tensor_prints_its_dtype_as_torch_does() -> None:
    assert "dtype=torch.float64" in repr(torch.ones(2).double())
    assert torch.float64 is tutor.float64 == torch.ones(2).double().dtype


def test_nothing_imports_the_wing() -> None:
    program = "import sys, tutor.nn, tutor.optim; assert 'tutor.torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


F = tutor.nn.functional
OWN = {  # functions of tutor's that call methods whose conventions differ
    "logsumexp": lambda x: tutor.logsumexp(x, 1),
    "corrcoef": tutor.corrcoef,
    "histc": lambda x: tutor.histc(x, 3),
    "mode": lambda x: tutor.mode(x)[0],
    "quantile": lambda x: tutor.quantile(x, 0.25, 1),
    "normalize": lambda x: F.normalize(x),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cross_entropy": lambda x: F.cross_entropy(x, tutor.Tensor([0, 2])),
    "multinomial": lambda x: tutor.multinomial(x * 0 + tutor.Tensor([0.0, 1.0, 0.0]), 1),
    "linalg.norm": lambda x: tutor.linalg.matrix_norm(x),
    "std_mean": lambda x: tutor.std_mean(x)[0],
}


@pytest.mark.parametrize("name", OWN)
def test_own_code_gets_numpys_conventions(name: str) -> None:
    """tutor's functions compute the same of a Tensor of either class."""
    plain, wing = tutor.Tensor(ROWS), torch.tensor(ROWS)
    assert OWN[name](wing).tolist() == OWN[name](plain).tolist()


def test_each_becomes_the_other_without_a_copy() -> None:
    plain = tutor.Tensor(ROWS)
    wing = torch.as_tensor(plain)
    assert wing.buf is plain.buf and type(wing) is torch.Tensor
    back = wing.as_subclass(tutor.Tensor)
    assert back.buf is plain.buf and type(back) is tutor.Tensor
    w = torch.ones(2, requires_grad=True)
    (w.as_subclass(tutor.Tensor) * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_copies_keep_the_class() -> None:
    x = torch.nn.Parameter(torch.ones(2))
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is type(x) and made.requires_grad and made.buf is not x.buf
    with pytest.raises(TutorError, match="detach"):
        copy.deepcopy(x * 2)


def test_names_of_both_are_those_of_pytorch() -> None:
    """No method that PyTorch has as well is inherited, unless it means the same."""
    theirs = pytest.importorskip("torch").Tensor
    same = {"dtype", "fill_", "is_leaf", "ndim", "zero_"}
    inherited = [
        name for name in dir(theirs)
        if not name.startswith("_") and hasattr(tutor.Tensor, name)
        and name not in vars(torch.Tensor)
    ]  # fmt: skip
    assert set(inherited) == same


def test_a_missing_name_says_what_to_write() -> None:
    x = torch.ones(2)
    for ask in (lambda: x.t_(), lambda: torch.fft, lambda: torch.nn.LPPool2d,
                lambda: torch.nn.functional.lp_pool2d, lambda: torch.optim.Rprop):  # fmt: skip
        with pytest.raises(AttributeError) as found:
            ask()
        assert isinstance(found.value, TutorError) and found.value.do
    assert not hasattr(torch, "fft") and not hasattr(x, "squeeze_")


def test_devices() -> None:
    assert torch.device("cpu") == "cpu" and torch.device("cpu").type == "cpu"
    assert str(torch.ones(1).device) == "cpu" and torch.ones(1).device == torch.device("cpu")
    with pytest.raises(TutorError, match="no device 'cuda'"):
        torch.device("cuda:1")
