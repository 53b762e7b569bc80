"""The page of the 60-line autograd: the lines are 60 and right, what the page computes with is
equal to them, and the source that it quotes is the source."""

import importlib.util
import json
import math
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tutor import Tensor

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/_site/pages"


def module(path):
    """A file that is no part of a package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


value = module(PAGES / "autograd/value.py")
excerpts = module(PAGES.parent / "excerpts.py")

NODE = shutil.which("node")
TWIN = """
import { parse, run } from "%s";
import { framesOf, nodesOf } from "%s";
let source = "";
process.stdin.on("data", (chunk) => { source += chunk; }).on("end", () => {
  const said = JSON.parse(source).map(([code, numbers]) => {
    try {
      const { root, leaves, named } = run(parse(code), numbers);
      const frames = framesOf(nodesOf(root, leaves, named));
      root.backward();
      const kinds = frames.map((frame) => frame.kind);
      const last = frames.at(-1), nodes = nodesOf(root, leaves, named);
      return {
        data: String(root.data),
        grads: Object.fromEntries([...leaves].map(([name, leaf]) => [name, String(leaf.grad)])),
        order: root.order([]).map((v) => [v.op, String(v.data)]),
        shown: nodes.map((node) => String(last.grads.get(node.id) ?? 0)),
        kept: nodes.map((node) => String(node.value.grad)),
        kinds,
      };
    } catch (error) {
      return { error: error.name };
    }
  });
  console.log(JSON.stringify(said));
});
"""


def by_python(code, numbers):
    """What the 60 lines make of an expression: its value, and the gradients of the free names."""
    leaves = {name: value.Value(x) for name, x in numbers.items()}
    namespace = dict(leaves)
    *lines, last = [line for line in code.split("\n") if line.strip()]
    try:
        exec("\n".join(lines), {}, namespace)
        root = eval(last.partition("#")[0], {}, namespace)
        if not isinstance(root, value.Value):
            raise TypeError("a plain number")
        root.backward()
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        return {"error": type(error).__name__}
    return {
        "data": root.data,
        "grads": {name: leaf.grad for name, leaf in leaves.items()},
        "order": [(v.op, v.data) for v in root.order([])],
    }


def by_twin(cases, tmp_path):
    if not NODE:
        pytest.skip("there is no node to run the page's JavaScript")
    program = tmp_path / "twin.mjs"
    for name in ("value", "expression", "steps"):  # as node knows modules, by their ending
        text = (PAGES / f"autograd/{name}.js").read_text("utf-8")
        text = re.sub(r'"\./(\w+)\.js"', r'"./\1.mjs"', text)
        (tmp_path / f"{name}.mjs").write_text(text)
    program.write_text(TWIN % ("./expression.mjs", "./steps.mjs"))
    said = subprocess.run(
        [NODE, str(program)], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def alike(ours, theirs):
    """Equal, but for the last digits: C and JavaScript round exp and tanh differently."""
    ours, theirs = float(ours), float(theirs.replace("Infinity", "inf"))
    return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(
        ours, theirs, rel_tol=1e-11, abs_tol=1e-280
    )


def expression(roll, depth):
    """A random expression over x, y, z and numbers, as a reader might write it."""
    if depth == 0 or roll.random() < 0.1:
        return roll.choice(["x", "y", "z", "x", "y", "2", "0.5", "-1.5", "3", "1e-3", ".25"])
    a, b = expression(roll, depth - 1), expression(roll, depth - 1)
    n = roll.choice(["3", "0.5", "-2", "0", "1"])
    if n == "0.5" and not re.search("[xyz]", a.replace("exp", "")):
        n = "3"  # of plain numbers Python would make a complex one, and go on
    forms = [f"({a} + {b})", f"{a} * {b}", f"({a}) * ({b})", f"({a} - {b})", f"({a}) / ({b})",
             f"-{a}", f"({a}) ** 2", f"({a}) ** -1", f"({a}) ** {n}", f"({a}).tanh()",
             f"({a}).relu()", f"({a}).exp()", f"({a}).log()", f"{a}+{b}-{b}"]  # fmt: skip
    return roll.choice(forms)


WRITTEN = [
    ("(x * w + b) ** 2", {"x": 2.0, "w": -3.0, "b": 7.0}),
    ("x * x + x", {"x": 3.0}),
    ("h = x * w\nh * h + h.relu()", {"x": 2.0, "w": 0.75}),
    ("x = x * 2\nx + 1", {"x": 2.0}),
    ("p = 1 / (1 + (-x * w).exp())\n\n-p.log()  # a loss", {"x": 2.0, "w": 0.4}),
    ("2 ** -1 * x - -x ** 2", {"x": 3.0}),
    ("1_000 * x + 1 / 3 * x", {"x": 1.0}),
    ("x / 0", {"x": 1.0}),
    ("1 / x", {"x": 0.0}),
    ("1 / 0 * x", {"x": 1.0}),
    ("x ** 0.5", {"x": -2.0}),
    ("x ** 0.5", {"x": 0.0}),
    ("x ** 0", {"x": 0.0}),
    ("x ** 1", {"x": 0.0}),
    ("x ** y", {"x": 2.0, "y": 2.0}),
    ("2 ** x", {"x": 2.0}),
    ("+x", {"x": 2.0}),
    ("x.exp().exp()", {"x": 7.0}),
    ("x.log()", {"x": 0.0}),
    ("x ** 400", {"x": 99.0}),
    ("x * 1e200 * 1e200", {"x": 1.0}),
    ("x * 1e200 * 1e200 * 0", {"x": 1.0}),
    ("2 * 3", {}),
    ("x.relu()", {"x": 0.0}),
    ("x ** 1e-7 + x ** 123456789 + x ** 0.1", {"x": 1.0}),
]


def test_the_lines_are_sixty():
    text = (PAGES / "autograd/value.py").read_text("utf-8")
    assert len(text.splitlines()) == 60
    assert max(map(len, text.splitlines())) <= 92


@pytest.mark.parametrize("seed", range(40))
def test_their_gradients_are_tutor_s(seed):
    roll = random.Random(seed)
    code = expression(roll, 4)
    numbers = {name: round(roll.uniform(0.2, 2.0), 2) for name in "xyz"}
    ours = by_python(code, numbers)
    if "error" in ours or not all(map(math.isfinite, (ours["data"], *ours["grads"].values()))):
        return
    tensors = {n: Tensor(x, dtype="float64", requires_grad=True) for n, x in numbers.items()}
    root = eval(code, {}, tensors)
    root.backward()
    assert math.isclose(root.item(), ours["data"], rel_tol=1e-9, abs_tol=1e-12)
    for name, tensor in tensors.items():
        g = tensor.grad.item() if tensor.grad is not None else 0.0
        assert math.isclose(g, ours["grads"][name], rel_tol=1e-9, abs_tol=1e-12), (code, numbers)


def test_the_page_computes_what_the_sixty_lines_do(tmp_path):
    cases = list(WRITTEN)
    roll = random.Random(7)
    for _ in range(1500):
        code = expression(roll, roll.randint(1, 4))
        names = set(re.findall(r"[xyz](?![\w(])", code.replace("exp", "")))
        numbers = {n: roll.choice([0.0, 1.0, -1.0, round(roll.uniform(-4, 4), 2)]) for n in names}
        cases.append((code, numbers))
    errors = 0
    for (code, numbers), said in zip(cases, by_twin(cases, tmp_path), strict=True):
        ours = by_python(code, numbers)
        where = code, numbers, ours, said
        assert ours.get("error") == said.get("error"), where
        errors += "error" in ours
        if "error" in ours:
            continue
        assert alike(ours["data"], said["data"]), where
        assert {n for n in numbers if n in said["grads"]} == set(said["grads"]), where
        for name, g in said["grads"].items():
            assert alike(ours["grads"][name], g), where
        assert [op for op, _ in ours["order"]] == [op for op, _ in said["order"]], where
        assert all(alike(a, b) for (_, a), (_, b) in zip(ours["order"], said["order"], strict=True))
        assert said["shown"] == said["kept"], where  # the film ends with what backward() found
        ops = sum(op != "" for op, _ in ours["order"])
        film = ["start", *["forward"] * ops, "seed", *["backward"] * ops, "done"]
        assert said["kinds"] == film, where
    assert errors > 50 and len(cases) - errors > 500


@pytest.mark.parametrize(
    "code",
    ["", "x +", "x y", "(x", "x)", "x.sin()", "x.exp", "import os", "x ** ", "f(x)", "x[0]",
     "x @ y", "x = ", "= x", "2.exp()", "x == y", "x; ; )"],
)  # fmt: skip
def test_what_is_no_expression_is_refused(code, tmp_path):
    assert by_twin([(code, {})], tmp_path) == [{"error": "SyntaxError"}]


def test_what_the_page_quotes_is_the_source():
    """After a change of the source: python docs/_site/excerpts.py."""
    for page in PAGES.glob("*.html"):
        text = page.read_text("utf-8")
        assert excerpts.filled(text) == text, f"run python docs/_site/excerpts.py: {page.name}"
    quoted = re.findall(r'data-from="([^"]+)"', (PAGES / "autograd.html").read_text("utf-8"))
    assert len(quoted) == 10
    assert sum(file.startswith("tutor/") for file in quoted) == 5


def test_a_part_that_is_gone_is_named():
    with pytest.raises(LookupError, match=r"tutor/ops/elementwise\.py has no Mull"):
        excerpts.source("tutor/ops/elementwise.py", "Mull")


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.html")), ids=lambda page: page.name)
def test_a_page_asks_no_other_host_and_runs_no_inline_script(page):
    text = page.read_text("utf-8")
    assert not re.findall(r'(?:src|href)="(?:[a-z]+:)?//', text)
    assert not re.findall(r"<script(?![^>]*\bsrc=)", text)
    assert not re.findall(r'\bon[a-z]+="', text)
    for script in [*PAGES.rglob("*.js"), *PAGES.rglob("*.css")]:
        found = re.findall(r"https?://[^\"'\s]+", script.read_text("utf-8"))
        assert set(found) <= {"http://www.w3.org/2000/svg"}, script
    for local in re.findall(r'(?:src|href)="([^"#]+)"', text):
        if not local.startswith("_static/") and (PAGES / local).suffix != ".html":
            assert (PAGES / local).is_file(), local
    labels = set(re.findall(r'\bfor="([^"]+)"', text))
    wanted = {
        re.search(r'\bid="([^"]+)"', tag)[1]
        for tag in re.findall(r"<(?:input|select|textarea)\b[^>]*>", text)
        if "aria-label" not in tag
    }
    assert wanted <= labels, "each control has a label"
