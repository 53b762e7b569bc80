"""All methods of torch.Tensor, put into its class: from the tables here and in the modules beside.

A name that both tutor.Tensor and PyTorch have is in one of these tables; the tests compare the two
lists of names, so none keeps NumPy's convention by accident.
"""

from __future__ import annotations

import functools
from typing import Any

from tutor._storage.array_like import is_number
from tutor.torch import arithmetic, making, objects, positions, random, reductions, shapes, table
from tutor.torch.carrier import Parameter, Plain, Tensor, inside, promoted, tag
from tutor.torch.signatures import adapted, changed, formula, spoken

FUNCTIONS: dict[str, Any] = {}  # by PyTorch's name: those that are also functions of `torch`

OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _operator(name: str) -> Any:
    """`x + y`, cast to the common dtype; Python tries y's own operator if y holds no numbers."""
    plain = getattr(Plain, name)

    def operator(self: Any, other: Any) -> Any:
        if inside():
            return plain(self, other)
        if not (isinstance(other, Plain) or is_number(other)):
            if hasattr(other, "__array__") and not isinstance(other, (list, tuple)):
                other = Plain(other)
            else:
                return NotImplemented
        x, y = promoted(self, other)
        return tag(plain(x, y))

    operator.__name__ = name
    return operator


def _subtraction(name: str) -> Any:
    """`x - y`, which PyTorch refuses for bools."""
    plain = _operator(name)

    def operator(self: Any, other: Any) -> Any:
        if not inside() and (isinstance(other, Plain) or is_number(other)):
            arithmetic.check_no_bools(self, other)
        return plain(self, other)

    return operator


def _augmented(sign: str, name: str) -> Any:
    """`x += y`: tutor's own where the dtypes agree."""
    plain, other_way = getattr(Plain, f"__i{sign}__"), changed(name, FUNCTIONS[name])

    def operator(self: Any, other: Any) -> Any:
        if inside():
            return plain(self, other)
        same = isinstance(other, Plain) and other.dtype is self.dtype
        if same or (is_number(other) and self.dtype.is_float):
            return plain(self, other)
        return other_way(self, other)

    return operator


def _put(name: str, method: Any) -> None:
    setattr(Tensor, name, method)


def _add_tables() -> None:
    for ours, names in (table.UNARY | table.BINARY).items():
        text = "input, other" if ours in table.BINARY else "input"
        text = "input, exponent" if ours == "pow" else text
        for name in names.split():
            FUNCTIONS[name] = adapted(name, text, getattr(Plain, ours), ours in table.BINARY)
    for name in table.LOGICAL:
        FUNCTIONS[name] = adapted(name, "input, other", getattr(Plain, name))
    for name, text, promotes in table.rows(table.SIGNATURES):
        FUNCTIONS[name] = adapted(name, text, getattr(Plain, name), promotes)
    for module in (reductions, shapes, positions, arithmetic):
        for row, compute in module.FORMULAS.items():
            name = row.partition("(")[0]
            FUNCTIONS[name] = formula(row, compute, getattr(Plain, name, None))
    for alias, name in arithmetic.ALSO.items():
        FUNCTIONS[alias] = FUNCTIONS[name]


def _add_methods() -> None:
    for name, function in FUNCTIONS.items():
        _put(name, function)
    for name, text, _ in table.rows(table.METHODS):
        _put(name, adapted(name, text, getattr(Plain, name)))
    for row, compute in (shapes.ONLY_METHODS | positions.ONLY_METHODS | objects.METHODS).items():
        name = row.partition("(")[0]
        _put(name, formula(row, compute, getattr(Plain, name, None)))
    _put("to", spoken(objects.to, Plain.to))
    _put("backward", spoken(objects.backward, Plain.backward))
    _put("as_subclass", objects.as_subclass)
    for row, compute in random.METHODS.items():
        _put(row.partition("(")[0], formula(row, compute))
    for row, compute in making.METHODS.items():
        _put(row.partition("(")[0], making.maker(row, compute))
    for name, found in objects.PROPERTIES.items():
        _put(name, found)
    _put("size", property(_size))
    for name in table.INHERITED.split():
        _put(name, _tagged(getattr(Plain, name)))
    for name in table.CHANGES.split():
        if f"{name}_" not in vars(Tensor):
            _put(f"{name}_", changed(name, FUNCTIONS[name]))


def _size(self: Any) -> Any:
    """`x.size()`; tutor's own code reads the number of elements."""
    if inside():
        return Plain.size.fget(self)
    return functools.partial(shapes.size, self)


def _tagged(method: Any) -> Any:
    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        return tag(method(*args, **options))

    return call


def _add_operators() -> None:
    for sign in OPERATORS:
        make = _subtraction if sign == "sub" else _operator
        _put(f"__{sign}__", make(f"__{sign}__"))
        _put(f"__r{sign}__", make(f"__r{sign}__"))
    for sign in COMPARISONS:
        _put(f"__{sign}__", _operator(f"__{sign}__"))
    for sign, name in OPERATORS.items():
        if hasattr(Plain, f"__i{sign}__") and name in FUNCTIONS:
            _put(f"__i{sign}__", _augmented(sign, name))
    for name in ("__neg__", "__abs__", "__invert__", "__pos__"):
        _put(name, _tagged(getattr(Plain, name)))
    _put("__hash__", Plain.__hash__)
    _put("__getitem__", spoken(positions.getitem, Plain.__getitem__))
    _put("__setitem__", positions.setitem)
    _put("__iter__", lambda self: iter(tag(list(Plain.__iter__(self)))))
    _put("__repr__", objects.text)
    _put("__deepcopy__", objects.deepcopy)


_add_tables()
_add_methods()
_add_operators()
__all__ = ["FUNCTIONS", "Parameter", "Tensor"]
