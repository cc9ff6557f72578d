"""The process that stands for a warm kernel: it asks for one, hands on signals, ends with it.

Run as a file with nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from types import FrameType

HANDED_ON = (signal.SIGINT, signal.SIGTERM)


def main(address: str, arguments: list[str]) -> int:
    """Order a kernel and wait for its exit status; signals wait until the order is out."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.connect(address)
    order = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    wire.sendall(json.dumps(order).encode() + b"\n")

    def hand_on(number: int, frame: FrameType | None) -> None:
        wire.sendall(bytes([number]))

    for number in HANDED_ON:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
    answer = wire.recv(1)
    return answer[0] if answer else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
