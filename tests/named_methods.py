"""What can be done with a Tensor by name: its methods, without those that make one, that say how
Python and other libraries see it, or that are about its gradient."""

import inspect

from tutor.methods.operators import Operators
from tutor.methods.tensor import Tensor

OTHERS = {"backward", "device", "like", "register_hook", "retain_grad"}


def module(found: object) -> str:
    """`reductions`, where a method is written."""
    function = getattr(found, "__func__", getattr(found, "fget", found))
    return str(inspect.unwrap(function).__module__).rpartition(".")[2]


NAMED = {
    name: module(found)
    for floor in (Operators, Tensor)
    for name, found in vars(floor).items()
    if not name.startswith("_") and name not in OTHERS
}
METHODS = {name for name, where in NAMED.items() if where not in ("create", "interop")}
IN_PLACE = {"data"} | {
    name for name, where in NAMED.items()
    if where == "inplace" or (name.endswith("_") and name[:-1] in NAMED)  # x.exp_() is of x.exp()
}  # fmt: skip
