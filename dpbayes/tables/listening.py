"""The server of the service: uvicorn on this machine, with a limit on clients without a token.

A connection has `PATIENCE` seconds to bring the head of its one request. Of one address at most
`MOST_WAITING` may not have brought it yet: one more ends the oldest. So neither slow nor silent
clients keep others out.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dpbayes.tables.service import PATIENCE, Service

MOST_WAITING = 64


class _Connection(H11Protocol):
    """One request a connection, whose head must arrive in time; errors are JSON."""

    patience: ClassVar[float]
    waiting: ClassVar[dict[str, list[_Connection]]]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._from = self.client[0] if self.client else ""
        others = self.waiting.setdefault(self._from, [])
        if len(others) >= MOST_WAITING:
            others.pop(0).transport.abort()
        others.append(self)
        self._timer = self.loop.call_later(self.patience, self._late)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self._arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        body = json.dumps({"error": "request must be HTTP/1.1"}).encode()
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def _late(self) -> None:
        self.transport.abort()

    def _arrived(self) -> None:
        self._timer.cancel()
        if self in self.waiting.get(self._from, []):
            self.waiting[self._from].remove(self)


def bound_socket(port: int = 0, unix_socket: str | Path | None = None) -> socket.socket:
    """Return a socket bound to 127.0.0.1, or to a path that only its owner may use.

    Nothing listens on any other interface. `port` 0 takes a free one.
    """
    if unix_socket is None:
        made = socket.socket(socket.AF_INET)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        return made
    path = Path(unix_socket)
    if path.exists():
        raise ValueError(
            f"socket must be a path that does not exist, got {str(path)!r}; a service that was "
            "killed leaves one, to be deleted"
        )
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)
    return made


def server(service: Service, patience: float = PATIENCE) -> uvicorn.Server:
    """Return uvicorn's server of the service; `run(sockets=[bound_socket()])` serves."""
    protocol = type("_Here", (_Connection,), {"patience": patience, "waiting": {}})
    config = uvicorn.Config(
        service.app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        log_level="critical",
    )
    return uvicorn.Server(config)
