"""What a result was made from, as digests; and in words, what has changed since.

A result is made from its notebook, the values of its parameters, the modules of this package that
the notebook can import (read from the sources, without running them), the package's data, and the
versions of Python and of the libraries that any of these import.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import dpbayes

PACKAGE = Path(dpbayes.__file__).parent
OWN = PACKAGE.name
ALWAYS = ("dpbayes.record", "dpbayes.runner.run")  # they take part in every run
Key = dict[str, Any]


class Sources:
    """The package as it is now: each file is read once."""

    def __init__(self) -> None:
        """Find the modules."""
        self.modules: dict[str, Path] = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            self.modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self.digests: dict[Path, str] = {}
        # The package itself imports nothing: it offers names, and what is asked for is imported.
        tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
        self.offered = {
            f"{OWN}.{name.name}": str(node.module)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        self.needs: dict[str, tuple[set[str], set[str]]] = {OWN: (set(), set())}

    def digest(self, path: Path) -> str:
        """Return the digest of a file."""
        if path not in self.digests:
            self.digests[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self.digests[path]

    def imported(
        self, tree: ast.AST, module: str = "", package: bool = False
    ) -> tuple[set[str], set[str]]:
        """Return the own modules and the other packages that a source can import.

        A text that names a module counts, in the file of a package that of a module below it too:
        `importlib` may be given it.
        """
        own: set[str] = set()
        others: set[str] = set()
        names = {OWN}  # under which the package is known here
        for node in ast.walk(tree):
            found: list[str] = []
            if isinstance(node, ast.Import):
                found = [one.name for one in node.names]
                names |= {str(one.asname) for one in node.names if one.name == OWN}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found = [f"{OWN}.{node.attr}"] if node.value.id in names else []
            elif isinstance(node, ast.ImportFrom):
                parts = module.split(".")[: len(module.split(".")) - node.level + package]
                base = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
                found = [base, *(f"{base}.{one.name}" for one in node.names)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                below = f"{module}.{node.value.partition('.')[0]}" if package else ""
                found = [one for one in (node.value, below) if one in self.modules]
            for name in found:
                whole = self.offered.get(name, name)
                (own if whole.partition(".")[0] == OWN else others).add(whole)
        return self.with_parents(own), {name.partition(".")[0] for name in others}

    def with_parents(self, names: set[str]) -> set[str]:
        """Return the modules of these names, of the parts before their dots too."""
        parts = (name.split(".") for name in names)
        every = {".".join(one[:size]) for one in parts for size in range(1, len(one) + 1)}
        return every & self.modules.keys()

    def closure(self, source: str) -> tuple[set[str], set[str]]:
        """Return every module and package that code can come to import."""
        start, packages = self.imported(ast.parse(source))
        waiting, seen = {*start, *self.with_parents(set(ALWAYS))}, set[str]()
        while waiting:
            module = waiting.pop()
            seen.add(module)
            if module not in self.needs:
                path = self.modules[module]
                tree = ast.parse(path.read_text(encoding="utf-8"))
                self.needs[module] = self.imported(tree, module, path.name == "__init__.py")
            own, others = self.needs[module]
            waiting |= own - seen
            packages |= others
        return seen, packages - sys.stdlib_module_names - {OWN}

    @cached_property
    def distributions(self) -> Mapping[str, list[str]]:
        """Return which distributions bring a package."""
        return importlib.metadata.packages_distributions()

    def key(self, notebook: Mapping[str, Any], values: Mapping[str, Any]) -> Key:
        """Return what a run of a notebook with these values is made from."""
        cells = [[one["cell_type"], one["source"], one["metadata"]] for one in notebook["cells"]]
        code = [source for kind, source, _ in cells if kind == "code"]
        plain = "\n".join(line for one in code for line in one.splitlines() if line[:1] not in "%!")
        modules, packages = self.closure(plain)
        files = [self.modules[one] for one in modules]
        files += [one for one in (PACKAGE / "data").rglob("*") if one.is_file()]
        names = {name for one in packages for name in self.distributions.get(one, ())}
        versions = {name: importlib.metadata.version(name) for name in names - {OWN}}
        return {
            "notebook": hashlib.sha256(repr(cells).encode()).hexdigest(),
            "parameters": dict(values),
            "files": {one.relative_to(PACKAGE).as_posix(): self.digest(one) for one in files},
            "versions": {"python": platform.python_version(), **versions},
        }


def reason(old: Key | None, new: Key) -> str | None:
    """Say in words why a result must be made again; None where nothing it is made from changed."""
    if old is None:
        return "it has not been run yet"
    changes = ["the notebook changed"] if old.get("notebook") != new["notebook"] else []
    for part, form in (
        ("parameters", "{}: {} -> {}"),
        ("versions", "{} {} -> {}"),
        ("files", "{}"),
    ):
        then, now = old.get(part, {}), new[part]
        differing = sorted(name for name in {**then, **now} if then.get(name) != now.get(name))
        shown = [form.format(one, then.get(one), now.get(one)) for one in differing[:3]]
        more = [f"{len(differing) - 3} more"] if len(differing) > 3 else []
        changes += [f"{part} changed ({', '.join([*shown, *more])})"] if differing else []
    return "; ".join(changes) or None
