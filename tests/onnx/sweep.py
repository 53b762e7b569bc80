"""All that the standard tries, and more: loaded here, run, and compared.

    python tests/onnx/sweep.py            all of it, for minutes; writes the tables of docs/onnx.md
    python tests/onnx/sweep.py Conv Pad   the cases of these operators, one line each

The cases are the ones that the package onnx brings for whoever implements the standard, in its code
and as files, and each of them with one attribute changed: every attribute that the schema of the
operator has is given every value below. What is wanted is what the case says, and onnxruntime.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx.backend.test import loader
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

import tutor
from tutor.errors import TutorError
from tutor.onnx.given import as_tensor
from tutor.onnx.graph import Graph
from tutor.onnx.nodes import FUNCTIONS
from tutor.onnx.trace import tensors_in

onnxruntime.set_default_logger_severity(4)
INTS = (0, 1, -1, 2, 3, 7)
TEXTS = {
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "mode": ("constant", "reflect", "edge", "wrap"),
    "direction": ("forward", "reverse", "bidirectional"),
    "approximate": ("none", "tanh"),
    "reduction": ("none", "add", "mul", "max", "min"),
    "round_mode": ("up", "down", "nearest"),
    "equation": ("...ii->...i", "ij->ji", "bij,bjk->bik"),
}
LISTS = {"activations": (["Relu"], ["Sigmoid", "Relu", "Tanh"], ["Relu", "Tanh"], ["Affine"])}


class Case(NamedTuple):
    """`wanted`: None where only onnxruntime knows."""

    name: str
    model: Any
    inputs: list[Any]
    wanted: list[Any] | None
    rtol: float = 1e-3
    atol: float = 1e-6


# ---- the cases -----------------------------------------------------------------------------------


@functools.cache
def given() -> tuple[Case, ...]:
    """Those of the package onnx, whose numbers are drawn with a fixed seed."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        for inputs, outputs in case.data_sets:
            inputs, outputs = [*map(numbers, inputs)], [*map(numbers, outputs)]
            atol = max(case.atol, 1e-6)
            found.append(Case(case.name, case.model, inputs, outputs, case.rtol, atol))
    for kind in ("pytorch-operator", "pytorch-converted", "simple"):
        for case in loader.load_model_tests(kind=kind):
            model = onnx.load(str(Path(case.model_dir) / "model.onnx"))
            for data in sorted(Path(case.model_dir).glob("test_data_set_*")):
                inputs = arrays_of(data, "input", model.graph.input)
                outputs = arrays_of(data, "output", model.graph.output)
                found.append(Case(f"{kind}: {case.name}", model, inputs, outputs))
    return tuple(found)


def numbers(x: Any) -> Any:
    """What a case gives: an array, or, of a dtype that NumPy has not, a message of numbers."""
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def arrays_of(folder: Path, side: str, infos: Any) -> list[Any]:
    """The files of numbers in a folder; None for what is no single Tensor."""
    found: list[Any] = []
    for i, info in zip(range(len(list(folder.glob(f"{side}_*.pb")))), infos, strict=False):
        proto = onnx.TensorProto()
        if info.type.WhichOneof("value") == "tensor_type":
            proto.ParseFromString((folder / f"{side}_{i}.pb").read_bytes())
        found.append(numbers(proto) if proto.data_type else None)
    return found


def changed(case: Case) -> Iterator[Case]:
    """The case with one attribute set to each value that it might have."""
    nodes = [n for n in case.model.graph.node if n.op_type in FUNCTIONS]
    if len(case.model.graph.node) != 1 or not nodes:
        return
    version = next(o.version for o in case.model.opset_import if o.domain == "")
    schema = onnx.defs.get_schema(nodes[0].op_type, version, "")
    for name, attribute in schema.attributes.items():
        old = {a.name: onnx.helper.get_attribute_value(a) for a in nodes[0].attribute}.get(name)
        for value in values(name, attribute, old, case):
            if value == (old.decode() if isinstance(old, bytes) else old):
                continue
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            node = model.graph.node[0]
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
            for output in model.graph.output:  # its shape may be another one
                for size in output.type.tensor_type.shape.dim:
                    size.Clear()
            inputs = case.inputs
            if name == "to":
                inputs = [small(x) for x in inputs]
            yield Case(f"{case.name}, {name}={value}", model, inputs, None)


def small(x: Any) -> Any:
    """Floats that every integer dtype has room for: else the standard leaves open what comes."""
    if x.dtype.kind not in "fV":
        return x
    return np.clip(np.nan_to_num(x.astype("f8")), 0, 100).astype(x.dtype)


def values(name: str, attribute: Any, old: Any, case: Case) -> list[Any]:
    """What to try for an attribute."""
    kind = attribute.type.name
    if name == "to":
        return list(range(1, 17))
    if kind == "INT":
        return list(INTS)
    if kind == "FLOAT":
        return [0.0, 0.3, 1.7]
    if kind == "STRING":
        return list(TEXTS.get(name, ()))
    if kind == "STRINGS":
        return list(LISTS.get(name, ()))
    if kind == "FLOATS":
        return [[0.3] * n for n in (1, 2, 3)]
    if kind == "INTS":
        shape = np.shape(case.inputs[0]) if case.inputs else ()
        count = len(old) if old else max(len(shape) - 2, 1) * (1 + (name == "pads"))
        return [[n] * count for n in (0, 1, 2)] + [[*range(1, count + 1)], [*range(count)][::-1]]
    return []


