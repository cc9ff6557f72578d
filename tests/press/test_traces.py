"""What a run imported and read is known, and what it looked for and did not find."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpbayes.press import traces
from tests.tiny_notebooks import built, write_tiny

READ = """
from dpbayes import datasets
counts = datasets.load(datasets.names()[0])
text = open({path!r}).read()
try:
    import brand_new_package
except ImportError:
    pass
"""


@pytest.mark.usefixtures("hashes")
def test_modules_packages_and_data_of_a_run_are_known(project: Path) -> None:
    data = project / "data.txt"
    data.write_text("abc")
    os.utime(data, (1, 1))
    write_tiny(project / "notebooks", "part/tiny", READ.format(path=str(data)))
    built(project)
    made_from = json.loads((entry(project) / "entry.json").read_text())["key"]
    assert {"datasets.py", "data/counts.csv", "press/record.py"} <= made_from["files"].keys()
    assert "auditing/exact.py" not in made_from["files"]
    assert "brand_new_package" in made_from["absent"]
    provenance = json.loads((project / "book/results/part/tiny/provenance.json").read_text())
    assert "datasets.py" in provenance["modules"]
    assert provenance["data"] == ["data.txt", "data/counts.csv"]
    assert {"dpbayes", "ipython"} <= provenance["versions"].keys()
    assert "papermill" not in provenance["versions"]  # it runs the notebook, which does not use it
    assert built(project) == {}
    data.write_text("abcd")
    assert built(project) == {"part/tiny": f"data changed ({data})"}


def entry(project: Path) -> Path:
    return project / "book/_build/.jupyter_cache/notebooks/part/tiny"


@pytest.mark.parametrize(
    ("file", "is_data"),
    [
        ("table.csv", True),
        ("module.py", False),
        ("library.so", False),
        ("package.egg-info/PKG-INFO", False),
        ("package-1.0.dist-info/METADATA", False),
        ("missing/table.csv", None),
    ],
)
def test_data_are_files_that_are_there_and_no_description_of_a_package(
    tmp_path: Path, file: str, is_data: bool | None
) -> None:
    path = tmp_path / file
    if is_data is not None:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert traces._is_data(str(path), traces._elsewhere()) == bool(is_data)
