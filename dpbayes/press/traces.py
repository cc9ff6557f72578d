"""What a run really used: modules of dpbayes, packages, files it read, packages it did not find.

`watch` is called in the process of a run before its first cell, `write` after its last one. What
was used decides when a result must be made again (`dpbayes.press.keys`) and stands in its
provenance.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
INSIDE = os.path.join(PACKAGE, "")
OWN = PACKAGE.name
START = "__import__('dpbayes.press.traces', fromlist=['watch']).watch()"
READING = frozenset("rbt+U")
_read: set[str] = set()
_sought: set[str] = set()
_watching: list[bool] = []
_files: dict[str, str] = {}  # of the modules seen so far; nothing where one has no file


def watch() -> None:
    """Note every file that is opened for reading from now on, and every module that is sought."""
    if not _watching:
        _watching.append(True)
        sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "import":
        _sought.add(arguments[0].partition(".")[0])
    elif event == "open":
        path, mode, _ = arguments
        if isinstance(path, str) and isinstance(mode, str) and READING.issuperset(mode):
            _read.add(path if os.path.isabs(path) else os.path.abspath(path))


def write(path: str) -> None:
    """Write what this process has used so far, and the packages that it did not find."""
    known = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names
    absent = sorted(name for name in _sought - known if not is_found(name))
    Path(path).write_text(json.dumps({**used(), "absent": absent}), encoding="utf-8")


def used() -> dict[str, list[str]]:
    """Return the modules of this package, the other packages, and the data files read so far."""
    return _sorted_out(frozenset(_module_files().items()), frozenset(_read), _elsewhere())


@functools.lru_cache(maxsize=2)  # asked for with every file that is written
def _sorted_out(
    files: frozenset[tuple[str, str]], read: frozenset[str], elsewhere: tuple[str, ...]
) -> dict[str, list[str]]:
    own = {os.path.relpath(file, PACKAGE) for _, file in files if file.startswith(INSIDE)}
    others = {name.partition(".")[0] for name, _ in files} - {OWN} - sys.stdlib_module_names
    data = {file for _, file in files if not file.startswith((INSIDE, *elsewhere))}
    data |= {file for file in read if _is_data(file, elsewhere)}
    return {
        "modules": sorted(name.replace(os.sep, "/") for name in own),
        "packages": sorted(others),
        "read": sorted(data),
    }


def is_found(name: str) -> bool:
    """Say whether a module of that name could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _module_files() -> dict[str, str]:
    for name, module in [*sys.modules.items()]:
        if name not in _files:
            file = getattr(module, "__file__", None)
            _files[name] = file if isinstance(file, str) else ""
    return {name: _files[name] for name in [*sys.modules] if _files.get(name)}


def _is_data(file: str, elsewhere: tuple[str, ...]) -> bool:
    """Say whether a file is somebody's data: no code, no part of the system, no cache."""
    code = file.endswith((".py", ".pyc", ".so"))
    described = os.path.dirname(file).endswith((".egg-info", ".dist-info"))
    known = not file.startswith(INSIDE) and file.startswith(elsewhere)
    return not (code or described or known) and os.path.isfile(file)


def _elsewhere() -> tuple[str, ...]:
    """Return the folders whose files are known by version, or are nobody's data.

    Three of them are named by the surroundings of a run, which a forked kernel learns after the
    fork.
    """
    stage = os.environ.get("DPBAYES_RESULTS")
    paths = {str(Path(stage).parent)} if stage else set()
    named = (os.environ.get("IPYTHONDIR"), os.environ.get("JUPYTER_RUNTIME_DIR"))
    paths |= {one for one in named if one}
    paths |= {os.path.realpath(one) for one in paths}
    return (*_installed(), *sorted(os.path.join(one, "") for one in paths))


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    paths |= {site.getusersitepackages(), "/usr", "/lib", "/etc", "/proc", "/sys", "/dev"}
    home = Path.home()
    paths |= {str(home / name) for name in (".cache", ".config", ".ipython", ".jupyter", ".local")}
    paths |= {os.path.realpath(one) for one in paths}
    return tuple(sorted(os.path.join(one, "") for one in paths))


def versions(packages: list[str]) -> dict[str, str]:
    """Return the version of every distribution that brings one of these packages."""
    names = {name for package in packages for name in _distributions().get(package, ())}
    return {name: version(name) for name in sorted(names)}


@functools.cache
def version(name: str) -> str:
    """Return the version of an installed distribution."""
    return importlib.metadata.version(name)


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return {key: list(value) for key, value in importlib.metadata.packages_distributions().items()}
