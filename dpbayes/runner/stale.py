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
from pathlib import Path
from typing import Any

import dpbayes

PACKAGE = Path(dpbayes.__file__).parent
OWN = PACKAGE.name
ALWAYS = "import dpbayes.record, dpbayes.runner.run\n"  # they take part in every run
Key = dict[str, Any]
Needs = tuple[set[str], set[str]]  # modules of the package, other packages


def digest(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Sources:
    """The package as it is now: each file is read once."""

    def __init__(self) -> None:
        """Find the modules, and which distribution brings which library."""
        paths = sorted(PACKAGE.rglob("*.py"))
        names = [one.relative_to(PACKAGE.parent).with_suffix("").as_posix() for one in paths]
        modules = (one.removesuffix("/__init__").replace("/", ".") for one in names)
        self.modules = dict(zip(modules, paths, strict=True))
        self.files = {one.relative_to(PACKAGE).as_posix(): digest(one) for one in paths}
        data = [one for one in sorted((PACKAGE / "data").rglob("*")) if one.is_file()]
        self.data = {one.relative_to(PACKAGE).as_posix(): digest(one) for one in data}
        self.distributions = importlib.metadata.packages_distributions()
        # The package itself imports nothing: it offers names, and what is asked for is imported.
        self.offered: dict[str, str] = {}
        tree = ast.parse(self.modules[OWN].read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self.offered |= {f"{OWN}.{one.name}": str(node.module) for one in node.names}
        self.needs: dict[str, Needs] = {OWN: (set(), set())}

    def imported(self, tree: ast.AST, module: str = "", package: bool = False) -> Needs:
        """Return the own modules and the other packages that a source can import.

        A text that names a module counts, in the file of a package that of a module below it too:
        `importlib` may be given it.
        """
        found: set[str] = set()
        aliases = {OWN}  # under which the package is known here
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
                aliases |= {str(one.asname) for one in node.names if one.name == OWN}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found |= {f"{OWN}.{node.attr}"} if node.value.id in aliases else set()
            elif isinstance(node, ast.ImportFrom):
                parts = module.split(".")
                above = parts[: len(parts) - node.level + package] if node.level else []
                base = ".".join([*above, *filter(None, [node.module])])
                found |= {base, *(f"{base}.{one.name}" for one in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                below = f"{module}.{node.value.partition('.')[0]}" if package else ""
                found |= {node.value, below} & self.modules.keys()
        own: set[str] = set()
        for name in [self.offered.get(one, one).split(".") for one in found]:
            own |= {".".join(name[:size]) for size in range(1, len(name) + 1)}
        others = {one.partition(".")[0] for one in found} - sys.stdlib_module_names - {OWN}
        return own & self.modules.keys(), others

    def closure(self, source: str) -> Needs:
        """Return every module and package that code can come to import."""
        waiting, packages = self.imported(ast.parse(ALWAYS + source))
        seen: set[str] = set()
        while waiting:
            module = waiting.pop()
            seen.add(module)
            if module not in self.needs:
                path = self.modules[module]
                tree = ast.parse(path.read_text(encoding="utf-8"))
                self.needs[module] = self.imported(tree, module, path.name == "__init__.py")
            waiting |= self.needs[module][0] - seen
            packages |= self.needs[module][1]
        return seen, packages

    def key(self, notebook: Mapping[str, Any], values: Mapping[str, Any]) -> Key:
        """Return what a run of a notebook with these values is made from."""
        cells = [[one["cell_type"], one["source"], one["metadata"]] for one in notebook["cells"]]
        code = "\n".join(source for kind, source, _ in cells if kind == "code").splitlines()
        modules, packages = self.closure("\n".join(one for one in code if one[:1] not in "%!"))
        files = [self.modules[one].relative_to(PACKAGE).as_posix() for one in modules]
        names = {name for one in packages for name in self.distributions.get(one, ())}
        versions = {name: importlib.metadata.version(name) for name in names - {OWN}}
        return {
            "notebook": hashlib.sha256(repr(cells).encode()).hexdigest(),
            "parameters": dict(values),
            "files": {one: self.files[one] for one in files} | self.data,
            "versions": {"python": platform.python_version(), **versions},
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
