"""What a result is made from: text, parameters, modules that can be imported, data,
versions.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dpbayes.notebooks.provenance import PACKAGE
from dpbayes.runner.stale import Key, Sources, reason
from tests.tiny_notebooks import code, notebook

SOURCES = Sources()


def key(*cells: str, **values: Any) -> Key:
    return SOURCES.key(notebook(*map(code, cells)), values)


@pytest.mark.parametrize(
    "line",
    ["import dpbayes as dp\ndp.mechanism('lattice', 1.0)",
     "import dpbayes as d\nd.mechanism",
     "from dpbayes import audit, mechanism",
     "from dpbayes.mechanisms import mechanism, nothing",
     "import importlib\nimportlib.import_module('dpbayes.mechanisms')",
     "%time\ndef late():\n    import dpbayes.mechanisms.lattice"],
)  # fmt: skip
def test_modules_are_followed_through_imports_of_every_kind(line: str) -> None:
    made = key(line)
    assert {"mechanisms/lattice.py", "posteriors.py", "record.py", "__init__.py"} <= {
        *made["files"]
    }
    assert all((PACKAGE / name).is_file() for name in made["files"])
    assert not any(name.startswith("laws/") for name in key("x = 1")["files"])
    assert {"python", "numpy", "scipy"} <= made["versions"].keys()


def test_the_same_is_not_stale_and_every_change_is_said() -> None:
    old = key("x = 1", n=3, m=1)
    assert reason(old, key("x = 1", m=1, n=3)) == ""
    assert reason({}, old) == "new notebook, new parameters, new files, new versions"
    assert reason(old, key("x = 2", m=1, n=4)) == "new notebook, new parameters"
    new = copy.deepcopy(old)
    new["files"]["record.py"] = "other"
    new["versions"]["python"] = "4.0"
    assert reason(old, new) == "new files, new versions"


def test_outputs_do_not_count() -> None:
    made = notebook(code("x = 1"))
    before = SOURCES.key(made, {})
    made["cells"][1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": "x"}
    ]
    assert SOURCES.key(made, {}) == before


def test_data_papermill_and_the_engine_count() -> None:
    made = key("x = 1")
    data = {
        path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "data").iterdir()
    }
    assert data <= {*made["files"]}
    assert {"runner/engine.py", "runner/run.py", "record.py"} <= {*made["files"]}
    assert "papermill" in made["versions"]
    changed = copy.deepcopy(SOURCES)
    changed.digests[PACKAGE / "data" / "counts.csv"] = "other"
    assert reason(made, changed.key(notebook(code("x = 1")), {})) == "new files"
