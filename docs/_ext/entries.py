"""The directive `entry` of the pages in docs/reference/, and what they must be: reference.py."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import members
import op_figures
import reference
from docstrings import inline, rest
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import stringify_signature

import tutor
from tutor import viz
from tutor.core.op import OPS

LOG = logging.getLogger(__name__)
TOLD = reference.told()


def kind(name: str) -> str:
    """What Sphinx calls it."""
    found = reference.resolve(name)
    if isinstance(found, type):
        return "exception" if issubclass(found, BaseException) else "class"
    if not members.is_method(reference.holder(name)):
        return "function" if callable(found) and not isinstance(found, tutor.dtype.DType) \
            else "data"  # fmt: skip
    if isinstance(found, classmethod):
        return "classmethod"
    if isinstance(found, staticmethod):
        return "staticmethod"
    return "method" if callable(found) else "property"


def signature(name: str) -> str:
    """`(self, axis=None)` without self, without types: the docstring says those in words."""
    found = reference.resolve(name)
    found = getattr(found, "__func__", found)
    if not callable(found) or isinstance(found, (tutor.dtype.DType, tutor.Engine)):
        return ""
    try:
        given = inspect.signature(found)
    except (TypeError, ValueError):
        return "()"
    if members.is_method(reference.holder(name)) and kind(name) != "staticmethod":
        given = given.replace(parameters=list(given.parameters.values())[1:])
    text = stringify_signature(given, show_annotation=False, show_return_annotation=False)
    text = re.sub(r"<function (?:\w+\.)*(\w+) at 0x\w+>", r"\1", text)
    return re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", text).replace("tutor.float", "float")


def module_of(name: str) -> str:
    """The module that a name is said to be in: tutor.nn of `nn.relu`, and of `nn.Module.to`."""
    room = name.rpartition(".")[0]
    if members.is_method(reference.holder(name)):
        room = room.rpartition(".")[0]
    return f"tutor.{room}".removesuffix(".")


def methods(name: str) -> str:
    """A line with links to the methods of a class, which stand below it."""
    if issubclass(reference.resolve(name), tutor.Tensor):  # all of its page
        return ""
    below = [full for full in TOLD if full.rpartition(".")[0] == f"tutor.{name}"]
    links = [f":py:obj:`{full.rpartition('.')[2]} <{full}>`" for full in below]
    return f"Methods: {', '.join(links)}." if links else ""


def docstrings(names: tuple[str, ...]) -> list[str]:
    """What each of the names says, each text once; from the second on with the name before it."""
    said: dict[str, str] = {}
    for name in names:
        found = reference.resolve(name)
        if callable(reference.unwrapped(found)) or isinstance(found, property):
            said.setdefault(rest(inspect.getdoc(found) or ""), name)
    return [
        text if name == names[0] else f"``{name.rpartition('.')[2]}``: {text}"
        for text, name in said.items()
    ]


def written(one: reference.Entry) -> str:
    """An entry as reStructuredText."""
    first = one.names[0]
    room, _, last = first.rpartition(".")
    module = module_of(first)
    local = [f"tutor.{name}".removeprefix(f"{module}.") for name in one.names]
    heads = [f"{short}{signature(name)}" for short, name in zip(local, one.names, strict=True)]
    found = reference.resolve(first)
    head = f".. py:{kind(first)}:: "
    blocks = [f":module: {module}\n", *docstrings(one.names)]
    said = [f"``{name}``" for method in one.names for name in reference.also(method)]
    if said:
        blocks.append(f"Also as {', '.join(said)}.")
    if one.shape:
        blocks.append(f"**Shape:** {inline(one.shape)}.")
    if one.raises:
        blocks.append(f"**Raises:** {inline(one.raises)}.")
    blocks.append(one.example)
    if room == "Tensor" and inspect.isfunction(code := reference.unwrapped(found)):
        where = f"{code.__module__}.{code.__qualname__}"
        blocks.append(f"Defined in :py:obj:`{code.__module__} <{where}>`.")
    if room == "Tensor" and last in OPS:
        blocks.append(
            f"Kernel, derivative and exactness: :ref:`{last} in the list of ops <op-{last}>`."
        )
    if isinstance(found, type) and (line := methods(first)):
        blocks.append(line)
    body = textwrap.indent("\n\n".join(blocks), "   ")
    return head + f"\n{' ' * len(head)}".join(heads) + "\n" + body


class EntryDirective(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        file = reference.FOLDER / self.env.doc2path(self.env.docname)
        body = "\n".join(self.content)
        return self.told(reference.entry(self.arguments[0], body, file, self.lineno), file)

    def told(self, one: reference.Entry, file: Path) -> list[nodes.Node]:
        what = reference.unwrapped(reference.resolve(one.names[0]))
        if inspect.isfunction(what) or inspect.isclass(what):
            self.env.note_dependency(str(inspect.getsourcefile(what)))  # its docstring may change
        fence = "`" * 12
        text = f"{fence}{{eval-rst}}\n{written(one)}\n{fence}"
        found = nodes.Element()
        self.state.nested_parse(StringList(text.split("\n"), str(file)), self.content_offset, found)
        if "<Picture" in one.example:
            wrong, picture = reference.run(one)
            if wrong or not isinstance(picture, viz.Picture):
                LOG.warning(
                    "%s: no picture: %s", ", ".join(one.names), wrong, location=self.get_location()
                )
            else:
                drawn = f'<div class="picture">{picture._repr_html_()}</div>'
                found += nodes.raw("", drawn, format="html")
        for name in one.names:
            figure = op_figures.method_figure(name.removeprefix("Tensor."))
            if figure is not None and name.startswith("Tensor."):
                drawn = f'<div class="picture">{figure._repr_html_()}</div>'
                found += nodes.raw("", drawn, format="html")
        return found.children


class OpEntriesDirective(EntryDirective):
    """The methods whose example is in the docstring of their op."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        file = reference.FOLDER / self.env.doc2path(self.env.docname)
        told = (self.told(one, file) for one in reference.of_ops(file, self.lineno))
        return [node for several in told for node in several]


def on_build(app: Sphinx) -> None:
    """A public name without an entry is an error of the build, as a broken link is."""
    for line in reference.missing():
        LOG.warning("%s", line)


def on_member(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """The page of a module leaves out what has an entry: a name is told of in one place."""
    module = app.env.docname.removeprefix("api/")
    return True if what == "module" and f"{module}.{name}" in TOLD else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("entry", EntryDirective)
    app.add_directive("op-entries", OpEntriesDirective)
    app.connect("builder-inited", on_build)
    app.connect("autodoc-skip-member", on_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
