"""Runs in forks: what they record, what goes wrong, and that equal runs give equal
bytes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpbayes.record import PROVENANCE
from dpbayes.runner.run import Order, kept, publish, run_all, run_one
from tests.tiny_notebooks import write_tiny

KEY = {"notebook": "a", "parameters": {}, "files": {}, "versions": {}}
PLOT = """from matplotlib.figure import Figure
figure = Figure()
figure.subplots().plot([1, n])
record.figure('line', figure, alt='A line.', caption='It rises.')"""


def order(folder: Path, *cells: str, n: int = 3, name: str = "part/tiny") -> Order:
    path = write_tiny(folder / "notebooks", name, *cells)
    return Order(name, path, {"n": n, "label": "b"}, folder / "stages" / name, name)


def test_a_run_records_shows_and_states_its_values(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    asked = order(tmp_path, "print(label); 1 + 1", n=4)
    done, _, problem = run_one(asked, lambda at, of: print(at, of, file=seen.open("a")))
    assert (done, problem) == (asked, "")
    assert seen.read_text().splitlines() == ["1 3", "2 3", "3 3"]
    numbers = done.stage / "results" / "part" / "tiny" / "numbers.json"
    assert json.loads(numbers.read_text()) == {"double": 8}
    cells = json.loads((done.stage / "executed.ipynb").read_text())["cells"]
    assert (
        cells[1]["source"]
        == "n: int = 4  # records, at least 1\nlabel: str = 'b'  # a word"
    )
    shown = [one.get("text", one.get("data")) for one in cells[-1]["outputs"]]
    assert shown == ["b\n", {"text/plain": "2"}]


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        done, seconds, _ = run_one(order(tmp_path, PLOT))
        publish(done, seconds, KEY, folder)
        files.append(
            {p.name: p.read_bytes() for p in folder.iterdir() if p.name != PROVENANCE}
        )
    assert files[0] == files[1]
    assert {
        "line.svg",
        "line.png",
        "numbers.json",
        "squares.csv",
        "claims.json",
    } <= files[0].keys()


def test_a_failing_cell_is_named_with_its_traceback(tmp_path: Path) -> None:
    failed = order(tmp_path, "x = 1\nraise RuntimeError('no such luck')", "never()")
    done, _, problem = run_one(failed)
    assert problem.startswith("part/tiny: cell 3 of 4 failed (")
    assert "RuntimeError: no such luck" in problem
    assert "\x1b" not in problem
    assert not (done.stage / "executed.ipynb").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_dies_is_told_of(tmp_path: Path) -> None:
    for code, status in (
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os._exit(3)", 3),
    ):
        problem = run_one(order(tmp_path, f"import os, signal; {code}"))[2]
        assert problem == f"part/tiny: its process ended with {status} too early"


def test_many_run_side_by_side_and_one_failure_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # notebooks and stages may be relative
    orders = [order(Path(), name=f"part/n{n}", n=n) for n in range(1, 5)]
    orders.append(order(Path(), "1 / 0", name="part/bad"))
    found = {one.name: problem for one, _, problem in run_all(orders)}
    assert found.keys() == {one.name for one in orders}
    assert [name for name, problem in found.items() if problem] == ["part/bad"]
    assert (tmp_path / "stages" / "part" / "n1" / "executed.ipynb").is_file()


def test_what_is_published_is_whole_or_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done, seconds, _ = run_one(order(tmp_path))
    publish(done, seconds, KEY, folder)
    made = kept(folder)
    assert (made["made from"], made["parameters"]) == (KEY, {"n": 3, "label": "b"})
    assert set(made["sha256"]) == {one.name for one in folder.iterdir()} - {PROVENANCE}
    before = (folder / "numbers.json").stat().st_mtime_ns
    (folder / "left-over.csv").write_text("x")
    publish(done, seconds, KEY, folder)
    assert (folder / "numbers.json").stat().st_mtime_ns == before
    assert not (folder / "left-over.csv").exists()
    (folder / "numbers.json").write_text("{}")
    assert kept(folder) == {}
    assert kept(tmp_path / "nowhere") == {}
