"""Modules of this package that are loaded, but count as imported only when something imports them.

A process that forks for every notebook loads the package once. If its modules simply stayed, nobody
could tell which of them a notebook needs. So they are taken out of ``sys.modules`` again and put
back one by one as they are asked for, each together with those that its own import statements ask
for: a fork has imported what a fresh process would have, without reading it anew.
"""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name
from types import ModuleType
from typing import Any

OWN = __name__.partition(".")[0]
# They import what runs notebooks; what a notebook needs of them comes with `dpbayes.press` itself.
LEFT_OUT = tuple(f"{OWN}.{one}" for one in ("__main__", "cli", "commands", "press."))


@dataclass
class Parked:
    """Finds parked modules; each brings back what it had imported, in the same order."""

    modules: dict[str, ModuleType] = field(default_factory=dict)
    needs: dict[str, dict[str, None]] = field(default_factory=dict)
    specs: dict[str, ModuleSpec | None] = field(default_factory=dict)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to bring a module back, or None for one that is not parked."""
        if name not in self.modules:
            return None
        loader: Any = self  # it has the two methods that are needed
        return ModuleSpec(name, loader, is_package=hasattr(self.modules[name], "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module as it was."""
        return self.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Bring back what the module needs instead of running it again."""
        name, names = module.__name__, dict(vars(module))
        for needed in self.needs.get(name, ()):
            importlib.import_module(needed)
        vars(module).update(names)  # a function may have the name of the module that it came from
        module.__spec__ = self.specs[name]


def park() -> Parked:
    """Load the package anew and park every module of it; the caller's own modules stay its own."""
    importlib.invalidate_caches()
    mine = taken_out()
    parked = Parked()
    with noting_imports(parked.needs):
        package = importlib.import_module(OWN)
        for found in pkgutil.walk_packages(package.__path__, f"{OWN}."):
            if not found.name.startswith(LEFT_OUT):
                with suppress(Exception):  # the notebook that imports it meets the same trouble
                    importlib.import_module(found.name)
    parked.modules = taken_out()
    for name, module in parked.modules.items():
        parked.specs[name] = module.__spec__
        for child in [key for key in vars(module) if f"{name}.{key}" in parked.modules]:
            if vars(module)[child] is parked.modules[f"{name}.{child}"]:
                delattr(module, child)
    sys.modules.update(mine)
    return parked


def bring_back_as_asked(parked: Parked) -> None:
    """Let this process import parked modules, and forget that it has imported any."""
    taken_out()
    sys.meta_path.insert(0, parked)


def taken_out() -> dict[str, ModuleType]:
    """Take the package's modules out of ``sys.modules`` and return them."""
    names = [name for name in sys.modules if name == OWN or name.startswith(f"{OWN}.")]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def noting_imports(needs: dict[str, dict[str, None]]) -> Iterator[None]:
    """Note which module of the package imports which, in order, while they are loaded."""
    plain = builtins.__import__

    def noting(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        module = plain(name, globals, locals, fromlist, level)
        importer = str((globals or {}).get("__name__", ""))
        if importer == OWN or importer.startswith(f"{OWN}."):
            package = (globals or {}).get("__package__") or ""
            whole = resolve_name("." * level + name, package) if level else name
            if whole == OWN or whole.startswith(f"{OWN}."):
                below = (f"{whole}.{one}" for one in fromlist or ())
                known = needs.setdefault(importer, {})
                known.update(dict.fromkeys([whole, *(one for one in below if one in sys.modules)]))
        return module

    builtins.__import__ = noting
    try:
        yield
    finally:
        builtins.__import__ = plain
