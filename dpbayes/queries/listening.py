"""How requests come in to the curator's service, and how answers leave: HTTP on this machine.

A request has `PATIENCE` seconds to arrive as a whole, however it drips. At most `MOST_CONNECTIONS`
are open at a time: one more ends the oldest that has not said what it wants, and is turned away
where there is none. So neither slow nor silent clients keep others out. Answers leave at fixed
ticks, so that the time of an answer does not follow the noise in it.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from dpbayes.queries.service import Refusal, Service

LARGEST_BODY = 1 << 16
MOST_CONNECTIONS = 64
PATIENCE = 10.0
_FULL = {"error": f"connections must be at most {MOST_CONNECTIONS} at a time; come again"}


def at_tick(
    work: Callable[[], Any],
    tick: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Any:
    """Return the result of `work` a whole number of ticks after it was begun, also if it fails."""
    begun = clock()
    try:
        return work()
    finally:
        used = clock() - begun
        sleep(math.ceil(max(used, 1e-9) / tick) * tick - used)


class _Arriving(io.RawIOBase):
    """What a client sends, until a moment after which nothing more is waited for."""

    def __init__(self, connection: socket.socket, patience: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + patience

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long to arrive")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server_version = "dpbayes"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        arriving = _Arriving(self.connection, self._listening.patience)
        self.rfile = io.BufferedReader(arriving)

    @property
    def _listening(self) -> _Listening:
        return cast(_Listening, self.server)

    def do_GET(self) -> None:
        self._handle(b"")

    def do_POST(self) -> None:
        lengths = self.headers.get_all("Content-Length", [])
        plain = len(lengths) == 1 and re.fullmatch("[0-9]{1,9}", lengths[0].strip())
        if not plain or "Transfer-Encoding" in self.headers or int(lengths[0]) > LARGEST_BODY:
            self._send(
                413, {"error": f"body must be at most {LARGEST_BODY} bytes, with its length"}
            )
            return
        try:
            body = self.rfile.read(int(lengths[0]))
        except TimeoutError:
            patience = self._listening.patience
            self._send(408, {"error": f"request must arrive within {patience:g} seconds"})
            return
        self._handle(body)

    def _handle(self, body: bytes) -> None:
        service = self._listening.service
        if not self._listening.arrived(self.connection):
            return
        headers = self.headers.get_all("Authorization", [])
        header = headers[0] if len(headers) == 1 else None

        def work() -> tuple[int, dict[str, Any]]:
            try:
                return 200, service.reply(self.command, self.path, header, body)
            except Refusal as refusal:
                return refusal.status, {"error": str(refusal)}
            except Exception:
                return 500, {"error": "the curator's process could not answer; nothing is told why"}

        self._send(*at_tick(work, service.tick))

    def _send(self, status: int, fields: dict[str, Any]) -> None:
        content = _content(fields)
        # For all of the reply together: who does not take it in time goes without.
        self.connection.settimeout(self._listening.patience)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a log of questions beside their times is one more thing to protect."""

    def address_string(self) -> str:
        return "client"


class _Listening(ThreadingHTTPServer):
    service: Service
    daemon_threads = True
    request_queue_size = 128
    patience = PATIENCE
    most = MOST_CONNECTIONS

    def __init__(self, *arguments: Any) -> None:
        self._gate = threading.Lock()
        self._open: dict[Any, bool] = {}
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread of its own, if there is room or room can be made."""
        if self._admitted(request):
            super().process_request(request, client_address)
            return
        content = _content(_FULL)
        head = f"HTTP/1.0 503 Busy\r\nContent-Length: {len(content)}\r\n\r\n"
        with suppress(OSError):
            request.settimeout(0)
            request.sendall(head.encode() + content)
        self.shutdown_request(request)

    def _admitted(self, request: Any) -> bool:
        with self._gate:
            if len(self._open) >= self.most:
                waiting = [one for one, arrived in self._open.items() if not arrived]
                if not waiting:
                    return False
                # Its thread finds the line at its end, and closes it.
                del self._open[waiting[0]]
                _hang_up(waiting[0])
            self._open[request] = False
            return True

    def arrived(self, connection: Any) -> bool:
        """Note that a request is whole, so that its connection is not ended for another's.

        False where that has happened: what could not be answered is not paid for either.
        """
        with self._gate:
            known = connection in self._open
            if known:
                self._open[connection] = True
            return known

    def shutdown_request(self, request: Any) -> None:
        with self._gate:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever hung up before the answer is not the curator's trouble."""


class _OnUnixSocket(_Listening):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0
        os.chmod(str(self.server_address), 0o600)


def listening(service: Service, port: int = 0, unix_socket: str | Path | None = None) -> _Listening:
    """Return a server bound to 127.0.0.1, or to a Unix socket; call its `serve_forever`.

    Nothing listens on any other interface. `port` 0 takes a free one, see `server_port`. A socket
    that nobody listens to any more, as a killed service leaves it, is taken over.
    """
    if unix_socket is not None:
        path = Path(unix_socket)
        if _forsaken(path):
            path.unlink(missing_ok=True)
        if path.exists():
            raise ValueError(f"unix_socket must be a path that does not exist, got {str(path)!r}")
        bound: _Listening = _OnUnixSocket(cast(Any, str(path)), _Handler)
    else:
        bound = _Listening(("127.0.0.1", port), _Handler)
    bound.service = service
    return bound


def _forsaken(path: Path) -> bool:
    """Return whether this is a Unix socket that refuses connections."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE)
        try:
            line.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:  # a busy one, or one of somebody else
            return False
    return False


def in_background(bound: _Listening) -> threading.Thread:
    """Serve in a thread of its own; end with `bound.shutdown()`, seen within a fiftieth second."""
    thread = threading.Thread(target=bound.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    return thread


def _content(fields: dict[str, Any]) -> bytes:
    return (json.dumps(fields) + "\n").encode()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
