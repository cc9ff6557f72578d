"""What a result was made from, as digests; and in words, what has changed since.

A result is made from its notebook, the values of its parameters, the modules of this package that
the notebook can import (read from the sources, without running them), the package's data, and the
versions of Python and of the libraries that compute.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dpbayes

PACKAGE = Path(dpbayes.__file__).parent
OWN = PACKAGE.name
ALWAYS = "import dpbayes.record, dpbayes.runner.run\n"  # they take part in every run
LIBRARIES = ("numpy", "scipy", "matplotlib", "seaborn", "duckdb", "pydantic", "python-flint",
             "dp-accounting", "ipython")  # fmt: skip
Key = dict[str, Any]


class Sources:
    """The package as it is now: each file is read once."""

    def __init__(self) -> None:
        """Find the modules, their digests, and what the package offers."""
        paths = sorted(PACKAGE.rglob("*.py"))
        names = [one.relative_to(PACKAGE.parent).with_suffix("").as_posix() for one in paths]
        self.texts = {
            name.removesuffix("/__init__").replace("/", "."): (path, path.read_text("utf-8"))
            for name, path in zip(names, paths, strict=True)
        }
        data = [one for one in sorted((PACKAGE / "data").rglob("*")) if one.is_file()]
        self.digests = {
            one.relative_to(PACKAGE).as_posix(): hashlib.sha256(one.read_bytes()).hexdigest()
            for one in [*paths, *data]
        }
        self.data = [one for one in self.digests if one.startswith("data/")]
        self.versions = {"python": platform.python_version()}
        for name in LIBRARIES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                self.versions[name] = importlib.metadata.version(name)
        # The package itself imports nothing: it offers names, and what is asked for is imported.
        self.needs: dict[str, set[str]] = {OWN: set()}
        self.offered = {
            f"{OWN}.{one.name}": str(node.module)
            for node in ast.walk(ast.parse(self.texts[OWN][1]))
            if isinstance(node, ast.ImportFrom)
            for one in node.names
        }

    def imported(self, text: str, module: str = "", package: bool = False) -> set[str]:
        """Return the modules of the package that a source can import.

        A text that names a module counts, in the file of a package that of a module below it too:
        `importlib` may be given it.
        """
        found: set[str] = set()
        aliases = {OWN}  # under which the package is known here
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
                aliases |= {str(one.asname) for one in node.names if one.name == OWN}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found |= {f"{OWN}.{node.attr}"} if node.value.id in aliases else set()
            elif isinstance(node, ast.ImportFrom):
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + package] if node.level else []
                base = ".".join([*parts, *filter(None, [node.module])])
                found |= {base, *(f"{base}.{one.name}" for one in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, f"{module}.{node.value}" if package else ""}
        paths = [self.offered.get(one, one).split(".") for one in found]
        above = [".".join(one[:size]) for one in paths for size in range(1, len(one) + 1)]
        return set(above) & self.texts.keys()

    def closure(self, text: str) -> set[str]:
        """Return every module of the package that code can come to import."""
        waiting, seen = self.imported(ALWAYS + text), set[str]()
        while waiting:
            module = waiting.pop()
            seen.add(module)
            if module not in self.needs:
                path, source = self.texts[module]
                self.needs[module] = self.imported(source, module, path.name == "__init__.py")
            waiting |= self.needs[module] - seen
        return seen

    def key(self, notebook: Mapping[str, Any], values: Mapping[str, Any]) -> Key:
        """Return what a run of a notebook with these values is made from."""
        cells = [[one["cell_type"], one["source"], one["metadata"]] for one in notebook["cells"]]
        code = "\n".join(source for kind, source, _ in cells if kind == "code").splitlines()
        modules = self.closure("\n".join(one for one in code if one[:1] not in "%!"))
        files = [self.texts[one][0].relative_to(PACKAGE).as_posix() for one in modules]
        return {
            "notebook": hashlib.sha256(repr(cells).encode()).hexdigest(),
            "parameters": dict(values),
            "files": {one: self.digests[one] for one in [*files, *self.data]},
            "versions": self.versions,
        }


def reason(old: Key | None, new: Key) -> str | None:
    """Say in words why a result must be made again; None where nothing it is made from changed."""
    if old is None:
        return "it has not been run yet"
    changes = ["the notebook changed"] if old.get("notebook") != new["notebook"] else []
    forms = {"parameters": "{}: {} -> {}", "versions": "{} {} -> {}", "files": "{}"}
    for part, form in forms.items():
        then, now = old.get(part, {}), new[part]
        differing = sorted(name for name in {**then, **now} if then.get(name) != now.get(name))
        shown = [form.format(one, then.get(one), now.get(one)) for one in differing[:3]]
        more = [f"{len(differing) - 3} more"] if len(differing) > 3 else []
        changes += [f"{part} changed ({', '.join([*shown, *more])})"] if differing else []
    return "; ".join(changes) or None
