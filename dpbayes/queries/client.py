"""Asking a curator's service: one request over HTTP on this machine, or over a Unix socket."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 60.0


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


def request(
    address: str, token: str, path: str, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the service's reply; ValueError with its sentence where it refuses.

    `address` is "http://127.0.0.1:8000" or "unix:/path/of/the/socket"; `fields` None sends a GET.
    """
    connection = _connection(address)
    body = None if fields is None else json.dumps(fields)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("GET" if fields is None else "POST", path, body, headers)
        reply = connection.getresponse()
        answered: dict[str, Any] = json.loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ValueError(f"server must answer at {address}, got: {error}") from error
    finally:
        connection.close()
    if reply.status != 200:
        raise ValueError(str(answered.get("error", reply.reason)))
    return answered


def _connection(address: str) -> http.client.HTTPConnection:
    if address.startswith("unix:"):
        return _UnixConnection(address.removeprefix("unix:"))
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(
            "server must be http://127.0.0.1:PORT or unix:PATH, since the token travels in the "
            f"clear, got {address!r}"
        )
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
