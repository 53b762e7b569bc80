"""torch.func: functions of functions. vmap calls the function once for each row."""

from __future__ import annotations

from typing import Any

from tutor.errors import ArgumentError
from tutor.ops.movement import stack
from tutor.torch import autograd
from tutor.torch.carrier import Plain, tag, watch
from tutor.torch.shapes import key_at

jacrev = jacfwd = lambda func, argnums=0: _of_one(autograd.functional.jacobian, func, argnums)


def _of_one(derivative: Any, func: Any, argnums: int) -> Any:
    """The derivative with respect to one argument."""

    def run(*args: Any) -> Any:
        def inner(x: Any) -> Any:
            return func(*args[:argnums], x, *args[argnums + 1 :])

        return derivative(inner, args[argnums], create_graph=args[argnums].requires_grad)

    return run


def hessian(func, argnums=0):
    """All second derivatives of a function of one number of results."""
    return _of_one(autograd.functional.hessian, func, argnums)


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient and the value, for tensors or dicts of tensors."""

    def run(*args: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        given = list(args)
        parts = [items(args[i]) for i in places]
        leaves = [[autograd.leaf(x, x.requires_grad) for x in part.values()] for part in parts]
        for i, part, row in zip(places, parts, leaves, strict=True):
            given[i] = like(args[i], dict(zip(part, row, strict=True)))
        found = func(*given)
        value, aux = found if has_aux else (found, None)
        row = [x for each in leaves for x in each]
        further = any(x.requires_grad for part in parts for x in part.values())
        slopes = iter(autograd.grad(value, row, create_graph=further, materialize_grads=True))
        made = tuple(
            like(args[i], {key: next(slopes) for key in part})
            for i, part in zip(places, parts, strict=True)
        )
        result = made[0] if isinstance(argnums, int) else made
        value = value if further else tag(Plain.detach(value))
        return (result, (value, aux)) if has_aux else (result, value)

    return run


def items(x: Any) -> dict[Any, Any]:
    """The tensors of a dict, or the one that x is."""
    return x if isinstance(x, dict) else {None: x}


def like(x: Any, found: dict[Any, Any]) -> Any:
    """A dict for a dict, else its only value."""
    return found if isinstance(x, dict) else found[None]


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of a function's number."""

    def run(*args: Any) -> Any:
        slopes, value = grad_and_value(func, argnums, has_aux)(*args)
        return (slopes, value[1]) if has_aux else slopes

    return run


def functional_call(
    module, parameter_and_buffer_dicts, args, kwargs=None, *, tie_weights=True, strict=False
):
    """`module(*args)` with other tensors in the place of its own, by name."""
    given = parameter_and_buffer_dicts
    state = given if isinstance(given, dict) else {k: v for d in given for k, v in d.items()}
    places = []
    try:
        for name, t in state.items():
            path, _, last = name.rpartition(".")
            owner = vars(module.get_submodule(path))
            places.append((owner, last, owner[last]))
            owner[last] = t
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for owner, last, t in reversed(places):
            owner[last] = t


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """func over the rows of its arguments, one after another; its results stacked."""

    def run(*args: Any) -> Any:
        dims = (in_dims,) * len(args) if in_dims is None or isinstance(in_dims, int) else in_dims
        flat = [(x, d) for x, d in zip(args, dims, strict=True) if d is not None]
        if not all(isinstance(x, Plain) and isinstance(d, int) for x, d in flat) or not flat:
            raise ArgumentError("vmap", "an argument is no tensor, or no int says its axis",
                                "give tensors, and an int or None in in_dims for each")  # fmt: skip
        (count,) = {x.shape[d] for x, d in flat}

        def row(i: int) -> list[Any]:
            pairs = zip(args, dims, strict=True)
            return [x if d is None else tag(key_at(x, d, i)) for x, d in pairs]

        return joined([func(*row(i)) for i in range(count)], out_dims)

    return run


def joined(rows: list[Any], dim: Any) -> Any:
    """The results of each row as one: a tensor, or a tuple or dict of tensors."""
    if isinstance(rows[0], tuple):
        dims = dim if isinstance(dim, tuple) else (dim,) * len(rows[0])
        return tuple(joined(list(r), d) for r, d in zip(zip(*rows, strict=True), dims, strict=True))
    if isinstance(rows[0], dict):
        return {key: joined([row[key] for row in rows], dim) for key in rows[0]}
    return tag(stack(rows, dim))


watch(__name__)
