"""The process that forks warm kernels; see `dpbayes.press.warm`.

It imports the heavy modules, says so in one line, and forks for every order that arrives at its
address. It never opens a ZeroMQ socket or a thread itself, so a fork is safe. When its standard
input closes, it ends, and the kernels with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from dpbayes.press import record, traces

# Nothing of the mathematics of dpbayes: which of its modules a notebook imports is to be seen.
HEAVY = (
    "ipykernel.kernelapp", "ipykernel.debugger", "IPython.core.completer",
    "IPython.core.completerlib", "IPython.core.debugger", "IPython.core.logger",
    "IPython.core.oinspect", "IPython.extensions.storemagic", "psutil", "sqlite3",
    "tornado.platform.asyncio", "numpy", "scipy.special", "scipy.stats",
    "scipy.optimize", "scipy.signal", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "matplotlib.figure", "seaborn",
)  # fmt: skip


def main(address: str) -> None:
    """Listen at the address until standard input closes."""
    for module in HEAVY:
        importlib.import_module(module)
    record.described(traces.used())  # the versions, and the commit, are looked up once
    record.commit()
    gc.freeze()  # no kernel goes through the objects of these modules, or copies their pages
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(address)
    listening.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        wire, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            keep(wire)
        wire.close()


def keep(wire: socket.socket) -> NoReturn:
    """Fork the kernel, hand it the signals that arrive, report its exit status, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    order = read_order(wire)
    kernel = os.fork()
    if kernel == 0:
        wire.close()
        become_kernel(order)
    family = os.getppid()
    while True:
        finished, status = os.waitpid(kernel, os.WNOHANG)
        if finished:
            wire.sendall(bytes([os.waitstatus_to_exitcode(status) & 0xFF]))
            os._exit(0)
        ready, _, _ = select.select([wire], [], [], 0.02)
        signals = wire.recv(16) if ready else b""
        if (ready and not signals) or os.getppid() != family:
            signals = bytes([signal.SIGKILL])
        for number in signals:
            os.kill(kernel, number)


def read_order(wire: socket.socket) -> dict[str, Any]:
    """Return the order, one line of JSON."""
    received = b""
    while not received.endswith(b"\n"):
        received += wire.recv(65536)
    return dict(json.loads(received))


def become_kernel(order: dict[str, Any]) -> NoReturn:
    """Turn this process into the kernel that was ordered."""
    code = 1
    try:
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        from ipykernel.kernelapp import IPKernelApp

        IPKernelApp.launch_instance(argv=order["arguments"])
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
