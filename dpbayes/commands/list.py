"""``dpbayes list``: what can be run, and with which parameters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpbayes.press.parameters import declared, listing, load, source_of
from dpbayes.press.places import all_notebooks, notebooks_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("part", nargs="?", default="", help="only names that begin like this")


def run(arguments: argparse.Namespace) -> int:
    """Print every notebook with its question, its parameters and their defaults."""
    found = {
        name: path
        for name, path in all_notebooks(notebooks_folder(Path.cwd())).items()
        if name.startswith(arguments.part)
    }
    if not found:
        raise ValueError(f"no notebook begins with {arguments.part!r}")
    print("\n\n".join(described(name, load(path)) for name, path in found.items()))
    return 0


def described(name: str, notebook: dict[str, Any]) -> str:
    """Return a notebook's name, its title and its parameters."""
    lines = [f"{name}  {title(notebook)}".rstrip()]
    return "\n".join([*lines, *(f"    {one}" for one in listing(declared(notebook)))])


def title(notebook: dict[str, Any]) -> str:
    """Return the first heading of a notebook."""
    for cell in notebook["cells"]:
        for line in source_of(cell).splitlines():
            if cell["cell_type"] == "markdown" and line.startswith("# "):
                return line[2:].strip()
    return ""