# ---- what becomes of them ------------------------------------------------------------------------


def theirs(case: Case) -> list[Any] | None:
    """What onnxruntime makes of it, or else the standard's own reference; None if neither does."""
    names = [i.name for i in case.model.graph.input]
    feed = dict(zip(names, case.inputs, strict=False))
    try:
        session = onnxruntime.InferenceSession(
            case.model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return session.run(None, feed)
    except Exception:
        if case.wanted is not None:
            return None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(case.model).run(None, feed)
    except Exception:
        return None


def ours(case: Case, path: Path) -> list[Any] | str:
    """What we make of it, or why we do not; an error of another library begins with BARE."""
    path.write_bytes(case.model.SerializeToString())
    try:
        model = tutor.onnx.load(path)
        dtypes = [np.asarray(x).dtype.name for x in case.inputs]
        if not all(hasattr(tutor, name) for name in dtypes):
            return f"no Tensor has the dtype {', '.join(dtypes)}"
        results = model(*[as_tensor(np.asarray(x)) for x in case.inputs])
    except TutorError as error:
        three = error.asked and error.found and error.do
        return f"{type(error).__name__}: {error.found}" if three else f"BARE: {error!r}"
    except Exception as error:
        return f"BARE: {type(error).__name__}: {error}"
    return [
        onnx.numpy_helper.to_array(Graph(onnx, "", 0).proto("", t)) for t in tensors_in(results)
    ]


def alike(found: list[Any], wanted: list[Any], case: Case) -> bool:
    return len(found) == len(wanted) and all(
        a.shape == np.shape(b) and a.dtype == np.asarray(b).dtype
        and np.allclose(a.astype("f8"), np.asarray(b).astype("f8"), rtol(a, case), case.atol, True)
        for a, b in zip(found, wanted, strict=True)
    )  # fmt: skip


def rtol(a: Any, case: Case) -> float:
    return 0.02 if a.dtype.name == "bfloat16" else case.rtol


def outcome(case: Case, path: Path) -> tuple[str, str]:
    """equal, refused, wrong, or unknown (nobody else computes it); and why."""
    found = ours(case, path)
    if isinstance(found, str):
        return ("wrong" if found.startswith("BARE") else "refused"), found
    right = [w for w in (case.wanted, theirs(case)) if w is not None]
    if not right:
        return "unknown", ""
    # Where the two differ from each other, being as the standard says is enough.
    return ("equal", "") if alike(found, right[0], case) else ("wrong", f"{found} is not {right}")


# ---- the table -----------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
ROWS = {
    "one": "one operator", "many": "several operators", "file": "files of networks",
    "changed": "one operator, an attribute changed",
}  # fmt: skip


def inside(case: Case) -> bool:
    """Are all of its operators in the table of nodes.py?"""
    return {n.op_type for n in case.model.graph.node} <= {*FUNCTIONS, "Constant", "Shape", "Size"}


def kind_of(case: Case) -> str:
    return "file" if ": " in case.name else "one" if len(case.model.graph.node) == 1 else "many"


def sweep(asked: list[str], path: Path) -> list[str]:
    """The lines of the page's two tables."""
    counts: Counter[tuple[str, str]] = Counter()
    operators: dict[str, Counter[str]] = {name: Counter() for name in FUNCTIONS}
    others = 0
    for case in given():
        kinds = {n.op_type for n in case.model.graph.node}
        if asked and not kinds & {*asked}:
            continue
        if not inside(case):
            others += 1
            how, why = outcome(case, path)
            assert how == "refused", (case.name, how, why)
            continue
        kind = kind_of(case)
        rows = [(kind, case)]
        if kind == "one":
            rows += [("changed", other) for other in changed(case)]
        for what, each in rows:
            how, why = outcome(each, path)
            counts[what, how] += 1
            if what in ("one", "changed") and kinds <= operators.keys():
                operators[next(iter(kinds))][how] += 1
            if asked or how in ("wrong", "unknown"):
                print(how, each.name, why[:300].replace("\n", " "), file=sys.stderr, flush=True)
    hows = ("equal", "refused", "wrong", "unknown")
    lines = [
        "| cases | equal | refused | wrong | nobody else runs it |",
        "| --- " + "| ---: " * 4 + "|",
    ]
    for what, title in ROWS.items():
        lines.append(f"| {title} | " + " | ".join(f"{counts[what, how]:,}" for how in hows) + " |")
    lines += [f"| with other operators | 0 | {others:,} | 0 | 0 |", ""]
    lines += ["| operator | equal | refused |", "| --- | ---: | ---: |"]
    lines += [f"| `{name}` | {n['equal']:,} | {n['refused']:,} |"
              for name, n in sorted(operators.items()) if n]  # fmt: skip
    return lines


BEGIN, END = "<!-- sweep: onnx {}, onnxruntime {} -->\n", "<!-- end of sweep -->\n"


def main(asked: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = "\n".join(sweep(asked, Path(folder) / "case.onnx")) + "\n"
    print(lines)
    if asked:
        return
    before, rest = PAGE.read_text().split("<!-- sweep:")
    begin = BEGIN.format(onnx.__version__, onnxruntime.__version__)
    PAGE.write_text(f"{before}{begin}\n{lines}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
