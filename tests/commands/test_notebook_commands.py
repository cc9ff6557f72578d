"""``list``, ``run``, ``sweep`` and ``verify``: what they print, and the status they end
with.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpbayes.__main__ import main
from dpbayes.commands import run as command
from dpbayes.runner.results import kept
from tests.tiny_notebooks import write_tiny


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    seen = capsys.readouterr()
    return status, seen.out, seen.err


def test_list_is_one_line_a_notebook(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tiny(checkout / "notebooks", "documents/D-fig5")
    status, out, _ = said(capsys, "list")
    assert status == 0
    assert out.splitlines() == [
        "documents/D-fig5  What is twice n?", "part/tiny         What is twice n?",
    ]  # fmt: skip
    assert (
        "n: int = 3  # records, at least 1" in said(capsys, "list", "FIG", "twice")[1]
    )
    status, _, err = said(capsys, "list", "thrice")
    assert (status, "no notebook has 'thrice'" in err) == (2, True)


def test_run_leaves_a_page_and_the_results(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", opened.append)
    words = ["run", "tiny", "-p", "n=1e1", "--output", "rerun", "--open"]
    status, out, err = said(capsys, *words)
    assert (status, err) == (0, "")
    assert out.splitlines() == ["rerun/part/tiny.html", "rerun/part/tiny/"]
    assert opened == [(checkout / "rerun/part/tiny.html").as_uri()]
    assert json.loads((checkout / "rerun/part/tiny/numbers.json").read_text()) == {
        "double": 20
    }
    _, out, err = said(capsys, *words)
    assert out.startswith("rerun-2/part/tiny.html")
    assert err == "rerun has results of part/tiny already; these are in rerun-2\n"
    assert not list(checkout.rglob("*.part"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", "tinny"], "did you mean part/tiny"),
        (["run", "tiny", "-p", "n=0"], "n must be at least 1"),
        (["sweep", "tiny", "-g", "n=1", "--jobs", "0"], "--jobs must be"),
        (["verify"], "there are no results in book/results"),
        (["verify", "--prune"], "--prune goes with --accept"),
        (["run", "tiny", "--output", "_toc.yml"], "_toc.yml cannot be a folder"),
        (["sweep", "tiny", "-g", "n=1", "--output", "_toc.yml"], "must be a folder"),
    ],
)
def test_bad_input_ends_with_two(
    checkout: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    status, out, err = said(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith(f"dpbayes {words[0]}: ")
    assert reason in err
    assert sorted(path.name for path in checkout.iterdir()) == ["_toc.yml", "notebooks"]


def test_a_failed_run_ends_with_one_and_leaves_nothing(
    picky: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = said(capsys, "run", "tiny", "-p", "n=4")
    assert status == 1
    assert "four is not for us" in err
    assert not [
        path for path in picky.rglob("*") if path.suffix in (".html", ".part", ".json")
    ]
    status, out, err = said(capsys, "sweep", "tiny", "-g", "n=3;4")
    assert status == 1
    assert "1 of 2 points, 2 run now" in out
    assert "at n=4: part/tiny (" in err


def test_verify_names_the_number_that_changed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "run", "tiny")
    words = ["verify", "results", "--reference", "reference"]
    assert said(capsys, *words)[0] == 1
    status, out, _ = said(capsys, *words, "--accept")
    assert (status, out.splitlines()[0]) == (0, "reference/part/tiny.json")
    said(capsys, "run", "tiny", "-p", "n=7", "--output", "mine")
    foreign = ["verify", "mine", "--reference", "reference", "--accept"]
    status, _, err = said(capsys, *foreign)
    assert (status, "part/tiny was run with another n" in err) == (2, True)
    path = checkout / "reference" / "part" / "tiny.json"
    path.write_text(path.read_text().replace('"double": 6', '"double": 6.000001'))
    status, out, err = said(capsys, *words)
    assert (status, out.startswith("6 of 7 numbers agree")) == (1, True)
    assert "part/tiny::double: 6 against 6.000001" in err


def test_a_folder_may_have_any_name(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes that are no text, too, such as a name in Latin-1."""
    folder = checkout / os.fsdecode(b"caf\xe9 {n}")
    folder.mkdir()
    monkeypatch.chdir(folder)
    status, _, err = said(capsys, "run", "tiny", "--output", os.fsdecode(b"\xe9"))
    assert (status, err) == (0, "")
    assert kept(folder / os.fsdecode(b"\xe9") / "part" / "tiny")
    assert said(capsys, "sweep", "tiny", "-g", "n=2")[0] == 0
