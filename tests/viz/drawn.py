"""What every picture must keep to, and small readers of its markup."""

import re
import xml.etree.ElementTree as ET

from tutor.viz import svg

SPACE = "{http://www.w3.org/2000/svg}"
COLORS = {light for light, _ in svg.PALETTE.values()} | {"none"}


def walk(element, dx=0.0, dy=0.0):
    """Every element, with how far the groups around it have moved it."""
    move = re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
    if move:
        dx, dy = dx + float(move[1]), dy + float(move[2])
    yield element, dx, dy
    for child in element:
        yield from walk(child, dx, dy)


def parse(picture):
    return ET.fromstring(picture.svg)


def all_of(picture, tag):
    return list(parse(picture).iter(SPACE + tag))


def words(picture):
    return [t.text or "" for t in all_of(picture, "text")]


def fills(picture, color):
    return [r for r in all_of(picture, "rect") if r.get("fill") == svg.color(color)]


def check(picture):
    """Well-formed, alone in the world, inside of its frame, in the colours of the palette."""
    root = parse(picture)
    left, top, width, height = map(float, root.get("viewBox").split())
    assert (left, top) == (0, 0) and width > 0 and height > 0
    assert (float(root.get("width")), float(root.get("height"))) == (width, height)
    titles = [e for e in root if e.tag == SPACE + "title"]
    assert len(titles) == 1 and titles[0].text == svg.escape(picture.title).replace(
        "&lt;", "<"
    ).replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")

    markup = picture.svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "://" not in markup and "url(" not in markup and "@import" not in markup
    assert "script" not in {e.tag.removeprefix(SPACE) for e in root.iter()}
    assert not any(key.startswith("on") for e in root.iter() for key in e.attrib)
    assert not any(e.get("id") for e in root.iter()), "ids would clash in a page of several"

    for e, dx, dy in walk(root):
        assert e.get("fill", "none") in COLORS and e.get("stroke", "none") in COLORS
        name = e.tag.removeprefix(SPACE)
        if name in ("rect", "image"):
            x, y = float(e.get("x")) + dx, float(e.get("y")) + dy
            box = (x, y, x + float(e.get("width")), y + float(e.get("height")))
        elif name == "circle" and e.get("cx"):
            x, y, r = float(e.get("cx")) + dx, float(e.get("cy")) + dy, float(e.get("r"))
            box = (x - r, y - r, x + r, y + r)
        elif name == "text":
            size, x, y = float(e.get("font-size")), float(e.get("x")) + dx, float(e.get("y")) + dy
            assert size >= 11, f"too small to be read: {e.text}"
            mono, turned = e.get("font-family") == "monospace", e.get("transform")
            wide = (
                0.0
                if turned
                else svg.width_of(e.text or "", size, mono, bool(e.get("font-weight")))
            )
            back = {"middle": wide / 2, "end": wide}.get(e.get("text-anchor"), 0.0)
            box = (x - back, y - 0.8 * size, x - back + wide, y + 0.25 * size)
        elif name == "path":
            points = re.findall(r"[MLC]([-\d. ]+)", e.get("d"))
            numbers = [[float(v) for v in p.split()] for p in points]
            xs = [v + dx for p in numbers for v in p[::2]]
            ys = [v + dy for p in numbers for v in p[1::2]]
            box = (min(xs), min(ys), max(xs), max(ys))
        else:
            continue
        assert min(box[:2]) >= -1, (name, e.attrib, e.text, box)
        assert box[2] <= width + 1 and box[3] <= height + 1, (name, e.attrib, e.text, box)
    return picture
