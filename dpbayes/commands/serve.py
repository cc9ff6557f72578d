"""``dpbayes serve``: answer analysts' questions about a table, each with a token and a budget.

    dpbayes serve --new-token                     prints a token and the digest to store
    dpbayes serve service.toml --port 8000        or --socket ask.sock

The service file names cube, account and analysts: see `dpbayes.tables.files`. Needs the extra
``serve``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("service", nargs="?", help="service file (TOML)")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--socket", help="path of a Unix socket instead")
    parser.add_argument("--new-token", action="store_true", help="print a token and its digest")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted or terminated."""
    from dpbayes.tables.service import bound_socket, new_token, server, service_of, token_digest

    if arguments.new_token:
        token = new_token()
        print(f"token   {token}\ndigest  {token_digest(token)}")
        return 0
    if arguments.service is None:
        raise ValueError("a service file must be given, or --new-token")
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {arguments.port}")
    service = service_of(arguments.service)
    place = bound_socket(arguments.port, arguments.socket)
    where = f"unix:{arguments.socket}"
    if arguments.socket is None:
        where = "http://{}:{}".format(*place.getsockname())
    print(f"serving at {where}; end with Ctrl-C", flush=True)
    try:
        server(service).run(sockets=[place])
    except KeyboardInterrupt:
        pass  # uvicorn has finished the answers that were under way
    finally:
        place.close()
        if arguments.socket is not None:
            Path(arguments.socket).unlink(missing_ok=True)
    print("ended", file=sys.stderr)
    return 0
