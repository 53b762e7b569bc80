"""train_mnist.py on ranks: one training, whatever their number; rank 0 prints and writes."""

import re
import shutil
import signal
import subprocess
import sys

import pytest
from on_ranks import ROOT, launched, results
from started import mpiexec

import train_mnist

SCRIPT = ROOT / "train_mnist.py"
SMALL = ["--data", "digits", "--limit", "300", "--hidden", "24", "--batch-size", "40"]


def trained(ranks, out, *more, launcher=None):
    """The checkpoint that so many ranks leave in `out`, and what they have printed."""
    options = ["--no-plot", "--out", str(out), *more]
    done = launched(ranks, SCRIPT, *(options if "--resume" in more else SMALL + options),
                    launcher=launcher)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return (out / "checkpoint.safetensors").read_bytes(), done.stdout


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The checkpoints of one process that nobody has launched, after one epoch and after two."""
    folder = tmp_path_factory.mktemp("alone")
    found = []
    for epochs in ("1", "2"):
        out = folder / epochs
        options = ["--no-plot", "--out", str(out), "--leaves", "8", "--epochs", epochs]
        assert train_mnist.main([*SMALL, *options]) == 0
        found.append(out / "checkpoint.safetensors")
    return found


def test_two_ranks_write_the_file_of_one_and_rank_0_prints(alone, tmp_path):
    found, text = trained(2, tmp_path / "two", "--epochs", "2")
    assert found == alone[1].read_bytes()
    assert "2 ranks" in text and "8 leaves" in text
    assert len(re.findall("epoch 1:", text)) == 1 and "[rank 1]" not in text


def test_four_ranks_go_on_where_one_was_and_one_where_four_were(alone, tmp_path):
    begun = tmp_path / "begun.safetensors"
    shutil.copy(alone[0], begun)
    found, _ = trained(4, tmp_path / "four", "--resume", str(begun), "--epochs", "2")
    as_two = alone[1].read_bytes()
    assert weights(found) == weights(as_two)
    four = tmp_path / "four" / "checkpoint.safetensors"
    out = tmp_path / "again"
    resume = ["--resume", str(four), "--epochs", "3", "--no-plot", "--out", str(out)]
    assert train_mnist.main(resume) == 0
    straight = tmp_path / "straight"
    options = ["--no-plot", "--out", str(straight), "--leaves", "8", "--epochs", "3"]
    assert train_mnist.main([*SMALL, *options]) == 0
    again, whole = ((o / "checkpoint.safetensors").read_bytes() for o in (out, straight))
    assert weights(again) == weights(whole)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_sharded_run_goes_on_unsharded_and_on_other_ranks_with_the_same_bits(optimizer, tmp_path):
    """Over the numbers of epochs: two ranks with shards, then one without, then four with them."""
    settings = ["--optimizer", optimizer, "--autocast", "float16"]
    straight = tmp_path / "straight"
    options = ["--no-plot", "--out", str(straight), "--leaves", "8", "--epochs", "3"]
    assert train_mnist.main([*SMALL, *settings, *options]) == 0
    out = tmp_path / "sharded"
    _, text = trained(2, out, *settings, "--sharded", "--epochs", "1")
    assert f"{optimizer}, sharded" in text
    resume = ["--resume", str(out / "checkpoint.safetensors")]
    assert train_mnist.main([*resume, "--epochs", "2", "--no-plot"]) == 0
    found, text = trained(4, out, *resume, "--sharded", "--epochs", "3")
    assert weights(found) == weights((straight / "checkpoint.safetensors").read_bytes())
    assert f"{optimizer}, sharded" in text


def test_two_sharded_ranks_write_the_file_of_one(alone, tmp_path):
    found, _ = trained(2, tmp_path / "two", "--epochs", "2", "--sharded")
    assert found == alone[1].read_bytes()


def test_ranks_that_would_train_apart_are_refused(tmp_path):
    done = launched(2, SCRIPT, *SMALL, "--leaves", "0", "--out", tmp_path)
    assert done.returncode == 2 and "leaf by leaf" in done.stderr


def weights(checkpoint):
    """All of its numbers: what follows the header."""
    return checkpoint[8 + int.from_bytes(checkpoint[:8], "little") :]


def test_what_was_begun_as_a_whole_is_not_resumed_on_ranks(tmp_path):
    out = tmp_path / "whole"
    assert train_mnist.main([*SMALL, "--epochs", "1", "--no-plot", "--out", str(out)]) == 0
    resume = ["--resume", out / "checkpoint.safetensors", "--epochs", "2", "--no-plot"]
    done = launched(2, SCRIPT, *resume)
    assert done.returncode != 0
    assert "--leaves 8" in done.stderr + done.stdout


def test_ctrl_c_that_reaches_one_rank_stops_all_of_them():
    assert results(2, "interrupted") == [[False, True]] * 2


def test_ctrl_c_stops_all_ranks_after_the_same_step(alone, tmp_path):
    out = tmp_path / "stopped"
    command = [sys.executable, "-m", "tutor", "ranks", "2", str(SCRIPT), *SMALL, "--no-plot"]
    command += ["--epochs", "4000", "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:  # fmt: skip
        try:
            assert any("epoch 2:" in line for line in process.stdout)
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
            process.wait(30)
        finally:
            process.kill()
    assert "--resume" in rest, rest
    assert "Traceback" not in rest, rest
    assert (out / "checkpoint.safetensors").is_file()


def test_an_mpi_launches_it_as_well(alone, tmp_path):
    launcher = [mpiexec(), "-n", "2", sys.executable]
    found, text = trained(2, tmp_path / "mpi", "--epochs", "2", launcher=launcher)
    assert found == alone[1].read_bytes()
    assert "2 ranks" in text
