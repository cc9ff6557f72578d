"""What decides that a result is made again, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpbayes.press import keys
from dpbook.build import build_results
from tests.tiny_notebooks import write_tiny


def run(project: Path) -> dict[str, str]:
    return build_results(project, project / "book")


def number(project: Path) -> int:
    path = project / "book/results/part/tiny/numbers.json"
    return int(json.loads(path.read_text())["double"])


@pytest.mark.usefixtures("quick")
def test_a_changed_parameter_is_run_and_named(project: Path) -> None:
    run(project)
    (project / "parameters.yml").write_text("part/tiny:\n  n: 8\n")
    assert run(project) == {"part/tiny": "parameter n: 3 -> 8"}
    assert number(project) == 16
    (project / "parameters.yml").write_text("# part/tiny:\n")
    assert run(project) == {"part/tiny": "parameter n: 8 -> 3"}
    assert number(project) == 6


@pytest.mark.usefixtures("quick")
def test_a_changed_notebook_and_a_changed_version_are_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(project)
    write_tiny(project / "notebooks", "part/tiny", "1 + 1")
    monkeypatch.setattr(keys, "version_of", lambda name: "0.1")
    (why,) = run(project).values()
    assert why.startswith("the notebook changed; ")
    assert "version of python: " in why
    assert "version of papermill: " in why
    assert "-> 0.1" in why
    assert "dpbayes changed" not in why


@pytest.mark.usefixtures("quick")
def test_only_what_was_imported_counts(project: Path, hashes: dict[str, str]) -> None:
    run(project)
    hashes["laws/finite.py"] = "edited"
    hashes["study/new.py"] = "added"
    assert run(project) == {}
    hashes["press/record.py"] = "edited"
    assert run(project) == {"part/tiny": "dpbayes changed (press/record.py)"}
