"""The build runs what it must, says why, keeps what is finished and leaves results whole."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from dpbayes.press import keys, workers
from dpbook import build
from dpbook.build import NotebookError, build_results
from tests.tiny_notebooks import write_tiny


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def run(project: Path) -> dict[str, str]:
    return build_results(project, project / "book")


def number(project: Path) -> int:
    path = project / "book/results/part/tiny/numbers.json"
    return int(json.loads(path.read_text())["double"])


@pytest.mark.usefixtures("hashes")
def test_a_second_build_runs_nothing_and_writes_nothing(project: Path) -> None:
    assert run(project) == {"part/tiny": "it has not been run yet"}
    results = project / "book/results"
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*") if path.is_file()}
    assert run(project) == {}
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert {path.name for path in before} >= {"tiny.ipynb", "numbers.json", "squares.csv"}


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
    run(project)
    made_from = json.loads((entry(project) / "entry.json").read_text())["key"]
    assert {"datasets.py", "data/counts.csv", "press/record.py"} <= made_from["files"].keys()
    assert "auditing/exact.py" not in made_from["files"]
    assert "brand_new_package" in made_from["absent"]
    provenance = json.loads((project / "book/results/part/tiny/provenance.json").read_text())
    assert "datasets.py" in provenance["modules"]
    assert provenance["data"] == ["data.txt", "data/counts.csv"]
    assert {"dpbayes", "ipykernel"} <= provenance["versions"].keys()
    assert run(project) == {}
    data.write_text("abcd")
    assert run(project) == {"part/tiny": f"data changed ({data})"}


def entry(project: Path) -> Path:
    return project / "book/_build/.jupyter_cache/notebooks/part/tiny"


DAMAGES = {
    "results/part/tiny/numbers.json": lambda path: path.write_text('{"double": 7}'),
    "results/part/tiny/squares.csv": lambda path: path.unlink(),
    "notebook.ipynb": lambda path: path.write_text(path.read_text()[:50]),
    "results/part/tiny/added.csv": lambda path: path.write_text("x\n1\n"),
    "entry.json": lambda path: path.write_text("{"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("file", DAMAGES)
def test_a_damaged_entry_is_named_and_run_again(project: Path, file: str) -> None:
    run(project)
    before = files_of(project / "book/results")
    DAMAGES[file](entry(project) / file)
    assert run(project) == {"part/tiny": f"its kept result is damaged ({file})"}
    assert files_of(project / "book/results").keys() == before.keys()
    assert number(project) == 6
    assert run(project) == {}


@pytest.mark.usefixtures("quick")
def test_deleted_results_come_back_without_running(project: Path) -> None:
    run(project)
    before = files_of(project / "book/results")
    shutil.rmtree(project / "book/results")
    assert run(project) == {}
    assert files_of(project / "book/results") == before


@pytest.mark.usefixtures("hashes")
def test_same_inputs_same_bytes(project: Path) -> None:
    run(project)
    before = files_of(project / "book/results")
    shutil.rmtree(project / "book/results")
    shutil.rmtree(project / "book/_build")
    run(project)
    after = files_of(project / "book/results")
    assert before.keys() == after.keys()
    different = {name for name in before if before[name] != after[name]}
    assert different <= {"part/tiny/provenance.json"}


@pytest.mark.usefixtures("hashes")
def test_a_failure_names_the_cell_and_leaves_the_result_whole(project: Path) -> None:
    run(project)
    before = files_of(project / "book/results")
    write_tiny(project / "notebooks", "part/tiny", "fine = 1", "broken = fine / 0")
    with pytest.raises(NotebookError) as failure:
        run(project)
    report = str(failure.value)
    assert report.startswith("part/tiny: the code cell with execution count")
    assert "broken = fine / 0" in report
    assert "ZeroDivisionError: division by zero" in report
    assert "\x1b" not in report
    assert files_of(project / "book/results") == before


@pytest.mark.usefixtures("quick")
def test_after_a_failure_only_the_broken_notebook_is_run_again(project: Path) -> None:
    write_tiny(project / "notebooks", "part/broken", "1 / 0")
    with pytest.raises(NotebookError, match="part/broken"):
        run(project)
    write_tiny(project / "notebooks", "part/broken")
    assert "part/broken" in run(project)
    assert run(project) == {}


@pytest.mark.usefixtures("quick")
def test_an_interrupted_build_keeps_what_was_finished(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("part/second", "part/third"):
        write_tiny(project / "notebooks", name)
    keep = build.Build.done
    finished: list[str] = []

    def interrupt(self: build.Build, name: str, seconds: float) -> None:
        keep(self, name, seconds)
        finished.append(name)
        raise RuntimeError("the power went out")

    monkeypatch.setattr(build.Build, "done", interrupt)
    with pytest.raises(NotebookError, match="the power went out"):
        run(project)
    monkeypatch.setattr(build.Build, "done", keep)
    assert run(project).keys() == {"part/tiny", "part/second", "part/third"} - set(finished)
    assert finished


@pytest.mark.usefixtures("hashes")
def test_a_process_that_dies_is_reported(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(complaints: IO[str]) -> subprocess.Popen[str]:
        script = "import sys; sys.stdin.readline(); sys.exit('out of memory')"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": complaints}
        return subprocess.Popen([sys.executable, "-c", script], text=True, **pipes)

    monkeypatch.setattr(workers, "start_worker", start)
    with pytest.raises(NotebookError, match=r"(?s)part/tiny: the process died.*out of memory"):
        run(project)


@pytest.mark.usefixtures("quick")
def test_results_of_a_removed_notebook_go(project: Path) -> None:
    write_tiny(project / "notebooks", "part/second")
    run(project)
    (project / "notebooks/part/second.ipynb").unlink()
    run(project)
    assert {name.split("/")[1] for name in files_of(project / "book/results")} == {
        "tiny.ipynb",
        "tiny",
    }


@pytest.mark.usefixtures("quick")
def test_stages_of_dead_builds_are_swept(project: Path) -> None:
    run(project)
    cache = project / "book/_build/.jupyter_cache/notebooks/part"
    here = socket.gethostname()
    stages = [cache / f"tiny.{end}.part" for end in (f"{here}.999999999", f"{here}.1", "there.9")]
    for stage in stages:
        stage.mkdir()
    run(project)
    assert [stage.exists() for stage in stages] == [False, True, True]


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ("part/nobody: {n: 1}", "no notebook 'part/nobody'; the notebooks are\n  part/tiny"),
        ("part/tiny: {m: 1}", "no parameter 'm'; its parameters and their defaults are"),
        ("part/tiny: {n: x}", "n must be int, got 'x' (str)"),
        ("part/tiny: {n: 1.0}", "n must be int, got 1.0 (float)"),
        ("part/tiny: {n: true}", "n must be int, got True (bool)"),
        ("part/tiny: {n: 0}", "n must be >= 1, got 0"),
        ("part/tiny: [n]", "must map notebook names"),
        ("3", "must map notebook names"),
    ],
)
def test_bad_overrides_are_refused_before_anything_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, overrides: str, problem: str
) -> None:
    (project / "parameters.yml").write_text(overrides)
    monkeypatch.setattr(workers, "start_worker", pytest.fail)
    with pytest.raises((ValueError, TypeError)) as refusal:
        run(project)
    assert problem in str(refusal.value)
    assert not (project / "book/results").exists()


def test_a_cell_that_declares_nothing_is_named(project: Path) -> None:
    path = project / "notebooks/part/tiny.ipynb"
    path.write_text(path.read_text().replace("n: int = 3  #", "n = 3  #"))
    with pytest.raises(ValueError, match="part/tiny: a parameter is declared as"):
        run(project)
