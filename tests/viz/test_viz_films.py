"""Films: one SVG that shows pictures one after the other."""

import re

import pytest
from drawn import check

from tutor import viz
from tutor.errors import DataError, DomainError, DTypeError


def test_a_film_shows_one_picture_after_the_other() -> None:
    frames = [viz.curves([1.0] * (n + 2), title=f"frame {n}") for n in range(3)]
    p = check(viz.film(frames, seconds=0.5, hold=1.0, title="a film"))
    assert p.title == "a film"
    name = re.findall(r"@keyframes (film\w+)-0\{", p.svg)[0]
    keyframes = dict(re.findall(rf"@keyframes {name}-(\d)\{{((?:[^{{}}]|\{{[^}}]*\}})*)\}}", p.svg))
    assert keyframes == {  # of 2.5 seconds, the last one stays for 1.5
        "0": "0%{visibility:visible}20%{visibility:hidden}",
        "1": "0%{visibility:hidden}20%{visibility:visible}40%{visibility:hidden}",
        "2": "0%{visibility:hidden}40%{visibility:visible}100%{visibility:visible}",
    }
    assert p.svg.count(f"{name}-") == 3 * 4  # keyframes, a rule, its animation, a group
    still = re.findall(rf'<g class="{name}-(\d)" visibility="(\w+)"', p.svg)
    assert still == [("0", "hidden"), ("1", "hidden"), ("2", "visible")]
    assert p.svg.index("@media(prefers-reduced-motion:no-preference)") < p.svg.index("@keyframes")
    one = check(viz.film(frames[:1]))
    assert one.title == "frame 0"
    with pytest.raises(DataError, match="no pictures"):
        viz.film([])
    with pytest.raises(DTypeError, match="no Picture"):
        viz.film([3])
    with pytest.raises(DomainError):
        viz.film(frames, seconds=0)
