"""Where notebooks are, and what they are called."""

from __future__ import annotations

from pathlib import Path

import dpbayes


def notebooks_folder(start: Path) -> Path:
    """Return ``notebooks`` here, in a folder above, beside the package or in the package."""
    beside_package = Path(dpbayes.__file__).parents[1]
    for folder in (start, *start.parents, beside_package):
        if (folder / "notebooks").is_dir() and (folder / "_toc.yml").is_file():
            return folder / "notebooks"
    carried = Path(dpbayes.__file__).parent / "notebooks"
    if carried.is_dir():
        return carried
    raise ValueError(f"no folder 'notebooks' in {start} or above it; run this inside a checkout")


def results_folder(start: Path) -> Path:
    """Return where results go that nobody ordered: at the top of a checkout, where git ignores it.

    Outside a checkout it is the folder ``results`` below ``start``.
    """
    for folder in (start, *start.parents):
        if (folder / "notebooks").is_dir() and (folder / "_toc.yml").is_file():
            return folder / "results"
    return start / "results"


def checkout_of(notebook: Path) -> Path | None:
    """Return the folder that has the folder ``notebooks`` of this notebook, and the book beside."""
    for folder in notebook.parents:
        if folder.name == "notebooks":
            return folder.parent
    return None


def find_notebook(given: str, start: Path) -> tuple[str, Path]:
    """Return name and path of the notebook meant by a path, or a name such as ``tables/steps``."""
    path = start / given
    if path.suffix == ".ipynb" and path.is_file():
        return name_of(path.resolve()), path.resolve()
    folder = notebooks_folder(start)
    name = given.removeprefix("notebooks/").removesuffix(".ipynb")
    if name in all_notebooks(folder):
        return name, folder / f"{name}.ipynb"
    known = "\n".join(f"  {known}" for known in all_notebooks(folder))
    raise ValueError(f"no notebook {given!r}; the notebooks are\n{known}")


def name_of(path: Path) -> str:
    """Return the path of a notebook below the last folder called ``notebooks``, or its stem."""
    parts = path.with_suffix("").parts
    if "notebooks" not in parts:
        return parts[-1]
    last = len(parts) - 1 - parts[::-1].index("notebooks")
    return "/".join(parts[last + 1 :])


def all_notebooks(folder: Path) -> dict[str, Path]:
    """Return every notebook below a folder by its name."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.ipynb"))
        if ".ipynb_checkpoints" not in path.parts
    }
