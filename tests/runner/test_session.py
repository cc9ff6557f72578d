"""Notebooks in sessions of their own: named, checked, each with a place and provenance.

JupyterLab, papermill and a script are played by a shell of IPython or a namespace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dpbayes import record
from dpbayes.notebooks import provenance, session
from dpbayes.record import PROVENANCE

DECLARED = """n: int = 30  # records, at least 20
epsilon: float = 1.0  # privacy parameter, in
# (0, 10]
distance: str = "l1"  # one of l1, hamming
sizes: list[int] = [30, 40]  # at least 20"""
HERE = 'from dpbayes import record\nrecord.here("part/tiny")'


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder in which no notebook runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPBAYES_RESULTS", raising=False)
    record._runs.clear()
    yield tmp_path
    record._runs.clear()


def run(monkeypatch: pytest.MonkeyPatch, *sources: str) -> dict[str, Any]:
    """Run cells as a session does, and return its variables."""
    space: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.setattr(session, "cells", lambda: iter(sources))
    for source in sources:
        exec(source, space)
    return space


def test_a_session_has_the_folder_of_its_notebook_and_provenance(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, DECLARED, HERE, 'record.number("double", 2 * n)')
    folder = alone / "results" / "part" / "tiny"
    assert "Results go to `results/part/tiny`." in capsys.readouterr().out
    assert json.loads((folder / "numbers.json").read_text()) == {"double": 60}
    made = json.loads((folder / PROVENANCE).read_text())
    assert made["parameters"] == {
        "n": 30, "epsilon": 1.0, "distance": "l1", "sizes": [30, 40]
    }  # fmt: skip
    assert made["versions"] == provenance.versions()
    assert set(made["sha256"]) == {"numbers.json"}
    run(monkeypatch, DECLARED, HERE, 'record.claim("few", "It is so.", True)')
    assert {one.name for one in folder.iterdir()} == {"claims.json", PROVENANCE}
    assert "in place of earlier ones" in capsys.readouterr().out


def test_the_folder_for_results_is_a_parent_folder(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPBAYES_RESULTS", "mine")
    for name in ("part/tiny", "part/other"):  # as when a driver runs both
        here = HERE.replace("part/tiny", name)
        run(monkeypatch, DECLARED, here, f'record.number("x", {len(name)})')
    found = {
        path.parent.name: json.loads(path.read_text())["x"]
        for path in (alone / "mine").rglob("numbers.json")
    }
    assert found == {"tiny": 9, "other": 10}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("n = 5", "n must be at least 20, got 5"),
        ("n = 20.5", "n must be int, got 20.5"),
        ("n = None", "n must be int, got None"),
        ("epsilon = 0.0", r"epsilon must be in (0, 10], got 0.0"),
        ("epsilon = float('nan')", "epsilon must be finite, got nan"),
        ("distance = 'l2'", "distance must be one of l1, hamming, got 'l2'"),
        ("sizes = [30, 19]", "sizes[1] must be at least 20, got 19"),
        ("sizes = []", "sizes must hold at least one value"),
        ("size = 3", "there is no parameter 'size', did you mean sizes?"),
    ],
)
def test_a_bad_value_is_refused_before_anything_runs(
    changed: str, said: str, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether papermill adds it or somebody types it."""
    injected = f"# Parameters\n{changed}"
    with pytest.raises((ValueError, TypeError), match=re.escape(said)) as refusal:
        run(monkeypatch, DECLARED, injected, HERE)
    assert "its parameters are" in str(refusal.value)
    assert not (alone / "results").exists()


def test_values_get_their_declared_types(monkeypatch: pytest.MonkeyPatch) -> None:
    space = run(monkeypatch, DECLARED, "n = 1e3\nepsilon = 2", HERE)
    assert (space["n"], type(space["n"]), type(space["epsilon"])) == (1000, int, float)


def test_a_cell_that_was_changed_and_run_again_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wider = DECLARED.replace("at least 20", "at least 2", 1)
    assert run(monkeypatch, DECLARED, wider.replace("30  #", "3  #"), HERE)["n"] == 3


def test_a_script_has_its_parameters_from_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "cells", lambda: iter(()))
    space: dict[str, Any] = {"successes": -1}
    with pytest.raises(
        ValueError, match=r"successes must be at least 0 and .*, got -1"
    ):
        session.checked("basics/posterior", space)


def test_who_began_a_run_has_said_where_results_go(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record.begin("part/copy", alone / "stage")
    run(monkeypatch, DECLARED, HERE, 'record.number("double", 2 * n)')
    assert (alone / "stage" / "part" / "copy" / "numbers.json").is_file()
    assert not (alone / "stage" / "part" / "copy" / PROVENANCE).exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["", "a b", "/x", "x/", "../x", "a.ipynb"])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name must be part/stem"):
        record.here(name)


def test_the_cells_are_those_of_the_shell() -> None:
    shell: Any = InteractiveShell.instance()
    try:
        shell.user_ns["In"][:] = ["", DECLARED]
        assert list(session.told("part/tiny")[0]) == [
            "n", "epsilon", "distance", "sizes"
        ]  # fmt: skip
    finally:
        InteractiveShell.clear_instance()
