"""The training script: learns, continues exactly, survives Ctrl-C, says what is wrong."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import train_mnist
import tutor
from tutor import Tensor, data, nn, optim
from tutor._util import files
from tutor.data import fetch, mnist
from tutor.nn import checkpoint

ROOT = Path(__file__).parents[1]
SMALL = ["--data", "digits", "--limit", "300", "--hidden", "24", "--batch-size", "32"]


def run(tmp_path, *more, name="out"):
    out = tmp_path / name
    assert train_mnist.main([*SMALL, "--out", str(out), *more]) == 0
    return read(out / "checkpoint.safetensors")


def read(path):
    """Its Tensors by their names in the file, and what was saved."""
    return checkpoint.load(path)[0], tutor.load(path)


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


@pytest.fixture
def nobody_has_mnist(tmp_path, monkeypatch):
    """No TUTOR_DATA, an empty cache, mirrors where nothing is."""
    monkeypatch.delenv("TUTOR_DATA", raising=False)
    monkeypatch.setenv("TUTOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "ATTEMPTS", 1)
    rows = {
        split: tuple(file._replace(mirrors=("http://127.0.0.1:9/",)) for file in files)
        for split, files in mnist.FILES.items()
    }
    monkeypatch.setattr(mnist, "FILES", rows)


# ---- the data ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nobody_has_mnist")
def test_without_mnist_it_says_so_in_one_line_and_draws_digits(tmp_path, capsys):
    out = str(tmp_path / "out")
    args = ["--limit", "50", "--epochs", "1", "--hidden", "8", "--no-plot", "--out", out]
    assert train_mnist.main(args) == 0
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert "no MNIST" in captured.err
    assert "draws itself" in captured.out
    assert train_mnist.main([*args, "--data", "mnist"]) == 1
    assert "asked:" in capsys.readouterr().err
    assert train_mnist.main([*args, "--data", "digits"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("spoil", ["no folder", "empty folder", "broken file"])
def test_a_tutor_data_that_is_not_good_is_an_error_and_nothing_is_written(
    tmp_path, monkeypatch, capsys, spoil
):
    own = tmp_path / "own"
    monkeypatch.setenv("TUTOR_DATA", str(own))
    if spoil != "no folder":
        own.mkdir()
    if spoil == "broken file":
        (own / "train-images-idx3-ubyte.gz").write_bytes(b"broken")
    args = ["--limit", "20", "--epochs", "1", "--no-plot", "--out", str(tmp_path / "out")]
    for name in ("auto", "mnist"):
        assert train_mnist.main([*args, "--data", name]) == 1
        captured = capsys.readouterr()
        assert "TUTOR_DATA" in captured.err and str(own) in captured.err
        assert in_three_parts(captured.err)
        assert not (tmp_path / "out").exists()
    assert train_mnist.main([*args, "--data", "digits"]) == 0


def in_three_parts(text):
    return [line.partition(":")[0] for line in text.splitlines()] == ["asked", "found", "to do"]


def begun(tmp_path, *more, **changed):
    """The checkpoint of one epoch; on a data set with these fields changed, if any are."""
    out = tmp_path / "begun"
    real = data.load
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "load", lambda name, limit: real("digits", limit)._replace(**changed))
        assert train_mnist.main([*SMALL[2:], "--epochs", "1", "--no-plot", *more, "--out",
                                 str(out)]) == 0  # fmt: skip
    return out / "checkpoint.safetensors"


@pytest.mark.usefixtures("nobody_has_mnist")
@pytest.mark.parametrize("more", [[], ["--data", "auto"], ["--data", "mnist"]])
def test_a_run_on_mnist_never_goes_on_with_digits(tmp_path, capsys, monkeypatch, more):
    path = begun(tmp_path, name="mnist", source="MNIST")
    before = path.read_bytes()
    for folder in (None, tmp_path / "nowhere"):
        if folder:
            monkeypatch.setenv("TUTOR_DATA", str(folder))
        capsys.readouterr()
        assert train_mnist.main(["--resume", str(path), "--epochs", "2", *more]) == 1
        assert in_three_parts(capsys.readouterr().err)
        assert path.read_bytes() == before
    assert train_mnist.main(["--resume", str(path), "--epochs", "2", "--data", "digits"]) == 1
    assert "--data digits" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_run_never_goes_on_with_other_numbers_of_the_same_name(tmp_path, capsys):
    labels = data.load("digits", 300).train_labels.copy()
    labels[7] = (labels[7].item() + 1) % 10
    path = begun(tmp_path, train_labels=labels)
    before = path.read_bytes()
    capsys.readouterr()
    assert train_mnist.main(["--resume", str(path), "--epochs", "2"]) == 1
    text = capsys.readouterr().err
    assert in_three_parts(text) and text.count("SHA-256") == 1
    assert path.read_bytes() == before


# ---- going on ------------------------------------------------------------------------------------


def test_a_finished_run_says_that_nothing_is_left_and_writes_nothing(tmp_path, capsys):
    path = begun(tmp_path)
    before, there = path.stat(), set(path.parent.iterdir())
    for epochs in ([], ["--epochs", "1"]):
        capsys.readouterr()
        assert train_mnist.main(["--resume", str(path), "--no-plot", *epochs]) == 0
        text = capsys.readouterr().out
        assert "nothing left to train" in text and "--epochs 2" in text
        assert "wrote" not in text
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        assert set(path.parent.iterdir()) == there


def test_what_it_says_it_wrote_is_there(tmp_path, capsys):
    path = begun(tmp_path)
    capsys.readouterr()
    assert train_mnist.main(["--resume", str(path), "--out", str(tmp_path / "new")]) == 0
    text = capsys.readouterr().out
    wrote = text.splitlines()[-1].removeprefix("wrote ").split(", ")
    assert set(map(Path, wrote)) == set((tmp_path / "new").iterdir())
    assert [Path(name).name for name in wrote] == ["curves.svg", "mistakes.svg"]


def test_going_on_happens_in_the_checkpoints_folder_up_to_the_epochs_it_was_begun_for(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = begun(tmp_path)
    assert train_mnist.main(["--resume", str(path), "--epochs", "3", "--no-plot"]) == 0
    tensors, notes = read(path)
    assert (len(tensors["accuracies"]), notes["epochs"]) == (3, 3)
    assert [p.name for p in tmp_path.iterdir()] == ["begun"], "not in runs/mnist"


CHANGED = {  # another value, and the one it was begun with, as options
    "batch_size": (["16"], ["32"]),
    "optimizer": (["sgd"], ["adam"]),
    "lr": (["0"], ["0.002"]),
    "decay": (["0.5"], ["0.6"]),
    "momentum": (["0"], ["0.9"]),
    "hidden": (["24", "24"], ["24"]),
    "seed": (["1"], ["0"]),
    "data": (["mnist"], ["digits"]),
    "limit": (["299"], ["300"]),
    "autocast": (["float16"], ["float32"]),
    "leaves": (["8"], ["0"]),
}


def test_every_fixed_option_has_a_row():
    assert list(CHANGED) == train_mnist.FIXED
    assert {*train_mnist.OPTIONS} - {*train_mnist.FIXED} == {"epochs", "sharded"}


def test_one_process_has_nothing_to_shard(tmp_path):
    args = ["--epochs", "2", "--no-plot"]
    plain, _ = run(tmp_path, *args, name="plain")
    sharded, notes = run(tmp_path, *args, "--sharded", name="sharded")
    assert {n: t.tolist() for n, t in sharded.items()} == {n: t.tolist() for n, t in plain.items()}
    assert "sharded" not in notes["settings"]


@pytest.mark.parametrize("name", CHANGED)
def test_an_option_that_going_on_cannot_follow_is_refused(tmp_path, capsys, name):
    path = begun(tmp_path)
    before, (other, same) = path.read_bytes(), CHANGED[name]
    option = train_mnist.flag(name)
    resume = ["--resume", str(path), "--no-plot", "--epochs", "2", option]
    capsys.readouterr()
    assert train_mnist.main([*resume, *other]) == 1
    text = capsys.readouterr().err
    assert in_three_parts(text)
    assert text.startswith(f"asked: {option} ")
    assert path.read_bytes() == before
    assert train_mnist.main([*resume, *same]) == 0


def test_a_run_never_writes_over_anothers_results(tmp_path, capsys):
    first = begun(tmp_path)
    before = first.read_bytes()
    capsys.readouterr()
    args = [*SMALL, "--no-plot", "--epochs", "2", "--seed", "5", "--out", str(first.parent)]
    for name in ("begun-2", "begun-3"):
        assert train_mnist.main(args) == 0
        text = capsys.readouterr().out
        assert (
            f"{first.parent} has the results of another run: these go to {tmp_path / name}" in text
        )
        assert (tmp_path / name / "checkpoint.safetensors").is_file()
    assert first.read_bytes() == before
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(before)
    assert train_mnist.main(["--resume", str(copy), "--epochs", "2", "--no-plot", "--out",
                             str(first.parent)]) == 0  # fmt: skip
    assert first.read_bytes() == before
    assert len(checkpoint.load(tmp_path / "begun-4" / first.name)[0]["accuracies"]) == 2


def test_a_learning_rate_of_0_is_one(tmp_path):
    tensors, notes = run(tmp_path, "--lr", "0", "--epochs", "1", "--no-plot")
    assert notes["settings"]["lr"] == 0
    args = train_mnist.arguments([*SMALL, "--lr", "0"])
    start = train_mnist.Training(args).state()
    weights = [name for name in start if name.startswith("model.")]
    assert len(weights) == 4
    assert all(tensors[name].tolist() == start[name].tolist() for name in weights)


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ["--epochs", "0"],
        ["--epochs", "1.5"],
        ["--epochs", str(2**64)],
        ["--lr", "-1"],
        ["--lr", "nan"],
        ["--lr", "inf"],
        ["--lr", "fast"],
        ["--decay", "-1"],
        ["--decay", "1.5"],
        ["--decay", "nan"],
        ["--momentum", "5"],
        ["--momentum", "-0.1"],
        ["--momentum", "nan"],
        ["--seed", "-1"],
        ["--seed", str(2**64)],
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


def test_it_learns_on_a_device_what_it_learns_on_the_cpu(device, tmp_path):
    """The losses of every step, jitted from the sixth on; and a checkpoint goes on on the other."""
    found = {}
    for where in ("cpu", device):
        out = tmp_path / where.replace(":", "")
        args = [*SMALL, "--epochs", "2", "--no-plot", "--out", str(out), "--device", where]
        assert train_mnist.main(args) == 0
        found[where] = tutor.load(out / train_mnist.CHECKPOINT)
    for name in ("losses", "accuracies"):
        ours, theirs = (found[where][name].tolist() for where in (device, "cpu"))
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3)
    path = str(tmp_path / device.replace(":", "") / train_mnist.CHECKPOINT)
    assert train_mnist.main(["--resume", path, "--epochs", "3", "--no-plot"]) == 0
    assert len(tutor.load(path)["losses"]) == 3 * len(found[device]["losses"]) // 2
    with tutor.device(device):  # as TUTOR_DEVICE has it: the images are there, too
        again = ["--epochs", "2", "--no-plot", "--out", str(tmp_path / "default")]
        assert train_mnist.main([*SMALL, *again]) == 0
    same = tutor.load(tmp_path / "default" / train_mnist.CHECKPOINT)
    assert same["losses"].tolist() == found[device]["losses"].tolist()


def test_help_says_every_default(capsys):
    with pytest.raises(SystemExit):
        train_mnist.arguments(["--help"])
    words = " ".join(capsys.readouterr().out.split())
    *_, text = words.partition(" options: ")
    options = re.findall(r"--[a-z-]+ .*?\(default: [^)]+\)", text.partition("exit ")[2])
    assert [option.split()[0] for option in options] == [
        *map(train_mnist.flag, train_mnist.OPTIONS), "--out", "--resume", "--no-plot", "--device",
        "--eager",
    ]  # fmt: skip
    for name, option in train_mnist.OPTIONS.items():
        given = train_mnist.arguments([])
        settled = {"lr": 0.002, "leaves": 0}  # by what else is given, and by how it is launched
        assert getattr(given, name) == settled.get(name, option.default)
    assert train_mnist.arguments(["--optimizer", "sgd"]).lr == 0.05
    assert "0.002 for adam, 0.05 for sgd" in words


# ---- Ctrl-C --------------------------------------------------------------------------------------


def interrupt(*_, **__):
    raise KeyboardInterrupt


EARLY = [
    (nn, "Linear"),
    (optim, "Adam"),
    (data, "load"),
    (data.Images, "sha256"),
    (files, "check_room"),
    (files, "numbered"),
    (train_mnist, "describe"),
    (data, "batches"),
    (nn.Sequential, "forward"),
]


@pytest.mark.parametrize(("owner", "name"), EARLY, ids=[name for _, name in EARLY])
def test_ctrl_c_before_the_first_step_is_one_line(tmp_path, monkeypatch, capsys, owner, name):
    monkeypatch.setattr(owner, name, interrupt)
    handler = signal.getsignal(signal.SIGINT)
    out = tmp_path / "out"
    assert train_mnist.main([*SMALL, "--out", str(out)]) == 130
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-2:] == ["", "stopped: nothing was written"]
    assert captured.err == ""
    assert not out.exists() or not list(out.iterdir())
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_while_data_is_loaded_as_a_user_sees_it(tmp_path):
    code = (
        "import signal, sys, train_mnist\n"
        "train_mnist.data.load = lambda *a, **k: signal.raise_signal(signal.SIGINT)\n"
        "sys.exit(train_mnist.main(sys.argv[1:]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout, result.stderr) == (
        130, "\nstopped: nothing was written\n", "",
    )  # fmt: skip


def test_eager_gives_the_same_numbers_and_jit_says_what_it_gained(tmp_path, capsys):
    options = ["--data", "digits", "--limit", "200", "--batch-size", "4", "--hidden", "8",
               "--epochs", "2", "--no-plot"]  # fmt: skip
    saved = []
    for name, more in (("jit", []), ("eager", ["--eager"])):
        assert train_mnist.main([*options, *more, "--out", str(tmp_path / name)]) == 0
        said = capsys.readouterr().out
        assert ("kernel calls of a step became" in said) is (name == "jit")
        saved.append((tmp_path / name / "checkpoint.safetensors").read_bytes())
    assert saved[0] == saved[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_in_16_bits_it_learns_as_well_and_goes_on_exactly(tmp_path, dtype):
    options = ["--data", "digits", "--limit", "1000", "--no-plot"]
    saved = {}
    for name, more in (
        ("float32", ["--epochs", "3"]),
        (dtype, ["--epochs", "3", "--autocast", dtype]),
        ("part", ["--epochs", "1", "--autocast", dtype]),
        ("resumed", ["--epochs", "3", "--resume", str(tmp_path / "part/checkpoint.safetensors")]),
    ):
        assert train_mnist.main([*options, *more, "--out", str(tmp_path / name)]) == 0
        saved[name] = read(tmp_path / name / "checkpoint.safetensors")
    assert {n: t.tolist() for n, t in saved[dtype][0].items()} == {
        n: t.tolist() for n, t in saved["resumed"][0].items()
    }
    whole, half = (saved[n][1]["accuracies"].tolist()[-1] for n in ("float32", dtype))
    assert half > whole - 0.01
    assert saved[dtype][1]["losses"].tolist() != saved["float32"][1]["losses"].tolist()
    assert ("scaler" in saved[dtype][1]) is (dtype == "float16")


def test_a_checkpoint_from_before_there_was_autocast_goes_on(one_epoch, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(one_epoch)
    changed(path, "settings.autocast", GONE)
    assert train_mnist.main(["--resume", str(path), "--epochs", "2", "--no-plot"]) == 0


def test_a_terminal_sees_how_far_an_epoch_is(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("tutor.training.screen.OFTEN", -1.0)
    run(tmp_path, "--epochs", "1", "--no-plot")
    shown = capsys.readouterr().err
    assert re.search(r"\r\x1b\[Kepoch 1:  11% of 300 images, loss \d", shown)
    assert shown.endswith("\r\x1b[K")


def test_a_second_ctrl_c_keeps_the_last_checkpoint(tmp_path, monkeypatch, capsys):
    handler, steps = signal.getsignal(signal.SIGINT), []
    real = train_mnist.Training.train_step

    def step(self, images, labels):
        steps.append(1)
        if len(steps) == 15:  # in the second epoch
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return real(self, images, labels)

    monkeypatch.setattr(train_mnist.Training, "train_step", step)
    out = tmp_path / "out"
    assert train_mnist.main([*SMALL, "--out", str(out)]) == 130
    text = capsys.readouterr().out
    assert "epochs that are kept: 1; continue with: python train_mnist.py --resume" in text
    tensors, notes = read(out / "checkpoint.safetensors")
    assert (len(tensors["losses"]), notes["at"]) == (10, [1, 0, 10])
    assert signal.getsignal(signal.SIGINT) is handler


# ---- disks ---------------------------------------------------------------------------------------


def test_an_out_that_names_a_file_is_noticed_before_training(tmp_path, capsys):
    (tmp_path / "file").write_bytes(b"text")
    for out in ("file", "file/deeper"):
        assert train_mnist.main([*SMALL, "--out", str(tmp_path / out)]) == 1
        captured = capsys.readouterr()
        assert in_three_parts(captured.err) and "file is a file, no folder" in captured.err
        assert "epoch" not in captured.out
    assert (tmp_path / "file").read_bytes() == b"text"


def test_a_disk_that_is_too_small_is_noticed_before_training(tmp_path):
    resource = pytest.importorskip("resource", reason="limits of a process are a matter of Unix")
    out = tmp_path / "out"
    result = subprocess.run(
        [sys.executable, str(ROOT / "train_mnist.py"), *SMALL, "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000,) * 2),
    )  # fmt: skip
    assert result.returncode == 1
    assert in_three_parts(result.stderr), result.stderr
    assert "make room" in result.stderr
    assert "epoch" not in result.stdout
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("picture", [False, True])
def test_a_disk_that_fills_up_later_costs_no_checkpoint(tmp_path, monkeypatch, capsys, picture):
    out, count, real = tmp_path / "out", [], os.replace

    def replace(part, path):
        count.append(path)
        if len(count) > (3 if picture else 2):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(part, path)

    monkeypatch.setattr(os, "replace", replace)
    assert train_mnist.main([*SMALL, "--epochs", "3", "--out", str(out)]) == 1
    captured = capsys.readouterr()
    kept = 3 if picture else 2
    assert in_three_parts(captured.err) and "make room" in captured.err
    assert f"epochs that are kept: {kept}; continue with: python train_mnist.py" in captured.out
    assert [path.name for path in out.iterdir()] == ["checkpoint.safetensors"]
    assert len(checkpoint.load(out / "checkpoint.safetensors")[0]["accuracies"]) == kept
    monkeypatch.setattr(os, "replace", real)
    command = captured.out.splitlines()[-1].partition("train_mnist.py ")[2].split()
    assert train_mnist.main(command) == 0
    assert len(checkpoint.load(out / "checkpoint.safetensors")[0]["accuracies"]) == 3
    assert len(list(out.iterdir())) == 3


# ---- checkpoints that are no good ----------------------------------------------------------------


def test_a_missing_checkpoint_is_explained(tmp_path, capsys):
    assert train_mnist.main(["--resume", str(tmp_path / "none")]) == 1
    assert "asked:" in capsys.readouterr().err


def changed(path, name, value):
    """The same checkpoint with something else in one place, as whole as any."""
    found = tutor.load(path)
    part, _, inner = name.partition(".")
    within, key = (found[part], inner) if inner else (found, name)
    within[key] = value
    if value is GONE:
        del within[key]
    tutor.save(path, found)


GONE = object()
NOTES = [
    ("settings", GONE), ("settings", ""), ("settings", 3), ("settings", []), ("settings", {}),
    ("settings", {"lr": 1}), ("settings", "lr"), ("settings", None), ("settings.more", 1),
    ("epochs", GONE), ("epochs", 0), ("epochs", True), ("epochs", [1]), ("epochs", float("nan")),
    ("at", GONE), ("at", 3), ("at", []), ("at", [1, 0]), ("at", [1, 0, 10, 4]),
    ("at", [1, 0, -10]), ("at", ["1", 0, 10]), ("at", [2, 0, 10]), ("at", [1, 0, 11]),
    ("at", [1.0, 0, 10]), ("data", GONE), ("model", GONE), ("optimizer", GONE), ("model", 3),
    ("losses", GONE), ("accuracies", GONE), ("losses", Tensor([1.0])), ("losses", Tensor(1.0)),
    ("model.0.weight", GONE), ("model.0.weight", Tensor([1.0])),
    ("model.more", Tensor([1.0])), ("optimizer.m.0", GONE), ("optimizer.m.0", Tensor([1.0])),
    ("optimizer.more", Tensor([1.0])), ("optimizer.steps", "10"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), NOTES)
def test_a_checkpoint_of_something_else_is_refused(one_epoch, tmp_path, capsys, name, value):
    path = tmp_path / "x.safetensors"
    path.write_bytes(one_epoch)
    changed(path, name, value)
    before = path.read_bytes()
    assert train_mnist.main(["--resume", str(path), "--epochs", "2"]) == 1
    assert in_three_parts(capsys.readouterr().err)
    assert path.read_bytes() == before


SETTINGS = {
    "batch_size": [0, -1, 1.5, "32", None, True, [32]],
    "optimizer": ["lion", 3, None, ["adam"]],
    "lr": [-1, "0.1", None, True, [1]],
    "decay": [-1, 1.5, "1", None],
    "momentum": [-1, 5, "1", None],
    "hidden": [[0], 24, None, "24", [24.0], [[24]]],
    "seed": [-1, 1.5, "0", None, 2**64],
    "data": ["imagenet", 3, None, ["digits"]],
    "limit": [0, -3, "300", 1.5, False],
    "autocast": ["float64", "", 16, None, ["float16"]],
    "leaves": [3, -8, "8", 2.0, True, [8]],
}


@pytest.mark.parametrize("name", train_mnist.FIXED)
def test_settings_of_a_checkpoint_are_checked_as_options_are(one_epoch, tmp_path, capsys, name):
    path = tmp_path / "x.safetensors"
    for value in SETTINGS[name]:
        path.write_bytes(one_epoch)
        changed(path, f"settings.{name}", value)
        assert train_mnist.main(["--resume", str(path), "--epochs", "2"]) == 1
        text = capsys.readouterr().err
        assert in_three_parts(text) and f"no good note of {name}" in text


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory):
    return begun(tmp_path_factory.mktemp("one")).read_bytes()


def test_another_programs_file_and_a_damaged_one_are_refused(one_epoch, tmp_path, capsys):
    path = tmp_path / "x.safetensors"
    foreign = json.dumps({"__metadata__": {"settings": "{}", "at": "[1, 0, 10]"}}).encode()
    unmarked = json.dumps({"__metadata__": {"tutor.state": "{}"}}).encode()
    damaged = bytearray(one_epoch)
    damaged[-5] ^= 1
    for content, found in (
        (len(foreign).to_bytes(8, "little") + foreign, "no good note of 'settings'"),
        (len(unmarked).to_bytes(8, "little") + unmarked, "another program"),
        (bytes(damaged), "SHA-256"),
        (one_epoch[:-1], "SHA-256"),
        (b"", "0 bytes"),
    ):
        path.write_bytes(content)
        assert train_mnist.main(["--resume", str(path), "--epochs", "2"]) == 1
        text = capsys.readouterr().err
        assert in_three_parts(text) and found in text
        assert path.read_bytes() == content


def test_no_hidden_layer_is_a_linear_model(tmp_path):
    args = ["--data", "digits", "--limit", "64", "--hidden", "--epochs", "1", "--no-plot"]
    assert train_mnist.main([*args, "--out", str(tmp_path)]) == 0
