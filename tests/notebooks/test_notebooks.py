"""Every notebook: sources without outputs, declared parameters, and runs with values
nobody chose.

Two other sets of values for each notebook stand in the files ``parameters-*.yml``
beside this one.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbayes.notebooks.parameters import all_notebooks, chosen, declared, load, tags
from dpbayes.runner.page import LINK, proposed
from dpbayes.runner.run import Order, run_one
from tools.strip import stripped

ROOT = Path(__file__).parents[2]
NOTEBOOKS = all_notebooks(ROOT / "notebooks")
OTHERS: dict[str, list[dict[str, Any]]] = {}
for file in sorted(Path(__file__).parent.glob("parameters-*.yml")):
    OTHERS |= yaml.safe_load(file.read_text(encoding="utf-8"))
QUICK = {
    "basics/posterior",
    "documents/D-table1",
    "privacy/composition",
    "queries/E-fig1",
}
# What no notebook has a use for, by the kind of the parameter.
SENSELESS = {
    "int": -(10**19),
    "float": -math.inf,
    "list[int]": [],
    "list[float]": [],
    "str": "?",
}
PAGES = "\n".join(one.read_text("utf-8") for one in (ROOT / "book").rglob("*.md"))
LABELS = {*re.findall(r":(?:label|name): ([\w-]+)", PAGES)}
EVERY = pytest.mark.parametrize("name", NOTEBOOKS)


def code(name: str) -> list[dict[str, Any]]:
    return [
        cell for cell in load(NOTEBOOKS[name])["cells"] if cell["cell_type"] == "code"
    ]


@EVERY
def test_sources_are_committed_without_outputs(name: str) -> None:
    notebook = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))
    assert stripped(notebook) == notebook, f"{name}: run `make strip`"
    assert "parameters" in tags(code(name)[0])
    assert declared(load(NOTEBOOKS[name]))
    assert code(name)[0]["source"].startswith("# Needs ")


def test_what_a_session_leaves_is_stripped() -> None:
    before = NOTEBOOKS["basics/posterior"].read_bytes()
    ran = json.loads(before)
    ran["metadata"] = {**ran["metadata"], "papermill": {"version": "2"}, "widgets": {}}
    for place, cell in enumerate(ran["cells"]):
        cell["metadata"]["collapsed"] = False
        if cell["cell_type"] == "code":
            cell |= {"execution_count": place, "outputs": [{"output_type": "stream"}]}
    added = {**ran["cells"][1], "metadata": {"tags": ["injected-parameters"]}}
    ran["cells"].insert(2, added)
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "strip.py"],
        input=json.dumps(ran, ensure_ascii=False).encode(), capture_output=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == before


@EVERY
def test_the_second_cell_names_the_notebook(name: str) -> None:
    called = re.findall(
        r'^record\.here\("(.*)"\)$', code(name)[1]["source"], re.MULTILINE
    )
    assert called == [name]


@EVERY
def test_a_notebook_can_be_read_in_every_front_end(name: str) -> None:
    for cell in load(NOTEBOOKS[name])["cells"]:
        text = cell["source"]
        assert max(map(len, text.splitlines())) <= 100
        if cell["cell_type"] == "markdown":
            assert not re.search(r"\{[a-z:]+\}`|:::|```\{|`-p ", text)
            for _, target in LINK.findall(text):
                path = NOTEBOOKS[name].parent / target
                assert target.removeprefix("#") in LABELS or path.is_file(), target


@EVERY
def test_a_notebook_says_what_to_try(name: str) -> None:
    notebook = load(NOTEBOOKS[name])
    assert chosen(name, notebook, proposed(notebook)) != chosen(name, notebook, {})


@EVERY
def test_a_notebook_is_short_and_records_a_claim(name: str) -> None:
    """Cells that only draw are folded (``hide-input``), and not counted."""
    lines = [
        line
        for cell in code(name)
        if "hide-input" not in tags(cell)
        for line in "".join(cell["source"]).splitlines()
        if line.strip() and not line.startswith("# Needs ")
    ]
    # In `sentences/` there are many short cells.
    assert len(lines) <= (260 if name.startswith("sentences/") else 140)
    assert any("record.claim(" in line for line in lines)


@EVERY
def test_senseless_values_are_refused_before_anything_runs(name: str) -> None:
    for key, parameter in declared(load(NOTEBOOKS[name])).items():
        if parameter.type in SENSELESS:
            with pytest.raises((ValueError, TypeError), match=key):
                chosen(name, load(NOTEBOOKS[name]), {key: SENSELESS[parameter.type]})


def test_each_notebook_has_two_other_sets_of_values() -> None:
    assert set(NOTEBOOKS) > QUICK
    assert set(OTHERS) == set(NOTEBOOKS)
    assert {name for name, sets in OTHERS.items() if len(sets) != 2} == set()


@pytest.mark.parametrize(
    ("name", "which"),
    [
        pytest.param(name, which, marks=() if name in QUICK else pytest.mark.slow)
        for name in OTHERS
        for which in (0, 1)
    ],
)
def test_a_notebook_runs_with_other_values(
    name: str, which: int, tmp_path: Path
) -> None:
    values = chosen(name, load(NOTEBOOKS[name]), OTHERS[name][which])
    assert not run_one(Order(name, NOTEBOOKS[name], values, tmp_path / "it")).problem
    claims = json.loads(next(tmp_path.rglob("claims.json")).read_text(encoding="utf-8"))
    assert claims
    for claim in claims.values():
        assert claim["holds"] in (True, False)
        assert "nan" not in claim["sentence"].split()
