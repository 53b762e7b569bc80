"""What can be done with a Tensor by name: the methods of most floors of tutor/methods."""

from tutor.methods.tensor import Tensor

OTHERS = ("create", "interop", "operators", "tensor")  # to make one; as Python and others see it
FLOORS = [
    floor
    for floor in Tensor.__mro__
    if floor.__module__.startswith("tutor.methods.")
    and floor.__module__.removeprefix("tutor.methods.") not in OTHERS
]
METHODS = {name for floor in FLOORS for name in vars(floor) if not name.startswith("_")}
