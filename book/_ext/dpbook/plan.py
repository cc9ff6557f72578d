"""Which notebooks a build runs, and with which values of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbayes.press.overrides import read_overrides
from dpbayes.press.parameters import Parameter, chosen, declared, load
from dpbayes.press.places import all_notebooks


@dataclass(frozen=True)
class Planned:
    """A notebook of the book: its name, its file, its parameters and their values in this build."""

    name: str
    path: Path
    parameters: Mapping[str, Parameter]
    values: Mapping[str, Any]


def plan(notebooks: Path, overrides_file: Path) -> list[Planned]:
    """Return every notebook below a folder with its values, or raise ValueError for a bad override.

    The overrides file maps a notebook's name to values of some of its parameters; an unknown
    notebook, an unknown parameter, a wrong type or a value out of range is refused.
    """
    overrides = read_overrides(overrides_file)
    paths = all_notebooks(notebooks)
    for name in overrides:
        if name not in paths:
            known = "\n".join(f"  {known}" for known in paths)
            raise ValueError(
                f"{overrides_file.name}: no notebook {name!r}; the notebooks are\n{known}"
            )
    return [planned(name, path, overrides.get(name, {})) for name, path in paths.items()]


def planned(name: str, path: Path, overrides: Mapping[str, Any]) -> Planned:
    """Return one notebook with its values."""
    try:
        parameters = declared(load(path))
    except (ValueError, TypeError, SyntaxError) as error:
        raise ValueError(f"{name}: {error}") from error
    return Planned(name, path, parameters, chosen(name, parameters, overrides))
