"""Hooks: the four places where the trunk calls code that it does not know.

    class OnOp(Hook):                       # in the trunk: the questions, and the answers when
        made = staticmethod(lambda cls: None)   # nothing else gives any

    on_op.provide(made=compared)            # outside of it: another answer, when it is imported

docs/architecture.md lists them. Beside these, the trunk looks things up by name in tables that
others add to (ops, backends), and has native twins (twins.py), which change nothing but the speed.
"""

from __future__ import annotations

from typing import Any


class Hook:
    """The base of the four classes: each attribute is a question, its value the answer."""

    def provide(self, **answers: Any) -> None:
        """Give other answers to these questions, for the whole process."""
        assert all(hasattr(self, name) for name in answers), answers
        vars(self).update(answers)
