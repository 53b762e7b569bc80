"""Errors are lessons in three parts: what was asked, what was found, what to do.

Every error tutor raises on a user's mistake is one of these types. Each also derives from the
built-in exception a Python programmer would expect (`ShapeError` is a `ValueError`), so existing
`except` clauses keep working.
"""

from __future__ import annotations

from collections.abc import Iterable


class TutorError(Exception):
    """Base of every error of this library: `TutorError(asked, found, do)`."""

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
    """A single number where axes are wanted: it has no length. Callers catch TypeError for that."""


class OutOfRangeError(TutorError, IndexError):
    """An element or index outside of what is there."""


class DTypeError(TutorError, TypeError):
    """A dtype, or a Python type, that the operation does not take."""


class ArgumentError(TutorError, TypeError):
    """Arguments that do not fit the function: an unknown keyword, too many, or one twice."""


class NumberRangeError(TutorError, OverflowError):
    """A number that the dtype cannot hold."""


class KernelNotFound(TutorError, LookupError):  # noqa: N818 - it reads as what it says
    """No backend kernel for this operation and dtype, or no such backend."""


class GraphError(TutorError, RuntimeError):
    """A backward pass that cannot be right: no graph, a freed graph, a value changed since."""


class MissingForwardError(TutorError, NotImplementedError):
    """A module without a `forward`: there is nothing that a call of it could compute."""


class RecordError(TutorError, RuntimeError):
    """Something in a jitted function that cannot be recorded: a replay would not do it."""


class ExportError(TutorError, ValueError):
    """Something in a model, or a file, that the ONNX format, or this library, has no word for."""


class AnomalyError(TutorError, ArithmeticError):
    """A nan or inf that an operation has made of finite numbers, where that is looked for."""


class DataError(TutorError, ValueError):
    """A data set or file that is missing, damaged or not what it claims to be."""


class DistError(TutorError, RuntimeError):
    """Ranks that have lost each other: one has ended, does not come, or calls something else."""


class MissingPackageError(TutorError, ImportError):
    """A package that only this call needs, and that is not installed."""


class OutOfMemoryError(TutorError, MemoryError):
    """More memory than there is, or than any address could name."""


class InterpreterError(TutorError, ImportError):
    """An interpreter in which tutor cannot be imported."""


class DomainError(TutorError, ValueError):
    """A value for which the operation has no result, or a setting it does not know."""


class DeviceError(DomainError, RuntimeError):
    """A device that is not there, refuses what is asked of it, or is lost; or operands on two."""


def unknown(what: str, name: str, names: Iterable[str], where: str) -> DomainError:
    """The error for a name that is not among `names`, with those that are spelled alike; `where`
    lists them all."""
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(str(name), list(names))
    found = f"near to it: {', '.join(near)}" if near else "there is none of that name"
    return DomainError(f"{what} {name!r}", found, f"see {where} for all of them")
