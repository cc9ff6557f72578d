"""`dpbayes run`: what it writes, what it refuses, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpbayes.cli import main
from tests.tiny_notebooks import files_of, write_tiny


def test_run_writes_notebook_page_numbers_and_provenance(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "part/tiny", "-p", "n=5", "-p", "label=x y", "--output", "out"]) == 0
    assert set(capsys.readouterr().out.split()) == {
        f"out/part/{file}"
        for file in (
            "tiny.ipynb",
            "tiny.html",
            "tiny/numbers.json",
            "tiny/squares.csv",
            "tiny/provenance.json",
        )
    }
    assert json.loads((checkout / "out/part/tiny/numbers.json").read_text()) == {"double": 10}
    assert len((checkout / "out/part/tiny/squares.csv").read_text().splitlines()) == 6
    provenance = json.loads((checkout / "out/part/tiny/provenance.json").read_text())
    assert provenance["parameters"] == {"n": 5, "label": "x y"}
    assert not list((checkout / "out").rglob("*.part"))


def test_run_takes_a_path_from_another_folder(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["run", "../notebooks/part/tiny.ipynb"]) == 0
    assert json.loads((elsewhere / "results/part/tiny/numbers.json").read_text()) == {"double": 6}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["part/nobody"], "no notebook 'part/nobody'; the notebooks are\n  part/tiny"),
        (["part/tiny", "-p", "m=1"], "no parameter 'm'; its parameters and their defaults are"),
        (["part/tiny", "-p", "n=x"], "n must be int, got 'x'"),
        (["part/tiny", "-p", "n=1.5"], "n must be int, got 1.5"),
        (["part/tiny", "-p", "n=0"], "n must be >= 1, got 0"),
        (["part/tiny", "-p", "n"], "name=value, got 'n'"),
    ],
)
def test_a_bad_order_is_refused_before_anything_runs(
    checkout: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(["run", *words]) == 2
    assert problem in capsys.readouterr().err
    assert not (checkout / "results").exists()


def test_a_second_run_stands_beside_the_first_and_says_how_it_differs(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "part/tiny", "--output", "out"]) == 0
    first = files_of(checkout / "out")
    assert "This run differs from the book" not in (checkout / "out/part/tiny.html").read_text()
    capsys.readouterr()
    assert main(["run", "part/tiny", "-p", "n=9", "--output", "out"]) == 0
    shown = capsys.readouterr()
    assert "out/part/tiny.ipynb is there already and stays; this run goes to out-2" in shown.err
    assert "out-2/part/tiny.html" in shown.out
    assert files_of(checkout / "out") == first
    assert "This run differs from the book" in (checkout / "out-2/part/tiny.html").read_text()
    assert main(["run", "part/tiny", "-p", "n=4", "--output", "out", "--replace"]) == 0
    assert json.loads((checkout / "out/part/tiny/numbers.json").read_text()) == {"double": 8}


def test_a_broken_cell_is_named_and_the_result_before_it_stays(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "part/tiny"]) == 0
    before = files_of(checkout / "results")
    write_tiny(checkout / "notebooks", "part/tiny", "broken = 1 / 0")
    capsys.readouterr()
    assert main(["run", "part/tiny", "-p", "n=9"]) == 1
    report = capsys.readouterr().err
    assert "part/tiny: the code cell with execution count" in report
    assert "broken = 1 / 0" in report
    assert "ZeroDivisionError" in report
    assert files_of(checkout / "results") == before


def test_results_under_another_name_are_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_tiny(checkout / "notebooks", "part/tiny")
    (checkout / "notebooks/part/other.ipynb").write_text(path.read_text())
    assert main(["run", "part/other"]) == 1
    assert "must be recorded under 'part/other', got 'part/tiny'" in capsys.readouterr().err
