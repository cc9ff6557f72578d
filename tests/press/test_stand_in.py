"""The process that stands for a warm kernel: what it orders, hands on, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpbayes.press import stand_in

FILE = Path(stand_in.__file__)


@contextmanager
def ordered(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket, dict]]:
    """Start a stand-in against a listening socket; give the process, the wire and its order."""
    address = folder / "forks"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(address))
        listening.listen()
        process = subprocess.Popen(
            [sys.executable, str(FILE), str(address), "-f", "connection.json"],
            cwd=folder,
            env={**os.environ, "DPBAYES_MARK": "here"},
        )
        wire, _ = listening.accept()
        received = b""
        while not received.endswith(b"\n"):
            received += wire.recv(65536)
        try:
            yield process, wire, json.loads(received)
        finally:
            wire.close()
            process.kill()
            process.wait()


def test_it_orders_a_kernel_with_its_own_surroundings(tmp_path: Path) -> None:
    with ordered(tmp_path) as (process, wire, order):
        assert order["arguments"] == ["-f", "connection.json"]
        assert Path(order["folder"]).samefile(tmp_path)
        assert order["environment"]["DPBAYES_MARK"] == "here"
        wire.sendall(bytes([7]))
        assert process.wait(timeout=20) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_handed_on_instead_of_obeyed(tmp_path: Path, number: int) -> None:
    with ordered(tmp_path) as (process, wire, _):
        wire.settimeout(20)
        process.send_signal(number)
        assert wire.recv(1) == bytes([number])
        assert process.poll() is None
        wire.sendall(bytes([0]))
        assert process.wait(timeout=20) == 0


def test_when_the_forking_process_is_gone_it_fails(tmp_path: Path) -> None:
    with ordered(tmp_path) as (process, wire, _):
        wire.close()
        assert process.wait(timeout=20) == 1
