"""What a result is made from: text, parameters, modules that can be imported, data, versions."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from dpbayes.runner.notebooks import load
from dpbayes.runner.stale import PACKAGE, Key, Sources, reason
from tests.tiny_notebooks import code, notebook, write_tiny

SOURCES = Sources()


def key(*cells: str, **values: Any) -> Key:
    return SOURCES.key(notebook(*map(code, cells)), values)


def test_modules_are_followed_through_imports_of_every_kind() -> None:
    direct = key("from dpbayes import record")["files"]
    assert {"record.py", "runner/run.py", "__init__.py"} <= direct.keys()
    assert not any(name.startswith("laws/") for name in key("x = 1")["files"])
    for line in ("import dpbayes as dp\ndp.mechanism('lattice', 1.0)",
                 "from dpbayes import audit, mechanism", "from dpbayes.mechanisms import mechanism",
                 "import importlib\nimportlib.import_module('dpbayes.mechanisms')",
                 "%time\ndef late():\n    import dpbayes.mechanisms.lattice"):  # fmt: skip
        assert "mechanisms/lattice.py" in key(line)["files"], line
        assert "posteriors.py" in key(line)["files"], line


def test_what_the_package_has_not_is_no_module() -> None:
    files = key("from dpbayes.accuracy import mean_distances, nothing")["files"]
    assert "accuracy.py" in files
    assert all((PACKAGE / name).is_file() for name in files)


def test_versions_are_those_of_python_and_of_what_computes() -> None:
    assert {"python", "numpy", "scipy"} <= key("x = 1")["versions"].keys()


def test_the_same_is_not_stale_and_every_change_is_said() -> None:
    old = key("x = 1", n=3)
    assert reason(old, key("x = 1", n=3)) is None
    assert reason(None, old) == "it has not been run yet"
    assert reason(old, key("x = 2", n=3)) == "the notebook changed"
    assert reason(old, key("x = 1", n=4)) == "parameters changed (n: 3 -> 4)"
    new = copy.deepcopy(old)
    new["files"]["record.py"] = "other"
    new["versions"]["python"] = "4.0"
    said = reason(old, new)
    assert said is not None
    assert said.startswith("versions changed (python 3.")
    assert said.endswith("-> 4.0); files changed (record.py)")


def test_outputs_and_order_of_values_do_not_count(tmp_path: Path) -> None:
    path = write_tiny(tmp_path, "part/tiny")
    first, second = load(path), load(path)
    second["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    assert (
        reason(SOURCES.key(first, {"a": 1, "b": 2}), SOURCES.key(second, {"b": 2, "a": 1})) is None
    )


@pytest.mark.parametrize("old", [{}, {"notebook": 3, "files": {}, "versions": {}}])
def test_an_unknown_key_is_stale(old: Key) -> None:
    assert reason(old, key("x = 1", n=1))
