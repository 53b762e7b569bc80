"""The class Tensor: few classes to look through, and each method found under its own name."""

import inspect
import pickle
import pydoc
import sys

import pytest

from tutor import Tensor
from tutor.methods.operators import Operators

OWN = {
    name: getattr(found, "__func__", found)
    for floor in (Operators, Tensor)
    for name, found in vars(floor).items()
    if inspect.isfunction(getattr(found, "__func__", found)) and name not in ("__hash__",)
}


def test_it_has_few_classes_above_it() -> None:
    assert len(Tensor.__mro__) <= 5


@pytest.mark.parametrize("name", OWN)
def test_a_method_is_found_where_it_says_it_is(name: str) -> None:
    method = OWN[name]
    place, found = method.__qualname__.split("."), sys.modules[method.__module__]
    for part in place:
        found = getattr(found, part)
    assert getattr(found, "__func__", found) is method
    assert place[-1] == method.__name__
    assert next(iter(inspect.signature(method).parameters)) in ("self", "cls")
    if not name.startswith("_"):
        assert method.__doc__
        assert pickle.loads(pickle.dumps(getattr(Tensor, name))) == getattr(Tensor, name)


def test_help_names_every_method_with_its_parameters() -> None:
    text = pydoc.plain(pydoc.render_doc(Tensor))
    assert not [name for name in OWN if name not in text and not name.startswith("_l")]
    assert "sum(self, axis: 'Axes | None' = None, keepdims: 'bool' = False" in text
    assert "The natural logarithm." in text and "<lambda>" not in text
