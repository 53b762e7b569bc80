"""Errors are lessons in three parts: what was asked, what was found, what to do.

Every error that tutor raises for a user's mistake has one of these types. Each also derives from
the built-in exception that a Python programmer would expect (`ShapeError` is a `ValueError`), so
existing `except` clauses keep working.
"""

from __future__ import annotations

from collections.abc import Iterable


class TutorError(Exception):
    """Base class of all errors of this library: `TutorError(asked, found, do)`."""

    def __init__(self, asked: str, found: str = "", do: str = "") -> None:
        self.asked, self.found, self.do = asked, found, do
        super().__init__(asked, found, do)

    def __str__(self) -> str:
        parts = (("asked", self.asked), ("found", self.found), ("to do", self.do))
        return "\n".join(f"{label + ':':<7}{text}" for label, text in parts if text)


class ShapeError(TutorError, ValueError):
    """Shapes, strides or axes that do not fit together."""


class AxisError(ShapeError, IndexError):
    """An axis that the tensor does not have."""


class ScalarError(ShapeError, TypeError):
    """A single number where axes are needed: it has no length. Also caught as TypeError."""


class OutOfRangeError(TutorError, IndexError):
    """An element or index out of range."""


class DTypeError(TutorError, TypeError):
    """A dtype, or a Python type, that the operation does not accept."""


class ArgumentError(TutorError, TypeError):
    """Arguments that do not fit the function: an unknown keyword, too many, or a duplicate."""


class NumberRangeError(TutorError, OverflowError):
    """A number that the dtype cannot hold."""


class KernelNotFound(TutorError, LookupError):  # noqa: N818 - it reads as what it says
    """No backend kernel for this operation and dtype, or no such backend."""


class GraphError(TutorError, RuntimeError):
    """A backward pass that would be wrong: no graph, a freed graph, or a value changed since."""


class MissingForwardError(TutorError, NotImplementedError):
    """A module without a `forward`: a call has nothing to compute."""


class RecordError(TutorError, RuntimeError):
    """Something in a jitted function that cannot be recorded: a replay would not repeat it."""


class ExportError(TutorError, ValueError):
    """Something in a model or file that the ONNX format or this library cannot express."""


class AnomalyError(TutorError, ArithmeticError):
    """A nan or inf that an operation made from finite numbers, found by anomaly detection."""


class DataError(TutorError, ValueError):
    """A data set or file that is missing, damaged or of another kind than it claims."""


class DistError(TutorError, RuntimeError):
    """Ranks that have lost each other: one has ended, does not arrive, or makes another call."""


class MissingPackageError(TutorError, ImportError):
    """A package that is not installed, and that only this call needs."""


class OutOfMemoryError(TutorError, MemoryError):
    """More memory than is available, or than an address can express."""


class InterpreterError(TutorError, ImportError):
    """An interpreter in which tutor cannot be imported."""


class DomainError(TutorError, ValueError):
    """A value for which the operation has no result, or a setting it does not know."""


class DeviceError(DomainError, RuntimeError):
    """A device that is missing, refuses a request, or is lost; or operands on two devices."""


def unknown(what: str, name: str, names: Iterable[str], where: str) -> DomainError:
    """The error for a name that is not among `names`, with similar spellings; `where` lists all of
    them."""
    import difflib  # only needed for mistakes

    near = difflib.get_close_matches(str(name), list(names))
    found = f"near to it: {', '.join(near)}" if near else "there is none of that name"
    return DomainError(f"{what} {name!r}", found, f"see {where} for all of them")
