"""The command line: ``dpbayes COMMAND …``, or ``python -m dpbayes COMMAND …``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments) -> int``; it
is imported only when it is called. Adding one means adding a line to COMMANDS.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from dpbayes import __version__
from dpbayes.commands import Refused

COMMANDS = {
    "list": ("dpbayes.commands.list", "list the notebooks and their parameters"),
    "run": ("dpbayes.commands.run", "run one notebook with parameters of your own"),
    "sweep": ("dpbayes.commands.sweep", "run one notebook at every point of a grid"),
    "verify": (
        "dpbayes.commands.verify",
        "compare the numbers of a build with the reference",
    ),
    "audit": (
        "dpbayes.commands.audit",
        "work out the actual privacy loss of a mechanism",
    ),
    "plan": (
        "dpbayes.commands.plan",
        "say what a planned release would cost and how good it is",
    ),
    "account": (
        "dpbayes.commands.account",
        "make, show or check the account of a data set",
    ),
    "release": (
        "dpbayes.commands.release",
        "release a private posterior of real counts",
    ),
    "cite": ("dpbayes.commands.cite", "print BibTeX for the methods used"),
    "serve": (
        "dpbayes.commands.serve",
        "answer analysts' questions about a private table",
    ),
    "ask": ("dpbayes.commands.ask", "ask a private table questions, within a bound"),
}
EXTRAS = {
    **dict.fromkeys(("duckdb", "pydantic", "flint", "jinja2", "markupsafe"), "tables"),
    **dict.fromkeys(("starlette", "uvicorn"), "tables,serve"),
    **dict.fromkeys(("nbconvert", "nbformat", "papermill", "IPython"), "book"),
    "distributed": "book,cluster",
}  # fmt: skip
"""The extra that brings a package."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 failed, 2 bad arguments or
    a folder at which another process is at work, 130 interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # no letter stops what has been done
    chosen = words[0] if words else None
    try:
        arguments = build_parser(chosen).parse_args(words)
        status = int(
            importlib.import_module(COMMANDS[arguments.command][0]).run(arguments)
        )
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stopped:
        print(f"dpbayes {chosen}: {str(stopped) or 'interrupted'}", file=sys.stderr)
        return 130
    except ImportError as error:
        extra = EXTRAS.get(str(error.name).partition(".")[0])
        if extra is None and isinstance(error, ModuleNotFoundError):
            raise
        missing = f"{error.name} is not installed: pip install 'dpbayes[{extra}]'"
        print(f"dpbayes {chosen}: {missing if extra else error}", file=sys.stderr)
        return 2
    except (Refused, OSError, ValueError, TypeError) as error:
        print(f"dpbayes {chosen}: {error}", file=sys.stderr)
        refused = isinstance(error, (ValueError, TypeError, BlockingIOError))
        return 2 if refused else 1


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Return the parser, with the arguments of the one command that was chosen."""
    parser = argparse.ArgumentParser(
        prog="dpbayes",
        description="Private Bayesian posteriors for categorical counts.",
    )
    parser.add_argument("--version", action="version", version=f"dpbayes {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=summary.capitalize() + "."
        )
        if name == chosen:
            importlib.import_module(module).add_arguments(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
