"""The playground: every example runs and ends in what it is to show, and the code that is put into
an address comes out of it again."""

import ast
import base64
import contextlib
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tutor import errors, use_backend, viz

PAGES = Path(__file__).parents[2] / "docs/_site/pages"
EXAMPLES = sorted((PAGES / "playground/examples").glob("*.py"))
NODE = shutil.which("node")
ADDRESS = (PAGES / "playground/address.js").as_uri()


def run(code):
    """The value of the last line, as the page would show it."""
    tree = ast.parse(code)
    last, namespace = tree.body.pop(), {"__name__": "__main__"}
    exec(compile(tree, "<playground>", "exec"), namespace)
    if not isinstance(last, ast.Expr):
        return exec(compile(ast.Module([last], []), "<playground>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<playground>", "eval"), namespace)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_in_a_picture(example):
    """In plain Python, as in the page."""
    code = example.read_text("utf-8")
    with use_backend("python"), contextlib.redirect_stdout(io.StringIO()) as printed:
        if example.stem == "errors":
            with pytest.raises(errors.TutorError, match=r"(?s)asked:.*found:.*to do:"):
                run(code)
            code = code.replace("pixels @ weights", "pixels @ weights.T")  # as it is asked for
            run(code)
        else:
            assert isinstance(run(code), viz.Picture)
            assert printed.getvalue().strip()
    assert code.startswith("# ") and max(map(len, code.splitlines())) <= 76


def test_the_page_offers_every_example():
    page = (PAGES / "playground.html").read_text("utf-8")
    offered = dict(re.findall(r'<option value="(\w+)">([^<]+)</option>', page))
    assert offered.pop("own") == "your own"
    assert sorted(offered) == [path.stem for path in EXAMPLES]
    assert all(html.unescape(words).strip() for words in offered.values())
    for needed in ("moons", "walk", "views", "broadcasting", "program"):
        assert needed in offered


def policy():
    """What the page's Content-Security-Policy allows, by directive."""
    page = (PAGES / "playground.html").read_text("utf-8")
    content = re.search(r'"Content-Security-Policy" content="([^"]+)"', page)[1]
    return {name: sources for name, *sources in map(str.split, content.split(";"))}


def test_code_from_a_link_gets_a_frame_without_an_origin_and_without_other_hosts():
    """The frame has the page's policy. tests/site/test_pages.py attacks it in a browser."""
    allowed = policy()
    assert allowed["default-src"] == allowed["frame-src"] == ["'none'"]
    assert allowed["connect-src"] == ["'self'"]
    assert not {"'unsafe-inline'", "'unsafe-eval'", "data:", "*"} & {*allowed["script-src"]}
    frame = (PAGES.parent / "live/frame.js").read_text("utf-8")
    assert 'setAttribute("sandbox", "allow-scripts")' in frame and "allow-same-origin" not in frame
    assert "innerHTML" not in (PAGES / "playground/page.js").read_text("utf-8") + frame


@pytest.mark.skipif(not NODE, reason="there is no node")
def test_the_policy_lets_in_the_one_script_that_the_frame_begins_with():
    frame = json.dumps((PAGES.parent / "live/frame.js").as_uri())
    boot = node(f"const m = await import({frame}); console.log(JSON.stringify(m.BOOT));")
    digest = base64.b64encode(hashlib.sha256(boot.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy()["script-src"]


def node(program, *given):
    if not NODE:
        pytest.skip("there is no node to run the page's JavaScript")
    said = subprocess.run(
        [NODE, "--input-type=module", "-e", program],
        input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


READ = f"""
import {{ pack, unpack }} from "{ADDRESS}";
import {{ readFileSync }} from "node:fs";
import {{ arrayBuffer }} from "node:stream/consumers";
const given = JSON.parse(readFileSync(0, "utf8"));
"""


def test_code_comes_out_of_its_address_again():
    texts = ["", "print(1)", "x = 'ä → 🐍 \\N{BULLET}'\n\tpass\r\n", "#" * 150_000]
    texts += [path.read_text("utf-8") for path in EXAMPLES]
    packed, back = node(
        READ + "const packed = await Promise.all(given.map(pack));"
        "console.log(JSON.stringify([packed, await Promise.all(packed.map(unpack))]));",
        *texts,
    )
    assert back == texts
    for text, fragment in zip(texts, packed, strict=True):
        assert re.fullmatch(r"code=[\w-]+", fragment)
        assert len(fragment) < 0.8 * len(text.encode()) + 40


def test_what_is_no_code_is_refused():
    fine, bomb = node(
        READ
        + """
        const bytes = new Blob([new Uint8Array(50_000_000)]).stream();
        const small = bytes.pipeThrough(new CompressionStream("deflate-raw"));
        const letters = Buffer.from(await arrayBuffer(small)).toString("base64url");
        console.log(JSON.stringify([await pack("x = 1  # and so on"), `code=${letters}`]));
    """
    )
    bad = ["", "#", "example=walk", "code=", "code=%20", "code=a", "code=_-_-", fine[:-6], bomb]
    bad += ["code=" + "A" * 9, fine + "!", fine.replace("code", "cod")]
    found = node(
        READ + "console.log(JSON.stringify(await Promise.all(given.map(unpack))));",
        f"#{fine}", *bad,
    )  # fmt: skip
    assert found == ["x = 1  # and so on", *[None] * len(bad)]
