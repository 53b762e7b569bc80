"""What is read of other programs' files is right, or refused: the standard's cases, and damage."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx.checker")  # a folder "onnx" is not the package
pytest.importorskip("onnxruntime")
import onnx

import tutor
from tutor import Tensor
from tutor.errors import DataError, ExportError, TutorError
from tutor.nn import functional as F  # noqa: N812
from tutor.onnx.given import Given
from tutor.onnx.nodes import FUNCTIONS
from tutor.onnx.trace import tensors_in

sweep = pytest.importorskip("sweep")  # of a newer onnx, whose cases are where it looks for them
files = pytest.importorskip("test_onnx")
EVERY = 13  # of the cases with an attribute changed; all of them: make onnx-sweep


# ---- the standard's own cases --------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    return [case for case in sweep.given() if sweep.inside(case)]


def outcomes(cases: list[Any], path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in cases:
        how, why = sweep.outcome(case, path)
        found.setdefault(how, []).append(f"{case.name}: {why[:300]}")
    return found


def told(title: str) -> list[int]:
    """The row of docs/onnx.md: equal, refused, wrong, unknown."""
    (row,) = re.findall(rf"\| {title} \|(.*)\|\n", sweep.PAGE.read_text())
    return [int(n.replace(",", "")) for n in row.split("|")]


@pytest.mark.parametrize("kind", ["one", "many", "file"])
def test_the_cases_of_the_standard_are_right_or_refused(
    kind: str, cases: list[Any], tmp_path: Path
) -> None:
    found = outcomes([c for c in cases if sweep.kind_of(c) == kind], tmp_path / "case.onnx")
    assert found.keys() == {"equal", "refused"}, found
    if f"sweep: onnx {onnx.__version__}, " in sweep.PAGE.read_text():  # others have other cases
        told_ = told(sweep.ROWS[kind])
        assert [len(found["equal"]), len(found["refused"]), 0, 0] == told_


def test_an_attribute_that_is_changed_changes_the_result_or_is_refused(
    cases: list[Any], tmp_path: Path
) -> None:
    more = [other for case in cases if sweep.kind_of(case) == "one"
            for other in sweep.changed(case)]  # fmt: skip
    assert len(more) > 5000
    found = outcomes(more[::EVERY], tmp_path / "case.onnx")
    assert "wrong" not in found, found["wrong"]
    equal, refused, wrong, unknown = told(sweep.ROWS["changed"])
    assert (wrong, unknown) == (0, 2)
    if f"sweep: onnx {onnx.__version__}, " in sweep.PAGE.read_text():
        assert equal + refused + unknown == len(more)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_an_attribute_that_nobody_reads_is_refused(name: str) -> None:
    """Whatever it is: what a new version of the standard adds, say."""
    given = Given(name, {"novelty": 1}, {"novelty": 0}, 18, 1)
    with pytest.raises(ExportError, match="novelty=1") as error:
        given.finish((None,))
    assert error.value.asked and error.value.do
    Given(name, {"novelty": 0}, {"novelty": 0}, 18, 1).finish((None,))


# ---- nodes that were read wrongly, or in part ----------------------------------------------------

MADE = onnx.helper.make_node
POOL = {"kernel_shape": [2], "strides": [2]}
BATCH = {"w": np.ones(3, "f4"), "m": np.arange(3, dtype="f4"), "v": np.ones(3, "f4") * 2}
RIGHT = {  # operator, attributes, version
    "same": ("AveragePool", {"kernel_shape": [3], "auto_pad": "SAME_UPPER"}, 18),
    "same, strided": ("AveragePool", {**POOL, "auto_pad": "SAME_LOWER", "strides": [3]}, 18),
    "lower": ("MaxPool", {"kernel_shape": [2], "auto_pad": "SAME_LOWER"}, 18),
    "upper": ("MaxPool", {"kernel_shape": [2], "auto_pad": "SAME_UPPER"}, 18),
    "counted": ("AveragePool", {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}, 18),
    "pads, ceil": ("AveragePool", {**POOL, "pads": [1, 0], "ceil_mode": 1}, 19),
    "counted, ceil": (
        "AveragePool", {**POOL, "pads": [1, 0], "ceil_mode": 1, "count_include_pad": 1}, 19
    ),
    "pads, dilations": ("AveragePool", {"kernel_shape": [2], "pads": [1, 1], "dilations": [2]}, 19),
    "ceil": ("MaxPool", {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}, 18),
    "selu": ("Selu", {"alpha": 2.0, "gamma": 3.0}, 18),
    "hard sigmoid": ("HardSigmoid", {"alpha": 0.4, "beta": 0.1}, 18),
    "elu": ("Elu", {"alpha": 0.4}, 18),
    "celu": ("Celu", {"alpha": 0.4}, 18),
    "the last": ("ArgMax", {"axis": 1, "select_last_index": 1}, 18),
    **{f"{kind} {version} {axis}": (kind, {"axis": axis}, version)
       for kind in ("Softmax", "LogSoftmax") for version in (11, 12, 13) for axis in (0, 1, -1)},
    "softmax of 11": ("Softmax", {}, 11),
    "softmax of 13": ("Softmax", {}, 13),
}  # fmt: skip


def node_file(path: Path, node: Any, opset: int, results: Any = "y", **numbers: Any) -> Path:
    """A file of that node, of an x of (N, 3, 4)."""
    made = files.model_of(node, opset=opset, **numbers)
    if made.graph.output[0].type.tensor_type.shape.dim == []:
        made.graph.output[0].type.tensor_type.shape.dim.add()
    kind = 7 if node.op_type.startswith("Arg") else 1
    made.graph.output[0].type.tensor_type.elem_type = kind
    onnx.save(made, str(path))
    return path


@pytest.mark.parametrize("name", RIGHT)
def test_a_node_is_read_with_all_it_says(name: str, tmp_path: Path) -> None:
    kind, attributes, opset = RIGHT[name]
    path = node_file(tmp_path / "f.onnx", MADE(kind, ["x"], ["y"], **attributes), opset)
    x = (files.rows(files.X) * 3).sin()
    x = x.round() if "last" in name else x  # several that are the largest
    files.same(files.ran(path, (x,)), tensors_in(tutor.onnx.load(path)(x)))


CONV = {"w": np.ones((2, 3, 2), "f4")}
REFUSED = {
    "dilations, same": ("MaxPool", ["x"], {**POOL, "auto_pad": "SAME_UPPER", "dilations": [2]}, {}),
    "ceil, same": ("AveragePool", ["x"], {**POOL, "auto_pad": "SAME_UPPER", "ceil_mode": 1}, {}),
    "training": ("BatchNormalization", ["x", "w", "w", "m", "v"], {"training_mode": 1}, BATCH),
    "dropout": ("Dropout", ["x", "r", "t"], {},
                {"r": np.array(0.5, "f4"), "t": np.array(True)}),
    "positions": ("MaxPool", ["x"], POOL, {}, ["y", "i"]),
    "flag": ("ReduceSum", ["x"], {"keepdims": 2}, {}),
    "sum backwards": ("CumSum", ["x", "a"], {"reverse": 1}, {"a": np.array(1)}),
    "window": ("Conv", ["x", "w"], {"kernel_shape": [3]}, CONV),
    "strides": ("Conv", ["x", "w"], {"strides": [1, 1]}, CONV),
    "mode": ("Pad", ["x", "p"], {"mode": "reflect"}, {"p": np.array([0, 0, 1, 0, 0, 1])}),
    "axis": ("Flatten", ["x"], {"axis": 7}, {}),
    "axis from the end": ("Softmax", ["x"], {"axis": -7}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_computed_is_refused(name: str, tmp_path: Path) -> None:
    kind, given, attributes, numbers, *results = REFUSED[name]
    node = MADE(kind, given, *(results or [["y"]]), **attributes)
    if kind == "BatchNormalization":
        node.output.extend(["n", "o"])
    path = tmp_path / "f.onnx"
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info("x", 1, [2, 3, 4])],
        [onnx.helper.make_tensor_value_info("y", 1, [None])],
        [onnx.numpy_helper.from_array(v, n) for n, v in numbers.items()],
    )  # fmt: skip
    ids = [onnx.helper.make_opsetid("", 19)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=ids, ir_version=9), str(path))
    with pytest.raises(TutorError) as error:
        tutor.onnx.load(path)(files.X)
    assert error.value.asked and error.value.found and error.value.do
    assert not isinstance(error.value, DataError)  # the file is in order


def test_dropout_gives_where_it_kept(tmp_path: Path) -> None:
    node = MADE("Dropout", ["x"], ["y", "kept"], seed=3)
    made = files.model_of(node)
    made.graph.output.append(onnx.helper.make_tensor_value_info("kept", 9, [None, 3, 4]))
    onnx.save(made, str(tmp_path / "f.onnx"))
    y, kept = tutor.onnx.load(tmp_path / "f.onnx")(files.X)
    assert (y == files.X).all() and kept.dtype is tutor.bool and kept.all()


def test_an_array_of_nothing_keeps_its_shape(tmp_path: Path) -> None:
    node = MADE("Concat", ["x", "w"], ["y"], axis=2)
    path = tmp_path / "f.onnx"
    onnx.save(files.model_of(node, w=np.ones((2, 3, 0), "f4")), str(path))
    assert tutor.onnx.load(path)(files.X).shape == (2, 3, 4)


# ---- attention -----------------------------------------------------------------------------------

MASK = Tensor([[False] * 3, [True, False, True], [True] * 3])


@pytest.mark.parametrize(
    ("f", "zeros"),
    [
        (lambda x: F.scaled_dot_product_attention(x, x, x, MASK), 8),
        (lambda x: F.scaled_dot_product_attention(x * float("inf"), x, x), 0),  # nan, not 0
        (lambda x: F.scaled_dot_product_attention(x, x[:, :0], x[:, :0]), 24),  # no key at all
    ],
)
def test_a_row_that_sees_nothing_is_what_it_is_here(f: Any, zeros: int, tmp_path: Path) -> None:
    files.both_ways(f, (files.X,), tmp_path / "f.onnx")
    assert int((f(files.X) == 0).sum().item()) == zeros


# ---- damaged files -------------------------------------------------------------------------------


def test_a_file_with_bits_turned_around_is_run_or_refused_in_three_parts() -> None:
    """Some of them; many more: python tests/onnx/flips.py 2500."""
    script = Path(__file__).parent / "flips.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), "300"], capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "run" in done.stdout and "DataError" in done.stdout


def sparse() -> Any:
    rows = onnx.numpy_helper.from_array
    values, places = rows(np.ones(1, "f4"), "w"), rows(np.array([2]), "places")
    return onnx.helper.make_sparse_tensor(values, places, [4])


def test_what_is_sparse_is_refused(tmp_path: Path) -> None:
    path, add = tmp_path / "f.onnx", MADE("Add", ["x", "w"], ["y"])
    held = files.model_of(add, w=np.ones(4, "f4"))
    del held.graph.initializer[:]
    held.graph.sparse_initializer.append(sparse())
    given = files.model_of(MADE("Constant", [], ["w"], sparse_value=sparse()), add)
    for made in (held, given):
        onnx.save(made, str(path))
        with pytest.raises(ExportError, match="sparse"):
            tutor.onnx.load(path)


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    nodes = [MADE("Reshape", ["x", "w"], ["uuuu"]), MADE("Relu", ["x"], ["y"])]
    made = files.model_of(*nodes, w=np.array([7])).SerializeToString()
    (tmp_path / "f.onnx").write_bytes(made.replace(b"uuuu", b"\xe1uu\xff"))
    with pytest.raises(TutorError):
        tutor.onnx.load(tmp_path / "f.onnx")(files.X)


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m.graph.output[0].ClearField("name"),
        lambda m: m.ClearField("opset_import"),
        lambda m: m.graph.node[0].ClearField("output"),
        lambda m: m.graph.initializer[0].dims.append(10**12),
        lambda m: m.graph.initializer[0].__setattr__("data_type", 77),
        lambda m: m.metadata_props.add(key="tutor.buffers", value="{"),
        lambda m: m.graph.sparse_initializer.add(),
        lambda m: m.graph.output[0].__setattr__("name", "nobody"),
    ],
)
def test_a_damaged_file_is_told_in_three_parts(damage: Any, tmp_path: Path) -> None:
    made = files.model_of(MADE("Add", ["x", "w"], ["y"]), w=np.ones(4, "f4"))
    damage(made)
    (tmp_path / "f.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(TutorError) as error:
        tutor.onnx.load(tmp_path / "f.onnx")
    assert error.value.asked and error.value.found and error.value.do
