"""Names that are loaded when they are first asked for.

A command line or a page build that needs none of the mathematics does not wait for
scipy. A package says in a plain dict where each of its names lives, and in a stub
beside it the same to type checkers; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def attach(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    `homes` has the module, below the package, of every public name; `modules` are
    modules of the package that are public themselves.
    """
    public = frozenset(modules)

    def get(name: str) -> object:
        if name in public:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*homes, *public, *vars(sys.modules[package])})

    return get, names
