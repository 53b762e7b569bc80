"""What train_mnist.py draws."""

import xml.etree.ElementTree as ET

import pytest

from tutor import Tensor
from tutor.viz import training
from tutor.viz.charts import running_mean

TITLE = "{http://www.w3.org/2000/svg}title"


def test_running_mean():
    values = [float(i % 7) for i in range(50)]
    means = running_mean(values, 5)
    for i in range(50):
        window = values[max(0, i - 2) : i + 3]
        assert means[i] == pytest.approx(sum(window) / len(window))


@pytest.mark.parametrize(
    ("losses", "accuracies", "title"),
    [
        ([2.0 / (i + 1) for i in range(500)], [0.5, 0.9], "training loss; test accuracy"),
        ([1.0], [0.1], "training loss; test accuracy"),
        ([float("nan")] * 3, [0.1], "test accuracy"),
        ([1.0, 0.5], [], "training loss"),
    ],
)
def test_curves_of_a_training(tmp_path, losses, accuracies, title):
    path = training.plot_curves(tmp_path / "curves.svg", losses, accuracies)
    assert ET.parse(path).getroot().findtext(TITLE) == title


def test_the_mistakes_are_shown_and_counted(tmp_path):
    images = Tensor.rand(6, 28, 28)
    path = training.plot_mistakes(
        tmp_path / "m.svg", images, [1, 2, 3, 4, 5, 6], [1, 0, 3, 0, 5, 0]
    )
    root = ET.parse(path).getroot()
    assert root.findtext(TITLE) == "3 of 6 test digits read wrongly"
    shown = [t.text for t in root.iter() if t.text and t.text.endswith("→ 0")]
    assert shown == ["2 → 0", "4 → 0", "6 → 0"]
    assert path.read_text().count("<image") == 3
    few = training.plot_mistakes(tmp_path / "f.svg", images, [1] * 6, [2] * 6, most=2)
    assert few.read_text().count("<image") == 2
    told = ET.parse(few).getroot().findtext(TITLE)
    assert told == "6 of 6 test digits read wrongly, the first 2 of them shown"


def test_no_mistake_is_told(tmp_path):
    path = training.plot_mistakes(tmp_path / "m.svg", Tensor.rand(2, 28, 28), [1, 2], [1, 2])
    assert ET.parse(path).getroot().findtext(TITLE) == "0 of 2 test digits read wrongly"
