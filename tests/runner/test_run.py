"""Runs in forks: what they record, what goes wrong, and that equal runs give equal bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dpbayes.record import PROVENANCE
from dpbayes.runner.run import Done, Order, kept, publish, recorded, run_all, run_one
from tests.tiny_notebooks import write_tiny

KEY = {"notebook": "a", "parameters": {}, "files": {}, "versions": {}}


def order(folder: Path, *cells: str, n: int = 3, name: str = "part/tiny") -> Order:
    path = write_tiny(folder / "notebooks", name, *cells)
    return Order(name, path, {"n": n, "label": "b"}, folder / "stages" / name, name)


def cells_of(done: Done) -> list[dict[str, object]]:
    return list(json.loads((done.order.stage / "executed.ipynb").read_text())["cells"])


def test_a_run_records_and_shows(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    done = run_one(order(tmp_path, "print(label); 1 + 1"), lambda at, of: seen.append((at, of)))
    assert not done.problem
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    numbers = done.order.stage / "results" / "part" / "tiny" / "numbers.json"
    assert json.loads(numbers.read_text()) == {"double": 6}
    shown = cells_of(done)[-1]["outputs"]
    assert [one.get("text", one.get("data")) for one in shown] == ["b\n", {"text/plain": "2"}]  # type: ignore[attr-defined]


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    plot = (
        "from matplotlib.figure import Figure\nfigure = Figure()\nfigure.subplots().plot([1, n])\n"
        "record.figure('line', figure, alt='A line.', caption='It rises.')"
    )
    files = []
    for _ in range(2):
        made = recorded(run_one(order(tmp_path, plot)), KEY)
        files.append({name: one for name, one in made.items() if name != PROVENANCE})
    assert files[0] == files[1]
    assert {"line.svg", "line.png", "numbers.json", "squares.csv", "claims.json"} <= files[0].keys()


def test_a_failing_cell_is_named_with_its_traceback(tmp_path: Path) -> None:
    done = run_one(order(tmp_path, "x = 1\nraise RuntimeError('no such luck')", "never()"))
    assert done.problem.startswith("part/tiny: cell 4 of 5 failed (")
    assert "RuntimeError: no such luck" in done.problem
    assert "\x1b" not in done.problem
    assert not (done.order.stage / "executed.ipynb").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_dies_is_told_of(tmp_path: Path) -> None:
    killed = run_one(order(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert killed.problem == "part/tiny: its process ended with -9 too early"
    ended = run_one(order(tmp_path, "import os; os._exit(3)"))
    assert ended.problem == "part/tiny: its process ended with 3 too early"


def test_notebook_and_stage_may_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_one(order(Path()))
    assert not done.problem
    assert (tmp_path / "stages" / "part" / "tiny" / "executed.ipynb").is_file()


def test_many_run_side_by_side_and_one_failure_stops_no_other(tmp_path: Path) -> None:
    orders = [order(tmp_path, name=f"part/n{n}", n=n) for n in range(1, 5)]
    orders.append(order(tmp_path, "1 / 0", name="part/bad"))
    found = {done.order.name: done.problem for done in run_all(orders)}
    assert found.keys() == {one.name for one in orders}
    assert [name for name, problem in found.items() if problem] == ["part/bad"]


def test_what_is_published_is_whole_or_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    files = recorded(run_one(order(tmp_path)), KEY)
    publish(files, folder)
    made = kept(folder)
    assert (made["made from"], made["parameters"]) == (KEY, {"n": 3, "label": "b"})
    assert set(made["sha256"]) == files.keys() - {PROVENANCE}
    before = (folder / "numbers.json").stat().st_mtime_ns
    (folder / "left-over.csv").write_text("x")
    publish(files, folder)
    assert (folder / "numbers.json").stat().st_mtime_ns == before
    assert not (folder / "left-over.csv").exists()
    (folder / "numbers.json").write_text("{}")
    assert kept(folder) == {}
    assert kept(tmp_path / "nowhere") == {}
