"""What decides that a result is made again, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbayes.press import keys
from tests.tiny_notebooks import built, number_of, write_tiny


@pytest.mark.usefixtures("quick")
def test_a_changed_parameter_is_run_and_named(project: Path) -> None:
    built(project)
    (project / "parameters.yml").write_text("part/tiny:\n  n: 8\n")
    assert built(project) == {"part/tiny": "parameter n: 3 -> 8"}
    assert number_of(project) == 16
    (project / "parameters.yml").write_text("# part/tiny:\n")
    assert built(project) == {"part/tiny": "parameter n: 8 -> 3"}
    assert number_of(project) == 6


@pytest.mark.usefixtures("quick")
def test_a_changed_notebook_and_a_changed_version_are_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(project)
    write_tiny(project / "notebooks", "part/tiny", "1 + 1")
    monkeypatch.setattr(keys, "version_of", lambda name: "0.1")
    (why,) = built(project).values()
    assert why.startswith("the notebook changed; ")
    assert "version of python: " in why
    assert "version of papermill: " in why
    assert "-> 0.1" in why
    assert "dpbayes changed" not in why


@pytest.mark.usefixtures("quick")
def test_only_what_was_imported_counts(project: Path, hashes: dict[str, str]) -> None:
    built(project)
    hashes["laws/finite.py"] = "edited"
    hashes["study/new.py"] = "added"
    assert built(project) == {}
    hashes["press/record.py"] = "edited"
    assert built(project) == {"part/tiny": "dpbayes changed (press/record.py)"}
