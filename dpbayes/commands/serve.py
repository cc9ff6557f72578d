"""``dpbayes serve``: answer analysts' questions about a table, each with a token and a
budget.

    dpbayes serve --new-token                     prints a token and the digest to store
    dpbayes serve service.toml --port 8000

The service file is described in `dpbayes.tables.files`. Needs the extra ``serve``.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
from contextlib import suppress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("service", nargs="?", help="service file (TOML)")
    parser.add_argument(
        "--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one"
    )
    parser.add_argument(
        "--new-token", action="store_true", help="print a token and its digest"
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted or terminated."""
    from dpbayes.tables.service import server, service_of, token_digest

    if arguments.new_token:
        token = secrets.token_urlsafe(24)
        print(f"token   {token}\ndigest  {token_digest(token)}")
        return 0
    if arguments.service is None:
        raise ValueError("a service file must be given, or --new-token")
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {arguments.port}")
    service = service_of(arguments.service)
    with socket.create_server(("127.0.0.1", arguments.port)) as place:
        print(
            "serving at http://{}:{}; end with Ctrl-C".format(*place.getsockname()),
            flush=True,
        )
        with suppress(
            KeyboardInterrupt
        ):  # uvicorn has finished the answers that were under way
            server(service).run(sockets=[place])
    print("ended", file=sys.stderr)
    return 0
