"""What a result is made from, as digests.

That is its notebook, parameters, the modules of this package that it can import (read
from the sources, without running them), the package's data, and the versions of what
computes.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dpbayes
from dpbayes.notebooks.provenance import PACKAGE, versions

OWN = PACKAGE.name
# These take part in every run.
ALWAYS = "import dpbayes.record, dpbayes.runner.run, dpbayes.runner.engine"
Key = dict[str, Any]


def reason(old: Key, new: Key) -> str:
    """Say what is new since a result was made; nothing where it is up to date."""
    return ", ".join(f"new {part}" for part in new if old.get(part) != new[part])


class Sources:
    """The package as it is now: each file is read once."""

    def __init__(self) -> None:
        """Find modules, data and versions."""
        self.paths: dict[str, Path] = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            self.paths[".".join(parts).removesuffix(".__init__")] = path
        self.data = [
            one for one in sorted((PACKAGE / "data").rglob("*")) if one.is_file()
        ]
        files = [*self.paths.values(), *self.data]
        self.digests = {
            one: hashlib.sha256(one.read_bytes()).hexdigest() for one in files
        }
        self.versions = versions()
        # The package itself imports nothing: it offers names, and what is asked for is
        # imported.
        self.needs: dict[str, set[str]] = {OWN: set()}
        self.offered = {
            f"{OWN}.{a}": f"{OWN}.{b}" for a, b in dpbayes._MODULE_OF.items()
        }

    def imported(self, text: str, module: str = "") -> set[str]:
        """Return the modules of the package that a source can import, named as text or
        as code.
        """
        found: set[str] = set()
        aliases = [OWN, *re.findall(rf"\bimport {OWN} as (\w+)", text)]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {f"{node.module}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in aliases:
                found.add(f"{OWN}.{node.attr}")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, f"{module}.{node.value}"}
        paths = [self.offered.get(one, one).split(".") for one in found]
        above = [
            ".".join(one[:size]) for one in paths for size in range(1, len(one) + 1)
        ]
        return set(above) & self.paths.keys()

    def key(self, notebook: Mapping[str, Any], values: Mapping[str, Any]) -> Key:
        """Return what a run of a notebook with these values is made from."""
        cells = [
            [one["cell_type"], one["source"], one["metadata"]]
            for one in notebook["cells"]
        ]
        code = "\n".join(
            source for kind, source, _ in cells if kind == "code"
        ).splitlines()
        waiting = self.imported(
            "\n".join([ALWAYS, *(one for one in code if one[:1] not in "%!")])
        )
        modules: set[str] = set()
        while waiting:
            module = waiting.pop()
            modules.add(module)
            if module not in self.needs:
                self.needs[module] = self.imported(
                    self.paths[module].read_text("utf-8"), module
                )
            waiting |= self.needs[module] - modules
        files = [*(self.paths[one] for one in modules), *self.data]
        return {
            "notebook": hashlib.sha256(repr(cells).encode()).hexdigest(),
            "parameters": dict(values),
            "files": {
                one.relative_to(PACKAGE).as_posix(): self.digests[one] for one in files
            },
            "versions": self.versions,
        }
