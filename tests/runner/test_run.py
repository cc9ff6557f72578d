"""Runs in forks: what they record, what goes wrong, and that equal runs give equal
bytes.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import tempfile
from pathlib import Path

import pytest

import dpbayes
from dpbayes.notebooks.parameters import load
from dpbayes.record import PROVENANCE
from dpbayes.runner.page import page
from dpbayes.runner.results import kept, publish
from dpbayes.runner.run import Done, Order, run_all, run_one
from tests.tiny_notebooks import write_tiny

KEY = {"notebook": "a", "parameters": {}, "files": {}, "versions": {}}
PLOT = """from matplotlib.figure import Figure
figure = Figure()
figure.subplots().plot([1, n])
record.figure('line', figure, alt='A line.', caption='It rises.')"""


def order(folder: Path, *cells: str, n: int = 3, name: str = "part/tiny") -> Order:
    path = write_tiny(folder / "notebooks", name, *cells)
    stage = Path(tempfile.mkdtemp(dir=folder)) / "stage"
    return Order(name, path, {"n": n, "label": "b"}, stage, name)


def published(done: Done, folder: Path) -> Path:
    assert not done.problem
    publish(done.order.stage, done.files, done.made(KEY), folder)
    return folder


def test_a_run_records_shows_and_states_its_values(tmp_path: Path) -> None:
    done = run_one(order(tmp_path, "print(label); 1 + 1", n=4))
    folder = published(done, tmp_path / "out")
    assert json.loads((folder / "numbers.json").read_text()) == {"double": 8}
    ran = load(folder / "tiny.ipynb")
    shown = [one.get("text", one.get("data")) for one in ran["cells"][-1]["outputs"]]
    assert shown == ["b\n", {"text/plain": "2"}]
    assert (
        folder / "tiny-source.ipynb"
    ).read_bytes() == done.order.notebook.read_bytes()


def test_an_executed_notebook_is_papermills(tmp_path: Path) -> None:
    folder = published(run_one(order(tmp_path, n=4)), tmp_path / "out")
    ran = load(folder / "tiny.ipynb")
    known = ran["metadata"]["papermill"]
    assert known["parameters"] == {"n": 4, "label": "b"}
    assert (known["input_path"], known["output_path"]) == (
        "tiny-source.ipynb", "tiny.ipynb"
    )  # fmt: skip
    assert known["version"] == importlib.metadata.version("papermill")
    assert ran["cells"][2]["metadata"]["tags"] == ["injected-parameters"]
    for cell in ran["cells"]:
        assert cell["metadata"]["papermill"]["status"] == "completed"
    made = json.loads((folder / PROVENANCE).read_text())
    assert made["seconds"] == pytest.approx(known["duration"], abs=1e-3)
    own = Order("part/tiny", tmp_path / "notebooks" / "part" / "tiny.ipynb",
                {"n": 3, "label": "a"}, tmp_path / "own")  # fmt: skip
    ran = load(published(run_one(own), folder) / "tiny.ipynb")
    assert not ran["metadata"]["papermill"]["parameters"]
    assert "injected-parameters" not in str(ran["cells"])


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    files, pages = [], []
    for folder in (tmp_path / "one", tmp_path / "two"):
        published(run_one(order(tmp_path, PLOT)), folder)
        pages.append(page(load(folder / "tiny.ipynb"), "tiny", []))
        files.append(
            {
                p.name: p.read_bytes()
                for p in folder.iterdir()
                if p.name not in (PROVENANCE, "tiny.ipynb")  # which have the time
            }
        )
    assert files[0] == files[1]
    assert pages[0] == pages[1]
    assert {
        "line.svg", "line.png", "numbers.json", "squares.csv", "claims.json"
    } <= files[0].keys()  # fmt: skip


def test_a_failing_cell_is_named_with_its_traceback(tmp_path: Path) -> None:
    failed = order(tmp_path, "x = 1\nraise RuntimeError('no such luck')", "never()")
    problem = run_one(failed).problem
    assert problem.startswith(f"part/tiny ({failed.notebook}): Exception encountered")
    assert "In [4]" in problem  # after parameters, those added, and the record
    assert "RuntimeError: no such luck" in problem
    assert "\x1b" not in problem


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_dies_is_told_of(tmp_path: Path) -> None:
    for code, status in (
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os._exit(3)", 3),
    ):
        problem = run_one(order(tmp_path, f"import os, signal; {code}")).problem
        assert problem == f"part/tiny: its process ended with {status} too early"


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_a_cell_that_leaves_is_a_failure(code: str, tmp_path: Path) -> None:
    assert "part/tiny" in run_one(order(tmp_path, code)).problem


def test_many_run_side_by_side_and_one_failure_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # notebooks and stages may be relative
    orders = [order(Path(), name=f"part/n{n}", n=n) for n in range(1, 5)]
    orders.append(order(Path(), "1 / 0", name="part/bad"))
    found = {one.order.name: one.problem for one in run_all(orders)}
    assert found.keys() == {one.name for one in orders}
    assert [name for name, problem in found.items() if problem] == ["part/bad"]


def test_a_notebook_may_have_any_name(tmp_path: Path) -> None:
    """Papermill puts values into braces of a path."""
    folder = published(run_one(order(tmp_path, name="my {n} é")), tmp_path / "out")
    assert (folder / "my {n} é.ipynb").is_file()


def test_what_is_published_is_whole_or_made_again(tmp_path: Path) -> None:
    done = run_one(order(tmp_path))
    folder = published(done, tmp_path / "out")
    made = kept(folder)
    assert (made["made from"], made["parameters"]) == (KEY, {"n": 3, "label": "b"})
    assert set(made["sha256"]) == {one.name for one in folder.iterdir()} - {PROVENANCE}
    assert made["dpbayes"] == dpbayes.__version__
    before = (folder / "numbers.json").stat().st_mtime_ns
    (folder / "left-over.csv").write_text("x")
    assert kept(folder) == {}  # a file that the run has not written
    published(done, folder)
    assert kept(folder)
    assert (folder / "numbers.json").stat().st_mtime_ns == before
    assert not (folder / "left-over.csv").exists()
    (folder / "numbers.json").write_text("{}")
    assert kept(folder) == {}
    published(done, folder)
    (folder / "numbers.json").unlink()
    assert kept(folder) == kept(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    "content",
    ["", "null", "[1]", "{", '{"sha256": 1}', "\xff", '{"sha256": {"a": null}}'],
)
def test_damaged_provenance_is_none(content: str, tmp_path: Path) -> None:
    folder = published(run_one(order(tmp_path)), tmp_path / "out")
    (folder / PROVENANCE).write_text(content, "latin-1")
    assert kept(folder) == {}


def test_what_another_process_changed_is_not_published(tmp_path: Path) -> None:
    done = run_one(order(tmp_path))
    stage = done.order.stage
    (stage / "results" / "part" / "tiny" / "numbers.json").write_text('{"double": 1}')
    (stage / "results" / "part" / "tiny" / "other.csv").write_text("x")
    with pytest.raises(ValueError, match="is not what the run has written"):
        published(done, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_only_what_the_run_recorded_is_published(tmp_path: Path) -> None:
    done = run_one(order(tmp_path))
    (done.order.stage / "results" / "part" / "tiny" / "other.csv").write_text("x")
    folder = published(done, tmp_path / "out")
    assert not (folder / "other.csv").exists()
    assert kept(folder)
