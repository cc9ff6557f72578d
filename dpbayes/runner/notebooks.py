"""Notebooks: where they are, what they are called, what is in them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dpbayes


def folder(start: Path) -> Path:
    """Return the folder ``notebooks`` here or in a folder above, else that of the package."""
    for one in (start, *start.parents):
        if (one / "notebooks").is_dir() and (one / "_toc.yml").is_file():
            return one / "notebooks"
    return Path(dpbayes.__file__).parent / "carried" / "notebooks"


def all_notebooks(folder: Path) -> dict[str, Path]:
    """Return every notebook below a folder by its name, such as ``documents/D-table1``."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.ipynb"))
        if ".ipynb_checkpoints" not in path.parts
    }


def find(given: str, start: Path) -> tuple[str, Path]:
    """Return name and path of the notebook meant by a path, a name or the last part of a name."""
    path = start / given
    if path.suffix == ".ipynb" and path.is_file():
        parts = path.resolve().with_suffix("").parts
        below = parts[::-1].index("notebooks") if "notebooks" in parts else 1
        return "/".join(parts[-below:]), path.resolve()
    known = all_notebooks(folder(start))
    name = given.removeprefix("notebooks/").removesuffix(".ipynb")
    meant = [one for one in known if name in (one, one.rpartition("/")[2])]
    meant = meant or [one for one in known if one.rpartition("/")[2].lower() == name.lower()]
    if len(meant) == 1:
        return meant[0], known[meant[0]]
    if meant:
        raise ValueError(f"{given!r} is the name of several notebooks: {', '.join(meant)}")
    short = {one.rpartition("/")[2].lower(): one for one in known}
    near = [short[one] for one in difflib.get_close_matches(name.lower(), short, n=3)]
    near += difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else "try `dpbayes list`"
    raise ValueError(f"no notebook {given!r}; {hint}")


def load(path: Path) -> dict[str, Any]:
    """Return a notebook's JSON, each source one text; ValueError names a file that is none."""
    if not path.is_file():
        raise ValueError(f"no notebook at {path}")
    try:
        notebook = dict(json.loads(path.read_text(encoding="utf-8")))
        for place, cell in enumerate(notebook["cells"]):
            cell["source"] = "".join(cell["source"])
            cell.setdefault("id", f"cell-{place}")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error}") from error
    return notebook


def tags(cell: Mapping[str, Any]) -> list[str]:
    """Return the tags of a cell."""
    return list(cell["metadata"].get("tags", []))


def title(notebook: Mapping[str, Any]) -> str:
    """Return the first heading of a notebook."""
    lines = (line for cell in notebook["cells"] for line in cell["source"].splitlines())
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "")
