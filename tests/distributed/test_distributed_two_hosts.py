"""Ranks on two hosts: one training wherever they are, and of a rank that is killed over there the
others hear over here.

The hosts are namespaces of this machine: each has a name, an address and shared memory of its own,
and between them is a cable. Open MPI reaches the other one by a script of ours, in the place of
ssh, and may send bytes by TCP alone. It takes root, util-linux, iproute2 and Open MPI's mpiexec;
without them these tests are left out.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import started
from on_ranks import ROOT

import train_mnist

ADDRESSES = {"host-a": "10.9.0.1", "host-b": "10.9.0.2"}
SMALL = ["--data", "digits", "--limit", "300", "--hidden", "24", "--batch-size", "40"]
PATIENCE = 2  # seconds from SIGTERM to SIGKILL; one, as it is else, is little on a busy machine
# Called as ssh is: agent ADDRESS COMMAND ...
AGENT = """\
#!/bin/sh
address="$1"; shift
read pid <"$(dirname "$0")/$address"
exec nsenter --target "$pid" --net --uts --ipc sh -c "$*"
"""


def entered(pid: int) -> list[str]:
    return ["nsenter", "--target", str(pid), "--net", "--uts", "--ipc"]


@contextlib.contextmanager
def host(name: str) -> Iterator[int]:
    """A host of that name, for as long as the process is there whose number is given."""
    made = subprocess.Popen(
        ["unshare", "--net", "--uts", "--ipc", "sh", "-c",
         f"hostname {name} && ip link set lo up && echo made && exec sleep 600"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert made.stdout is not None
        said = made.stdout.readline()
        if said != "made\n":
            pytest.skip(f"this machine lets nobody make a host: {said.strip()}")
        yield made.pid
    finally:
        made.kill()
        made.communicate()


@pytest.fixture(scope="module")
def mpiexec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What starts ranks on both hosts: the first on one, all others on the other."""
    pytest.importorskip("mpi4py")
    program = shutil.which(os.environ.get("TUTOR_MPIEXEC", "mpiexec.openmpi"))
    tools = [shutil.which(tool) for tool in ("unshare", "nsenter", "ip", "hostname")]
    if os.geteuid() != 0 or program is None or None in tools:
        pytest.skip("needs root, unshare, nsenter, ip, hostname and mpiexec.openmpi")
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "agent").write_text(AGENT)
    (folder / "agent").chmod(0o755)
    with contextlib.ExitStack() as stack:
        pids = {name: stack.enter_context(host(name)) for name in ADDRESSES}
        a, b = pids.values()
        cable = ["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0"]
        subprocess.run([*entered(a), *cable, "netns", str(b)], check=True)
        for name, address in ADDRESSES.items():
            (folder / address).write_text(f"{pids[name]}\n")
            inside = entered(pids[name])
            place = ["ip", "addr", "add", f"{address}/24", "dev", "eth0"]
            subprocess.run([*inside, *place], check=True)
            subprocess.run([*inside, "ip", "link", "set", "eth0", "up"], check=True)
        first, other = ADDRESSES.values()
        yield [
            *entered(a), program, "--allow-run-as-root", "--mca", "plm_rsh_agent",
            str(folder / "agent"), "--mca", "btl", "tcp,self",
            "--mca", "odls_base_sigkill_timeout", str(PATIENCE),
            "--host", f"{first}:1,{other}:3",
        ]  # fmt: skip


def run(launcher: list[str], ranks: int, *program: object) -> started.Run:
    library = os.environ.get("MPI4PY_LIBMPI") or ctypes.util.find_library("mpi") or "libmpi.so.40"
    return started.run("mpi", ranks, *program, launcher=launcher, MPI4PY_LIBMPI=library)


def test_they_are_two_hosts(mpiexec: list[str]) -> None:
    names = "import socket; from tutor import dist; dist.barrier(); print(socket.gethostname())"
    found = run(mpiexec, 3, "-c", names)
    assert found.lines == {0: "host-a\n", 1: "host-b\n", 2: "host-b\n"}, found.text


def test_ranks_on_two_hosts_write_the_file_of_one(mpiexec: list[str], tmp_path: Path) -> None:
    settings = [*SMALL, "--leaves", "8", "--epochs", "2", "--no-plot", "--out"]
    assert train_mnist.main([*settings, str(tmp_path / "one")]) == 0
    found = run(mpiexec, 2, ROOT / "train_mnist.py", *settings, tmp_path / "two")
    assert found.code == 0 and "2 ranks" in found.text, found.text
    one, two = ((tmp_path / n / "checkpoint.safetensors").read_bytes() for n in ("one", "two"))
    assert one == two


def test_of_a_rank_that_is_killed_over_there_the_others_hear(mpiexec: list[str]) -> None:
    found = run(mpiexec, 3, "rank_1_fails.py", "kill", 15)
    assert found.code == 128 + signal.SIGKILL, found.text
    for rank in (0, 2):
        said = found.lines[rank]
        after = re.search(
            r"after ([\d.]+) s: asked: all_reduce #3 .*\nfound: rank 1 had not come when .* "
            r"\(SIGTERM\); the latest it came to is all_gather #2",
            said,
        )
        assert after and float(after[1]) < 5 * PATIENCE, found.text  # three times, it seems
