"""The training script: learns, continues exactly, survives Ctrl-C, says what is wrong."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import train_mnist
import tutor
from tutor.nn import checkpoint

ROOT = Path(__file__).parents[1]
SMALL = ["--data", "digits", "--limit", "300", "--hidden", "24", "--batch-size", "32"]


def run(tmp_path, *more, name="out"):
    out = tmp_path / name
    assert train_mnist.main([*SMALL, "--out", str(out), *more]) == 0
    return checkpoint.load(out / "checkpoint.safetensors")


def test_it_learns_and_draws(tmp_path, capsys):
    tensors, _ = run(tmp_path, "--epochs", "4", "--lr", "0.005")
    losses, accuracies = tensors["losses"].tolist(), tensors["accuracies"].tolist()
    assert len(losses) == 4 * 10
    assert losses[-1] < 0.7 * losses[0]
    assert accuracies[-1] > 0.3
    pictures = {p.name: ElementTree.parse(p).getroot() for p in (tmp_path / "out").glob("*.svg")}
    assert set(pictures) == {"curves.svg", "mistakes.svg"}
    title = "{http://www.w3.org/2000/svg}title"
    assert pictures["curves.svg"].findtext(title) == "training loss; test accuracy"
    assert "test digits read wrongly" in pictures["mistakes.svg"].findtext(title)
    text = capsys.readouterr().out
    assert tutor.registry.current() in text
    assert "images/s" in text
    assert "test accuracy" in text


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_resumed_run_gives_the_same_numbers(tmp_path, optimizer):
    settings = ["--optimizer", optimizer, "--no-plot"]
    whole, _ = run(tmp_path, *settings, "--epochs", "3", name="whole")
    run(tmp_path, *settings, "--epochs", "1", name="part")
    part = str(tmp_path / "part" / "checkpoint.safetensors")
    resumed, _ = run(tmp_path, "--resume", part, "--epochs", "3", "--no-plot", name="resumed")
    assert whole.keys() == resumed.keys()
    for name, t in whole.items():
        assert t.tolist() == resumed[name].tolist(), name


def test_both_backends_give_the_same_curve(tmp_path):
    curves = []
    for name in ("python_ref", "simd_cpp"):
        with tutor.use_backend(name):
            tensors, _ = run(tmp_path, "--epochs", "2", "--no-plot", name=name)
        curves.append(tensors["losses"].tolist())
    assert curves[0] == pytest.approx(curves[1], rel=1e-4)


def test_ctrl_c_leaves_a_checkpoint_that_continues_exactly(tmp_path):
    command = [sys.executable, str(ROOT / "train_mnist.py"), *SMALL, "--no-plot", "--epochs", "60"]
    environment = {**os.environ, "TUTOR_BACKEND": "python", "PYTHONPATH": str(ROOT)}
    out = tmp_path / "stopped"
    command += ["--out", str(out)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert any("epoch 1:" in line for line in process.stdout)
        time.sleep(0.2)  # somewhere within a later epoch
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "--resume" in rest
    stopped, _ = checkpoint.load(out / "checkpoint.safetensors")
    steps = len(stopped["losses"])
    assert 10 < steps < 600
    epochs = str(steps // 10 + 1)
    with tutor.use_backend("python"):
        whole, _ = run(tmp_path, "--epochs", epochs, "--no-plot", name="whole")
        part = str(out / "checkpoint.safetensors")
        resumed, _ = run(tmp_path, "--resume", part, "--epochs", epochs, "--no-plot", name="again")
    assert whole["losses"].tolist() == resumed["losses"].tolist()


def test_without_mnist_it_says_so_in_one_line_and_draws_digits(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tutor.data.mnist.MIRRORS", ["http://127.0.0.1:9/"])
    out = str(tmp_path / "out")
    args = ["--limit", "50", "--epochs", "1", "--hidden", "8", "--no-plot", "--out", out]
    assert train_mnist.main(args) == 0
    captured = capsys.readouterr()
    assert [line for line in captured.err.splitlines() if "no MNIST" in line]
    assert "draws itself" in captured.out


@pytest.mark.parametrize(
    "args",
    [
        ["--epochs", "0"],
        ["--batch-size", "-1"],
        ["--hidden", "0"],
        ["--limit", "0"],
        ["--data", "imagenet"],
        ["--optimizer", "lion"],
    ],
)
def test_wrong_options_are_refused(args, capsys):
    with pytest.raises(SystemExit) as caught:
        train_mnist.arguments(args)
    assert caught.value.code == 2
    assert args[0] in capsys.readouterr().err


def test_a_missing_checkpoint_is_explained(tmp_path, capsys):
    assert train_mnist.main(["--resume", str(tmp_path / "none")]) == 1
    assert "asked:" in capsys.readouterr().err


def test_no_hidden_layer_is_a_linear_model(tmp_path):
    args = ["--data", "digits", "--limit", "64", "--hidden", "--epochs", "1", "--no-plot"]
    assert train_mnist.main([*args, "--out", str(tmp_path)]) == 0
