"""``dpbayes serve``: answer analysts' questions about a table, each with a token and a budget.

    dpbayes serve --new-token                     prints a token and the digest to store
    dpbayes serve service.toml --port 8000        or --socket ask.sock

The service file is TOML::

    cube = "people.toml"                # as for dpbayes ask
    account = "clinic.account"
    tick = 0.1                          # seconds; optional

    [[analyst]]
    name = "anna"
    token = "9f86d081884c7d65…"         # the digest, not the token
    budget = "0.4"
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbayes.mechanisms.guarantees import exact_epsilon, given_epsilon

if TYPE_CHECKING:
    from dpbayes.queries.service import Analyst, Service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("service", nargs="?", help="service file (TOML)")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--socket", help="path of a Unix socket instead")
    parser.add_argument("--new-token", action="store_true", help="print a token and its digest")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted or terminated."""
    from dpbayes.queries.listening import listening
    from dpbayes.queries.service import new_token, token_digest

    if arguments.new_token:
        token = new_token()
        print(f"token   {token}\ndigest  {token_digest(token)}")
        return 0
    if arguments.service is None:
        raise ValueError("a service file must be given, or --new-token")
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {arguments.port}")
    bound = listening(read_service(Path(arguments.service)), arguments.port, arguments.socket)
    where = arguments.socket or f"http://127.0.0.1:{bound.server_port}"
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(f"serving at {where}; end with Ctrl-C", flush=True)
        bound.serve_forever()
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    finally:
        bound.server_close()
        if arguments.socket is not None:
            Path(arguments.socket).unlink(missing_ok=True)
    return 0


def read_service(path: Path) -> Service:
    """Return the service that a file describes, or raise ValueError naming what is wrong."""
    from dpbayes.commands.ask import paid_server
    from dpbayes.queries.service import TICK, Service
    from dpbayes.releasing.opening import open_account

    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"service file {path} cannot be read: {error}") from error
    needed = {"cube", "account", "analyst"}
    if not needed <= settings.keys() <= needed | {"tick"}:
        raise ValueError(
            f"service file {path} must set cube, account, analyst and, if wanted, tick; it sets "
            f"{sorted(settings)}"
        )
    tick = settings.get("tick", TICK)
    if isinstance(tick, bool) or not isinstance(tick, (int, float)) or not 0 < tick <= 60:
        raise ValueError(f"service file {path}: tick must lie in (0, 60] seconds, got {tick!r}")
    for name in ("cube", "account"):
        if not isinstance(settings[name], str) or not settings[name]:
            raise ValueError(
                f"service file {path}: {name} must be the path of a file, got {settings[name]!r}"
            )
    if not isinstance(settings["analyst"], list) or not settings["analyst"]:
        raise ValueError(
            f"service file {path}: analyst must be one or more tables [[analyst]], got "
            f"{settings['analyst']!r}"
        )
    analysts = tuple(_analyst(path, entry) for entry in settings["analyst"])
    account = open_account(path.parent / settings["account"])
    server = paid_server(str(path.parent / settings["cube"]), account)
    return Service(server, account, analysts, float(tick))


def _analyst(path: Path, entry: Any) -> Analyst:
    from dpbayes.queries.service import Analyst

    if not isinstance(entry, dict):
        raise ValueError(f"service file {path}: an analyst must be a table, got {entry!r}")
    name, token = entry.get("name"), entry.get("token")
    good = isinstance(name, str) and name.isalnum() and isinstance(token, str)
    good = good and re.fullmatch("[0-9a-f]{64}", str(token)) is not None
    if entry.keys() != {"name", "token", "budget"} or not good:
        raise ValueError(
            f"service file {path}: an analyst must have a name of letters and digits, the digest "
            f"of a token and a budget, got {sorted(entry)}"
        )
    return Analyst(str(name), str(token), exact_epsilon(given_epsilon(entry["budget"])))
