"""A notebook where nobody began a run for it: in JupyterLab, under papermill, as a
script. Its parameters are checked and its results have their place and provenance.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbayes.notebooks import parameters
from dpbayes.notebooks.parameters import CARRIED, Parameter, declarations, load

INJECTED = "# Parameters"  # how papermill begins the cell it adds


def place(name: str) -> Path:
    """Return the folder of a notebook's results.

    It is below ``DPBAYES_RESULTS``, else below ``results`` in the folder of the book
    that the working folder lies in, else below ``results`` here.
    """
    here = Path.cwd()
    tops = [one for one in (here, *here.parents) if (one / "_toc.yml").is_file()]
    given = os.environ.get("DPBAYES_RESULTS")
    parent = Path(given) if given else [*tops, here][0] / "results"
    return (parent / name).absolute()


def checked(name: str, space: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return the values of a notebook's parameters, as they are declared.

    `space` has the notebook's variables; its values get their declared types. What is
    wrong raises TypeError or ValueError and says what is allowed.
    """
    known, injected = told(name)
    given = {key: space[key] for key in known if key in space}
    given |= {key: space.get(key) for key in injected}
    values = parameters.checked(name, known, given)
    space.update(values)
    return values


def told(name: str) -> tuple[dict[str, Parameter], list[str]]:
    """Return the declared parameters, and the names that papermill has injected.

    The cells that have run say it; where there are none, as in a script, the package's
    own copy of the notebook does.
    """
    known: dict[str, Parameter] = {}
    injected: list[str] = []
    for source in cells():
        if source.startswith(INJECTED):
            with contextlib.suppress(SyntaxError):
                injected = [*assigned(source)]
        elif found := parameters_in(source):
            known, injected = found, []
    own = CARRIED / "notebooks" / f"{name}.ipynb"
    if not known and own.is_file():
        for cell in load(own)["cells"]:
            if "parameters" in cell["metadata"].get("tags", []):
                known = declarations(cell["source"])
    bare = {key: replace(one, default=None) for key, one in known.items()}
    return bare, injected


def cells() -> Iterator[str]:
    """Yield the sources of the cells that have run in this session."""
    python: Any = sys.modules.get("IPython")
    shell = python and python.get_ipython()
    yield from shell.user_ns.get("In", ()) if shell else ()


def parameters_in(source: str) -> dict[str, Parameter]:
    """Return the parameters that a cell declares; none where it does other things."""
    with contextlib.suppress(ValueError, SyntaxError):
        if all(isinstance(line, ast.AnnAssign) for line in ast.parse(source).body):
            return declarations(source)
    return {}


def assigned(source: str) -> Iterator[str]:
    """Yield the names that a cell assigns."""
    for line in ast.parse(source).body:
        for target in line.targets if isinstance(line, ast.Assign) else ():
            yield from re.findall(r"^\w+$", ast.unparse(target))
