"""The record of the notebook that is running, whoever runs it.

``dpbayes run``, ``dpbayes sweep`` and the build of the book write the notebook's name and the value
of every parameter to a file, and name that file in the environment variable ``DPBAYES_ORDER``.
Plain papermill, nbconvert and JupyterLab tell nothing. Then the parameters are read from the cell
that declares them and checked here, which the other runners have done before they start; the name
comes from the session, from papermill, or from the notebook of the package that has these cells.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbayes.press.constraints import only_conditions, read_constraints
from dpbayes.press.parameters import (
    Declarations,
    chosen,
    load,
    source_of,
    unchecked_declarations,
)
from dpbayes.press.places import all_notebooks, name_of, notebooks_folder
from dpbayes.press.record import Record, record

ORDER = "DPBAYES_ORDER"
PATHS = ("PAPERMILL_INPUT_PATH", "__vsc_ipynb_file__")  # names that runners leave in a notebook
UNKNOWN = "notebook"


def open_record(name: str | None = None) -> Record:
    """Return the record of the notebook that is running: its name, its parameters, its seed.

    Call it in one of the first cells, right after the parameters::

        from dpbayes.press import open_record

        record = open_record()

    `name` is needed only where nothing tells it: in a session of one's own, under a file name that
    the session does not know. The seed is the parameter called ``seed``, if there is one. Raises
    ValueError or TypeError for parameters outside their declared ranges, choices or conditions.
    """
    order = os.environ.get(ORDER)
    if order:
        told = json.loads(Path(order).read_text(encoding="utf-8"))
        name, values = told["notebook"], told["parameters"]
    else:
        names, cells = running()
        name = name or name_of_session(names, cells)
        values = values_in(name, names, cells)
    return record(name, values, values.get("seed"), ordered=bool(order))


def running() -> tuple[Mapping[str, Any], list[str]]:
    """Return the names in the notebook that is running and the cells that have run."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    if shell is None:
        return {}, []
    return shell.user_ns, [str(cell) for cell in shell.user_ns.get("In", [])]


def name_of_session(names: Mapping[str, Any], cells: list[str]) -> str:
    """Return the name of the notebook that is running, as well as can be known."""
    paths = [os.environ.get("JPY_SESSION_NAME"), *(names.get(one) for one in PATHS)]
    for path in paths:
        if isinstance(path, str) and path.endswith(".ipynb"):
            return plain_name(name_of(Path(path).absolute()))
    return recognised(cells) or UNKNOWN


def plain_name(name: str) -> str:
    """Return a file's name as a record may be called.

    >>> plain_name("tables/My Notebook (2)")
    'tables/my-notebook-2'
    """
    parts = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in name.split("/"))
    return "/".join(part for part in parts if part) or UNKNOWN


def known_notebooks() -> dict[str, Path]:
    """Return the notebooks at hand by their names; none where there are none."""
    try:
        return all_notebooks(notebooks_folder(Path.cwd()))
    except ValueError:
        return {}


def recognised(cells: list[str]) -> str | None:
    """Return the one notebook that has all the cells that have run, injected parameters aside."""
    run = {cell.strip() for cell in cells if cell.strip() and not cell.startswith("# Parameters")}
    if not run:
        return None
    fitting = []
    for name, path in known_notebooks().items():
        sources = {source_of(cell).strip() for cell in load(path)["cells"]}
        if run <= sources:
            fitting.append(name)
    return fitting[0] if len(fitting) == 1 else None


def values_in(name: str, names: Mapping[str, Any], cells: list[str]) -> dict[str, Any]:
    """Return the values of the parameters that the last cell of declarations declares, checked."""
    further = [cell for cell in dict.fromkeys(cells) if only_conditions(cell)]
    for cell in reversed(cells):
        found = declarations_of(cell)
        if found:
            found.together += read_constraints("\n".join(further))
            given = {key: names[key] for key in found if key in names}
            return chosen(name, found, given)
    return {}


def declarations_of(cell: str) -> Declarations:
    """Return what a cell declares; nothing for a cell that does anything else."""
    try:
        found = unchecked_declarations(cell)
    except (ValueError, SyntaxError):
        return Declarations()
    return found if all(one.meaning for one in found.values()) else Declarations()
