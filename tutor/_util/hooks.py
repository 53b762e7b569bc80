"""Hooks: the four places where the trunk calls code that it does not know.

    class OnOp(Hook):  # in the trunk: the questions, and the answers when nobody gives another
        made = staticmethod(lambda cls: None)

    on_op = OnOp()
    on_op.provide(made=doubted)  # in a module outside of it, when that is imported

docs/architecture.md lists them. Beside these, the trunk looks things up by name in tables that
others add to (ops, backends), and has native twins (twins.py), which change nothing but the speed.
"""

from __future__ import annotations

from typing import Any


class Hook:
    """The base of the four classes: each attribute is a question, its value the answer."""

    def provide(self, **answers: Any) -> None:
        """Give other answers, for the whole process. AttributeError if nothing asks for one."""
        for name, answer in answers.items():
            getattr(self, name)
            setattr(self, name, answer)
