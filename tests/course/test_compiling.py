"""What chapter 16 is checked with: statements in C, faulty jits, and the best of all tiles."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import subprocess
from typing import Any

import pytest

from course.exercises import ch16
from course.jits import jits
from course.layers import HEAD, LAYERS, LEFT, layers
from course.library import ours
from course.statements import run_statements, single
from course.wasm import instance, leb, module
from tutor.errors import DomainError

ROW = [0.1, -0.0, 3.0, math.inf, 1e30]


def ran(*statements: str, c: float = 0.1) -> list[float]:
    out = [7.0] * len(ROW)
    run_statements(statements, {"x": ROW}, {"c": c}, {"a_out": out})
    return out


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["a_out[i] = x[i];"], [single(x) for x in ROW]),
        (["float a = x[i] * c;", "a_out[i] = a;"], [single(single(x) * single(0.1)) for x in ROW]),
        (["const float a=-x[i];", "a_out[i]=a;"], [-single(x) for x in ROW]),
        (["a_out[i] = x[i] < 1 ? 0 : x[i];"], [0.0, 0.0, 3.0, math.inf, single(1e30)]),
        (["a_out[i] = x[i] * x[i];"], [single(single(0.1) ** 2), 0.0, 9.0, math.inf, math.inf]),
        (["a_out[i] = pow(x[i], 2) / 2;"],
         [single(single(0.1) ** 2 / 2), 0.0, 4.5, math.inf, math.inf]),
        (["a_out[i] = exp(x[i]);"], [single(math.exp(single(0.1))), 1.0, single(math.exp(3.0)),
                                     math.inf, math.inf]),
    ],
)  # fmt: skip
def test_statements_round_as_c_does(statements: list[str], expected: list[float]) -> None:
    assert list(map(repr, ran(*statements))) == list(map(repr, expected))


def test_floats_round_at_once_and_doubles_when_they_are_stored() -> None:
    """x * c + c in float rounds twice; with one double in it, once."""
    x, c = single(0.1), single(0.1)
    twice, once = single(single(x * c) + c), single(x * c * 1.0 + c)
    assert ran("a_out[i] = x[i] * c + c;")[0] == twice
    assert ran("a_out[i] = x[i] * 1.0 * c + c;")[0] == once


@pytest.mark.parametrize(
    "statement",
    [
        "a_out[i] = x[i]",
        "a_out[i] = x;",
        "a_out[i] = b;",
        "b_out[i] = c;",
        "a_out[i] = expf(c);",
        "a_out[i] = pow(c);",
        "a_out[i] = c ** 2;",
        "a_out[i] = 0.5f * c;",
        "float c = x[i];",
        "for (long i = 0; i < n; i++) {",
        "a_out[i] = x[i] +;",
    ],
)
def test_what_is_no_statement_is_refused(statement: str) -> None:
    with pytest.raises(DomainError, match=r"."):
        ran(statement)


def test_every_jit_has_its_fault() -> None:
    tells = ours(16)
    planted = jits(tells)
    count = {fault: [f for f, _ in planted.values()].count(fault) for fault in ch16.FAULTS}
    assert count == {"alias": 3, "stale": 2, "reused": 3, "branch": 3, "right": 3}


def test_the_best_of_all_tiles_is_as_stated() -> None:
    for lines, least in ch16.LEAST.items():
        found = [ch16.misses(tile, lines) for tile in itertools.product(ch16.TILES, repeat=3)]
        assert min(found) == least < ch16.misses(ch16.START, lines)


def test_the_layers_have_a_word_for_each_library() -> None:
    assert {len(row) for row in LAYERS} == {len(HEAD)} == {len(LEFT)}
    picture = layers().svg
    assert all(name in picture for name in (*HEAD, *(row[0] for row in LAYERS)))


# ---- WebAssembly ---------------------------------------------------------------------------------

RUN = """
const [code, rows, numbers, results] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const module = new WebAssembly.Module(Buffer.from(code, "hex"));
const {memory, kernel} = new WebAssembly.Instance(module, {math: Math}).exports;
const all = new Float32Array(memory.buffer), n = rows[0].length;
const at = [...Array(rows.length + results).keys()].map(k => k * n);
rows.forEach((row, k) => all.set(row, at[k]));
const places = at.map(k => 4 * k);
kernel(n, ...places.slice(0, rows.length), ...numbers, ...places.slice(rows.length));
console.log(JSON.stringify(at.slice(rows.length).map(k => Array.from(all.slice(k, k + n), x =>
    Object.is(x, -0) ? "-0.0" : String(x)))));
"""


def in_node(lines: Any, arrays: list[str], results: list[str], rows: Any, numbers: Any) -> Any:
    code = module(lines, arrays, list(numbers), results).hex()
    given = json.dumps([code, rows, list(numbers.values()), len(results)])
    ran = subprocess.run(["node", "-e", RUN], input=given, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, to run WebAssembly")
def test_a_module_gives_the_bits_of_the_kernels() -> None:
    finite = [1.5, -0.0, -2.25, 0.1, 3e38]
    for given, lines, results in ch16._c_cases():
        rows = {"x": finite, "y": finite[::-1]}
        got = in_node(lines, ["x", "y"], results, list(rows.values()), {"c": 0.5, "d": -3.0})
        wanted = ch16._wanted(lines, results, rows, {"c": 0.5, "d": -3.0})
        bits = [[repr(float(x)) for x in row] for row in got]
        assert bits == [list(map(repr, wanted[name])) for name in results], given


def test_a_module_is_made_of_sections_that_fill_it() -> None:
    lines, results = ch16.programs()["Adam"]
    (kernel,) = ours(16).fuse(lines)
    names = [line.name for line in lines if line.op in ours(16).FREE]
    code = module(kernel, names[:4], names[4:], results)
    assert code[:8] == b"\0asm\1\0\0\0"
    at, numbers = 8, []
    while at < len(code):
        numbers.append(code[at])
        size, shift, at = 0, 0, at + 1
        while True:
            size, shift, at = size | (code[at] & 127) << shift, shift + 7, at + 1
            if code[at - 1] < 128:
                break
        at += size
    assert (at, numbers) == (len(code), [1, 2, 3, 5, 7, 10])


def test_numbers_have_as_many_bytes_as_they_need() -> None:
    assert [leb(n) for n in (0, 127, 128, 624485)] == [
        b"\0", b"\x7f", b"\x80\1", b"\xe5\x8e\x26",
    ]  # fmt: skip


def test_what_it_has_no_instruction_for_is_refused() -> None:
    product = ch16.line("m", "matmul", "x x", (2, 2), None)
    with pytest.raises(DomainError, match="matmul"):
        module([product], ["x"], [], [])
    assert instance(b"") is None  # no page
