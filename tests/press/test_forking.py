"""The process that forks warm kernels: a fork for each order, its status back, no orphans."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.press.processes import gone

# The real loop with a kernel of two lines in place of ipykernel's, and nothing heavy imported.
FORKING = """
import os, sys, time
from dpbayes.press import forking
forking.HEAVY = ()

def become_kernel(order):
    os.chdir(order["folder"])
    open("process", "w").write(str(os.getpid()))
    if order["arguments"] == ["sleep"]:
        time.sleep(60)
    os._exit(int(order["environment"]["STATUS"]))

forking.become_kernel = become_kernel
forking.main(sys.argv[1])
"""


@pytest.fixture
def forking(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    address = tmp_path / "forks"
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING, str(address)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process, address
    process.kill()
    process.communicate()


def order(address: Path, folder: Path, *words: str, status: int = 0) -> socket.socket:
    folder.mkdir()
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.settimeout(20)
    wire.connect(str(address))
    content = {
        "arguments": words,
        "folder": str(folder),
        "environment": {"STATUS": str(status)},
    }
    wire.sendall(json.dumps(content).encode() + b"\n")
    return wire


def process_of(folder: Path) -> int:
    for _ in range(400):
        note = folder / "process"
        if note.is_file() and note.read_text():
            return int(note.read_text())
        time.sleep(0.05)
    raise AssertionError("no kernel started")


def test_each_order_is_a_process_of_its_own_and_its_status_comes_back(forking, tmp_path) -> None:
    _, address = forking
    for status in (0, 3):
        with order(address, tmp_path / str(status), status=status) as wire:
            assert wire.recv(1) == bytes([status])
    assert process_of(tmp_path / "0") != process_of(tmp_path / "3")


def test_a_signal_reaches_the_kernel(forking, tmp_path) -> None:
    _, address = forking
    with order(address, tmp_path / "a", "sleep") as wire:
        kernel = process_of(tmp_path / "a")
        wire.sendall(bytes([signal.SIGTERM]))
        assert wire.recv(1) == bytes([-signal.SIGTERM & 0xFF])
        assert gone(kernel)


def test_a_kernel_nobody_waits_for_is_ended(forking, tmp_path) -> None:
    _, address = forking
    with order(address, tmp_path / "a", "sleep"):
        kernel = process_of(tmp_path / "a")
    assert gone(kernel)


def test_kernels_end_with_the_process_that_forked_them(forking, tmp_path) -> None:
    process, address = forking
    with order(address, tmp_path / "a", "sleep"):
        kernel = process_of(tmp_path / "a")
        process.communicate("")  # closes its standard input
        assert process.returncode == 0
        assert gone(kernel)
